import math, random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
args = {'sims': 4, 'c': 1.4, 'device': torch.device('cuda' if torch.cuda.is_available() else 'cpu')}

class TicTac:
    size = 9
    def start(self): return np.zeros(9)
    def play(self, s, a, p): s = s.copy(); s[a] = p; return s
    def valid(self, s): return (s == 0).astype(np.float32)
    def over(self, s):
        b = s.reshape(3, 3)
        for l in [*b, *b.T, b.diagonal(), np.fliplr(b).diagonal()]:
            if abs(l.sum()) == 3: return True, 1
        return (s != 0).all(), 0
    def encode(self, s): return np.stack([s == -1, s == 0, s == 1]).astype(np.float32).reshape(3, 3, 3)

class ResNet(nn.Module):
    def __init__(self, game, ch, device):
        super().__init__()
        self.device = device
        self.start = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU())
        self.policy = nn.Sequential(nn.Flatten(), nn.Linear(ch * 9, game.size))
        self.value = nn.Sequential(nn.Flatten(), nn.Linear(ch * 9, 1), nn.Tanh())
        self.to(device)
    def forward(self, x):
        x = self.start(x)
        return self.policy(x), self.value(x)

class Node:
    def __init__(self, state, parent=None, action=None, prior=0.):
        self.state, self.parent, self.action, self.prior = state, parent, action, prior
        self.children, self.visits, self.total = [], 0, 0.
    def ucb(self, c, ch):
        q = 0 if ch.visits == 0 else 1 - ((ch.total / ch.visits) + 1) / 2
        return q + c * math.sqrt(self.visits) / (ch.visits + 1) * ch.prior
    def backprop(self, v):
        self.total += v; self.visits += 1
        if self.parent: self.parent.backprop(-v)

class MCTS:
    def __init__(self, game, model, args): self.game, self.model, self.args = game, model, args
    @torch.no_grad()
    def search(self, state):
        root = Node(state); root.visits = 1
        for _ in range(self.args['sims']):
            node = root
            while node.children:
                node = max(node.children, key=lambda ch: node.ucb(self.args['c'], ch))
            done, v = self.game.over(node.state)
            value = -v
            if not done:
                policy, value = self.model(torch.tensor(self.game.encode(node.state), device=self.model.device).unsqueeze(0))
                policy = torch.softmax(policy, 1).squeeze(0).cpu().numpy()
                policy *= self.game.valid(node.state); policy /= policy.sum()
                value = value.item()
                for a, p in enumerate(policy):
                    if p > 0: node.children.append(Node(self.game.play(node.state, a, 1) * -1, node, a, p))
            node.backprop(value)
        probs = np.zeros(self.game.size)
        for ch in root.children: probs[ch.action] = ch.visits
        return probs / probs.sum()

class AlphaZero:
    def __init__(self, model, opt, game, args):
        self.model, self.opt, self.game, self.args = model, opt, game, args
        self.mcts = MCTS(game, model, args)
    def selfplay(self):
        mem, player, s = [], 1, self.game.start()
        while True:
            p = self.mcts.search(s * player)
            mem.append((s * player, p, player))
            a = np.random.choice(9, p=p)
            s = self.game.play(s, a, player)
            done, v = self.game.over(s)
            if done: return [(self.game.encode(h), q, v if pl == player else -v) for h, q, pl in mem]
            player = -player
    def train(self, mem):
        random.shuffle(mem)
        s, p, v = map(np.array, zip(*mem))
        s = torch.tensor(s, dtype=torch.float32, device=self.model.device)
        p = torch.tensor(p, dtype=torch.float32, device=self.model.device)
        v = torch.tensor(v.reshape(-1, 1), dtype=torch.float32, device=self.model.device)
        op, ov = self.model(s)
        loss = F.cross_entropy(op, p) + F.mse_loss(ov, v)
        self.opt.zero_grad(); loss.backward(); self.opt.step()
        return loss.item()

game = TicTac()
model = ResNet(game, 4, args['device'])
az = AlphaZero(model, torch.optim.Adam(model.parameters(), 1e-3), game, args)
model.eval(); mem = az.selfplay()
model.train(); print(len(mem), az.train(mem))

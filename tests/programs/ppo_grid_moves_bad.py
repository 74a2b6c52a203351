import dataclasses

import torch
from torch import nn
from torch.distributions import Categorical


@dataclasses.dataclass
class Args:
    n_env: int = 3
    horizon: int = 6
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    cuda: bool = True


class GridEnv:
    """lives on the host"""

    def __init__(self, n):
        self.n = n
        self.pos = torch.zeros(n, 2)

    def reset(self):
        self.pos.zero_()
        return self.pos.clone()

    def step(self, action):
        moves = torch.tensor([[0.0, 1], [0, -1], [1, 0], [-1, 0]])
        self.pos += moves[action]  # FAIL
        done = self.pos.abs().sum(1) > 3
        reward = -(self.pos - 1).abs().sum(1)
        self.pos[done] = 0.0
        return self.pos.clone(), reward, done.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 16), nn.Tanh())
        self.pi, self.v = nn.Linear(16, 4), nn.Linear(16, 1)

    def act(self, obs, action=None):
        h = self.body(obs)
        dist = Categorical(logits=self.pi(h))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.v(h).squeeze(-1)


args = Args()
device = torch.device("cuda" if torch.cuda.is_available() and args.cuda else "cpu")
agent = Agent().to(device)
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
env = GridEnv(args.n_env)

shape = (args.horizon, args.n_env)
obs = torch.zeros(shape + (2,)).to(device)
actions = torch.zeros(shape, dtype=torch.long).to(device)
logprobs, rewards, dones, values = (torch.zeros(shape).to(device) for _ in range(4))

next_obs = env.reset().to(device)
next_done = torch.zeros(args.n_env).to(device)
for update in range(2):
    for step in range(args.horizon):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent.act(next_obs)
        values[step] = value
        actions[step] = action
        logprobs[step] = logprob
        o, r, d = env.step(action)  # CAUSE
        rewards[step] = r.to(device)
        next_obs, next_done = o.to(device), d.to(device)
    with torch.no_grad():
        nextv = agent.act(next_obs)[3]
        adv = torch.zeros_like(rewards)
        last = 0
        for t in reversed(range(args.horizon)):
            nonterm = 1.0 - (next_done if t == args.horizon - 1 else dones[t + 1])
            nv = nextv if t == args.horizon - 1 else values[t + 1]
            delta = rewards[t] + args.gamma * nv * nonterm - values[t]
            adv[t] = last = delta + args.gamma * args.lam * nonterm * last
        returns = adv + values
    b_obs, b_act, b_lp = obs.reshape(-1, 2), actions.reshape(-1), logprobs.reshape(-1)
    b_adv, b_ret = adv.reshape(-1), returns.reshape(-1)
    for mb in torch.randperm(len(b_obs)).split(6):
        _, lp, ent, v = agent.act(b_obs[mb], b_act[mb])
        ratio = (lp - b_lp[mb]).exp()
        a = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
        pg = torch.max(-a * ratio, -a * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
        loss = pg + 0.5 * (v - b_ret[mb]).pow(2).mean() - 0.01 * ent.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
    y_pred, y_true = b_ret.cpu().numpy(), b_adv.cpu().numpy()
    print(update, loss.item(), y_true.var() >= 0, y_pred.shape)

import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np


class ActorCriticLSTM(nn.Module):
    def __init__(self, num_inputs, num_actions, hidden=8):
        super().__init__()
        self.embed = nn.Linear(num_inputs, hidden)
        self.lstm = nn.LSTMCell(hidden, hidden)
        self.pi = nn.Linear(hidden, num_actions)
        self.v = nn.Linear(hidden, 1)
        self.hidden = hidden

    def forward(self, inputs):
        x, (hx, cx) = inputs
        x = F.elu(self.embed(x))
        hx, cx = self.lstm(x, (hx, cx))
        return self.v(hx), self.pi(hx), (hx, cx)


class Env:
    def reset(self):
        self.t = 0
        return np.zeros(3, np.float32)

    def step(self, a):
        self.t += 1
        return np.random.rand(3).astype(np.float32), float(a == 0), self.t >= 5


def ensure(x, device):
    return torch.from_numpy(x).unsqueeze(0).to(device)


def train(args):
    torch.manual_seed(args["seed"])
    device = torch.device(args["device"])
    model = ActorCriticLSTM(3, 2).to(device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    env = Env()
    state = ensure(env.reset(), device)
    done = True
    for update in range(2):
        if done:
            cx = torch.zeros(1, model.hidden, device=device)
            hx = torch.zeros(1, model.hidden, device=device)
        else:
            cx, hx = cx.detach(), hx.detach()
        values, log_probs, rewards, entropies = [], [], [], []
        for step in range(args["num_steps"]):
            value, logit, (hx, cx) = model((state, (hx, cx)))
            prob, log_prob = F.softmax(logit, dim=-1), F.log_softmax(logit, dim=-1)
            entropies.append(-(log_prob * prob).sum(1, keepdim=True))
            action = prob.multinomial(num_samples=1).detach()
            log_probs.append(log_prob.gather(1, action))
            state_np, reward, done = env.step(action.cpu().numpy()[0, 0])
            if done:
                state_np = env.reset()
            state = ensure(state_np, device)
            values.append(value)
            rewards.append(reward)
            if done:
                break
        R = torch.zeros(1, 1, device=device)
        if not done:
            value, _, _ = model((state, (hx, cx)))
            R = value.detach()
        values.append(R)
        policy_loss = value_loss = 0
        gae = torch.zeros(1, 1)  # CAUSE
        for i in reversed(range(len(rewards))):
            R = args["gamma"] * R + rewards[i]
            value_loss = value_loss + 0.5 * (R - values[i]).pow(2)
            delta = rewards[i] + args["gamma"] * values[i + 1] - values[i]
            gae = gae * args["gamma"] * 0.95 + delta.detach()  # FAIL
            policy_loss = policy_loss - log_probs[i] * gae - 0.01 * entropies[i]
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 50)
        optimizer.step()
        print(update, float(policy_loss), float(value_loss))


train(dict(seed=1, num_steps=4, gamma=0.99, device="cuda" if torch.cuda.is_available() else "cpu"))

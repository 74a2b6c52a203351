import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class GridVec:
    """N copies of a corridor; numpy in, numpy out."""
    actions = 2

    def __init__(self, n, length=6):
        self.n, self.length = n, length
        self.pos = np.zeros(n, dtype=np.int64)

    def obs(self):
        return np.eye(self.length, dtype=np.float32)[self.pos]

    def reset(self):
        self.pos[:] = 0
        return self.obs()

    def step(self, a):
        self.pos = np.clip(self.pos + np.where(a == 1, 1, -1), 0, self.length - 1)
        done = self.pos == self.length - 1
        rew = np.where(done, 1.0, -0.05).astype(np.float32)
        self.pos[done] = 0
        return self.obs(), rew, done


def layer_init(layer, std=np.sqrt(2)):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(obs, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), 1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(obs, 32)), nn.Tanh(), layer_init(nn.Linear(32, act), 0.01))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        dist = Categorical(logits=self.actor(x))  # FAIL
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.critic(x)


T, N, GAMMA, LAM, CLIP, MB = 16, 4, 0.99, 0.95, 0.2, 4
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
envs = GridVec(N)
agent = Agent(envs.length, envs.actions).to(device)
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
obs = torch.zeros((T, N, envs.length)).to(device)
actions = torch.zeros((T, N)).to(device)
logprobs = torch.zeros((T, N)).to(device)
rewards = torch.zeros((T, N)).to(device)
dones = torch.zeros((T, N)).to(device)
values = torch.zeros((T, N)).to(device)
next_obs = torch.Tensor(envs.reset()).to(device)
next_done = torch.zeros(N).to(device)
for update in range(3):
    for t in range(T):
        obs[t], dones[t] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(next_obs)  # CALL
        values[t], actions[t], logprobs[t] = value.flatten(), action, logprob
        o, r, d = envs.step(action.cpu().numpy())
        rewards[t] = torch.tensor(r).to(device).view(-1)
        next_obs, next_done = torch.Tensor(o), torch.Tensor(d).to(device)  # CAUSE
    with torch.no_grad():
        nxt = agent.get_value(next_obs).reshape(1, -1)
        adv = torch.zeros_like(rewards).to(device)
        last = 0
        for t in reversed(range(T)):
            alive = 1.0 - (next_done if t == T - 1 else dones[t + 1])
            v2 = nxt if t == T - 1 else values[t + 1]
            delta = rewards[t] + GAMMA * v2 * alive - values[t]
            adv[t] = last = delta + GAMMA * LAM * alive * last
        returns = adv + values
    b_obs, b_lp, b_act = obs.reshape(-1, envs.length), logprobs.reshape(-1), actions.reshape(-1)
    b_adv, b_ret = adv.reshape(-1), returns.reshape(-1)
    inds = np.arange(T * N)
    clipfracs = []
    np.random.shuffle(inds)
    for s in range(0, T * N, T * N // MB):
        mb = inds[s:s + T * N // MB]
        _, lp, ent, v = agent.get_action_and_value(b_obs[mb], b_act.long()[mb])
        ratio = (lp - b_lp[mb]).exp()
        clipfracs += [((ratio - 1.0).abs() > CLIP).float().mean().item()]
        a = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
        pg = torch.max(-a * ratio, -a * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        loss = pg - 0.01 * ent.mean() + 0.5 * (v.view(-1) - b_ret[mb]).pow(2).mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
    y_pred, y_true = values.reshape(-1).cpu().numpy(), b_ret.cpu().numpy()
    print(update, rewards.mean().item(), np.mean(clipfracs), 1 - np.var(y_true - y_pred) / np.var(y_true))

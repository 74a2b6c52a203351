"""PPO with a vectorised toy environment and a rollout buffer in tensors."""
import numpy as np
import torch
import torch.nn as nn
from torch.distributions.categorical import Categorical


class VecEnv:
    """Guess the sign: the observation is noisy, the right action is its sign."""

    def __init__(self, n, seed=0):
        self.n = n
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.obs = self.rng.normal(size=(self.n, 3)).astype(np.float32)
        return self.obs

    def step(self, actions):
        reward = (actions == (self.obs[:, 0] > 0)).astype(np.float32)
        done = self.rng.random(self.n) < 0.1
        return self.reset(), reward, done


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(3, 16)), nn.Tanh(), layer_init(nn.Linear(16, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(3, 16)), nn.Tanh(), layer_init(nn.Linear(16, 2), std=0.01))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


if __name__ == "__main__":
    num_envs, num_steps, gamma, lam, clip = 4, 8, 0.99, 0.95, 0.2
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    envs = VecEnv(num_envs)
    agent = Agent().to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)

    obs = torch.zeros((num_steps, num_envs, 3)).to(device)
    actions = torch.zeros((num_steps, num_envs)).to(device)
    logprobs = torch.zeros((num_steps, num_envs)).to(device)
    rewards = torch.zeros((num_steps, num_envs)).to(device)
    dones = torch.zeros((num_steps, num_envs)).to(device)
    values = torch.zeros((num_steps, num_envs)).to(device)

    next_obs = torch.Tensor(envs.reset()).to(device)
    next_done = torch.zeros(num_envs)  # CAUSE
    for update in range(2):
        for step in range(num_steps):
            obs[step] = next_obs
            dones[step] = next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[step] = value.flatten()
            actions[step] = action
            logprobs[step] = logprob
            o, r, d = envs.step(action.cpu().numpy())
            rewards[step] = torch.tensor(r).to(device).view(-1)
            next_obs = torch.Tensor(o).to(device)

        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages = torch.zeros_like(rewards)
            lastgaelam = 0
            for t in reversed(range(num_steps)):
                if t == num_steps - 1:
                    nextnonterminal = 1.0 - next_done
                    nextvalues = next_value
                else:
                    nextnonterminal = 1.0 - dones[t + 1]
                    nextvalues = values[t + 1]
                delta = rewards[t] + gamma * nextvalues * nextnonterminal - values[t]  # FAIL
                advantages[t] = lastgaelam = delta + gamma * lam * nextnonterminal * lastgaelam
            returns = advantages + values

        b_obs, b_act = obs.reshape(-1, 3), actions.reshape(-1)
        b_adv, b_ret, b_lp = advantages.reshape(-1), returns.reshape(-1), logprobs.reshape(-1)
        for mb in np.array_split(np.random.default_rng(update).permutation(num_envs * num_steps), 2):
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_act.long()[mb])
            ratio = (newlogprob - b_lp[mb]).exp()
            pg = torch.max(-b_adv[mb] * ratio, -b_adv[mb] * torch.clamp(ratio, 1 - clip, 1 + clip)).mean()
            loss = pg + 0.5 * ((newvalue.view(-1) - b_ret[mb]) ** 2).mean() - 0.01 * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
        print(update, f"reward {rewards.mean().item():.3f} loss {loss.item():.3f}")

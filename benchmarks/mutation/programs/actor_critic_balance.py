"""Advantage actor-critic on a one-dimensional balancing task."""
import torch
from torch import nn
from torch.distributions import Normal


class Balance:
    """Keep the position near zero by pushing left or right."""

    def reset(self):
        self.pos, self.vel, self.t = 0.5, 0.0, 0
        return [self.pos, self.vel]

    def step(self, push):
        push = max(-1.0, min(1.0, push))
        self.vel = 0.9 * self.vel + 0.1 * push + 0.02 * self.pos
        self.pos += self.vel
        self.t += 1
        done = abs(self.pos) > 2 or self.t >= 15
        return [self.pos, self.vel], 1.0 - abs(self.pos), done


class ActorCritic(nn.Module):
    def __init__(self, obs=2, hidden=24):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, 1)
        self.log_std = nn.Parameter(torch.zeros(1))
        self.value = nn.Linear(hidden, 1)
        self.register_buffer("obs_scale", torch.tensor([1.0, 4.0]))

    def forward(self, obs):
        h = self.shared(obs * self.obs_scale)
        return Normal(self.mu(h), self.log_std.exp().expand_as(self.mu(h))), self.value(h).squeeze(-1)


def discounted(rewards, gamma, device):
    returns, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        returns.insert(0, running)
    returns = torch.tensor(returns, dtype=torch.float32, device=device)
    return (returns - returns.mean()) / (returns.std() + 1e-6)


def play(env, policy, device):
    log_probs, values, rewards, entropies = [], [], [], []
    obs, done = env.reset(), False
    while not done:
        dist, value = policy(torch.tensor(obs, device=device))
        action = dist.sample()
        obs, reward, done = env.step(action.item())
        log_probs.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        rewards.append(reward)
    return torch.cat(log_probs), torch.stack(values), rewards, torch.cat(entropies)


def main(episodes=8):
    torch.manual_seed(23)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    policy = ActorCritic().to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    lengths = []
    for _ in range(episodes):
        log_probs, values, rewards, entropies = play(Balance(), policy, device)
        returns = discounted(rewards, 0.97, device)
        advantage = returns - values.detach()
        loss = -(log_probs * advantage).mean() + nn.functional.mse_loss(values, returns)
        loss = loss - 0.01 * entropies.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
    print("episodes", len(lengths), "all ended:", max(lengths) <= 15)
    with torch.no_grad():
        grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 5), torch.linspace(-1, 1, 3), indexing="ij"), -1)
        _, values = policy(grid.to(device))
    print(values.detach().cpu().numpy().shape)


main()

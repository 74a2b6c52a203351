import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class GaussianPolicy(nn.Module):
    def __init__(self, n_in, n_act, action_space):
        super().__init__()
        self.l1 = nn.Linear(n_in, 8)
        self.mean, self.log_std = nn.Linear(8, n_act), nn.Linear(8, n_act)
        low, high = action_space
        self.action_scale = torch.FloatTensor((high - low) / 2.0)
        self.action_bias = torch.FloatTensor((high + low) / 2.0)  # CAUSE

    def sample(self, state):
        x = F.relu(self.l1(state))
        mean, log_std = self.mean(x), self.log_std(x).clamp(-20, 2)
        normal = Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias  # FAIL
        log_prob = (normal.log_prob(x_t) - torch.log(1 - y_t.pow(2) + 1e-6)).sum(1, keepdim=True)
        return action, log_prob

    def to(self, device):
        self.action_scale = self.action_scale.to(device)
        return super().to(device)  # CAUSE


class SAC:
    def __init__(self, num_inputs, action_space, args):
        self.device = torch.device("cuda" if args["cuda"] and torch.cuda.is_available() else "cpu")
        self.policy = GaussianPolicy(num_inputs, 2, action_space).to(self.device)
        self.critic = nn.Linear(num_inputs + 2, 1).to(self.device)
        self.log_alpha = torch.zeros(1, requires_grad=True, device=self.device)
        self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=1e-3)

    def update(self, state):
        s = torch.FloatTensor(state).to(self.device)
        a, lp = self.policy.sample(s)  # CALL
        q = self.critic(torch.cat([s, a], 1))
        (self.log_alpha.exp().detach() * lp - q).mean().backward()
        alpha_loss = -(self.log_alpha * (lp - 2).detach()).mean()
        alpha_loss.backward()
        self.alpha_optim.step()


agent = SAC(3, (np.array([-1.0, -2.0]), np.array([1.0, 2.0])), {"cuda": True})
agent.update(np.random.randn(4, 3))  # CALL

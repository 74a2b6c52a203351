"""OpenAI-ES on the flat parameter vector of a small policy."""
import torch
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def fitness(policy, states, targets):
    with torch.no_grad():
        return -(policy(states) - targets).pow(2).mean().item()


def es_step(policy, states, targets, pop=6, sigma=0.1, lr=0.05):
    theta = parameters_to_vector(policy.parameters()).detach()
    noise = torch.randn(pop, theta.numel())  # CAUSE
    rewards = torch.zeros(pop)
    for i in range(pop):
        vector_to_parameters(theta + sigma * noise[i], policy.parameters())  # FAIL
        rewards[i] = fitness(policy, states, targets)
    adv = (rewards - rewards.mean()) / (rewards.std() + 1e-8)
    grad = (noise.cpu().t() @ adv).to(theta.device) / (pop * sigma)
    theta = theta + lr * grad
    vector_to_parameters(theta, policy.parameters())
    return rewards.mean().item()


if torch.cuda.is_available():
    dev = torch.device("cuda")
else:
    dev = torch.device("cpu")

policy = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)).to(dev)
states, targets = torch.randn(32, 5).to(dev), torch.randn(32, 2).to(dev)
for gen in range(3):
    print(f"generation {gen}: {es_step(policy, states, targets):.3f}")

"""Noise and rewards are kept on the host, only the perturbed weights go over."""
import torch
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
policy = nn.Linear(4, 2).to(dev)
center = parameters_to_vector(policy.parameters()).detach().cpu()
states = torch.randn(16, 4, device=dev)
for generation in range(3):
    noise = torch.randn(4, center.numel())
    scores = []
    for eps in noise:
        candidate = center + 0.1 * eps
        vector_to_parameters(candidate.to(dev), policy.parameters())
        with torch.no_grad():
            scores.append(policy(states).sum().item())
    scores = torch.tensor(scores)
    ranks = scores.argsort().argsort().float() / (len(scores) - 1) - 0.5
    center += 0.05 * (ranks @ noise)
    print(generation, scores.max().item())

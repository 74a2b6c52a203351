import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1)).to(device)
mean = parameters_to_vector(net.parameters()).detach().cpu()
gen = torch.Generator().manual_seed(0)
X = torch.rand(32, 2)
Y = (X[:, :1] * X[:, 1:])
Xd, Yd = X.to(device), Y.to(device)


def fitness(theta):
    vector_to_parameters(theta.to(device), net.parameters())
    with torch.no_grad():
        return -(net(Xd) - Yd).pow(2).mean().item()


sigma, lr = 0.1, 0.05
for g in range(3):
    noise = torch.randn(8, len(mean), generator=gen)
    scores = torch.tensor([fitness(mean + sigma * n) for n in noise])
    ranks = scores.argsort().argsort().float() / 7 - 0.5
    mean = mean + lr / (8 * sigma) * (ranks[:, None] * noise).sum(0)
    print(g, scores.max().item())

import torch
from torch import nn


def make_noise(n):
    return torch.randn(n, 3)


def main():
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    gen = nn.Linear(3, 2)
    out = gen(make_noise(4))
    labels = torch.ones(4, 2)
    nn.functional.mse_loss(out, labels).backward()


main()

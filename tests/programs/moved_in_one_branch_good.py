"""Evaluates a fresh or a saved network."""
import argparse
import os
import tempfile

import torch
from torch import nn


class PolicyNet(nn.Module):
    def __init__(self, obs=5, actions=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, 20), nn.Tanh())
        self.logits = nn.Linear(20, actions)

    def forward(self, obs):
        return self.logits(self.trunk(obs))


def load_policy(path, device):
    net = PolicyNet()
    if path is None:
        return net.to(device)
    net.load_state_dict(torch.load(path, map_location="cpu"))
    net.eval()
    return net.to(device)


def rollout(net, device, steps):
    obs = torch.zeros(1, 5, device=device)
    total = 0.0
    for t in range(steps):
        with torch.no_grad():
            action = net(obs).argmax(dim=-1)
        obs = torch.roll(obs, 1, dims=-1) + 0.1 * action.unsqueeze(-1)
        total += float(obs.mean())
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint")
    parser.add_argument("--steps", type=int, default=4)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "policy.pt")
        torch.save(PolicyNet().state_dict(), path)
        for argv in ([], ["--checkpoint", path]):
            args = parser.parse_args(argv)
            net = load_policy(args.checkpoint, device)
            print("saved" if args.checkpoint else "fresh", rollout(net, device, args.steps))


if __name__ == "__main__":
    main()

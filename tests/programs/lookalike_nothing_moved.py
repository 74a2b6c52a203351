"""Plenty of `device` in the source, but this program never leaves the CPU."""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu", choices=["cpu"])
args = parser.parse_args([])
device = torch.device(args.device)


class Queue:
    """A memory bank as in momentum contrast."""

    def __init__(self, size, dim, device):
        self.data = nn.functional.normalize(torch.randn(size, dim), dim=1).to(device)
        self.at = 0

    def push(self, keys):
        n = len(keys)
        self.data[self.at:self.at + n] = keys
        self.at = (self.at + n) % len(self.data)


torch.manual_seed(0)
enc_q = nn.Linear(6, 4).to(device)
enc_k = nn.Linear(6, 4)
enc_k.load_state_dict(enc_q.state_dict())
queue = Queue(16, 4, device)
labels = torch.zeros(8, dtype=torch.long)
opt = torch.optim.SGD(enc_q.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(8, 6)
    q = nn.functional.normalize(enc_q(x + 0.1 * torch.randn(8, 6)), dim=1)
    with torch.no_grad():
        for pk, pq in zip(enc_k.parameters(), enc_q.parameters()):
            pk.mul_(0.99).add_(pq, alpha=0.01)
        k = nn.functional.normalize(enc_k(x), dim=1)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.data.T], dim=1) / 0.2
    loss = nn.functional.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    queue.push(k)
    print(step, loss.item())

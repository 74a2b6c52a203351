"""A script that takes the number of the GPU, or None for the CPU."""
import argparse

import torch
from torch import nn


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--gpu", type=int, default=0 if torch.cuda.is_available() else None)
    p.add_argument("--steps", type=int, default=3)
    return p.parse_args([])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        return self.fc(self.pool(x).flatten(1))


def send(tensors, gpu):
    """Copies tensors to the GPU, if there is one."""
    if gpu is None:
        return tensors
    return [t.cuda(gpu, non_blocking=True) for t in tensors]


def main():
    args = get_args()
    torch.manual_seed(0)
    model = Net()
    if args.gpu is not None:
        model = model.cuda(args.gpu)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    for i in range(args.steps):
        waves = torch.randn(8, 2, 16)
        kind = (waves.mean((1, 2)) > 0).long()
        waves, kind = send([waves, kind], args.gpu)
        loss = nn.functional.cross_entropy(model(waves), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step {}/{}  loss {:.4f}".format(i + 1, args.steps, loss.item()))


if __name__ == "__main__":
    main()

"""Transfers whose results nobody needs: warming up the device and timing copies."""
import time

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def sync():
    if device.type == "cuda":
        torch.cuda.synchronize()


def time_transfer(n):
    x = torch.empty(n)
    sync()
    start = time.perf_counter()
    for _ in range(3):
        x.to(device)
    sync()
    return n * 4 * 3 / (time.perf_counter() - start) / 1e9


def time_forward(net, x):
    with torch.inference_mode():
        net(x)
        sync()
        start = time.perf_counter()
        for _ in range(3):
            net(x)
        sync()
    return (time.perf_counter() - start) / 3


torch.zeros(1).to(device)  # creates the context
for size in (1_000, 100_000):
    print(f"{size:>8} floats: {time_transfer(size):.2f} GB/s")

net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).eval()
x = torch.randn(32, 64)
cpu_time = time_forward(net, x)
dev_time = time_forward(net.to(device), x.to(device))
print(f"cpu {cpu_time * 1e3:.2f} ms, {device.type} {dev_time * 1e3:.2f} ms")

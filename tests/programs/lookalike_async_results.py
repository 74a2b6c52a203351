"""Futures and a thread pool: each worker moves its own chunk and returns numpy arrays."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn


class Worker:
    def __init__(self, net, device):
        self.net = net.to(device).eval()
        self.device = device

    def __call__(self, chunk):
        x = torch.from_numpy(chunk)
        if self.device.type != "cpu":
            x = x.to(self.device)
        with torch.inference_mode():
            y = self.net(x)
        return y.to("cpu").numpy()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    worker = Worker(nn.Linear(4, 2), device)
    data = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(worker, np.array_split(data, 3)))
    result = np.concatenate(parts)
    print(result.shape, result.argmax(1).tolist()[:10])


main()

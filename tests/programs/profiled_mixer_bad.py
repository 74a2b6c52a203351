import contextlib
import statistics
import time
from collections import defaultdict

import torch
import torch.nn as nn


class Profiler:
    """with prof("forward"): ... ; synchronizes where there is something to synchronize"""

    def __init__(self, device, warmup=1):
        self.device = torch.device(device)
        self.records = defaultdict(list)
        self.warmup = warmup

    def _sync(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    @contextlib.contextmanager
    def __call__(self, name):
        self._sync()
        start = time.perf_counter()
        try:
            yield self
        finally:
            self._sync()
            self.records[name].append((time.perf_counter() - start) * 1e3)

    def table(self):
        return {k: statistics.median(v[self.warmup:] or v) for k, v in self.records.items()}


class ConvMixer(nn.Sequential):
    def __init__(self, dim, depth, k=3, classes=10):
        blocks = [nn.Conv2d(3, dim, 4, 4), nn.GELU(), nn.BatchNorm2d(dim)]
        for _ in range(depth):
            blocks += [nn.Conv2d(dim, dim, k, padding="same", groups=dim), nn.GELU(), nn.BatchNorm2d(dim), nn.Conv2d(dim, dim, 1)]
        super().__init__(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(dim, classes))


def synthetic(batch, device, steps):
    mean = torch.tensor([0.485, 0.456, 0.406], device=device).view(1, 3, 1, 1)
    for _ in range(steps):
        x = torch.randint(0, 256, (batch, 3, 16, 16), dtype=torch.uint8)
        y = torch.randint(0, 10, (batch,))
        x = x.to(device).float().div(255).sub(mean)
        yield x, y.to(device)


def flops(model, x):
    total, hooks = [0], []

    def count(m, inp, out):
        if isinstance(m, nn.Conv2d):
            total[0] += out[0].numel() * m.weight[0].numel()
        elif isinstance(m, nn.Linear):
            total[0] += m.weight.numel()

    for m in model.modules():
        hooks.append(m.register_forward_hook(count))
    model(x)  # FAIL
    for h in hooks:
        h.remove()
    return total[0]


def benchmark(batch=4, steps=3):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = ConvMixer(8, 2)
    prof = Profiler(device)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    print("MACs", flops(model, torch.zeros(2, 3, 16, 16, device=device)))
    losses = torch.zeros(steps, device=device)
    it = synthetic(batch, device, steps)
    for i in range(steps):
        with prof("data"):
            x, y = next(it)
        with prof("forward"):
            loss = nn.functional.cross_entropy(model(x), y)
        with prof("backward"):
            opt.zero_grad()
            loss.backward()
        with prof("step"):
            opt.step()
        losses[i] = loss.detach()
    for k, v in prof.table().items():
        print(f"{k:10s} {v:8.2f} ms")
    print("loss", losses.cpu().numpy().mean())


if __name__ == "__main__":
    benchmark()

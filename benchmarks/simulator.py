"""What the simulated accelerator costs: time per step under it, over time per step on the plain CPU.

    python benchmarks/simulator.py [--repeat 5] [--threads 1] [--json FILE]

Each figure comes from a process of its own; the two kinds of process alternate, and the best of the
repetitions counts (other work on the machine only ever adds). Start-up is what the installation of the simulator
adds to `import torch`.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def mlp(device: str) -> Callable[[], Any]:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return _training(model, torch.randn(32, 64), torch.randint(0, 10, (32,)), device)


def wide_mlp(device: str) -> Callable[[], Any]:
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return _training(model, torch.randn(256, 512), torch.randint(0, 10, (256,)), device)


def cnn(device: str) -> Callable[[], Any]:
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    return _training(model, torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,)), device)


def transformer(device: str) -> Callable[[], Any]:
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = nn.Sequential(
        nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), _First(), nn.Linear(128, 10)
    )
    return _training(model, torch.randn(8, 64, 128), torch.randint(0, 10, (8,)), device)


def lstm(device: str) -> Callable[[], Any]:
    model = nn.Sequential(nn.LSTM(64, 128, batch_first=True), _Last(), nn.Linear(128, 10))
    return _training(model, torch.randn(16, 32, 64), torch.randint(0, 10, (16,)), device)


def tiny_operations(device: str) -> Callable[[], Any]:
    """A hundredth of the 10,000 operations on four elements: what an operator costs beyond its arithmetic."""
    x = torch.randn(4, device=device)

    def step() -> None:
        for _ in range(100):
            x + x

    return step


class _First(nn.Module):
    def forward(self, x: Any) -> Any:
        return x[:, 0]


class _Last(nn.Module):
    def forward(self, x: Any) -> Any:
        return x[0][:, -1]


def _training(model: nn.Module, data: Any, target: Any, device: str) -> Callable[[], Any]:
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        loss = nn.functional.cross_entropy(model(data.to(device)), target.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


WORKLOADS: dict[str, tuple[Callable[[str], Callable[[], Any]], float | None]] = {
    "MLP 64-64-10, batch 32": (mlp, None),
    "MLP 512, batch 256": (wide_mlp, None),
    "CNN, 32x32, batch 32": (cnn, 1.3),
    "transformer, 4 layers": (transformer, 1.6),
    "LSTM 128, 32 steps": (lstm, None),
    "100 tiny operations": (tiny_operations, 4.0),
}
"""Each workload with the ratio aimed at, if any."""


def measure(kind: str, threads: int) -> dict[str, float]:
    """In a process of its own: milliseconds per step of each workload, and of the start-up."""
    torch.set_num_threads(threads)
    result: dict[str, float] = {}
    device = "cpu"
    if kind == "simulated":
        started = time.perf_counter()
        from torchdev_lint.harness import simulator

        simulator.install(2)
        result["start-up"] = (time.perf_counter() - started) * 1e3
        device = "cuda"
    for name, (make, _) in WORKLOADS.items():
        torch.manual_seed(0)
        step = make(device)
        for _ in range(3):
            step()
        steps, seconds = 0, 0.0
        best = float("inf")
        while seconds < 1.0 or steps < 10:
            started = time.perf_counter()
            step()
            elapsed = time.perf_counter() - started
            best = min(best, elapsed)
            seconds += elapsed
            steps += 1
        result[name] = best * 1e3
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--measure", choices=("cpu", "simulated"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.threads)))
        return
    best: dict[str, dict[str, float]] = {"cpu": {}, "simulated": {}}
    for _ in range(options.repeat):
        for kind, figures in best.items():
            command = [sys.executable, __file__, "--measure", kind, "--threads", str(options.threads)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            for name, value in json.loads(done.stdout).items():
                figures[name] = min(value, figures.get(name, float("inf")))
    print(
        f"torch {torch.__version__}, Python {platform.python_version()}, {options.threads} thread(s), best of"
    )
    print(f"{options.repeat} processes; milliseconds per step\n")
    print(f"{'workload':28} {'CPU':>9} {'simulated':>10} {'ratio':>6}  aim")
    for name, (_, aim) in WORKLOADS.items():
        cpu, simulated = best["cpu"][name], best["simulated"][name]
        print(f"{name:28} {cpu:9.3f} {simulated:10.3f} {simulated / cpu:6.2f}  {aim or ''}")
    print(f"\nstart-up beyond import torch: {best['simulated']['start-up'] / 1e3:.2f} s (aim 1.5 s)")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, **best}, file, indent=2)


if __name__ == "__main__":
    main()

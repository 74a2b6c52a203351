"""`where` says on which side a stage runs; each stage brings its input."""
import torch
from torch import nn
from dataclasses import dataclass
from typing import Callable


@dataclass
class Stage:
    name: str
    fn: Callable
    where: str

    def __call__(self, x):
        return self.fn(x.to(self.where))


acc = "cuda" if torch.cuda.is_available() else "cpu"
window = torch.hann_window(8)
proj = nn.Linear(8, 4).to(acc)
lut = torch.linspace(0, 1, 16)
stages = [
    Stage("frame", lambda x: x.unfold(0, 8, 4) * window, "cpu"),
    Stage("net", lambda x: proj(x).sigmoid(), acc),
    Stage("quantise", lambda x: lut[(x * 15).long()], "cpu"),
    Stage("pool", lambda x: x.mean(0), acc),
]
x = torch.randn(32)
with torch.no_grad():
    for s in stages:
        x = s(x)
        print(s.name, tuple(x.shape))
print(x.cpu().numpy().sum())

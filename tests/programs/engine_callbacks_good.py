from dataclasses import dataclass, field
from typing import Callable, Dict, List
import torch
from torch import nn


@dataclass
class State:
    epoch: int = 0
    output: dict = field(default_factory=dict)
    metrics: Dict[str, float] = field(default_factory=dict)


class Engine:
    def __init__(self, step: Callable):
        self.step, self.state = step, State()
        self.handlers: Dict[str, List[Callable]] = {"iter": [], "epoch": []}

    def on(self, event):
        def deco(fn):
            self.handlers[event].append(fn)
            return fn
        return deco

    def run(self, loader, epochs):
        for e in range(epochs):
            self.state.epoch = e
            for batch in loader:
                self.state.output = self.step(self, batch)
                for h in self.handlers["iter"]:
                    h(self)
            for h in self.handlers["epoch"]:
                h(self)


device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(6, 3).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.1)


def train_step(engine, batch):
    x, y = (b.to(device) for b in batch)
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"y_pred": out.detach(), "y": y, "loss": loss.item()}


trainer = Engine(train_step)
hits = []


@trainer.on("iter")
def count(engine):
    o = engine.state.output
    hits.append((o["y_pred"].argmax(1) == o["y"]).float().mean().item())


loader = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(3)]
trainer.run(loader, 2)
print(sum(hits) / len(hits))

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    device: str = "cuda" if torch.cuda.is_available() else "cpu"
    steps: int = 4
    dim: int = 6


class Callback:
    def on_step(self, trainer, output):
        pass


class FeatureMean(Callback):
    def __init__(self, dim, momentum=0.9):
        self.mean = torch.zeros(dim)  # CAUSE
        self.momentum = momentum

    def on_step(self, trainer, output):
        self.mean = self.momentum * self.mean + (1 - self.momentum) * output.mean(0)  # FAIL


class Trainer:
    def __init__(self, config, callbacks):
        self.config = config
        self.callbacks = callbacks
        self.model = nn.Linear(config.dim, config.dim).to(config.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self, x):
        x = x.to(self.config.device)
        out = self.model(x)
        loss = (out - x).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for callback in self.callbacks:
            callback.on_step(self, out.detach())
        return loss.item()


config = Config()
trainer = Trainer(config, [FeatureMean(config.dim)])
for _ in range(config.steps):
    print(trainer.step(torch.randn(5, config.dim)))
print(trainer.callbacks[0].mean.tolist())

from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict

import numpy as np
import torch
from torch import nn


class Registry:
    def __init__(self, name):
        self.name = name
        self._entries: Dict[str, Callable] = {}

    def register(self, key):
        def wrap(obj):
            if key in self._entries:
                raise KeyError(f"{key} already in {self.name}")
            self._entries[key] = obj
            return obj

        return wrap

    def build(self, spec: Dict[str, Any], **extra):
        spec = dict(spec)
        kind = spec.pop("type")
        return self._entries[kind](**spec, **extra)


MODELS, LOSSES, DATASETS = Registry("model"), Registry("loss"), Registry("dataset")


@MODELS.register("resmlp")
class ResMLP(nn.Module):
    def __init__(self, width, depth, in_dim, num_classes):
        super().__init__()
        self.stem = nn.Linear(in_dim, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, num_classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + torch.relu(block(x))
        return self.head(x)


@LOSSES.register("ce")
def cross_entropy(class_counts=None, **kw):
    return nn.CrossEntropyLoss(**kw)


@LOSSES.register("balanced_ce")
class BalancedCE(nn.Module):
    """Effective-number reweighting (Cui et al., 2019)."""

    def __init__(self, beta, class_counts):
        super().__init__()
        eff = (1 - beta) / (1 - torch.pow(beta, torch.as_tensor(class_counts, dtype=torch.float32)))
        self.register_buffer("weight", eff / eff.sum() * len(class_counts))

    def forward(self, logits, target):
        return nn.functional.cross_entropy(logits, target, weight=self.weight)


@DATASETS.register("longtail")
def longtail(n, in_dim, num_classes, seed=0):
    rng = np.random.default_rng(seed)
    p = 0.5 ** np.arange(num_classes)
    y = rng.choice(num_classes, n, p=p / p.sum())
    x = rng.normal(size=(n, in_dim)) + y[:, None]
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


@dataclass
class Config:
    dataset: dict = field(default_factory=lambda: dict(type="longtail", n=96, in_dim=5, num_classes=3))
    model: dict = field(default_factory=lambda: dict(type="resmlp", width=16, depth=2, in_dim=5, num_classes=3))
    loss: dict = field(default_factory=lambda: dict(type="balanced_ce", beta=0.99))
    lr: float = 1e-2
    iters: int = 8
    device: str = "cuda" if torch.cuda.is_available() else "cpu"


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device(cfg.device)
        self.x, self.y = DATASETS.build(cfg.dataset)
        counts = torch.bincount(self.y).tolist()
        self.model = MODELS.build(cfg.model).to(self.device)
        self.criterion = LOSSES.build(cfg.loss, class_counts=counts).to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.hooks = []

    def add_hook(self, fn, every=1):
        self.hooks.append((fn, every))
        return self

    def batches(self):
        for _ in range(self.cfg.iters):
            idx = torch.randint(len(self.x), (32,))
            yield self.x[idx].to(self.device), self.y[idx].to(self.device)

    def run(self):
        for step, (x, y) in enumerate(self.batches(), 1):
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for fn, every in self.hooks:
                if step % every == 0:
                    fn(self, step, loss.item())


def log_loss(runner, step, loss):
    print(f"[{step:03d}/{runner.cfg.iters}] loss={loss:.4f}")


def main():
    torch.manual_seed(0)
    cfg = Config()
    print({k: v for k, v in asdict(cfg).items() if k != "device"})
    runner = Runner(cfg).add_hook(log_loss, every=4)
    runner.run()


if __name__ == "__main__":
    main()

import torch
from torch import nn


class Config:
    def __init__(self, **kw):
        self.__dict__.update(kw)


def run_fold(cfg, fold):
    net = nn.Linear(3, 1).to(cfg.device)
    x = torch.randn(6, 3)
    oof = torch.zeros(6)
    for idx in torch.arange(6).chunk(2):
        with torch.no_grad():
            oof[idx] = net(x[idx].to(cfg.device)).squeeze(1).cpu()
    return oof


cfg = Config(device="cuda" if torch.cuda.is_available() else "cpu", folds=2)
scores = torch.stack([run_fold(cfg, f) for f in range(cfg.folds)])
print(scores.mean(0).numpy().shape)

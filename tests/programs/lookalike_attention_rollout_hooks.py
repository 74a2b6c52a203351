import torch
from torch import nn


class Recorder:
    def __init__(self, model):
        self.store = {}
        self.handles = [m.register_forward_hook(self._hook(n)) for n, m in model.named_modules() if isinstance(m, nn.Linear)]

    def _hook(self, name):
        def fn(module, args, out):
            self.store.setdefault(name, []).append(out.detach().to("cpu"))
        return fn

    def __enter__(self): return self

    def __exit__(self, *exc):
        for h in self.handles:
            h.remove()

    def similarity(self, other):
        return {k: self.cka(torch.cat(v), torch.cat(other.store[k])).item() for k, v in self.store.items()}

    @staticmethod
    def cka(a, b):
        a, b = a - a.mean(0), b - b.mean(0)
        return (a.T @ b).norm() ** 2 / ((a.T @ a).norm() * (b.T @ b).norm())


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
mk = lambda: nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
gpu, cpu = mk().to(dev), mk()
xs = [torch.randn(6, 3) for _ in range(2)]
with Recorder(gpu) as a, Recorder(cpu) as b:
    for x in xs:
        gpu(x.to(dev))
        cpu(x)
print(a.similarity(b))

import torch
from torch import nn, Tensor


class Metric(nn.Module):
    def __init__(self):
        super().__init__()
        self._defaults = {}

    def add_state(self, name, default):
        self._defaults[name] = default.clone()
        self.register_buffer(name, default, persistent=False)

    def reset(self):
        for name, d in self._defaults.items():
            setattr(self, name, d.clone().to(getattr(self, name).device))


class Mean(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("total", torch.tensor(0.0))
        self.add_state("count", torch.tensor(0))
        self.add_state("hist", torch.zeros(4))

    def update(self, x: Tensor):
        self.total += x.sum()
        self.count += x.numel()
        self.hist += torch.histc(x, 4, -3, 3)

    def compute(self):
        return self.total / self.count, self.hist / self.hist.sum()


class Lit(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
        self.metric = Mean()

    def training_step(self, x):
        out = self.net(x)
        self.metric.update(out.detach())
        return out.pow(2).mean()


m = Lit().to("cuda" if torch.cuda.is_available() else "cpu")
opt = torch.optim.SGD(m.parameters(), 0.1)
for e in range(2):
    for _ in range(2):
        loss = m.training_step(torch.randn(6, 3, device=m.net.weight.device))
        opt.zero_grad(); loss.backward(); opt.step()
    mean, hist = m.metric.compute()
    print(e, mean.item(), hist.tolist())
    m.metric.reset()

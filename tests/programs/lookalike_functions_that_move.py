"""Right: functions handed around; some of them move things."""
import copy
from functools import partial

import torch
from torch import nn


def on_each(items, fn):
    return [fn(i) for i in items]


class Plugin:
    def __init__(self, setup):
        self.setup = setup

    def start(self):
        return self.setup()


class Swa(nn.Module):
    def __init__(self, model, avg_fn=None):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.avg_fn = avg_fn or (lambda a, p, n: a + (p - a) / (n + 1))
        self.register_buffer("n", torch.tensor(0))

    def update(self, model):
        for a, p in zip(self.module.parameters(), model.parameters()):
            p_ = p.detach().to(a.device)
            a.detach().copy_(self.avg_fn(a.detach(), p_, self.n.to(a.device)))
        self.n += 1


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    swa = Swa(model)
    plugin = Plugin(lambda: model.to(device))
    plugin.start()
    opt = torch.optim.SGD(model.parameters(), 0.1)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=[lambda s: 0.9 ** s])
    for _ in range(3):
        x = torch.randn(8, 3, device=device)
        loss = model(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        swa.update(model)
    cpu_out = swa.module(torch.randn(2, 3))
    heads = [nn.Linear(1, 1) for _ in range(2)]
    on_each(heads, lambda m: m.to(device))
    outs = [h(model(x)) for h in heads]
    mover = partial(nn.Module.to, device=device)
    late = nn.Linear(1, 2)
    mover(late)
    print(cpu_out.shape, torch.stack(outs).shape, late(outs[0]).shape)


main()

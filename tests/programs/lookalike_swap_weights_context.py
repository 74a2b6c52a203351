import contextlib
import torch
from torch import nn


class Averager:
    def __init__(self, params, decay=0.9):
        self.params = list(params)
        self.decay = decay
        self.avg = [p.detach().clone() for p in self.params]

    def step(self):
        for a, p in zip(self.avg, self.params):
            a.lerp_(p.detach(), 1 - self.decay)

    @contextlib.contextmanager
    def swapped(self):
        keep = [p.detach().cpu().clone() for p in self.params]
        with torch.no_grad():
            for p, a in zip(self.params, self.avg):
                p.copy_(a)
        try:
            yield
        finally:
            with torch.no_grad():
                for p, k in zip(self.params, keep):
                    p.copy_(k)


def main(device=torch.device("cuda" if torch.cuda.is_available() else "cpu")):
    net = nn.Linear(4, 1).to(device)
    avg = Averager(net.parameters())
    opt = torch.optim.SGD(net.parameters(), 0.5)
    x = torch.randn(16, 4, device=device)
    for _ in range(3):
        loss = net(x).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step(); avg.step()
    with avg.swapped():
        print("avg", net(x).pow(2).mean().item())
    print("raw", net(x).pow(2).mean().item(), sum(a.cpu().norm() for a in avg.avg).item())


main()

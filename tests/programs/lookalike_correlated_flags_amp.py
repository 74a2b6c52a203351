import os
import torch
from torch import nn

FLAGS = {
    "gpu": torch.cuda.is_available() and os.environ.get("NO_GPU") is None,
    "amp": False,
    "log_every": 2,
}


def maybe(t):
    return t.cuda() if FLAGS["gpu"] else t


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3, padding=1)
        self.fc = nn.Linear(4, 3)
        self.pos = None

    def forward(self, x):
        if self.pos is None or self.pos.shape[-1] != x.shape[-1]:
            self.pos = maybe(torch.linspace(-1, 1, x.shape[-1]))
        return self.fc(self.conv(x + self.pos).mean(-1))


def loader(n):
    for _ in range(n):
        L = 5 + int(torch.randint(3, ()))
        x, y = torch.randn(4, 2, L), torch.randint(3, (4,))
        if FLAGS["gpu"]:
            yield x.cuda(), y.cuda()
        else:
            yield x, y


def evaluate(net, batches):
    conf = torch.zeros(3, 3, dtype=torch.long)
    net.eval()
    with torch.no_grad():
        for x, y in batches:
            p = net(x).argmax(1)
            if FLAGS["gpu"]:
                p, y = p.cpu(), y.cpu()
            conf += torch.bincount(y * 3 + p, minlength=9).view(3, 3)
    net.train()
    return conf.diag().sum() / conf.sum()


net = maybe(Net())
opt = torch.optim.Adam(net.parameters())
weight = torch.tensor([1.0, 1.0, 2.0])
if FLAGS["gpu"]:
    weight = weight.cuda()
scaler = torch.amp.GradScaler("cuda", enabled=FLAGS["amp"] and FLAGS["gpu"])
for step, (x, y) in enumerate(loader(6)):
    with torch.autocast("cuda" if FLAGS["gpu"] else "cpu", enabled=FLAGS["amp"]):
        loss = nn.functional.cross_entropy(net(x), y, weight)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    if step % FLAGS["log_every"] == 0:
        print(step, loss.item(), evaluate(net, loader(2)).item())

import torch
from torch import nn
from itertools import islice


def source():
    i = 0
    while True:
        yield torch.full((3,), float(i))
        i += 1


def batched(it, n):
    it = iter(it)
    while True:
        chunk = list(islice(it, n))
        if not chunk:
            return
        yield torch.stack(chunk)


def on(device, it):
    for x in it:
        yield x.to(device)


def back(it):
    for x in it:
        yield x.cpu()


def apply(f, it):
    with torch.no_grad():
        for x in it:
            yield f(x)


device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Linear(3, 2).to(device)
offset = torch.tensor([1., -1.])
pipe = back(apply(net, on(device, batched(islice(source(), 7), 3))))
outs = [y + offset for y in pipe]
print(torch.cat(outs).shape, torch.cat(outs).numpy().sum())

import torch
from torch import nn
from torch.nn.functional import cross_entropy

gpus = [f"cuda:{i}" for i in range(torch.cuda.device_count())] or ["cpu"]
main = gpus[0]
master = nn.Linear(4, 3).to(main)
opt = torch.optim.SGD(master.parameters(), 0.1)


def replicate():
    out = []
    for g in gpus:
        r = nn.Linear(4, 3).to(g)
        r.load_state_dict(master.state_dict())
        out.append(r)
    return out


for step in range(2):
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    replicas = replicate()
    losses = []
    for r, g, xs, ys in zip(replicas, gpus, x.chunk(len(gpus)), y.chunk(len(gpus))):
        loss = cross_entropy(r(xs.to(g)), ys.to(g))
        loss.backward()
        losses.append(loss.detach().to(main))
    for i, p in enumerate(master.parameters()):
        p.grad = torch.stack([list(r.parameters())[i].grad.to(main) for r in replicas]).mean(0)
    opt.step()
    print(torch.stack(losses).mean().item())

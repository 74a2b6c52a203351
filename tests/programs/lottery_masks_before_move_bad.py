import copy
import torch
from torch import nn


class Masks:
    def __init__(self, net):
        self.m = {n: torch.ones_like(p) for n, p in net.named_parameters() if p.dim() > 1}

    def apply(self, net):
        with torch.no_grad():
            for n, p in net.named_parameters():
                if n in self.m:
                    p.mul_(self.m[n])  # FAIL

    def hook(self, net):
        return [p.register_hook(lambda g, n=n: g * self.m[n]) for n, p in net.named_parameters() if n in self.m]

    def prune(self, net, frac):
        alive = torch.cat([p.detach().abs()[self.m[n].bool()] for n, p in net.named_parameters() if n in self.m])
        cut = alive.kthvalue(max(1, int(frac * len(alive)))).values
        for n, p in net.named_parameters():
            if n in self.m:
                self.m[n] = self.m[n] * (p.detach().abs() > cut)

    @property
    def sparsity(self):
        total = sum(m.numel() for m in self.m.values())
        return 1 - sum(m.sum().item() for m in self.m.values()) / total


def saliency(net, x, y):
    net.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    return {n: (p * p.grad).abs().sum().item() for n, p in net.named_parameters()}


def train(net, masks, batches, opt):
    for x, y in batches:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        masks.apply(net)
    return loss.item()


def fisher(net, batches):
    out = {n: torch.zeros_like(p) for n, p in net.named_parameters()}
    for x, y in batches:
        for xi, yi in zip(x, y):
            net.zero_grad()
            nn.functional.cross_entropy(net(xi[None]), yi[None]).backward()
            for n, p in net.named_parameters():
                out[n] += p.grad.detach() ** 2
    return out


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    ticket = copy.deepcopy(net.state_dict())
    masks = Masks(net)  # CAUSE
    net.to(device)
    hooks = masks.hook(net)
    x = torch.randn(30, 6)
    y = x[:, :3].argmax(1)
    batches = [(a.to(device), b.to(device)) for a, b in zip(x.split(10), y.split(10))]
    for rnd in range(3):
        net.load_state_dict(ticket)
        masks.apply(net)
        opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        loss = train(net, masks, batches, opt)
        masks.prune(net, 0.3)
        print(rnd, loss, round(masks.sparsity, 3))
    for h in hooks:
        h.remove()
    f = fisher(net, batches[:1])
    anchor = {n: p.detach().clone() for n, p in net.named_parameters()}
    ewc = sum((f[n] * (p - anchor[n]) ** 2).sum() for n, p in net.named_parameters())
    print(ewc.item(), saliency(net, *batches[0]).keys())
    torch.save if False else None
    sparse = {n: p.detach().cpu().to_sparse() for n, p in net.named_parameters() if n in masks.m}
    print({n: s._nnz() for n, s in sparse.items()})


main()

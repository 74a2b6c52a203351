"""Mixup training with soft labels."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(0)


def mixup(x, y, n_classes, alpha=0.4):
    """Mixes every sample with another one and its label with the other label."""
    lam = torch.from_numpy(rng.beta(alpha, alpha, size=len(x)).astype("float32")).to(x.device)
    perm = torch.randperm(len(x))
    onehot = F.one_hot(y, n_classes).float()
    w = lam.view(-1, 1)
    x_mix = w * x + (1 - w) * x[perm]
    y_mix = w * onehot + (1 - w) * onehot[perm]
    return x_mix, y_mix


def soft_ce(logits, target):
    return -(target * logits.log_softmax(dim=-1)).sum(dim=-1).mean()


def one_epoch(net, opt, xs, ys, device, bs=16):
    net.train()
    losses = []
    for idx in torch.randperm(len(xs)).split(bs):
        x = xs[idx].to(device)
        y = ys[idx].to(device)
        x, y = mixup(x, y, 3)
        loss = soft_ce(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean().item()


@torch.no_grad()
def accuracy(net, xs, ys, device):
    net.eval()
    return (net(xs.to(device)).argmax(-1).cpu() == ys).float().mean().item()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    xs = torch.randn(96, 5)
    ys = xs[:, :3].argmax(-1)
    net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3)).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, nesterov=True, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 3)
    for epoch in range(3):
        loss = one_epoch(net, opt, xs, ys, device)
        sched.step()
        print(f"{epoch}: loss {loss:.3f} acc {accuracy(net, xs, ys, device):.3f} lr {sched.get_last_lr()[0]:.3f}")


if __name__ == "__main__":
    main()

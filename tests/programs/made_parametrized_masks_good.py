import torch
import torch.nn as nn
import torch.nn.utils.parametrize as P
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).T


class Masked(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, w):
        return w * self.mask


class Scale(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.g = nn.Parameter(torch.ones(n, 1))

    def forward(self, w):
        return self.g * w / w.norm(dim=1, keepdim=True).clamp_min(1e-6)

    def right_inverse(self, w):
        with torch.no_grad():
            self.g.copy_(w.norm(dim=1, keepdim=True))
        return w


def made_masks(d, h):
    inp = torch.arange(1, d + 1)
    hid = torch.arange(h) % (d - 1) + 1
    return (hid[:, None] >= inp[None]).float(), (inp[:, None] > hid[None]).float()


class MADE(nn.Module):
    def __init__(self, d=5, h=20):
        super().__init__()
        m1, m2 = made_masks(d, h)
        self.l1, self.l2 = nn.Linear(d, h), nn.Linear(h, d)
        P.register_parametrization(self.l1, "weight", Masked(m1))
        P.register_parametrization(self.l2, "weight", Masked(m2))

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x)))


def critic():
    return nn.Sequential(spectral_norm(nn.Linear(5, 16)), nn.LeakyReLU(0.2), weight_norm(nn.Linear(16, 16)), nn.LeakyReLU(0.2), nn.Linear(16, 1))


if __name__ == "__main__":
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    made = MADE().to(dev)
    quad = nn.Linear(5, 5, bias=False)
    P.register_parametrization(quad, "weight", Symmetric())
    rot = orthogonal(nn.Linear(5, 5, bias=False))
    quad, rot = quad.to(dev), rot.to(dev)
    disc = critic()
    P.register_parametrization(disc[4], "weight", Scale(1))
    disc = disc.to(dev)
    groups = [p for m in (made, quad, rot, disc) for p in m.parameters()]
    opt = torch.optim.Adam(groups, lr=1e-2)
    for _ in range(5):
        x = (torch.rand(32, 5, device=dev) > 0.5).float()
        nll = nn.functional.binary_cross_entropy_with_logits(made(x), x)
        energy = (x * quad(rot(x))).sum(1).mean()
        loss = nll + 0.01 * energy ** 2 - 0.1 * disc(rot(x)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    w = quad.weight.detach()
    eye = torch.eye(5, device=dev)
    print(loss.item(), torch.equal(w, w.T), (rot.weight @ rot.weight.T - eye).abs().max().item() < 1e-4)
    P.remove_parametrizations(quad, "weight")
    print(P.is_parametrized(quad), quad.weight.shape)

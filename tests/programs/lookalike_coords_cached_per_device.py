"""Grids are cached per device and size."""
import functools
import torch
import torch.nn.functional as F
from torch import nn

_CACHE = {}


def grid(h, w, device):
    key = (h, w, str(device))
    if key not in _CACHE:
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        _CACHE[key] = torch.stack([xs, ys], -1).to(device)
    return _CACHE[key]


@functools.lru_cache(maxsize=None)
def kernel(size, sigma, device):
    x = torch.arange(size, device=device) - size // 2
    g = torch.exp(-x.float() ** 2 / (2 * sigma ** 2))
    return (g / g.sum()).view(1, 1, 1, -1)


def blur(img, size=3, sigma=1.0):
    k = kernel(size, sigma, img.device)
    return F.conv2d(F.conv2d(img, k, padding=(0, size // 2)), k.transpose(2, 3), padding=(size // 2, 0))


class FlowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, a, b):
        flow = self.c(torch.cat([a, b], 1)).permute(0, 2, 3, 1).tanh() * 0.1
        g = grid(*a.shape[-2:], a.device) + flow
        return F.grid_sample(b, g, align_corners=True)


net = FlowNet()
img = torch.rand(2, 1, 6, 6)
print("host", F.l1_loss(net(img, img.flip(-1)), blur(img)).item())
if torch.cuda.is_available():
    net.cuda()
    img = img.cuda()
print("dev", F.l1_loss(net(img, img.flip(-1)), blur(img)).item())

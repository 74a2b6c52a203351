import math

import torch
from torch import nn
import torch.nn.functional as F


def inverse_sigmoid(x):
    return torch.log(x / (1 - x))


def build_rotation(r):
    norm = torch.sqrt(r[:, 0] * r[:, 0] + r[:, 1] * r[:, 1] + r[:, 2] * r[:, 2] + r[:, 3] * r[:, 3])
    q = r / norm[:, None]
    R = torch.zeros((q.size(0), 3, 3), device=r.device)
    r, x, y, z = q.unbind(-1)
    R[:, 0, 0] = 1 - 2 * (y * y + z * z)
    R[:, 0, 1] = 2 * (x * y - r * z)
    R[:, 0, 2] = 2 * (x * z + r * y)
    R[:, 1, 0] = 2 * (x * y + r * z)
    R[:, 1, 1] = 1 - 2 * (x * x + z * z)
    R[:, 1, 2] = 2 * (y * z - r * x)
    R[:, 2, 0] = 2 * (x * z - r * y)
    R[:, 2, 1] = 2 * (y * z + r * x)
    R[:, 2, 2] = 1 - 2 * (x * x + y * y)
    return R


def build_scaling_rotation(s, r):
    L = torch.zeros((s.shape[0], 3, 3), dtype=torch.float)  # CAUSE
    R = build_rotation(r)
    L[:, 0, 0] = s[:, 0]
    L[:, 1, 1] = s[:, 1]
    L[:, 2, 2] = s[:, 2]
    L = R @ L  # FAIL
    return L


class GaussianModel:
    def setup_functions(self):
        def build_covariance(scaling, modifier, rotation):
            L = build_scaling_rotation(modifier * scaling, rotation)
            return L @ L.transpose(1, 2)

        self.scaling_activation = torch.exp
        self.opacity_activation = torch.sigmoid
        self.rotation_activation = F.normalize
        self.covariance_activation = build_covariance

    def __init__(self):
        self._xyz = torch.empty(0)
        self._rgb = torch.empty(0)
        self._scaling = torch.empty(0)
        self._rotation = torch.empty(0)
        self._opacity = torch.empty(0)
        self.optimizer = None
        self.setup_functions()

    @property
    def get_covariance(self):
        return self.covariance_activation(self.scaling_activation(self._scaling), 1.0, self._rotation)

    def create_from_points(self, points, colors, device):
        n = points.shape[0]
        xyz = points.to(device)
        dist = torch.cdist(xyz, xyz).topk(2, largest=False).values[:, 1].clamp_min(1e-4)
        rots = torch.zeros((n, 4), device=device)
        rots[:, 0] = 1
        self._xyz = nn.Parameter(xyz.requires_grad_(True))
        self._rgb = nn.Parameter(inverse_sigmoid(colors.to(device).clamp(0.01, 0.99)))
        self._scaling = nn.Parameter(torch.log(dist)[..., None].repeat(1, 3))
        self._rotation = nn.Parameter(rots)
        self._opacity = nn.Parameter(inverse_sigmoid(0.5 * torch.ones((n, 1), device=device)))

    def training_setup(self, lr):
        groups = [
            {"params": [self._xyz], "lr": lr, "name": "xyz"},
            {"params": [self._rgb], "lr": 10 * lr, "name": "rgb"},
            {"params": [self._scaling], "lr": lr, "name": "scaling"},
            {"params": [self._rotation], "lr": lr, "name": "rotation"},
            {"params": [self._opacity], "lr": 5 * lr, "name": "opacity"},
        ]
        self.optimizer = torch.optim.Adam(groups, lr=0.0, eps=1e-15)


def render(pc, size, focal=1.0):
    """Orthographic, all of the splats at all of the pixels: for toys only."""
    device = pc._xyz.device
    g = torch.linspace(-1, 1, size, device=device)
    pix = torch.stack(torch.meshgrid(g, g, indexing="xy"), -1).view(-1, 2)
    cov = pc.get_covariance[:, :2, :2] * focal**2 + 0.02 * torch.eye(2, device=device)
    d = pix[None] - pc._xyz[:, None, :2]
    power = -0.5 * torch.einsum("npi,nij,npj->np", d, torch.linalg.inv(cov), d)
    alpha = pc.opacity_activation(pc._opacity) * power.exp()
    order = pc._xyz[:, 2].argsort()
    alpha = alpha[order].clamp(max=0.99)
    T = torch.cumprod(torch.cat([torch.ones_like(alpha[:1]), 1 - alpha[:-1]]), 0)
    image = torch.einsum("np,nc->cp", alpha * T, pc._rgb.sigmoid()[order])
    return image.view(3, size, size)


def psnr(a, b):
    return 20 * math.log10(1.0 / math.sqrt(F.mse_loss(a, b).item()))


def training(iterations, device):
    torch.manual_seed(0)
    target = torch.zeros(3, 12, 12, device=device)
    target[0, 2:8, 3:9] = 1.0
    gaussians = GaussianModel()
    gaussians.create_from_points(torch.rand(20, 3) * 2 - 1, torch.rand(20, 3), device)
    gaussians.training_setup(5e-3)
    for it in range(iterations):
        image = render(gaussians, 12)
        loss = (image - target).abs().mean()
        loss.backward()
        gaussians.optimizer.step()
        gaussians.optimizer.zero_grad(set_to_none=True)
        print(it, loss.item(), psnr(image.detach(), target))


training(3, torch.device("cuda" if torch.cuda.is_available() else "cpu"))

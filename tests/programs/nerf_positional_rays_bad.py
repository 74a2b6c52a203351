import numpy as np
import torch
import torch.nn as nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def positional_encoding(x, L=4):
    rets = [x]
    for i in range(L):
        for fn in [torch.sin, torch.cos]:
            rets.append(fn(2.0**i * x))
    return torch.cat(rets, -1)


def get_rays(height, width, focal, c2w):
    i, j = torch.meshgrid(torch.arange(width, dtype=torch.float32), torch.arange(height, dtype=torch.float32), indexing="xy")
    dirs = torch.stack([(i - width * 0.5) / focal, -(j - height * 0.5) / focal, -torch.ones_like(i)], dim=-1)
    rays_d = torch.sum(dirs[..., None, :] * c2w[:3, :3], dim=-1)  # FAIL
    return c2w[:3, -1].expand(rays_d.shape), rays_d


class VeryTinyNerf(torch.nn.Module):
    def __init__(self, filter_size=16, L=4):
        super().__init__()
        self.layer1 = nn.Linear(3 + 3 * 2 * L, filter_size)
        self.layer3 = nn.Linear(filter_size, 4)

    def forward(self, x):
        return self.layer3(torch.relu(self.layer1(x)))


def render(model, c2w, n_samples=3):
    o, d = get_rays(4, 4, 5.0, c2w)  # CALL
    t = torch.linspace(2.0, 6.0, n_samples).to(o)
    pts = o[..., None, :] + d[..., None, :] * t[:, None]
    raw = model(positional_encoding(pts.reshape(-1, 3))).reshape(*pts.shape[:-1], 4)
    w = torch.softmax(raw[..., 3], -1)
    return (w[..., None] * torch.sigmoid(raw[..., :3])).sum(-2)


pose = torch.from_numpy(np.eye(4, dtype=np.float32)).to(device)
nerf = VeryTinyNerf().to(device)
target = torch.rand(4, 4, 3).to(device)
loss = torch.nn.functional.mse_loss(render(nerf, pose), target)  # CALL
loss.backward()
print("psnr")

import torch
import numpy as np
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

def meshgrid_xy(a, b):
    ii, jj = torch.meshgrid(a, b, indexing="ij")
    return ii.transpose(-1, -2), jj.transpose(-1, -2)

def cumprod_exclusive(tensor):
    cumprod = torch.cumprod(tensor, -1)
    cumprod = torch.roll(cumprod, 1, -1)
    cumprod[..., 0] = 1.
    return cumprod

def get_ray_bundle(height, width, focal_length, tform_cam2world):
    ii, jj = meshgrid_xy(
        torch.arange(width).to(tform_cam2world),
        torch.arange(height).to(tform_cam2world))
    directions = torch.stack([(ii - width * .5) / focal_length,
                              -(jj - height * .5) / focal_length,
                              -torch.ones_like(ii)], dim=-1)
    ray_directions = torch.sum(directions[..., None, :] * tform_cam2world[:3, :3], dim=-1)
    ray_origins = tform_cam2world[:3, -1].expand(ray_directions.shape)
    return ray_origins, ray_directions

def compute_query_points(ray_o, ray_d, near, far, n, randomize=True):
    depth_values = torch.linspace(near, far, n).to(ray_o)
    if randomize:
        noise_shape = list(ray_o.shape[:-1]) + [n]
        depth_values = depth_values + torch.rand(noise_shape).to(ray_o) * (far - near) / n
    return ray_o[..., None, :] + ray_d[..., None, :] * depth_values[..., :, None], depth_values

def render_volume_density(field, depth_values):
    sigma = torch.nn.functional.relu(field[..., 3])
    rgb = torch.sigmoid(field[..., :3])
    one_e_10 = torch.tensor([1e10], dtype=sigma.dtype)  # CAUSE
    dists = torch.cat((depth_values[..., 1:] - depth_values[..., :-1],  # FAIL
                       one_e_10.expand(depth_values[..., :1].shape)), dim=-1)
    alpha = 1. - torch.exp(-sigma * dists)
    weights = alpha * cumprod_exclusive(1. - alpha + 1e-10)
    return (weights[..., None] * rgb).sum(-2), (weights * depth_values).sum(-1)

def positional_encoding(x, L=3):
    enc = [x]
    freqs = 2.0 ** torch.linspace(0., L - 1, L, dtype=x.dtype, device=x.device)
    for f in freqs:
        for fn in (torch.sin, torch.cos):
            enc.append(fn(x * f))
    return torch.cat(enc, dim=-1)

class VeryTinyNerf(torch.nn.Module):
    def __init__(self, d=32, L=3):
        super().__init__()
        self.l1 = torch.nn.Linear(3 + 3 * 2 * L, d)
        self.l2 = torch.nn.Linear(d, 4)
    def forward(self, x):
        return self.l2(torch.relu(self.l1(x)))

def minibatches(t, chunksize=256):
    return [t[i:i + chunksize] for i in range(0, t.shape[0], chunksize)]

images = torch.from_numpy(np.random.rand(4, 6, 6, 3).astype(np.float32)).to(device)
poses = torch.from_numpy(np.tile(np.eye(4, dtype=np.float32), (4, 1, 1))).to(device)
focal = torch.tensor(5.).to(device)

model = VeryTinyNerf()
model.to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
psnrs = []
for i in range(3):
    k = np.random.randint(4)
    ro, rd = get_ray_bundle(6, 6, focal, poses[k])
    pts, depth = compute_query_points(ro, rd, 2., 6., 8)
    flat = positional_encoding(pts.reshape(-1, 3))
    field = torch.cat([model(b) for b in minibatches(flat)], 0).reshape(list(pts.shape[:-1]) + [4])
    rgb, dep = render_volume_density(field, depth)
    loss = torch.nn.functional.mse_loss(rgb, images[k])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    psnrs.append(-10. * torch.log10(loss).item())
print(psnrs)

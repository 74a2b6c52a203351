import torch
import torch.nn as nn
import numpy as np


class Embedder:
    """Positional encoding, as in the NeRF paper."""

    def __init__(self, num_freqs, include_input=True):
        self.fns = []
        if include_input:
            self.fns.append(lambda x: x)
        for freq in 2.0 ** torch.linspace(0, num_freqs - 1, num_freqs):
            for fn in (torch.sin, torch.cos):
                self.fns.append(lambda x, fn=fn, freq=freq: fn(x * freq))
        self.out_dim = 3 * len(self.fns)

    def embed(self, x):
        return torch.cat([fn(x) for fn in self.fns], -1)


class NeRF(nn.Module):
    def __init__(self, d_in, width=16):
        super().__init__()
        self.pts = nn.ModuleList([nn.Linear(d_in, width), nn.Linear(width, width)])
        self.sigma = nn.Linear(width, 1)
        self.rgb = nn.Linear(width, 3)

    def forward(self, x):
        for l in self.pts:
            x = l(x).relu()
        return torch.cat([self.rgb(x), self.sigma(x)], -1)


def get_rays(H, W, focal, c2w):
    i, j = torch.meshgrid(torch.linspace(0, W - 1, W), torch.linspace(0, H - 1, H), indexing="ij")
    i, j = i.t().to(c2w.device), j.t().to(c2w.device)
    dirs = torch.stack([(i - W * .5) / focal, -(j - H * .5) / focal, -torch.ones_like(i)], -1)
    rays_d = torch.sum(dirs[..., None, :] * c2w[:3, :3], -1)
    rays_o = c2w[:3, -1].expand(rays_d.shape)
    return rays_o, rays_d


def raw2outputs(raw, z_vals, rays_d, noise_std=0.0):
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = torch.cat([dists, torch.tensor([1e10], device=raw.device).expand(dists[..., :1].shape)], -1)
    dists = dists * torch.norm(rays_d[..., None, :], dim=-1)
    rgb = torch.sigmoid(raw[..., :3])
    noise = 0.
    if noise_std > 0.:
        noise = torch.randn(raw[..., 3].shape, device=raw.device) * noise_std
    alpha = 1. - torch.exp(-torch.relu(raw[..., 3] + noise) * dists)
    ones = torch.ones((alpha.shape[0], 1), device=raw.device)
    weights = alpha * torch.cumprod(torch.cat([ones, 1. - alpha + 1e-10], -1), -1)[:, :-1]
    return torch.sum(weights[..., None] * rgb, -2), weights


def sample_pdf(bins, weights, n, det=False):
    weights = weights + 1e-5
    pdf = weights / torch.sum(weights, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    if det:
        u = torch.linspace(0., 1., steps=n, device=cdf.device).expand(list(cdf.shape[:-1]) + [n])
    else:
        u = torch.rand(list(cdf.shape[:-1]) + [n], device=cdf.device)
    u = u.contiguous()
    inds = torch.searchsorted(cdf, u, right=True)
    below = torch.max(torch.zeros_like(inds - 1), inds - 1)
    above = torch.min((cdf.shape[-1] - 1) * torch.ones_like(inds), inds)
    cdf_b, cdf_a = torch.gather(cdf, 1, below), torch.gather(cdf, 1, above)
    bins_b, bins_a = torch.gather(bins, 1, below), torch.gather(bins, 1, above)
    denom = cdf_a - cdf_b
    denom = torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    return bins_b + (u - cdf_b) / denom * (bins_a - bins_b)


def render_rays(rays_o, rays_d, coarse, fine, embed, near=2., far=6., n=8, n_fine=4, perturb=True):
    t = torch.linspace(0., 1., steps=n, device=rays_o.device)
    z_vals = near * (1. - t) + far * t
    z_vals = z_vals.expand([rays_o.shape[0], n])
    if perturb:
        mids = .5 * (z_vals[..., 1:] + z_vals[..., :-1])
        upper = torch.cat([mids, z_vals[..., -1:]], -1)
        lower = torch.cat([z_vals[..., :1], mids], -1)
        z_vals = lower + (upper - lower) * torch.rand_like(z_vals)
    pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
    rgb0, weights = raw2outputs(coarse(embed(pts)), z_vals, rays_d)
    z_mid = .5 * (z_vals[..., 1:] + z_vals[..., :-1])
    z_samples = sample_pdf(z_mid, weights[..., 1:-1], n_fine, det=not perturb).detach()
    z_vals, _ = torch.sort(torch.cat([z_vals, z_samples], -1), -1)
    pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
    rgb, _ = raw2outputs(fine(embed(pts)), z_vals, rays_d)
    return rgb, rgb0


def train(device):
    H = W = 4
    poses = torch.eye(4)[:3].repeat(2, 1, 1)
    images = np.random.rand(2, H, W, 3).astype(np.float32)
    emb = Embedder(3)
    coarse, fine = NeRF(emb.out_dim).to(device), NeRF(emb.out_dim).to(device)
    params = [*coarse.parameters(), *fine.parameters()]
    opt = torch.optim.Adam(params, 5e-4)
    for it in range(2):
        k = np.random.choice(2)
        target = torch.Tensor(images[k]).to(device)
        rays_o, rays_d = get_rays(H, W, 3.0, poses[k].to(device))
        sel = np.random.choice(H * W, 6, replace=False)
        ro, rd, ts = (x.reshape(-1, 3)[sel] for x in (rays_o, rays_d, target))
        rgb, rgb0 = render_rays(ro, rd, coarse, fine, emb.embed)
        loss = ((rgb - ts) ** 2).mean() + ((rgb0 - ts) ** 2).mean()
        psnr = -10. * torch.log(loss) / torch.log(torch.Tensor([10.]).to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return psnr.item()


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    print(train(torch.device("cuda" if torch.cuda.is_available() else "cpu")) > -100)

import torch
import torch.nn as nn


class GaussianFourierProjection(nn.Module):
    def __init__(self, embed_dim, scale=30.0):
        super().__init__()
        self.W = nn.Parameter(torch.randn(embed_dim // 2) * scale, requires_grad=False)

    def forward(self, x):
        x_proj = x[:, None] * self.W[None, :] * 2 * 3.14159
        return torch.cat([torch.sin(x_proj), torch.cos(x_proj)], dim=-1)


class ScoreNet(nn.Module):
    def __init__(self, std):
        super().__init__()
        self.embed = nn.Sequential(GaussianFourierProjection(8), nn.Linear(8, 8))
        self.net = nn.Sequential(nn.Linear(2 + 8, 16), nn.SiLU(), nn.Linear(16, 2))
        self.std = std

    def forward(self, x, t):
        h = self.net(torch.cat([x, self.embed(t)], -1))
        return h / self.std(t)[:, None]


def marginal_prob_std(t, sigma):
    return torch.sqrt((sigma ** (2 * t) - 1.0) / 2.0 / 3.2188)


def loss_fn(model, x, eps=1e-5):
    random_t = torch.rand(x.shape[0], device=x.device) * (1.0 - eps) + eps
    z = torch.randn_like(x)
    std = marginal_prob_std(random_t, 25.0)
    perturbed = x + z * std[:, None]
    score = model(perturbed, random_t)
    return torch.mean(torch.sum((score * std[:, None] + z) ** 2, dim=1))


def euler_sampler(model, n, steps, device):
    t = torch.ones(n, device=device)
    x = torch.randn(n, 2, device=device) * marginal_prob_std(t, 25.0)[:, None]
    time_steps = torch.linspace(1.0, 1e-3, steps, device=device)
    step_size = time_steps[0] - time_steps[1]
    with torch.no_grad():
        for ts in time_steps:
            batch_t = torch.ones(n) * ts  # FAIL
            g = 25.0**ts
            x = x + (g**2) * model(x, batch_t) * step_size
    return x


dev = "cuda" if torch.cuda.is_available() else "cpu"
score_model = ScoreNet(lambda t: marginal_prob_std(t, 25.0)).to(dev)
loss_fn(score_model, torch.randn(6, 2).to(dev)).backward()
print(euler_sampler(score_model, 3, 4, dev).shape)  # CALL

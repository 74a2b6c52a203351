import torch
import torch.nn.functional as F
from torch import nn


def linear_beta_schedule(timesteps, start=0.0001, end=0.02):
    return torch.linspace(start, end, timesteps)


def get_index_from_list(vals, t, x_shape):
    batch_size = t.shape[0]
    out = vals.gather(-1, t.cpu())
    return out.reshape(batch_size, *((1,) * (len(x_shape) - 1))).to(t.device)


def forward_diffusion_sample(x_0, t, device="cpu"):
    noise = torch.randn_like(x_0)
    a = get_index_from_list(sqrt_alphas_cumprod, t, x_0.shape)
    b = get_index_from_list(sqrt_one_minus_alphas_cumprod, t, x_0.shape)
    return a * x_0.to(device) + b * noise.to(device), noise.to(device)


T = 20
betas = linear_beta_schedule(timesteps=T)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, axis=0)
sqrt_alphas_cumprod = torch.sqrt(alphas_cumprod)
sqrt_one_minus_alphas_cumprod = torch.sqrt(1.0 - alphas_cumprod)


class SimpleUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(1, 3)
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x, t):
        return self.conv(x + self.time(t[:, None].float())[..., None, None])


device = "cuda" if torch.cuda.is_available() else "cpu"
model = SimpleUnet()
model.to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
for step in range(2):
    optimizer.zero_grad()
    images = torch.rand(4, 3, 8, 8).to(device)
    t = torch.randint(0, T, (4,), device=device).long()
    x_noisy, noise = forward_diffusion_sample(images, t, device)
    loss = F.l1_loss(noise, model(x_noisy, t))
    loss.backward()
    optimizer.step()
print("Epoch done")

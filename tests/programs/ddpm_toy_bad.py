"""Denoising diffusion on a two-dimensional toy distribution."""
import torch
import torch.nn as nn


def linear_schedule(T, start=1e-4, end=2e-2):
    return torch.linspace(start, end, T)


class TimeMLP(nn.Module):
    def __init__(self, T, width=32):
        super().__init__()
        self.t_emb = nn.Embedding(T, width)
        self.inp = nn.Linear(2, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x, t):
        h = self.inp(x) + self.t_emb(t)
        return self.out(torch.relu(self.mid(torch.relu(h))))


class Diffusion:
    def __init__(self, T=50, device="cpu"):
        self.T = T
        self.device = device
        self.betas = linear_schedule(T)  # CAUSE
        self.alphas = 1.0 - self.betas
        self.alpha_hat = torch.cumprod(self.alphas, dim=0)

    def sample_timesteps(self, n):
        return torch.randint(1, self.T, (n,), device=self.device)

    def noise_images(self, x, t):
        sqrt_a = torch.sqrt(self.alpha_hat[t])[:, None]  # FAIL
        sqrt_1ma = torch.sqrt(1 - self.alpha_hat[t])[:, None]
        noise = torch.randn_like(x)
        return sqrt_a * x + sqrt_1ma * noise, noise

    @torch.no_grad()
    def sample(self, model, n):
        model.eval()
        x = torch.randn(n, 2, device=self.device)
        for i in reversed(range(1, self.T)):
            t = torch.full((n,), i, device=self.device)
            pred = model(x, t)
            a, a_hat, b = self.alphas[t][:, None], self.alpha_hat[t][:, None], self.betas[t][:, None]
            noise = torch.randn_like(x) if i > 1 else torch.zeros_like(x)
            x = 1 / torch.sqrt(a) * (x - (1 - a) / torch.sqrt(1 - a_hat) * pred) + torch.sqrt(b) * noise
        model.train()
        return x


def main():
    torch.manual_seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    diffusion = Diffusion(device=device)
    model = TimeMLP(diffusion.T).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    mse = nn.MSELoss()
    for step in range(5):
        centres = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])[torch.randint(2, (64,))]
        x0 = (centres + 0.05 * torch.randn(64, 2)).to(device)
        t = diffusion.sample_timesteps(x0.shape[0])
        x_t, noise = diffusion.noise_images(x0, t)
        loss = mse(model(x_t, t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, round(loss.item(), 4))
    print(diffusion.sample(model, 3).cpu())


if __name__ == "__main__":
    main()

import numpy as np
import torch
from torch import autograd, nn

DEFAULTS = dict(z_dim=4, hidden=24, n_critic=2, gp_weight=10.0, lr=1e-3, batch=32, steps=4)


def device_map():
    if not torch.cuda.is_available():
        return {"generator": "cpu", "critic": "cpu"}
    return {"generator": "cuda:0", "critic": f"cuda:{torch.cuda.device_count() - 1}"}


def mlp(sizes, act=nn.LeakyReLU):
    mods = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        mods.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            mods.append(act(0.2))
    return nn.Sequential(*mods)


def ring_of_gaussians(rng, n, modes=8):
    k = rng.integers(0, modes, n)
    angle = 2 * np.pi * k / modes
    xy = np.stack([np.cos(angle), np.sin(angle)], 1) + 0.05 * rng.normal(size=(n, 2))
    return torch.tensor(xy, dtype=torch.float32)


class WGAN:
    def __init__(self, **overrides):
        self.hp = {**DEFAULTS, **overrides}
        where = device_map()
        self.g_device, self.c_device = where["generator"], where["critic"]
        self.generator = mlp([self.hp["z_dim"], self.hp["hidden"], 2]).to(self.g_device)
        self.critic = mlp([2, self.hp["hidden"], self.hp["hidden"], 1]).to(self.c_device)
        self.g_opt = torch.optim.Adam(self.generator.parameters(), lr=self.hp["lr"], betas=(0.0, 0.9))
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=self.hp["lr"], betas=(0.0, 0.9))
        self.rng = np.random.default_rng(0)

    def fake(self, n):
        z = torch.randn(n, self.hp["z_dim"], device=self.g_device)
        return self.generator(z)

    def gradient_penalty(self, real, fake):
        mix = torch.rand(len(real), 1, device=self.c_device)
        inter = (mix * real + (1 - mix) * fake).requires_grad_(True)
        score = self.critic(inter).sum()
        (grad,) = autograd.grad(score, inter, create_graph=True)
        return (grad.norm(2, dim=1) - 1).square().mean()

    def critic_step(self):
        n = self.hp["batch"]
        real = ring_of_gaussians(self.rng, n).to(self.c_device)
        with torch.no_grad():
            fake = self.fake(n).to(self.c_device)
        wasserstein = self.critic(real).mean() - self.critic(fake).mean()
        loss = -wasserstein + self.hp["gp_weight"] * self.gradient_penalty(real, fake)
        self.c_opt.zero_grad()
        loss.backward()
        self.c_opt.step()
        return wasserstein.item()

    def generator_step(self):
        fake = self.fake(self.hp["batch"])  # CAUSE
        loss = -self.critic(fake).mean()  # CAUSE FAIL
        self.g_opt.zero_grad()
        loss.backward()
        self.g_opt.step()
        return loss.item()

    def fit(self):
        for step in range(self.hp["steps"]):
            w = [self.critic_step() for _ in range(self.hp["n_critic"])]
            yield step, sum(w) / len(w), self.generator_step()


def main():
    torch.manual_seed(0)
    gan = WGAN(hidden=16)
    for step, w, g in gan.fit():
        print(f"{step}: wasserstein {w:+.4f} generator {g:+.4f}")
    with torch.no_grad():
        radius = gan.fake(64).norm(dim=1).mean()
    print("mean radius", round(radius.item(), 3))


if __name__ == "__main__":
    main()

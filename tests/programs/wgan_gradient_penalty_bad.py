"""WGAN-GP on a mixture of Gaussians."""
import torch
import torch.nn as nn
from torch.autograd import grad

LAMBDA = 10
N_CRITIC = 2


def sample_real(n, device):
    centers = torch.tensor([(1., 0.), (-1., 0.), (0., 1.), (0., -1.)], device=device)
    pick = torch.randint(len(centers), (n,), device=device)
    return centers[pick] + 0.02 * torch.randn(n, 2, device=device)


def make_net(sizes):
    mods = []
    for i, o in zip(sizes[:-2], sizes[1:-1]):
        mods.extend([nn.Linear(i, o), nn.ReLU(True)])
    mods.append(nn.Linear(sizes[-2], sizes[-1]))
    return nn.Sequential(*mods)


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)  # CAUSE
    alpha = alpha.expand(real.size())
    interpolates = alpha * real.detach() + (1 - alpha) * fake.detach()  # FAIL
    interpolates.requires_grad_(True)
    scores = critic(interpolates)
    gradients = grad(outputs=scores, inputs=interpolates, grad_outputs=torch.ones_like(scores),
                     create_graph=True, retain_graph=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def train(steps=3, batch=16):
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    G = make_net([2, 16, 2]).to(device)
    D = make_net([2, 16, 1]).to(device)
    optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0., .9))
    optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0., .9))
    for step in range(steps):
        for _ in range(N_CRITIC):
            real = sample_real(batch, device)
            fake = G(torch.randn(batch, 2, device=device))
            lossD = D(fake).mean() - D(real).mean() + gradient_penalty(D, real, fake)
            optD.zero_grad(); lossD.backward(); optD.step()
        lossG = -D(G(torch.randn(batch, 2, device=device))).mean()
        optG.zero_grad(); lossG.backward(); optG.step()
        print(f'{step:3d} D {lossD.item():8.3f} G {lossG.item():8.3f}')


if __name__ == '__main__':
    torch.manual_seed(0)
    train()

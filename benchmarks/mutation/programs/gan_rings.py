"""A GAN that learns points on a ring."""

import argparse
import math

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--nz", type=int, default=4, help="size of the latent vector")
parser.add_argument("--niter", type=int, default=12)
parser.add_argument("--batchSize", type=int, default=32)
parser.add_argument("--no-cuda", action="store_true")
opt = parser.parse_args()

torch.manual_seed(11)
device = torch.device("cuda:0" if torch.cuda.is_available() and not opt.no_cuda else "cpu")
real_label, fake_label = 1.0, 0.0


def real_points(n):
    angle = 2 * math.pi * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], dim=1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(opt.nz, 32), nn.ReLU(True), nn.Linear(32, 2))

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, points):
        return self.main(points).squeeze(1)


netG = Generator().to(device)
netD = Discriminator().to(device)
criterion = nn.BCEWithLogitsLoss()
fixed_noise = torch.randn(16, opt.nz, device=device)
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))

for it in range(opt.niter):
    # discriminator: maximise log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    real = real_points(opt.batchSize).to(device)
    label = torch.full((opt.batchSize,), real_label, dtype=real.dtype, device=device)
    errD_real = criterion(netD(real), label)
    errD_real.backward()
    noise = torch.randn(opt.batchSize, opt.nz, device=device)
    fake = netG(noise)
    label.fill_(fake_label)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    optimizerD.step()
    # generator: maximise log(D(G(z)))
    netG.zero_grad()
    errG = criterion(netD(fake), torch.ones_like(label))
    errG.backward()
    optimizerG.step()
    if it % 4 == 0:
        print(f"[{it}/{opt.niter}] finite: {math.isfinite((errD_real + errD_fake + errG).item())}")

with torch.no_grad():
    samples = netG(fixed_noise).detach().cpu().numpy()
print(samples.shape, bool((abs(samples) < 50).all()))

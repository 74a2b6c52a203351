"""A small GAN that learns to draw points on a circle."""
import math

import torch
import torch.nn as nn

# ---------------------------------------------------------------- settings
nz = 4
batch_size = 32
n_iters = 4
real_label, fake_label = 1., 0.
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


# ---------------------------------------------------------------- networks
class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.Linear(nz, 16),
            nn.BatchNorm1d(16),
            nn.ReLU(True),
            nn.Linear(16, 2),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Linear(2, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 1), nn.Sigmoid())

    def forward(self, input):
        return self.main(input).view(-1)


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight.data, 0.0, 0.2)


netG = Generator().to(device)
netG.apply(weights_init)
netD = Discriminator().to(device)
netD.apply(weights_init)

criterion = nn.BCELoss()
fixed_noise = torch.randn(8, nz, device=device)
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))

# ---------------------------------------------------------------- training
for it in range(n_iters):
    # (1) update D with real, then with fake
    netD.zero_grad()
    phi = torch.rand(batch_size) * 2 * math.pi
    real = torch.stack([phi.cos(), phi.sin()], 1).to(device)
    label = torch.full((batch_size,), real_label)  # CAUSE
    errD_real = criterion(netD(real), label)  # FAIL
    errD_real.backward()

    noise = torch.randn(batch_size, nz, device=device)
    fake = netG(noise)
    label.fill_(fake_label)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    optimizerD.step()

    # (2) update G
    netG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake), label)
    errG.backward()
    optimizerG.step()
    print('[%d/%d] Loss_D: %.4f Loss_G: %.4f' % (it, n_iters, (errD_real + errD_fake).item(), errG.item()))

with torch.no_grad():
    print(netG(fixed_noise).norm(dim=1).cpu())

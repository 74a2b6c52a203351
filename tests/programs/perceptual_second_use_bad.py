"""Super-resolution with a perceptual loss from a frozen feature network."""
import torch
from torch import nn
from torch.nn import functional as F


class FeatureNet(nn.Module):
    """Stands for the first layers of a pretrained network."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1))
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.features(x)  # FAIL


class Upscaler(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), nn.PReLU(), nn.Conv2d(c, 12, 3, padding=1))
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        return self.shuffle(self.net(x)) + F.interpolate(x, scale_factor=2)


def psnr(a, b):
    return -10 * torch.log10(F.mse_loss(a, b))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    netG = Upscaler().to(device)
    vgg = FeatureNet().to(device).eval()
    optim = torch.optim.Adam(netG.parameters(), lr=1e-3)

    for step in range(3):
        hr = torch.rand(2, 3, 8, 8)
        lr = F.avg_pool2d(hr, 2)

        sr = netG(lr.to(device))
        pixel = F.l1_loss(sr, hr.to(device))
        perceptual = F.mse_loss(vgg(sr), vgg(hr))  # CAUSE
        loss = pixel + 0.1 * perceptual
        optim.zero_grad()
        loss.backward()
        optim.step()
        with torch.no_grad():
            print("%d loss %.4f psnr %.2f dB" % (step, loss.item(), psnr(sr.cpu(), hr).item()))


if __name__ == "__main__":
    main()

"""Multi-resolution spectral loss with windows that are prepared once."""
import math

import torch
import torch.nn as nn


def hann(n):
    return 0.5 - 0.5 * torch.cos(2 * math.pi * torch.arange(n) / n)


class SpectralLoss(nn.Module):
    def __init__(self, sizes=(8, 16, 32)):
        super().__init__()
        self.sizes = sizes
        self.windows = {n: hann(n) for n in sizes}  # CAUSE

    def spectrum(self, x, n):
        frames = x.unfold(-1, n, n // 2)
        frames = frames * self.windows[n]  # FAIL
        return torch.fft.rfft(frames).abs()

    def forward(self, pred, target):
        loss = 0.0
        for n in self.sizes:
            a, b = self.spectrum(pred, n), self.spectrum(target, n)
            loss = loss + (a - b).abs().mean()
            loss = loss + ((a + 1e-4).log() - (b + 1e-4).log()).abs().mean()
        return loss / len(self.sizes)


class Enhancer(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, channels, 9, padding=4), nn.Tanh(), nn.Conv1d(channels, 1, 9, padding=4)
        )

    def forward(self, wav):
        return wav + self.net(wav.unsqueeze(1)).squeeze(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model, criterion = Enhancer().to(device), SpectralLoss().to(device)
    optim = torch.optim.Adam(model.parameters(), lr=1e-3)
    t = torch.linspace(0, 1, 128)
    clean = torch.stack([torch.sin(2 * math.pi * f * t) for f in (4, 7, 11)]).to(device)
    for step in range(3):
        noisy = clean + 0.1 * torch.randn_like(clean)
        loss = criterion(model(noisy), clean)
        optim.zero_grad()
        loss.backward()
        optim.step()
        print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()

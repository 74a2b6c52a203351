import torch
from torch import nn

MODELS = {}


def model(cls):
    MODELS[cls.__name__] = cls
    return cls


@model
class Denoiser(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width + 1, 16), nn.SiLU(), nn.Linear(16, width))
        self.register_buffer("sigmas", torch.logspace(-2, 0, 20))

    def forward(self, x, step):
        sigma = self.sigmas[step].unsqueeze(1)
        noisy = x + sigma * torch.randn_like(x)
        return self.net(torch.cat([noisy, sigma], 1)), noisy


def main(name="Denoiser"):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = MODELS[name](5).to(device)
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.randn(8, 5).to(device)
        step = torch.randint(0, 20, (8,))
        out, noisy = net(x, step)
        loss = (out - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()

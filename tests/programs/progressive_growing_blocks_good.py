import torch
from torch import nn


class Grower:
    """Trains an autoencoder and deepens it after every stage."""

    def __init__(self, width, device):
        self.device = device
        self.width = width
        self.net = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, width)).to(device)
        self.stage = 0

    def deepen(self):
        self.stage += 1
        self.net.add_module(f"act{self.stage}", nn.ReLU())
        self.net.add_module(f"stage{self.stage}", nn.Linear(self.width, self.width).to(self.device))

    def fit(self, data, steps=2):
        opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        for _ in range(steps):
            opt.zero_grad()
            loss = (self.net(data) - data).square().mean()
            loss.backward()
            opt.step()
        return loss.item()


if __name__ == "__main__":
    gpu = torch.cuda.is_available()
    g = Grower(6, torch.device("cuda:0") if gpu else torch.device("cpu"))
    data = torch.randn(32, 6).to(g.device)
    for stage in range(3):
        print("stage", stage, g.fit(data))
        g.deepen()

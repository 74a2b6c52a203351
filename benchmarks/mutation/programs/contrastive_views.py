"""SimCLR-like training: two noisy views, a projection head, normalised temperature cross-entropy."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoViews:
    def __init__(self, strength, generator):
        self.strength = strength
        self.generator = generator

    def __call__(self, x):
        noise = torch.randn(2, *x.shape, generator=self.generator, device=x.device)
        return x + self.strength * noise[0], x + self.strength * noise[1]


class Encoder(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim_in, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, dim_out))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def nt_xent(z1, z2, temperature=0.5):
    n = z1.size(0)
    z = torch.cat([z1, z2])
    sim = z @ z.t() / temperature
    self_mask = torch.eye(2 * n, dtype=torch.bool, device=z.device)
    sim = sim.masked_fill(self_mask, float("-inf"))
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, targets)


def linear_probe(encoder, x, y, device, steps=10):
    with torch.no_grad():
        feats = encoder.backbone(x.to(device))
    probe = nn.Linear(32, 3, device=device)
    opt = torch.optim.SGD(probe.parameters(), lr=0.5)
    y = y.to(device)
    for _ in range(steps):
        loss = F.cross_entropy(probe(feats), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (probe(feats).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(5)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    centres = 3 * torch.randn(3, 10)
    labels = torch.arange(90) % 3
    points = centres[labels] + torch.randn(90, 10)

    rng = torch.Generator(device=device)
    rng.manual_seed(77)
    augment = TwoViews(0.3, rng)
    encoder = Encoder(10, 8).to(device)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    for _epoch in range(3):
        for idx in torch.randperm(90).split(30):
            a, b = augment(points[idx].to(device))
            loss = nt_xent(encoder(a), encoder(b))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    encoder.eval()
    accuracy = linear_probe(encoder, points, labels, device)
    print("probe is better than chance:", accuracy > 0.34)


if __name__ == "__main__":
    main()

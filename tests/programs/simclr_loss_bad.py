"""Contrastive pretraining (NT-Xent) on noisy copies of the same vectors."""
import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim_in: int = 16, dim_out: int = 8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim_in, 32), nn.ReLU())
        self.projector = nn.Linear(32, dim_out)

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def info_nce(features, batch_size, n_views=2, temperature=0.1):
    labels = torch.cat([torch.arange(batch_size) for _ in range(n_views)], dim=0)  # CAUSE
    # 1 where two rows are views of the same sample
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()  # CAUSE

    sim = features @ features.T
    # throw the diagonal away
    mask = torch.eye(labels.shape[0], dtype=torch.bool).to(features.device)
    labels = labels[~mask].view(labels.shape[0], -1)  # FAIL
    sim = sim[~mask].view(sim.shape[0], -1)

    positives = sim[labels.bool()].view(labels.shape[0], -1)
    negatives = sim[~labels.bool()].view(sim.shape[0], -1)
    logits = torch.cat([positives, negatives], dim=1) / temperature
    target = torch.zeros(logits.shape[0], dtype=torch.long, device=features.device)
    return logits, target


def augment(x):
    return x + 0.1 * torch.randn_like(x)


def main():
    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = Encoder().to(device)
    opt = torch.optim.Adam(net.parameters(), 3e-4, weight_decay=1e-4)
    data = torch.randn(24, 16)
    for step in range(3):
        batch = data[torch.randperm(24)[:8]]
        views = torch.cat([augment(batch), augment(batch)]).to(device)
        logits, target = info_nce(net(views), 8)
        loss = F.cross_entropy(logits, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        top1 = (logits.argmax(1) == target).float().mean()
        print(f"step {step}\tloss {loss.item():.3f}\ttop1 {100 * top1:.1f}%")


if __name__ == "__main__":
    main()

import os
import tempfile

import torch
import torch.nn.functional as F
from torch import nn, optim


def get_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


class Backbone(nn.Module):
    def __init__(self, d_in=6, d_out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 16), nn.GELU(), nn.Linear(16, d_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class PrototypeHead:
    """Nearest class mean, the means are kept outside of the optimizer."""

    def __init__(self, n_classes, dim, device):
        self.means = torch.zeros(n_classes, dim, device=device)
        self.counts = torch.zeros(n_classes, device=device)

    @torch.no_grad()
    def observe(self, z, y):
        self.counts.index_add_(0, y, torch.ones_like(y, dtype=torch.float))
        sums = torch.zeros_like(self.means).index_add_(0, y, z)
        n = torch.bincount(y, minlength=len(self.means)).float().unsqueeze(1)
        present = n.squeeze(1) > 0
        rate = 0.5
        self.means[present] = (1 - rate) * self.means[present] + rate * sums[present] / n[present]

    def logits(self, z, tau=0.1):
        return z @ F.normalize(self.means, dim=-1).T / tau

    def state_dict(self):
        return {"means": self.means, "counts": self.counts}

    def load_state_dict(self, state):
        self.means = state["means"]
        self.counts = state["counts"]


def save(path, model, head, optimizer, epoch):
    torch.save(
        {
            "epoch": epoch,
            "model": model.state_dict(),
            "head": head.state_dict(),
            "optimizer": optimizer.state_dict(),
            "rng": torch.get_rng_state(),
        },
        path,
    )


def resume(path, model, head, optimizer, device):
    checkpoint = torch.load(path, map_location=device)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    head.load_state_dict(checkpoint["head"])
    torch.set_rng_state(checkpoint["rng"].cpu())
    return checkpoint["epoch"] + 1


def train(path, epochs, device):
    model = Backbone().to(device)
    head = PrototypeHead(3, 8, device)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    start = 0
    if os.path.exists(path):
        start = resume(path, model, head, optimizer, device)
        print("resumed at epoch", start)
    data = torch.randn(48, 6)
    labels = data[:, :3].argmax(1)
    for epoch in range(start, epochs):
        for i in range(0, len(data), 16):
            x, y = data[i : i + 16].to(device), labels[i : i + 16].to(device)
            z = model(x)
            head.observe(z, y)
            loss = F.cross_entropy(head.logits(z), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        save(path, model, head, optimizer, epoch)
        print(epoch, loss.item(), head.counts.tolist())


if __name__ == "__main__":
    torch.manual_seed(0)
    checkpoint_path = os.path.join(tempfile.mkdtemp(), "last.pt")
    train(checkpoint_path, 1, get_device())
    train(checkpoint_path, 2, get_device())

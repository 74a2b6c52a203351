import torch
import torch.nn as nn
import torch.nn.functional as F


class Codebook(nn.Module):
    def __init__(self, n, d, **factory):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(n, d, **factory))
        self.register_buffer("usage", torch.zeros(n, **factory))

    def forward(self, z):
        idx = torch.cdist(z, self.codes).argmin(1)  # FAIL
        self.usage += torch.bincount(idx, minlength=len(self.usage)).to(self.usage)
        q = self.codes[idx]
        return z + (q - z).detach(), F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())


class VqVae(nn.Module):
    def __init__(self, d_in, d, n, device=None, dtype=None):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.enc = nn.Sequential(nn.Linear(d_in, 16, **factory), nn.ReLU(), nn.Linear(16, d, **factory))
        self.book = Codebook(n, d, dtype=dtype)  # CAUSE
        self.dec = nn.Sequential(nn.Linear(d, 16, **factory), nn.ReLU(), nn.Linear(16, d_in, **factory))
        self.kw = factory

    def forward(self, x):
        q, commit = self.book(self.enc(x))
        return self.dec(q), commit

    def sample(self, n):
        idx = torch.randint(len(self.book.codes), (n,), device=self.kw["device"])
        eps = 0.1 * torch.randn(n, self.book.codes.shape[1], **self.kw)
        return self.dec(self.book.codes[idx] + eps)


def train(device):
    model = VqVae(6, 3, 8, device=device, dtype=torch.float32)
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(4):
        x = torch.randn(20, 6, device=device)
        y, commit = model(x)
        loss = F.mse_loss(y, x) + commit
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model, loss.item()


if __name__ == "__main__":
    model, loss = train("cuda" if torch.cuda.is_available() else "cpu")
    with torch.no_grad():
        print(loss, model.sample(4).shape, model.book.usage.sum().item())

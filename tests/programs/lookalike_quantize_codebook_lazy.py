import torch
from torch import nn
import torch.nn.functional as F


class Codebook(nn.Module):
    """Starts from the first batch it sees; dead codes are drawn anew."""

    def __init__(self, k, d, decay=0.9):
        super().__init__()
        self.k, self.decay = k, decay
        self.register_buffer("codes", torch.empty(k, d))
        self.register_buffer("usage", torch.zeros(k))
        self.ready = False

    @torch.no_grad()
    def _init(self, z):
        pick = torch.randint(0, len(z), (self.k,))
        self.codes.copy_(z[pick])
        self.usage.fill_(1.0)
        self.ready = True

    @torch.no_grad()
    def _update(self, z, idx):
        hot = F.one_hot(idx, self.k).to(z.dtype)
        n = hot.sum(0)
        mean = hot.T @ z / n.clamp(min=1).unsqueeze(1)
        self.usage.lerp_(n, 1 - self.decay)
        self.codes = torch.where((n > 0)[:, None], torch.lerp(self.codes, mean, 1 - self.decay), self.codes)
        dead = (self.usage < 0.2).nonzero().flatten()
        if len(dead):
            self.codes[dead] = z[torch.randperm(len(z))[: len(dead)]]

    def forward(self, z):
        if self.training and not self.ready:
            self._init(z)
        idx = torch.cdist(z, self.codes).argmin(1)
        q = self.codes[idx]
        if self.training:
            self._update(z.detach(), idx)
        return z + (q - z).detach(), F.mse_loss(z, q.detach()), idx


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(8, 4), nn.Linear(4, 8)
        self.book = Codebook(5, 4)

    def forward(self, x):
        q, commit, idx = self.book(self.enc(x))
        return F.mse_loss(self.dec(q), x) + 0.25 * commit, idx


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Model().to(device)
opt = torch.optim.Adam(model.parameters(), 1e-2)
counts = torch.zeros(5, dtype=torch.long)
for _ in range(4):
    x = torch.randn(20, 8, device=device)
    loss, idx = model(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    counts += torch.bincount(idx.cpu(), minlength=5)
p = counts.float() / counts.sum()
print(loss.item(), torch.exp(-(p * p.clamp(min=1e-9).log()).sum()).item())

"""A vector-quantised autoencoder: codebook by moving averages, straight-through gradients, dead-code revival."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantizer(nn.Module):
    def __init__(self, codes, dim, decay=0.9, eps=1e-5):
        super().__init__()
        self.decay, self.eps = decay, eps
        embed = torch.randn(codes, dim)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.ones(codes))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embed.t() + self.embed.pow(2).sum(1)
        codes = dist.argmin(dim=1)
        onehot = F.one_hot(codes, self.embed.size(0)).type_as(flat)
        if self.training:
            self._update(flat.detach(), onehot)
        quantized = F.embedding(codes, self.embed).view_as(z)
        commit = F.mse_loss(quantized.detach(), z)
        return z + (quantized - z).detach(), commit, codes.view(z.shape[:-1])

    @torch.no_grad()
    def _update(self, flat, onehot):
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_avg.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
        n = self.cluster_size.sum()
        size = (self.cluster_size + self.eps) / (n + len(self.cluster_size) * self.eps) * n
        self.embed.copy_(self.embed_avg / size.unsqueeze(1))
        dead = self.cluster_size < 0.05
        if dead.any():
            picks = torch.randint(0, flat.size(0), (int(dead.sum()),), device=flat.device)
            self.embed[dead] = flat[picks]
            self.embed_avg[dead] = flat[picks]
            self.cluster_size[dead] = torch.ones(int(dead.sum())).to(flat.device)


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, 12, 4, stride=4), nn.ReLU(), nn.Conv1d(12, 6, 1))
        self.vq = Quantizer(8, 6)
        self.dec = nn.Sequential(nn.ConvTranspose1d(6, 12, 4, stride=4), nn.ReLU(), nn.Conv1d(12, 1, 1))

    def forward(self, x):
        z, commit, codes = self.vq(self.enc(x).transpose(1, 2))
        return self.dec(z.transpose(1, 2)), commit, codes


def waves(n):
    t = torch.linspace(0, 6.28, 32)
    return torch.sin(t * torch.randint(1, 5, (n, 1))).unsqueeze(1)


torch.manual_seed(25)
dev = "cuda" if torch.cuda.is_available() else "cpu"
model = VQVAE().to(dev)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
usage = torch.zeros(8, dtype=torch.long, device=dev)
for _ in range(10):
    x = waves(16).to(dev)
    recon, commit, codes = model(x)
    loss = F.mse_loss(recon, x) + 0.25 * commit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    usage += torch.bincount(codes.flatten(), minlength=8)
print("codes written", usage.sum().item())
model.eval()
with torch.no_grad():
    grid = torch.arange(8, device=dev).view(1, 8)
    decoded = model.dec(F.embedding(grid, model.vq.embed).transpose(1, 2))
print(tuple(decoded.squeeze().cpu().numpy().shape))

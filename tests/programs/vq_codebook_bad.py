"""Vector quantisation with a codebook that is updated by moving averages."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, dim, decay=0.9, eps=1e-5):
        super().__init__()
        self.n_codes, self.dim = n_codes, dim
        self.decay, self.eps = decay, eps
        self.register_buffer("codebook", torch.randn(n_codes, dim))
        self.register_buffer("avg", self.codebook.clone())
        self.counts = torch.ones(n_codes)  # CAUSE

    def forward(self, z):
        flat = z.reshape(-1, self.dim)
        codes = torch.cdist(flat, self.codebook).argmin(1)
        quantized = self.codebook[codes].view_as(z)
        if self.training:
            self._update(flat.detach(), codes)
        commit = F.mse_loss(z, quantized)
        quantized = z + (quantized - z).detach()
        return quantized, commit, codes

    @torch.no_grad()
    def _update(self, flat, codes):
        onehot = F.one_hot(codes, self.n_codes).type_as(flat)
        self.counts = self.decay * self.counts + (1 - self.decay) * onehot.sum(0)  # FAIL
        self.avg = self.decay * self.avg + (1 - self.decay) * onehot.t() @ flat
        n = self.counts.sum()
        weights = (self.counts + self.eps) / (n + self.n_codes * self.eps) * n
        self.codebook.copy_(self.avg / weights.unsqueeze(1))


class VQAE(nn.Module):
    def __init__(self, d_in=10, d=3):
        super().__init__()
        self.enc, self.dec = nn.Linear(d_in, d), nn.Linear(d, d_in)
        self.vq = VectorQuantizer(8, d)

    def forward(self, x):
        q, commit, codes = self.vq(self.enc(x))
        return self.dec(q), commit, codes


def main():
    torch.manual_seed(0)
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    model = VQAE().to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(50, 10).to(device)
    for step in range(4):
        recon, commit, codes = model(x)
        loss = F.mse_loss(recon, x) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        used = codes.unique().numel()
        print(f"step {step}: {loss.item():.4f}, {used} codes used")


if __name__ == "__main__":
    main()

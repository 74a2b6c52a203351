"""A sparse mixture of experts with a load-balancing loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1, self.w2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)))


class NoisyTopK(nn.Module):
    def __init__(self, dim, n_experts, k):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(dim, n_experts, bias=False)
        self.noise = nn.Parameter(torch.zeros(n_experts))

    def forward(self, x):
        logits = self.gate(x)
        if self.training:
            logits = logits + torch.randn_like(logits) * F.softplus(self.noise)
        top, index = logits.topk(self.k, dim=-1)
        full = torch.full_like(logits, float("-inf")).scatter(-1, index, top)
        return full.softmax(-1), index


class SparseMoE(nn.Module):
    def __init__(self, dim=16, n_experts=4, k=2):
        super().__init__()
        self.router = NoisyTopK(dim, n_experts, k)
        self.experts = nn.ModuleList([Expert(dim) for _ in range(n_experts)])
        self.register_buffer("usage", torch.zeros(n_experts))

    def forward(self, x):
        weights, index = self.router(x)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (index == i).any(dim=-1)
            if rows.any():
                out[rows] += weights[rows, i].unsqueeze(-1) * expert(x[rows])
        if self.training:
            self.usage += torch.bincount(index.flatten(), minlength=len(self.experts))
        importance = weights.sum(0)
        balance = importance.var() / (importance.mean() ** 2 + 1e-8)
        return x + out, balance


class Model(nn.Module):
    def __init__(self, vocab=16, dim=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([SparseMoE(dim) for _ in range(depth)])
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        h, penalty = self.embed(tokens), torch.zeros((), device=tokens.device)
        for block in self.blocks:
            h, balance = block(h)
            penalty = penalty + balance
        return self.out(h), penalty


torch.manual_seed(28)
device = torch.device(f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cpu")
model = Model().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
permutation = torch.randperm(16).to(device)
for step in range(8):
    tokens = torch.randint(0, 16, (48,), device=device)
    logits, penalty = model(tokens)
    loss = F.cross_entropy(logits, permutation[tokens]) + 0.01 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
usage = torch.stack([block.usage for block in model.blocks]).cpu()
print("tokens routed", int(usage.sum().item()))
print("finite:", bool(torch.isfinite(loss).item()))

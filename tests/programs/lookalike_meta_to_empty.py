"""Built on the meta device, then materialized and initialized."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.register_buffer("freqs", torch.arange(dim).float())

    def reset_parameters(self):
        self.freqs.copy_(torch.arange(len(self.freqs)).float())
        self.proj.reset_parameters()

    def forward(self, x):
        return self.proj(x) * torch.cos(self.freqs)


class Tower(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


def materialize(module, device):
    module.to_empty(device=device)
    for sub in module.modules():
        if sub is not module and hasattr(sub, "reset_parameters"):
            sub.reset_parameters()
    return module


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
with torch.device("meta"):
    shadow = Tower(8, 2)
count = sum(p.numel() for p in shadow.parameters())
print("parameters:", count, next(shadow.parameters()).is_meta)
flops = shadow(torch.empty(2, 8, device="meta")).shape
model = materialize(shadow, device)
state = {k: torch.randn(v.shape) * 0.1 for k, v in model.state_dict().items() if "proj" in k}
model.load_state_dict(state, strict=False)
out = model(torch.randn(2, 8, device=device))
print(out.shape == flops, torch.isfinite(out).all().item())

with torch.device("meta"):
    second = Tower(8, 1)
full = Tower(8, 1).state_dict()
second.load_state_dict(full, assign=True)
second = second.to(device)
print(second(torch.ones(1, 8).to(device)).cpu().sum() + full["blocks.0.freqs"].sum())

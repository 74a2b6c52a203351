"""Low-rank adapters added to a frozen network after it was moved, then merged."""
import math

import torch
import torch.nn as nn


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 4, alpha: int = 8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        w = base.weight
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features, device=w.device, dtype=w.dtype))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r, device=w.device, dtype=w.dtype))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling

    @torch.no_grad()
    def merge(self):
        merged = nn.Linear(self.base.in_features, self.base.out_features).to(self.base.weight.device)
        merged.weight.copy_(self.base.weight + self.scaling * self.lora_B @ self.lora_A)
        merged.bias.copy_(self.base.bias)
        return merged


def inject(model, names, r=4):
    for name in names:
        layer = getattr(model, name)
        setattr(model, name, LoRALinear(layer, r=r))
    return model


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(20, 20)
        self.v_proj = nn.Linear(20, 20)
        self.cls = nn.Linear(20, 2)

    def forward(self, x):
        return self.cls(torch.tanh(self.q_proj(x)) * torch.sigmoid(self.v_proj(x)))


torch.manual_seed(2)
device = "cuda:0" if torch.cuda.is_available() else "cpu"
model = Net()
model = model.to(device)
model = inject(model, ["q_proj", "v_proj"])
trainable = [p for n, p in model.named_parameters() if "lora_" in n]
print("trainable", sum(p.numel() for p in trainable))

x = torch.randn(64, 20)
y = (x[:, 0] * x[:, 1] > 0).long()
optim = torch.optim.AdamW(trainable, lr=1e-2)
for start in range(0, 64, 16):
    xb = x[start : start + 16].to(device)
    yb = y[start : start + 16].to(device)
    loss = nn.functional.cross_entropy(model(xb), yb)
    optim.zero_grad()
    loss.backward()
    optim.step()

model.eval()
with torch.no_grad():
    before = model(x.to(device))
    for name in ("q_proj", "v_proj"):
        setattr(model, name, getattr(model, name).merge())
    after = model(x.to(device))
print("merged equals adapted:", torch.allclose(before, after, atol=1e-4))

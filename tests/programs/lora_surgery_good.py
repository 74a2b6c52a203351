import re
import math
import torch
import torch.nn as nn

class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=4, alpha=8.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.A = nn.Parameter(torch.zeros(r, base.in_features, device=base.weight.device))
        self.B = nn.Parameter(torch.zeros(base.out_features, r, device=base.weight.device))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.A.t() @ self.B.t()) * self.scale

def get_parent(model, name):
    *path, last = name.split(".")
    mod = model
    for p in path:
        mod = getattr(mod, p)
    return mod, last

def inject(model, pattern, **kw):
    n = 0
    for name, mod in list(model.named_modules()):
        if isinstance(mod, nn.Linear) and re.search(pattern, name):
            parent, last = get_parent(model, name)
            setattr(parent, last, LoRALinear(mod, **kw))
            n += 1
    return n

class Attn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q_proj = nn.Linear(d, d)
        self.k_proj = nn.Linear(d, d)
        self.v_proj = nn.Linear(d, d)
    def forward(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        return torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1) @ v

class Tiny(nn.Module):
    def __init__(self, vocab=20, d=8, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Attn(d) for _ in range(layers))
        self.head = nn.Linear(d, vocab)
    def forward(self, ids):
        x = self.embed(ids)
        for l in self.layers:
            x = x + l(x)
        return self.head(x)

def lora_state_dict(m):
    return {k: v.cpu() for k, v in m.state_dict().items() if k.endswith((".A", ".B"))}

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Tiny().to(device)
print("injected", inject(model, r"(q|v)_proj", r=2))
opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
lossf = nn.CrossEntropyLoss()
for step in range(3):
    ids = torch.randint(0, 20, (2, 6), device=device)
    logits = model(ids[:, :-1])
    loss = lossf(logits.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
sd = lora_state_dict(model)
print({k: tuple(v.shape) for k, v in sd.items()}, loss.item())
w = model.layers[0].q_proj
merged = w.base.weight.data + sd["layers.0.q_proj.B"].to(device) @ sd["layers.0.q_proj.A"].to(device) * w.scale
print(merged.norm().item())

import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)  # CAUSE
        self.up = nn.Linear(rank, base.out_features, bias=False)  # CAUSE
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))  # FAIL


def add_adapters(model, names, rank=2):
    for name in names:
        setattr(model, name, Adapter(getattr(model, name), rank))  # CAUSE
    return model


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(4, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        return self.out(torch.relu(self.inp(x)))


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Classifier().to(device)
pretrained = {k: v.clone() for k, v in model.state_dict().items()}
model.load_state_dict(pretrained)
model.requires_grad_(False)
model = add_adapters(model, ["inp", "out"])
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for _ in range(3):
    x, y = torch.randn(10, 4, device=device), torch.randint(3, (10,), device=device)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

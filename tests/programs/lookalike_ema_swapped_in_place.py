from contextlib import contextmanager

import torch
from torch import nn


class EMAWeights:
    """Shadow weights rest on the host and are brought when they are needed."""

    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            s = self.shadow[k]
            if s.dtype.is_floating_point:
                s.mul_(self.decay).add_(v.detach().to(s.device), alpha=1 - self.decay)
            else:
                s.copy_(v)

    @contextmanager
    def applied(self, model):
        kept = {k: v.detach().clone() for k, v in model.state_dict().items()}
        model.load_state_dict(self.shadow)
        try:
            yield model
        finally:
            model.load_state_dict(kept)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 12)
        self.bn = nn.BatchNorm1d(12)
        self.b = nn.Linear(12, 1)

    def forward(self, x):
        return self.b(torch.relu(self.bn(self.a(x))))


def rms(model, x, y):
    model.eval()
    with torch.no_grad():
        out = (model(x) - y).square().mean().sqrt()
    model.train()
    return float(out)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Net()
ema = EMAWeights(model)
model.to(device)
x = torch.randn(64, 4, device=device)
y = x.sum(1, keepdim=True)
opt = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(8):
    loss = (model(x) - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
raw = rms(model, x, y)
with ema.applied(model) as averaged:
    smooth = rms(averaged, x, y)
print(raw, smooth, rms(model, x, y) == raw)

import io

import torch
from torch import nn


class Store:
    """Checkpoints in memory; always written from the host."""

    def __init__(self):
        self.blobs = {}

    def write(self, key, **parts):
        buf = io.BytesIO()
        torch.save(self._host(parts), buf)
        self.blobs[key] = buf.getvalue()

    def read(self, key, device="cpu"):
        return torch.load(io.BytesIO(self.blobs[key]), map_location=device, weights_only=False)

    def _host(self, obj):
        if isinstance(obj, torch.Tensor):
            return obj.detach().cpu()
        if isinstance(obj, dict):
            return {k: self._host(v) for k, v in obj.items()}
        if isinstance(obj, (list, tuple)):
            return type(obj)(self._host(v) for v in obj)
        return obj


class Memory(nn.Module):
    def __init__(self, d=4, slots=6):
        super().__init__()
        self.f = nn.Linear(d, d)
        self.register_buffer("bank", torch.zeros(slots, d))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        z = self.f(x)
        bank = self.bank.clone()
        att = (z @ bank.T).softmax(-1)
        if self.training:
            with torch.no_grad():
                idx = (self.ptr + torch.arange(len(z), device=z.device)) % len(self.bank)
                self.bank[idx] = z.detach()
                self.ptr.add_(len(z)).remainder_(len(self.bank))
        return z + att @ bank


def step(model, opt, x):
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
store = Store()
model = Memory().to(device)
opt = torch.optim.Adam(model.parameters(), 1e-2)
for i in range(3):
    best = step(model, opt, torch.randn(4, 4, device=device))
store.write("last", model=model.state_dict(), opt=opt.state_dict(), best=best, rng=torch.get_rng_state())

saved = store.read("last")
fresh = Memory()
fresh.load_state_dict(saved["model"])
print(fresh.bank.norm().item(), saved["best"].item())
fresh.to(device)
opt = torch.optim.Adam(fresh.parameters(), 1e-2)
opt.load_state_dict(saved["opt"])
torch.set_rng_state(saved["rng"])
best = saved["best"].to(device)
for i in range(2):
    best = torch.minimum(best, step(fresh, opt, torch.randn(4, 4, device=device)).detach())
again = store.read("last", device)
print(best.item(), (again["model"]["bank"] - fresh.bank).norm().item())

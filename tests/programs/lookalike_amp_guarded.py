"""Mixed precision only where there is CUDA; the scaler is disabled elsewhere."""
import contextlib

import torch
from torch import nn

use_amp = torch.cuda.is_available()
device = torch.device("cuda" if use_amp else "cpu")


def amp_context():
    if use_amp:
        return torch.autocast(device_type="cuda", dtype=torch.bfloat16)
    return contextlib.nullcontext()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4)).to(device)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda", enabled=False)
pin = dict(non_blocking=True) if use_amp else {}
xs, ys = torch.randn(24, 10), torch.randint(0, 4, (24,))
for x, y in zip(xs.split(8), ys.split(8)):
    x, y = x.to(device, **pin), y.to(device, **pin)
    with amp_context():
        loss = nn.functional.cross_entropy(net(x).float(), y)
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    print(f"{loss.item():.4f}")
if device.type == "cuda":
    print("peak memory", torch.cuda.max_memory_allocated() // 2**20, "MiB")

"""Checkpoints saved from any device and loaded in the ways that work everywhere."""
import io
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 2).to(device)
opt = torch.optim.Adam(net.parameters())
net(torch.ones(1, 3, device=device)).sum().backward()
opt.step()

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pt")
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "best": torch.tensor(0.5)}, path)

    ckpt = torch.load(path, map_location=device)
    fresh = nn.Linear(3, 2).to(device)
    fresh.load_state_dict(ckpt["net"])

    ckpt = torch.load(path, map_location="cpu")
    fresh.load_state_dict(ckpt["net"])
    fresh_opt = torch.optim.Adam(fresh.parameters())
    fresh_opt.load_state_dict(ckpt["opt"])
    fresh(torch.ones(1, 3, device=device)).sum().backward()
    fresh_opt.step()
    print("best so far", ckpt["best"].item())

    on_cpu = nn.Linear(3, 2)
    on_cpu.load_state_dict(torch.load(path, map_location=lambda storage, loc: storage)["net"])
    print(on_cpu(torch.zeros(1, 3)))

buffer = io.BytesIO()
torch.save({k: v.cpu() for k, v in net.state_dict().items()}, buffer)
buffer.seek(0)
weights = torch.load(buffer)
print((weights["weight"] - on_cpu.weight).abs().max().item())

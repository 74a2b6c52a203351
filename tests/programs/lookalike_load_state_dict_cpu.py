import io

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
f = io.BytesIO()
net = nn.Linear(3, 3).to(device)
opt = torch.optim.Adam(net.parameters())
net(torch.randn(2, 3, device=device)).sum().backward()
opt.step()
torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": 1}, f)
f.seek(0)
ckpt = torch.load(f, map_location="cpu")
new = nn.Linear(3, 3).to(device)
new.load_state_dict(ckpt["net"])
new_opt = torch.optim.Adam(new.parameters())
new_opt.load_state_dict(ckpt["opt"])
new(torch.randn(2, 3, device=device)).sum().backward()
new_opt.step()

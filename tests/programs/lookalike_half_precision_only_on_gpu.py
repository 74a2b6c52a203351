import torch
from torch import nn

use_gpu = torch.cuda.is_available()
device = torch.device("cuda" if use_gpu else "cpu")
dtype = torch.bfloat16 if use_gpu else torch.float32
net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).to(device=device, dtype=dtype)
master = [p.detach().float().cpu().requires_grad_() for p in net.parameters()]
opt = torch.optim.SGD(master, lr=0.1, momentum=0.9)
for _ in range(3):
    x = torch.randn(8, 4).to(device, dtype)
    loss = net(x).float().square().mean()
    net.zero_grad()
    loss.backward()
    for m, p in zip(master, net.parameters()):
        m.grad = p.grad.to(m)
    nn.utils.clip_grad_norm_(master, 1.0)
    opt.step()
    with torch.no_grad():
        for m, p in zip(master, net.parameters()):
            p.copy_(m)
err = max((m - p.detach().to(m)).abs().max() for m, p in zip(master, net.parameters()))
print(loss.item(), err.item() < 0.1)

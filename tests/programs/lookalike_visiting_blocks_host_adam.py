import torch
from torch import nn


class Offloaded(nn.Module):
    """Keeps its blocks on the host; each visits the compute device for its forward."""

    def __init__(self, blocks, compute):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.compute = compute

    def forward(self, x):
        x = x.to(self.compute)
        for block in self.blocks:
            block.to(self.compute)
            x = x + block(x)
            block.to("cpu")
        return x


class HostAdam:
    """moments and master weights are on the CPU, gradients come from wherever"""

    def __init__(self, params, lr=1e-2, betas=(0.9, 0.99)):
        self.params = list(params)
        self.master = [p.detach().cpu().clone() for p in self.params]
        self.m = [torch.zeros_like(w) for w in self.master]
        self.v = [torch.zeros_like(w) for w in self.master]
        self.lr, self.betas, self.t = lr, betas, 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        for p, w, m, v in zip(self.params, self.master, self.m, self.v):
            if p.grad is None:
                continue
            g = p.grad.cpu()
            m.lerp_(g, 1 - b1)
            v.mul_(b2).addcmul_(g, g, value=1 - b2)
            w.addcdiv_(m / (1 - b1**self.t), (v / (1 - b2**self.t)).sqrt() + 1e-8, value=-self.lr)
            p.copy_(w)
            p.grad = None


compute = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
head = nn.Linear(6, 2).to(compute)
trunk = Offloaded([nn.Sequential(nn.Linear(6, 6), nn.SiLU()) for _ in range(3)], compute).eval()
opt = HostAdam(head.parameters())
bank = torch.randn(32, 6)
target = (bank[:, 0] > 0).long()
with torch.no_grad():
    features = torch.cat([trunk(c).cpu() for c in bank.split(8)])
assert all(p.device.type == "cpu" for p in trunk.parameters())
for i in range(5):
    pick = torch.randint(len(bank), (8,))
    loss = nn.functional.cross_entropy(head(features[pick].to(compute)), target[pick].to(compute))
    loss.backward()
    opt.step()
weights = nn.utils.parameters_to_vector(head.parameters())
master = torch.cat([w.flatten() for w in opt.master])
print(loss.item(), torch.allclose(weights.cpu(), master))

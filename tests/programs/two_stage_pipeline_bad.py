import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

class Stage(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.GELU()) for _ in range(n)])
    def forward(self, x):
        for b in self.blocks:
            x = x + checkpoint(b, x, use_reentrant=False)  # FAIL
        return x

class TwoGPUNet(nn.Module):
    def __init__(self, d=8, n_class=3, dev0="cuda:0", dev1="cuda:1"):
        super().__init__()
        self.dev0, self.dev1 = dev0, dev1
        self.emb = nn.Embedding(30, d).to(dev0)
        self.stage0 = Stage(d, 2).to(dev0)
        self.stage1 = Stage(d, 2).to(dev1)
        self.head = nn.Linear(d, n_class).to(dev1)

    def forward(self, ids):
        x = self.stage0(self.emb(ids.to(self.dev0)))
        x = self.stage1(x)
        return self.head(x.mean(1))

    def split_forward(self, ids, size=2):
        it = iter(ids.split(size))
        prev = self.stage0(self.emb(next(it).to(self.dev0))).to(self.dev1)
        outs = []
        for nxt in it:
            outs.append(self.head(self.stage1(prev).mean(1)))
            prev = self.stage0(self.emb(nxt.to(self.dev0))).to(self.dev1)
        outs.append(self.head(self.stage1(prev).mean(1)))
        return torch.cat(outs)

def main():
    if torch.cuda.device_count() < 2:
        net = TwoGPUNet(dev0="cpu", dev1="cpu")
    else:
        net = TwoGPUNet()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    ce = nn.CrossEntropyLoss()
    for i in range(2):
        ids, lab = torch.randint(0, 30, (4, 5)), torch.randint(0, 3, (4,))
        out = net(ids) if i else net.split_forward(ids)
        loss = ce(out, lab.to(out.device))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(loss.item())

main()

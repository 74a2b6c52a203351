"""Two embedding tables on two cards, looked up together."""
from types import SimpleNamespace
import torch
import torch.nn as nn

cfg = SimpleNamespace(n=20, d=6, seed=0)
n_gpu = torch.cuda.device_count()
cfg.devices = [f"cuda:{i}" for i in range(min(n_gpu, 2))] or ["cpu"]
cfg.main = cfg.devices[0]


class ShardedTable(nn.Module):
    def __init__(self, n, d, devices):
        super().__init__()
        self.per = (n + len(devices) - 1) // len(devices)
        self.devices = devices
        self.shards = nn.ModuleList(nn.Embedding(self.per, d).to(dev) for dev in devices)

    def forward(self, ids):
        out = torch.zeros(*ids.shape, self.shards[0].embedding_dim, device=ids.device)
        for i, (dev, shard) in enumerate(zip(self.devices, self.shards)):
            mine = (ids // self.per) == i
            local = (ids[mine] % self.per).to(dev)
            out[mine] = shard(local).to(ids.device)
        return out


def main(cfg):
    torch.manual_seed(cfg.seed)
    table = ShardedTable(cfg.n, cfg.d, cfg.devices)
    head = nn.Linear(2 * cfg.d, 1).to(cfg.main)
    opt = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
    for step in range(3):
        pairs = torch.randint(0, cfg.n, (8, 2))
        y = (pairs[:, 0] < pairs[:, 1]).float()
        e = table(pairs.to(cfg.main)).flatten(1)
        loss = nn.functional.binary_cross_entropy_with_logits(head(e).squeeze(1), y.to(cfg.main))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item())
    norms = torch.cat([s.weight.detach().norm(dim=1).cpu() for s in table.shards])
    print(norms[:cfg.n].topk(2).indices.tolist())


main(cfg)

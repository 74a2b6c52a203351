import torch
from torch import nn


def plan():
    n = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if n >= 2:
        return torch.device("cuda:0"), torch.device("cuda:1")
    if n == 1:
        return torch.device("cuda:0"), torch.device("cuda:0")
    return torch.device("cpu"), torch.device("cpu")


class Split(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second
        self.emb = nn.Embedding(20, 8).to(first)
        self.pos = nn.Parameter(torch.zeros(6, 8, device=first))
        self.enc = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).to(first)
        self.mid = nn.Linear(8, 8).to(second)
        self.head = nn.Linear(8, 20).to(second)

    def forward(self, ids):
        ids = ids.to(self.first)
        pad = ids.eq(0)
        h = self.enc(self.emb(ids) + self.pos[: ids.shape[1]], src_key_padding_mask=pad)
        h = h.to(self.second)
        keep = (~pad).to(h.device).unsqueeze(-1)
        pooled = (h * keep).sum(1) / keep.sum(1).clamp(min=1)
        return self.head(torch.relu(self.mid(pooled)))

    def chunks(self, ids, size):
        pending = None
        for part in ids.split(size):
            out = self(part)
            if pending is not None:
                yield pending
            pending = out
        yield pending


def main():
    first, second = plan()
    net = Split(first, second)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(3):
        ids = torch.randint(1, 20, (8, 6))
        ids[:, 4:] = 0
        y = torch.randint(0, 20, (8,), device=second)
        logits = torch.cat(list(net.chunks(ids, 4)))
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    where = {str(p.device) for p in net.parameters()}
    norm = torch.stack([p.grad.norm().to(first) for p in net.parameters() if p.grad is not None]).norm()
    print(loss.item(), norm.item() >= 0, len(where) >= 1)


main()

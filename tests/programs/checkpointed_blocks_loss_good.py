import os
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class PreNormRes(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Dropout(p), nn.Linear(4 * d, d))

    def forward(self, x, bias):
        return x + self.fc(self.norm(x) + bias)


class StochasticDepth:
    """keeps a block with a probability that falls linearly"""

    def __init__(self, n, last=0.8, device=None):
        self.keep = torch.linspace(1.0, last, n, device=device)

    def gate(self, i, like):
        p = self.keep[i].expand(like.size(0), 1, 1)
        return torch.bernoulli(p) / p


class Deep(nn.Module):
    def __init__(self, vocab, d, n, use_checkpoint=True, device=None):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList([PreNormRes(d, 0.1) for _ in range(n)])
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(d)) for _ in range(n)])
        self.drop = StochasticDepth(n, device=device)
        self.tail = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.head = nn.Linear(d, vocab)
        self.use_checkpoint = use_checkpoint

    def run(self, i, x):
        return self.blocks[i](x, self.bias[i])

    def forward(self, ids):
        x = self.emb(ids)
        for i in range(len(self.blocks)):
            if self.use_checkpoint and self.training:
                y = checkpoint(self.run, i, x, use_reentrant=False)
            else:
                y = self.run(i, x)
            if self.training:
                x = x + (y - x) * self.drop.gate(i, x)
            else:
                x = y
        x = checkpoint_sequential(self.tail, 2, x, use_reentrant=False) if self.training else self.tail(x)
        return self.head(x)


class LabelSmoothing(nn.Module):
    def __init__(self, classes, eps=0.1, weight=None):
        super().__init__()
        self.eps, self.classes = eps, classes
        self.register_buffer("weight", weight if weight is not None else torch.ones(classes))

    def forward(self, logits, target):
        logp = logits.log_softmax(-1)
        true = torch.full_like(logp, self.eps / (self.classes - 1))
        true.scatter_(-1, target.unsqueeze(-1), 1 - self.eps)
        return -(true * logp * self.weight).sum(-1).mean()


def data(n, vocab, length, seed):
    g = torch.Generator()
    g.manual_seed(seed)
    return torch.randint(0, vocab, (n, length + 1), generator=g)


def main():
    device = torch.device(os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu"))
    vocab = 30
    model = Deep(vocab, 16, 4, device=device).to(device)
    crit = LabelSmoothing(vocab).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    train = data(16, vocab, 8, 0)
    for i in range(0, len(train), 4):
        batch = train[i:i + 4].to(device)
        loss = crit(model(batch[:, :-1]), batch[:, 1:])
        loss.backward()
        opt.step()
        opt.zero_grad()
    model.eval()
    ids = torch.zeros(1, 1, dtype=torch.long, device=device)
    for _ in range(5):
        with torch.no_grad():
            nxt = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], 1)
    print(loss.item(), ids.tolist())


main()

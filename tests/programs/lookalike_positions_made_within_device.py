import torch
from torch import nn

accel = "cuda" if torch.cuda.is_available() else "cpu"


class PosEnc(nn.Module):
    def __init__(self, d, n=16):
        super().__init__()
        pos = torch.arange(n)[:, None]
        div = torch.exp(torch.arange(0, d, 2) * (-4.0 / d))
        pe = torch.zeros(n, d)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.pe = pe  # made where everything is made, and never moved again

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(9, 8)
        self.pos = PosEnc(8)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 9)

    def forward(self, ids):
        n = ids.size(1)
        x = self.pos(self.emb(ids))
        causal = torch.full((n, n), float("-inf"), device=ids.device).triu(1)
        x, w = self.attn(x, x, x, attn_mask=causal)
        return self.out(x), w


def data():
    g = torch.Generator(device="cpu").manual_seed(3)
    for _ in range(3):
        yield torch.randint(0, 9, (4, 7), generator=g, device="cpu")


with torch.device(accel):
    model = Model()
    weights = torch.ones(9)
    weights[0] = 0.1

opt = torch.optim.Adam(model.parameters(), 1e-2)
for ids in data():
    ids = ids.to(accel)
    logits, att = model(ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], weight=weights)
    opt.zero_grad()
    loss.backward()
    opt.step()

host = torch.zeros(6, 6)
host += att.detach().mean(0).cpu()
print(loss.item(), host.tril().sum().item(), model.pos.pe.shape)


@torch.no_grad()
def generate(n):
    with torch.device(accel):
        ids = torch.zeros(1, 1, dtype=torch.long)
        for _ in range(n):
            nxt = torch.multinomial(model(ids)[0][:, -1].softmax(-1), 1)
            ids = torch.cat([ids, nxt], 1)
        best = torch.eye(9)[ids[0]]
        return ids.tolist(), (best * weights).sum().item()


print(generate(4))

import json
import os
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CONFIG = json.loads("""{"dim": 8, "heads": 2, "lr": 0.01, "epochs": 1, "cards": [4, 3, 6], "n_cont": 3, "device": "auto"}""")


def get_device(name):
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


class Frame(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.cat = np.stack([rng.integers(0, c, n) for c in CONFIG["cards"]], 1)
        self.cont = rng.normal(size=(n, CONFIG["n_cont"])).astype(np.float32)
        self.cont[rng.random(self.cont.shape) < 0.1] = np.nan
        self.y = (self.cat[:, 0] > 1).astype(np.int64)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"cat": torch.from_numpy(self.cat[i]), "cont": torch.from_numpy(self.cont[i]), "label": torch.tensor(self.y[i])}


class Tokenizer(nn.Module):
    def __init__(self, cards, n_cont, dim):
        super().__init__()
        offsets = torch.tensor([0] + cards[:-1]).cumsum(0)
        self.register_buffer("offsets", offsets)
        self.emb = nn.Embedding(sum(cards), dim)
        self.weight = nn.Parameter(torch.randn(n_cont, dim))
        self.missing = nn.Parameter(torch.zeros(n_cont, dim))
        self.cls = nn.Parameter(torch.zeros(dim))

    def forward(self, cat, cont):
        a = self.emb(cat + self.offsets)
        hole = torch.isnan(cont).unsqueeze(-1)
        b = torch.where(hole, self.missing, torch.nan_to_num(cont).unsqueeze(-1) * self.weight)
        return torch.cat([self.cls.expand(len(cat), 1, -1), a, b], 1)


class GEGLU(nn.Module):
    def forward(self, x):
        a, g = x.chunk(2, -1)
        return a * nn.functional.gelu(g)


class Residual(nn.Module):
    def __init__(self, fn, dim):
        super().__init__()
        self.norm, self.fn = nn.LayerNorm(dim), fn

    def forward(self, x, **kw):
        return x + self.fn(self.norm(x), **kw)


class FTTransformer(nn.Module):
    def __init__(self, cfg, depth=2):
        super().__init__()
        d = cfg["dim"]
        self.tok = Tokenizer(cfg["cards"], cfg["n_cont"], d)
        self.attn = nn.ModuleList([nn.MultiheadAttention(d, cfg["heads"], batch_first=True) for _ in range(depth)])
        self.ffn = nn.ModuleList([Residual(nn.Sequential(nn.Linear(d, 4 * d), GEGLU(), nn.Linear(2 * d, d)), d) for _ in range(depth)])
        self.head = nn.Linear(d, 2)

    def forward(self, cat, cont):
        x = self.tok(cat, cont)
        for a, f in zip(self.attn, self.ffn):
            x = f(x + a(x, x, x, need_weights=False)[0])
        return self.head(x[:, 0])


def step(model, batch, device, loss_fn):
    batch = {k: v.to(device) for k, v in batch.items()}
    out = model(batch["cat"], batch["cont"])
    return loss_fn(out, batch["label"]), out  # FAIL


def main():
    device = get_device(CONFIG["device"])
    torch.manual_seed(0)
    train = Frame(40, 0)
    model = FTTransformer(CONFIG).to(device)
    counts = np.bincount(train.y, minlength=2)
    weight = torch.tensor(counts.sum() / (2 * counts), dtype=torch.float)
    loss_fn = partial(nn.functional.cross_entropy, weight=weight, label_smoothing=0.1)
    opt = torch.optim.AdamW(model.parameters(), CONFIG["lr"])
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 3))
    for epoch in range(CONFIG["epochs"]):
        for batch in DataLoader(train, 10, shuffle=True):
            loss, out = step(model, batch, device, loss_fn)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
    model.eval()
    scores, truth = [], []
    with torch.no_grad():
        for batch in DataLoader(Frame(20, 1), 10):
            _, out = step(model, batch, device, loss_fn)
            scores.append(out.softmax(1)[:, 1].cpu().numpy())
            truth.append(batch["label"].numpy())
    s, y = np.concatenate(scores), np.concatenate(truth)
    pairs = s[y == 1][:, None] > s[y == 0][None]
    print("auc", pairs.mean() if pairs.size else float("nan"))


if __name__ == "__main__":
    main()

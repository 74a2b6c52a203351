"""nano language model with a Trainer that fires callbacks"""
import math
from collections import defaultdict
import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import Dataset, DataLoader


class Config:
    def __init__(self, **kw):
        self.__dict__.update(kw)


class CausalSelfAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c_attn = nn.Linear(c.n_embd, 3 * c.n_embd)
        self.c_proj = nn.Linear(c.n_embd, c.n_embd)
        self.register_buffer("bias", torch.tril(torch.ones(c.block_size, c.block_size)).view(1, 1, c.block_size, c.block_size))
        self.n_head, self.n_embd = c.n_head, c.n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.attn = CausalSelfAttention(c)
        self.mlp = nn.ModuleDict(dict(fc=nn.Linear(c.n_embd, 4 * c.n_embd), proj=nn.Linear(4 * c.n_embd, c.n_embd)))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp.proj(F.gelu(self.mlp.fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.block_size = c.block_size
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(c.vocab_size, c.n_embd), wpe=nn.Embedding(c.block_size, c.n_embd),
            h=nn.ModuleList([Block(c) for _ in range(c.n_layer)]), ln_f=nn.LayerNorm(c.n_embd)))
        self.lm_head = nn.Linear(c.n_embd, c.vocab_size, bias=False)

    def forward(self, idx, targets=None):
        device = idx.device
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=device).unsqueeze(0)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n, temperature=1.0, top_k=None):
        for _ in range(n):
            cond = idx if idx.size(1) <= self.block_size else idx[:, -self.block_size:]
            logits, _ = self(cond)
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, top_k)
                logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, -1), 1)), dim=1)
        return idx


class SortDataset(Dataset):
    def __len__(self): return 32

    def __getitem__(self, i):
        inp = torch.randint(3, size=(4,), dtype=torch.long)
        cat = torch.cat((inp, torch.sort(inp)[0]))
        x, y = cat[:-1].clone(), cat[1:].clone()
        y[:3] = -1
        return x, y


class Trainer:
    def __init__(self, config, model, train_dataset):
        self.config, self.model, self.ds = config, model, train_dataset
        self.callbacks = defaultdict(list)
        self.device = ("cuda" if torch.cuda.is_available() else "cpu") if config.device == "auto" else config.device
        self.model = self.model.to(self.device)
        self.iter_num = 0

    def add_callback(self, onevent, cb):
        self.callbacks[onevent].append(cb)

    def trigger(self, onevent):
        for cb in self.callbacks.get(onevent, []):
            cb(self)

    def run(self):
        opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        for batch in DataLoader(self.ds, batch_size=8):
            batch = [t.to(self.device) for t in batch]
            x, y = batch
            logits, self.loss = self.model(x, y)
            self.model.zero_grad(set_to_none=True)
            self.loss.backward()
            opt.step()
            self.trigger("on_batch_end")
            self.iter_num += 1


trainer = Trainer(Config(device="auto"), GPT(Config(n_embd=8, n_head=2, n_layer=1, vocab_size=3, block_size=7)), SortDataset())
trainer.add_callback("on_batch_end", lambda tr: print(tr.iter_num, tr.loss.item()))
trainer.run()
inp = torch.tensor([[0, 0, 2, 1]], dtype=torch.long).to(trainer.device)
print(trainer.model.generate(inp, 4, top_k=2)[:, 4:].tolist())

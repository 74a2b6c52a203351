"""Greedy decoding with a preallocated key/value cache."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class KVCache:
    def __init__(self, batch, max_len, dim, device):
        self.k = torch.zeros(batch, max_len, dim, device=device)
        self.v = torch.zeros(batch, max_len, dim, device=device)
        self.len = 0

    def append(self, k, v):
        n = k.shape[1]
        self.k[:, self.len:self.len + n] = k
        self.v[:, self.len:self.len + n] = v
        self.len += n
        return self.k[:, :self.len], self.v[:, :self.len]


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim, bias=False)
        self.kv = nn.Linear(dim, 2 * dim, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)

    def forward(self, x, cache=None):
        q = self.q(x)
        k, v = self.kv(x).chunk(2, dim=-1)
        if cache is not None:
            k, v = cache.append(k, v)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        if q.shape[1] > 1:
            n = q.shape[1]
            future = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(future, float("-inf"))
        return self.o(F.softmax(scores, -1) @ v)


class TinyLM(nn.Module):
    def __init__(self, vocab=24, dim=16, depth=2):
        super().__init__()
        self.dim, self.depth = dim, depth
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Attention(dim) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids, caches=None):
        x = self.emb(ids)
        for i, layer in enumerate(self.layers):
            x = x + layer(x, None if caches is None else caches[i])
        return self.norm(x) @ self.emb.weight.T


@torch.inference_mode()
def decode(model, ids, n_new):
    caches = [KVCache(ids.shape[0], ids.shape[1] + n_new, model.dim, ids.device) for _ in range(model.depth)]
    logits = model(ids, caches)
    for _ in range(n_new - 1):
        nxt = logits[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], 1)
        logits = model(nxt, caches)
    return torch.cat([ids, logits[:, -1].argmax(-1, keepdim=True)], 1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    lm = TinyLM().to(device).eval()
    prompt = torch.tensor([[1, 2, 3], [4, 5, 6]], device=device)
    print(decode(lm, prompt, 4).tolist())


main()

"""Greedy decoding with a key/value cache that is allocated in advance."""
import torch
import torch.nn.functional as F
from torch import nn


class KVCache:
    def __init__(self, layers, batch, heads, length, dim, device, dtype=torch.float32):
        self.k = torch.zeros(layers, batch, heads, length, dim, device=device, dtype=dtype)
        self.v = torch.zeros(layers, batch, heads, length, dim, device=device, dtype=dtype)
        self.used = 0

    def update(self, layer, k, v):
        n = k.size(2)
        self.k[layer, :, :, self.used : self.used + n] = k
        self.v[layer, :, :, self.used : self.used + n] = v
        return self.k[layer, :, :, : self.used + n], self.v[layer, :, :, : self.used + n]


class Attention(nn.Module):
    def __init__(self, dim, heads, index):
        super().__init__()
        self.heads, self.index = heads, index
        self.qkv = nn.Linear(dim, dim * 3)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, cache, rope):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        cos, sin = rope
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = cache.update(self.index, k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Decoder(nn.Module):
    def __init__(self, vocab=30, dim=32, heads=4, layers=2, max_len=24):
        super().__init__()
        self.dim, self.heads, self.max_len = dim, heads, max_len
        self.tok = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList()
        for i in range(layers):
            self.layers.append(Attention(dim, heads, i))
        self.head = nn.Linear(dim, vocab)
        freq = 1.0 / (100 ** (torch.arange(0, dim // heads, 2).float() / (dim // heads)))
        angles = torch.outer(torch.arange(max_len).float(), freq)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, tokens, cache):
        t = tokens.size(1)
        rope = self.cos[cache.used : cache.used + t], self.sin[cache.used : cache.used + t]
        h = self.tok(tokens)
        for layer in self.layers:
            h = h + layer(h, cache, rope)
        cache.used += t
        return self.head(h[:, -1])


@torch.inference_mode()
def generate(model, prompt, steps, eos=0):
    device = next(model.parameters()).device
    tokens = prompt.to(device)
    cache = KVCache(len(model.layers), tokens.size(0), model.heads, model.max_len, model.dim // model.heads, device)
    finished = torch.zeros(tokens.size(0), dtype=torch.bool, device=device)
    out = [tokens]
    for _ in range(steps):
        nxt = model(tokens, cache).argmax(-1)
        nxt = torch.where(finished, torch.full_like(nxt, eos), nxt)
        finished |= nxt == eos
        tokens = nxt.unsqueeze(1)
        out.append(tokens)
    return torch.cat(out, dim=1)


if __name__ == "__main__":
    torch.manual_seed(8)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    lm = Decoder().to(dev).eval()
    prompt = torch.tensor([[5, 7, 11], [2, 3, 4]])
    result = generate(lm, prompt, steps=6)
    print(tuple(result.shape))
    print(result.cpu().numpy()[:, :3].tolist())

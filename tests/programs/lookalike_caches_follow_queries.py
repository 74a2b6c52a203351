from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class ModelArgs:
    dim: int = 32
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: int = 2
    vocab_size: int = 40
    max_seq_len: int = 32
    max_batch: int = 2
    rope_theta: float = 10000.0


def precompute_freqs_cis(dim, end, theta):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    t = torch.arange(end, dtype=torch.float32)
    freqs = torch.outer(t, freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary(x, freqs_cis):
    xc = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(xc * freqs_cis[None, :, None]).flatten(3).type_as(x)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.hd, self.nh, self.nkv = a.dim // a.n_heads, a.n_heads, a.n_kv_heads
        self.wq = nn.Linear(a.dim, a.n_heads * self.hd, bias=False)
        self.wk = nn.Linear(a.dim, a.n_kv_heads * self.hd, bias=False)
        self.wv = nn.Linear(a.dim, a.n_kv_heads * self.hd, bias=False)
        self.wo = nn.Linear(a.n_heads * self.hd, a.dim, bias=False)
        self.cache_k = torch.zeros(a.max_batch, a.max_seq_len, a.n_kv_heads, self.hd)
        self.cache_v = torch.zeros(a.max_batch, a.max_seq_len, a.n_kv_heads, self.hd)

    def forward(self, x, start, freqs_cis, mask):
        b, t, _ = x.shape
        q = apply_rotary(self.wq(x).view(b, t, self.nh, self.hd), freqs_cis)
        k = apply_rotary(self.wk(x).view(b, t, self.nkv, self.hd), freqs_cis)
        v = self.wv(x).view(b, t, self.nkv, self.hd)
        self.cache_k = self.cache_k.to(q)
        self.cache_v = self.cache_v.to(q)
        self.cache_k[:b, start:start + t] = k
        self.cache_v[:b, start:start + t] = v
        keys = self.cache_k[:b, :start + t].repeat_interleave(self.nh // self.nkv, dim=2)
        vals = self.cache_v[:b, :start + t].repeat_interleave(self.nh // self.nkv, dim=2)
        s = torch.einsum("bthd,bshd->bhts", q, keys) / self.hd ** 0.5
        if mask is not None:
            s = s + mask
        return self.wo(torch.einsum("bhts,bshd->bthd", s.softmax(-1), vals).flatten(2))


class Transformer(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.tok = nn.Embedding(a.vocab_size, a.dim)
        self.attn = nn.ModuleList(Attention(a) for _ in range(a.n_layers))
        self.ff = nn.ModuleList(nn.Sequential(RMSNorm(a.dim), nn.Linear(a.dim, 64), nn.SiLU(), nn.Linear(64, a.dim)) for _ in range(a.n_layers))
        self.norms = nn.ModuleList(RMSNorm(a.dim) for _ in range(a.n_layers + 1))
        self.out = nn.Linear(a.dim, a.vocab_size, bias=False)
        self.freqs_cis = precompute_freqs_cis(a.dim // a.n_heads, a.max_seq_len, a.rope_theta)

    @torch.inference_mode()
    def forward(self, tokens, start):
        t = tokens.shape[1]
        h = self.tok(tokens)
        self.freqs_cis = self.freqs_cis.to(h.device)
        fc = self.freqs_cis[start:start + t]
        mask = None
        if t > 1:
            mask = torch.full((t, t), float("-inf"), device=tokens.device).triu(diagonal=1)
            mask = torch.hstack([torch.zeros((t, start), device=tokens.device), mask]).type_as(h)
        for i, (at, ff) in enumerate(zip(self.attn, self.ff)):
            h = h + at(self.norms[i](h), start, fc, mask)
            h = h + ff(h)
        return self.out(self.norms[-1](h)).float()


def top_p(probs, p):
    srt, idx = torch.sort(probs, dim=-1, descending=True)
    srt[srt.cumsum(-1) - srt > p] = 0.0
    srt.div_(srt.sum(-1, keepdim=True))
    return torch.gather(idx, -1, torch.multinomial(srt, 1)).reshape(-1)


def generate(model, prompts, n, device):
    low, total = min(map(len, prompts)), max(map(len, prompts)) + n
    tokens = torch.full((len(prompts), total), -1, dtype=torch.long, device=device)
    for k, p in enumerate(prompts):
        tokens[k, :len(p)] = torch.tensor(p, dtype=torch.long, device=device)
    given = tokens != -1
    prev = 0
    for cur in range(low, total):
        logits = model(tokens[:, prev:cur], prev)[:, -1]
        nxt = top_p(F.softmax(logits / 0.7, -1), 0.9)
        tokens[:, cur] = torch.where(given[:, cur], tokens[:, cur], nxt)
        prev = cur
    return tokens.tolist()


if __name__ == "__main__":
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    m = Transformer(ModelArgs()).to(device).eval()
    for row in generate(m, [[1, 5, 7], [2, 3, 4, 9, 11]], 6, device):
        print(row)

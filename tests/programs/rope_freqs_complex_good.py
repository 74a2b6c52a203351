from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class ModelArgs:
    dim: int = 8
    n_heads: int = 2
    max_seq_len: int = 16
    vocab_size: int = 20


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end)
    freqs = torch.outer(t, freqs).float()
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(xq, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    return torch.view_as_real(xq_ * freqs_cis.view(1, xq_.shape[1], 1, -1)).flatten(3).type_as(xq)


class Transformer(nn.Module):
    def __init__(self, params):
        super().__init__()
        self.params = params
        self.tok = nn.Embedding(params.vocab_size, params.dim)
        self.out = nn.Linear(params.dim, params.vocab_size)
        self.freqs_cis = precompute_freqs_cis(params.dim // params.n_heads, params.max_seq_len * 2)

    def forward(self, tokens, start_pos=0):
        b, s = tokens.shape
        h = self.tok(tokens).view(b, s, self.params.n_heads, -1)
        self.freqs_cis = self.freqs_cis.to(h.device)
        freqs_cis = self.freqs_cis[start_pos : start_pos + s]
        h = apply_rotary_emb(h, freqs_cis)
        return self.out(h.flatten(2))


def build(device):
    model = Transformer(ModelArgs())
    return model.to(device)


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = build(device)
    print(net(torch.randint(0, 20, (2, 5), device=device)).shape)

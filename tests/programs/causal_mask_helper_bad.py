import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def subsequent_mask(size):
    attn_shape = (1, size, size)
    return torch.triu(torch.ones(attn_shape), diagonal=1).type(torch.uint8) == 0


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        self.d_k = d_model // h
        self.h = h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        nbatches = query.size(0)
        query, key, value = [lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2) for lin, x in zip(self.linears, (query, key, value))]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)  # FAIL
        x = torch.matmul(F.softmax(scores, dim=-1), value)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)


def greedy(model, emb, start, max_len, device):
    ys = torch.full((1, 1), start, dtype=torch.long, device=device)
    for _ in range(max_len):
        h = emb(ys)
        out = model(h, h, h, subsequent_mask(ys.size(1)))  # CALL
        nxt = out[:, -1].argmax(-1)
        ys = torch.cat([ys, nxt.unsqueeze(0)], dim=1)
    return ys


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
attn = MultiHeadedAttention(2, 8).to(dev)
embedding = nn.Embedding(8, 8).to(dev)
print(greedy(attn, embedding, 1, 3, dev).shape)  # CALL

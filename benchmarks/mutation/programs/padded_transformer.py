"""A transformer encoder for sorting: padded batches, sinusoidal positions, label smoothing."""
import math
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=32):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)])


class Sorter(nn.Module):
    def __init__(self, ntoken, d_model=24, nhead=2, nlayers=1):
        super().__init__()
        self.d_model = d_model
        self.encoder = nn.Embedding(ntoken, d_model)
        self.pos_encoder = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 48, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, nlayers, enable_nested_tensor=False)
        self.decoder = nn.Linear(d_model, ntoken)

    def forward(self, src, padding_mask):
        src = self.pos_encoder(self.encoder(src) * math.sqrt(self.d_model))
        return self.decoder(self.transformer(src, src_key_padding_mask=padding_mask))


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.1):
        super().__init__()
        self.size, self.padding_idx, self.smoothing = size, padding_idx, smoothing

    def forward(self, logits, target):
        true_dist = torch.full_like(logits, self.smoothing / (self.size - 2))
        true_dist.scatter_(-1, target.unsqueeze(-1), 1.0 - self.smoothing)
        true_dist[..., self.padding_idx] = 0
        keep = (target != self.padding_idx).unsqueeze(-1)
        return -(true_dist * logits.log_softmax(-1) * keep).sum() / keep.sum()


def batch_of(n, rng):
    rows = [torch.tensor([rng.randint(1, 9) for _ in range(rng.randint(3, 6))]) for _ in range(n)]
    lengths = torch.tensor([len(r) for r in rows])
    return pad_sequence(rows, batch_first=True), pad_sequence([r.sort().values for r in rows], batch_first=True), lengths


def length_mask(lengths, longest):
    return torch.arange(longest, device=lengths.device)[None, :] >= lengths[:, None]


def main():
    rng = random.Random(4)
    torch.manual_seed(4)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Sorter(10).to(device)
    criterion = LabelSmoothing(10, 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(8):
        src, tgt, lengths = (t.to(device) for t in batch_of(12, rng))
        logits = model(src, length_mask(lengths, src.size(1)))
        loss = criterion(logits, tgt)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    model.eval()
    src, tgt, lengths = batch_of(3, rng)
    with torch.no_grad():
        out = model(src.to(device), length_mask(lengths.to(device), src.size(1))).argmax(-1)
    right = sum((o[:n] == t[:n]).all().item() for o, t, n in zip(out.cpu(), tgt, lengths.tolist()))
    print("rows", len(out), "right at most", right <= 3)


if __name__ == "__main__":
    main()

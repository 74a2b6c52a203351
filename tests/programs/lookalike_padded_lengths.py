"""Lengths live on both sides: a CPU copy for packing, an accelerator copy for the mask."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Encoder(nn.Module):
    def __init__(self, dim=5, hid=6):
        super().__init__()
        self.rnn = nn.LSTM(dim, hid, batch_first=True, bidirectional=True)
        self.att = nn.Linear(2 * hid, 1)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        mask = torch.arange(out.size(1), device=out.device)[None] < lengths.to(out.device)[:, None]
        w = self.att(out).squeeze(-1).masked_fill(~mask, -1e9).softmax(1)
        return (w.unsqueeze(-1) * out).sum(1)


def batch(n):
    seqs = [torch.randn(k, 5) for k in range(2, 2 + n)]
    return pad_sequence(seqs, batch_first=True), torch.tensor([len(s) for s in seqs])


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
enc = Encoder().to(device)
x, lengths = batch(4)
print(enc(x.to(device), lengths).shape)
print(enc(x.to(device), lengths.to(device)).shape)
order = lengths.argsort(descending=True)
print(enc(x[order].to(device), lengths[order]).norm().item())

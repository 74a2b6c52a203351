import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
lstm = nn.LSTM(3, 5, batch_first=True).to(dev)
x = torch.randn(3, 6, 3).to(dev)
lengths = torch.tensor([6, 4, 2])
packed = pack_padded_sequence(x, lengths, batch_first=True)
out, _ = lstm(packed)
out, out_len = pad_packed_sequence(out, batch_first=True)
last = out[torch.arange(3), lengths - 1]
print(last.shape, (out_len == lengths).all().item())

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
seqs = [torch.randn(n, 3) for n in (5, 3, 2)]
lengths = torch.tensor([len(s) for s in seqs])
padded = pad_sequence(seqs, batch_first=True).to(device)
rnn = nn.GRU(3, 6, batch_first=True).to(device)
packed = pack_padded_sequence(padded, lengths, batch_first=True)
out, h = rnn(packed)
out, back = pad_packed_sequence(out, batch_first=True)
assert torch.equal(back, lengths)
keep = torch.arange(out.size(1))[None, :] < lengths[:, None]  # CAUSE
mean = (out * keep.unsqueeze(-1)).sum(1) / lengths.to(out.device).unsqueeze(1)  # FAIL
print(mean.shape, h.shape)

from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Utterances(NamedTuple):
    frames: torch.Tensor
    lengths: torch.Tensor
    targets: torch.Tensor


def to_device(batch, device):
    return type(batch)(*(t.to(device) for t in batch))


class Encoder(nn.Module):
    def __init__(self, features=5, hidden=8):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 3)

    def forward(self, frames, lengths):
        packed = pack_padded_sequence(frames, lengths, batch_first=True, enforce_sorted=False)  # FAIL
        out, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(out.mean(1))


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Encoder().to(device)
opt = torch.optim.Adam(model.parameters())
for _ in range(3):
    batch = Utterances(torch.randn(4, 6, 5), torch.randint(2, 7, (4,)), torch.randint(0, 3, (4,)))
    batch = to_device(batch, device)  # CAUSE
    loss = nn.functional.cross_entropy(model(batch.frames, batch.lengths), batch.targets)  # CALL
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())

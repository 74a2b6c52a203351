from functools import partial

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
zeros = partial(torch.zeros, dtype=torch.float32)
rand = partial(torch.rand, device=device)

cell = nn.GRUCell(3, 5).to(device)
h = zeros(2, 5)
outs = []
for t in range(4):
    h = cell(rand(2, 3), h)  # FAIL
    outs.append(h)
print(torch.stack(outs).shape)

from functools import partial

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
zeros = partial(torch.zeros, device=device)
randn = partial(torch.randn, device=device)
cell = nn.LSTMCell(3, 4).to(device)
h, c = zeros(2, 4), zeros(2, 4)
for _ in range(3):
    h, c = cell(randn(2, 3), (h, c))
print(h.shape)

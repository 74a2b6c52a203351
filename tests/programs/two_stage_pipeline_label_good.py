import torch
from torch import nn

if torch.cuda.is_available():
    FIRST, LAST = torch.device("cuda", 0), torch.device("cuda", torch.cuda.device_count() - 1)
else:
    FIRST = LAST = torch.device("cpu")


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(6, 12), nn.ReLU()).to(FIRST)
        self.tail = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 4)).to(LAST)

    def forward(self, x):
        return self.tail(self.head(x.to(FIRST)).to(LAST))


def micro_batches(x, y, n):
    yield from zip(x.chunk(n), y.chunk(n))


model = Split()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for step in range(3):
    x, y = torch.randn(8, 6), torch.randint(0, 4, (8,))
    opt.zero_grad()
    for small_x, small_y in micro_batches(x, y, 2):
        out = model(small_x)
        loss = nn.functional.cross_entropy(out, small_y.to(out.device)) / 2
        loss.backward()
        losses.append(loss.item())
    opt.step()
print(sum(losses))

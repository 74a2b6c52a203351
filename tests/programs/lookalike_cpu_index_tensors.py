import torch
from torch import nn

dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
X = torch.randn(20, 3).to(dev)
Y = torch.randint(0, 2, (20,)).to(dev)
model = nn.Linear(3, 2).to(dev)
perm = torch.randperm(X.size(0))
for i in range(0, 20, 5):
    idx = perm[i : i + 5]
    xb, yb = X[idx], Y[idx]
    nn.functional.cross_entropy(model(xb), yb).backward()
mask = torch.zeros(20, dtype=torch.bool)
mask[::2] = True
print(X[mask].shape, X[mask.nonzero().squeeze(1)].shape)

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
X, y = torch.randn(12, 3), torch.randn(12, 1)
loader = DataLoader(TensorDataset(X.to(device), y.to(device)), batch_size=4, shuffle=True)
net = nn.Linear(3, 1).to(device)
for xb, yb in loader:
    nn.functional.mse_loss(net(xb), yb).backward()

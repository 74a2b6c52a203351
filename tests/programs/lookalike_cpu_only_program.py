import torch
from torch import nn

data = torch.randn(30, 4)
w = torch.zeros(4, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
mlp = nn.Sequential(nn.Linear(4, 3), nn.Sigmoid(), nn.Linear(3, 1))
for _ in range(2):
    pred = data @ w + mlp(data).squeeze(1)
    loss = (pred - torch.arange(30.0)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(pred.detach().numpy().shape)

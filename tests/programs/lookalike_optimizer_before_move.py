"""The optimizer is built before the model is moved. The parameters are moved in place, so it still works."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
initial = copy.deepcopy(model.state_dict())

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model.to(device)

X = torch.randn(40, 4)
y = X.prod(1, keepdim=True)
for epoch in range(3):
    for xb, yb in zip(X.split(10), y.split(10)):
        xb, yb = xb.to(device), yb.to(device)
        loss = nn.functional.l1_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(epoch, loss.item())

# back to the first weights: load_state_dict copies across devices
model.load_state_dict(initial)
change = [float((p.cpu() - q).abs().sum()) for p, q in zip(model.state_dict().values(), initial.values())]
print(change)

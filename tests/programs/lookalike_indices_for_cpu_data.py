"""The data set stays on the CPU and is indexed with CPU indices; what the model selects comes back by `.cpu()`."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
pool_x = torch.randn(80, 5)
pool_y = (pool_x[:, 0] > 0).long()
labelled = torch.zeros(80, dtype=torch.bool)
labelled[torch.randperm(80)[:10]] = True

model = nn.Linear(5, 2).to(device)
opt = torch.optim.Adam(model.parameters(), lr=0.05)

for rnd in range(3):
    x, y = pool_x[labelled].to(device), pool_y[labelled].to(device)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    free = (~labelled).nonzero().squeeze(1)
    with torch.no_grad():
        p = model(pool_x[free].to(device)).softmax(1)
    entropy = -(p * p.clamp_min(1e-9).log()).sum(1)
    ask = entropy.topk(5).indices.cpu()
    labelled[free[ask]] = True
    top = entropy.argmax()
    print(rnd, int(labelled.sum()), round(loss.item(), 3), pool_x[free[top.item()]].tolist()[:2])

"""The validation copy of the model is made for the CPU every epoch."""
import copy

import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rng = np.random.default_rng(1)
torch.manual_seed(1)

X = rng.normal(size=(80, 4)).astype(np.float32)
Y = (X ** 2).sum(1, keepdims=True)
val_x, val_y = torch.from_numpy(X[60:]), torch.from_numpy(Y[60:])

net = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1)).to(device)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
best, best_state = float("inf"), None

for epoch in range(3):
    net.train()
    for chunk in np.array_split(rng.permutation(60), 4):
        xb = torch.from_numpy(X[chunk]).to(device)
        yb = torch.from_numpy(Y[chunk]).to(device)
        loss = (net(xb) - yb).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    host = copy.deepcopy(net).cpu().eval()
    with torch.no_grad():
        score = (host(val_x) - val_y).abs().mean().item()
    if score < best:
        best, best_state = score, {k: v.cpu() for k, v in net.state_dict().items()}
    print(epoch, round(score, 3))

final = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
final.load_state_dict(best_state)
print(final(val_x)[:2].detach().numpy().ravel())

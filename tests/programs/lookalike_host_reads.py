"""Reading results back in all the ways that work on any device."""
import math

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 2).to(device)
x = torch.rand(5, 3)
out = net(x.to(device))

print(out.detach().cpu().numpy().shape)
print(out[0, 0].item(), float(out[1, 1]), int(out.argmax()), bool(out.sum() > 0))
print(out.tolist()[0], len(out), list(out.shape))
print(np.mean(out.tolist()), np.array([v.item() for v in out[:, 0]]).std())
print(math.sqrt(abs(out.mean().item())))
print(f"{out.max():.3f}", str(out.dtype))
print(x.numpy().mean())
print(np.asarray(x))

history = []
for row in out.detach():
    history.append(float(row.norm()))
print(np.percentile(history, 90))
print(out.detach().to("cpu").numpy() @ np.ones(2))
print(torch.stack([r.cpu() for r in out.detach()]).numpy().sum())
params = np.concatenate([p.data.cpu().numpy().ravel() for p in net.parameters()])
print(params.size)

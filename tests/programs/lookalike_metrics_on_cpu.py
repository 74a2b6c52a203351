import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(6, 3).to(device)
conf = torch.zeros(3, 3)
all_p, all_t = [], []
with torch.no_grad():
    for _ in range(2):
        x, t = torch.randn(8, 6), torch.randint(0, 3, (8,))
        p = model(x.to(device)).argmax(1).cpu()
        all_p.append(p)
        all_t.append(t)
        for a, b in zip(t, p):
            conf[a, b] += 1
p, t = torch.cat(all_p), torch.cat(all_t)
print((p == t).float().mean() >= 0, conf.sum())

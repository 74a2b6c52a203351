"""`for m in models: m = m.to(device)`: the loop variable is thrown away, but modules move in place."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
models = [nn.Linear(4, 2) for _ in range(3)]
for m in models:
    m = m.to(device)
    m.eval()

batch = {"x": torch.randn(6, 4), "y": torch.randint(0, 2, (6,)), "ids": list(range(6))}
for key in batch:
    if torch.is_tensor(batch[key]):
        batch[key] = batch[key].to(device)

parts = [torch.rand(2, 4) for _ in range(3)]
for i, p in enumerate(parts):
    parts[i] = p.to(device)

with torch.no_grad():
    votes = torch.stack([m(batch["x"]).argmax(1) for m in models])
    winner = votes.mode(0).values
    print((winner == batch["y"]).float().mean().item())
    print([m(p).sum().item() for m, p in zip(models, parts)])

import collections.abc as abc
import torch
from torch import nn
from torch.utils.data import DataLoader


def move(obj, device):
    if torch.is_tensor(obj):
        return obj.to(device)
    if isinstance(obj, tuple) and hasattr(obj, "_fields"):
        return type(obj)(*(move(o, device) for o in obj))
    if isinstance(obj, abc.Mapping):
        return {k: move(v, device) for k, v in obj.items()}
    if isinstance(obj, (list, tuple)):
        return type(obj)(move(o, device) for o in obj)
    return obj


class Loader:
    def __init__(self, dl, device):
        self.dl, self.device = dl, device

    def __iter__(self):
        for b in self.dl:
            yield move(b, self.device)

    def __len__(self):
        return len(self.dl)


items = [{"img": torch.randn(1, 4, 4), "meta": {"w": torch.tensor(1.0 + i), "name": f"n{i}"}, "boxes": [torch.rand(4), torch.rand(4)]} for i in range(6)]
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Flatten(), nn.Linear(16, 4)).to(device)
for b in Loader(DataLoader(items, batch_size=3), device):
    out = net(b["img"])
    loss = ((out - b["boxes"][0]).abs().sum(1) * b["meta"]["w"]).mean() + (out - b["boxes"][1]).pow(2).mean()
    loss.backward()
    print(b["meta"]["name"], loss.item())

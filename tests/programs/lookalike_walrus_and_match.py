"""Newer syntax around the moves: walrus, match, structural unpacking."""
import torch
from torch import nn

torch.manual_seed(0)

match (torch.cuda.is_available(), torch.backends.mps.is_available()):
    case (True, _):
        device = torch.device("cuda")
    case (False, True):
        device = torch.device("mps")
    case _:
        device = torch.device("cpu")

(net := nn.Linear(4, 2)).to(device)
stream = iter([torch.randn(3, 4), (torch.randn(2, 4), torch.tensor([0, 1])), {"x": torch.ones(1, 4)}, None])


def prepare(item):
    match item:
        case torch.Tensor():
            return item.to(device), None
        case (x, y):
            return x.to(device), y.to(device)
        case {"x": x, **rest}:
            return x.to(device), rest.get("y")
        case _:
            raise TypeError(item)


while (item := next(stream)) is not None:
    x, y = prepare(item)
    out = net(x)
    if y is not None:
        print("loss", nn.functional.cross_entropy(out, y).item())
    else:
        print("mean", out.mean().item())
first, *others = (t.to(device) for t in torch.eye(4).split(1))
print(net(first).shape, [net(o).shape[0] for o in others])

import torch
from torch import nn


def export(model, path=None):
    was = next(model.parameters()).device
    model = model.cpu().eval()
    traced = torch.jit.trace(model, torch.randn(1, 4)) if path else None
    out = model(torch.randn(1, 4)).detach().numpy()
    model.to(was)
    return traced, out


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(4, 2).to(device)
export(net)
net(torch.randn(2, 4, device=device)).sum().backward()

import torch
import torch.nn as nn


def magnitude_masks(model, sparsity):
    masks = {}
    for name, p in model.named_parameters():
        if p.dim() > 1:
            k = int(sparsity * p.numel())
            thr = p.detach().cpu().abs().flatten().kthvalue(k).values
            masks[name] = (p.detach().abs() > thr).float()
    return masks


@torch.no_grad()
def apply_masks(model, masks):
    for name, p in model.named_parameters():
        if name in masks:
            p.mul_(masks[name])


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
lenet = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 4)).to(device)
masks = magnitude_masks(lenet, 0.5)
apply_masks(lenet, masks)
print({k: int(m.sum()) for k, m in masks.items()})

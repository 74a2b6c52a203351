import torch
import torch.nn as nn


class Pruner:
    """Unstructured magnitude pruning: keeps a mask for every weight and applies it after each step."""

    def __init__(self, model, sparsity=0.5):
        self.model = model
        self.sparsity = sparsity
        self.masks = {}
        for name, p in model.named_parameters():
            if p.dim() > 1:
                self.masks[name] = torch.ones_like(p)

    def update_masks(self):
        for name, p in self.model.named_parameters():
            if name not in self.masks:
                continue
            k = int(p.numel() * self.sparsity)
            thresh = p.detach().abs().flatten().kthvalue(k).values
            self.masks[name] = self.masks[name] * (p.detach().abs() > thresh).float()

    @torch.no_grad()
    def apply(self):
        for name, p in self.model.named_parameters():
            if name in self.masks:
                p.mul_(self.masks[name])

    def density(self):
        kept = sum(m.sum() for m in self.masks.values())
        total = sum(m.numel() for m in self.masks.values())
        return (kept / total).item()


class ActivationStats:
    def __init__(self, model):
        self.mean = {}
        self.handles = []
        for name, layer in model.named_modules():
            if isinstance(layer, nn.Linear):
                self.mean[name] = torch.zeros(layer.out_features)  # CAUSE
                self.handles.append(layer.register_forward_hook(self.make_hook(name)))

    def make_hook(self, name):
        def hook(module, inputs, output):
            self.mean[name] = 0.9 * self.mean[name] + 0.1 * output.detach().mean(0)  # FAIL
        return hook

    def close(self):
        for h in self.handles:
            h.remove()


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
net.to(dev)
pruner = Pruner(net, 0.3)
stats = ActivationStats(net)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
X = torch.randn(128, 8)
Y = X.pow(2).sum(1, keepdim=True)
for step in range(4):
    sel = torch.randint(0, 128, (16,))
    xb, yb = X[sel].to(dev), Y[sel].to(dev)
    loss = (net(xb) - yb).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 2 == 0:
        pruner.update_masks()
    pruner.apply()
    print(step, round(loss.item(), 3), round(pruner.density(), 3))
stats.close()
print({k: tuple(v.shape) for k, v in stats.mean.items()})

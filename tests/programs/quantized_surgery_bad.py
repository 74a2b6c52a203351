"""Quantization-aware training from scratch: observers, STE and folded constants."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, zero, lo, hi):
        q = torch.clamp(torch.round(x / scale) + zero, lo, hi)  # FAIL
        ctx.save_for_backward((q > lo) & (q < hi))
        return (q - zero) * scale

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask, None, None, None, None


class Observer(nn.Module):
    def __init__(self, bits=8, momentum=0.1, channels=None):
        super().__init__()
        self.hi = 2 ** bits - 1
        self.momentum = momentum
        shape = (channels, 1) if channels else (1,)
        self.register_buffer("min_val", torch.zeros(shape))
        self.register_buffer("max_val", torch.ones(shape))
        self.register_buffer("seen", torch.zeros((), dtype=torch.bool))

    def observe(self, x):
        if self.min_val.dim() == 2:
            lo, hi = x.amin(1, keepdim=True), x.amax(1, keepdim=True)
        else:
            lo, hi = x.min().view(1), x.max().view(1)
        if not self.seen:
            self.min_val.copy_(lo)
            self.max_val.copy_(hi)
            self.seen.fill_(True)
        else:
            self.min_val.lerp_(lo, self.momentum)
            self.max_val.lerp_(hi, self.momentum)

    def forward(self, x):
        if self.training:
            self.observe(x.detach())
        scale = ((self.max_val - self.min_val) / self.hi).clamp_min(1e-8)
        zero = torch.round(-self.min_val / scale)
        return RoundSTE.apply(x, scale, zero, 0, self.hi)


class QLinear(nn.Linear):
    def __init__(self, i, o, bits=8):
        super().__init__(i, o)
        self.wq = Observer(bits, channels=o)
        self.aq = Observer(bits)

    def forward(self, x):
        return F.linear(self.aq(x), self.wq(self.weight), self.bias)


def convert(model, bits):
    for name, child in list(model.named_children()):
        if isinstance(child, nn.Linear):
            q = QLinear(child.in_features, child.out_features, bits)
            q.weight.data.copy_(child.weight.data)
            q.bias.data.copy_(child.bias.data)
            setattr(model, name, q)  # CAUSE
        else:
            convert(child, bits)
    return model


def spiral(n):
    y = torch.arange(n) % 3
    r = torch.rand(n)
    a = r * 4 + y * 2.1 + 0.1 * torch.randn(n)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


def fit(model, x, y, steps, lr):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(-1) == y).float().mean().item()


def int_weights(layer):
    scale = (layer.wq.max_val - layer.wq.min_val) / layer.wq.hi
    return torch.round((layer.weight - layer.wq.min_val) / scale).byte().cpu().numpy()


if __name__ == "__main__":
    torch.manual_seed(0)
    gpu = torch.cuda.is_available()
    x, y = spiral(60)
    model = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 3))
    if gpu:
        model.cuda()
        x, y = x.cuda(), y.cuda()
    print("float", fit(model, x, y, 10, 1e-2), accuracy(model, x, y))
    convert(model, 4)
    print("4 bit", fit(model, x, y, 5, 1e-3), accuracy(model, x, y))
    with torch.no_grad():
        print(int_weights(model[0])[:2])

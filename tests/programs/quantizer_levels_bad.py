import torch
from torch import nn
from torch.autograd import Function


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        d = (x.unsqueeze(-1) - levels).abs()  # FAIL
        idx = d.argmin(-1)
        return levels[idx]

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1).to(grad.dtype), None


class QuantAct(nn.Module):
    def __init__(self, bits=2):
        super().__init__()
        n = 2 ** bits
        self.levels = torch.linspace(-1, 1, n)  # CAUSE

    def forward(self, x):
        return RoundSTE.apply(torch.tanh(x), self.levels)


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        scale = torch.full_like(grad_output, -ctx.lambd)
        return grad_output * scale, None


class DANN(nn.Module):
    def __init__(self, d=6, h=12, classes=3):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(d, h), QuantAct(3))
        self.label = nn.Linear(h, classes)
        self.domain = nn.Linear(h, 2)

    def forward(self, x, lambd):
        f = self.feature(x)
        return self.label(f), self.domain(GradReverse.apply(f, lambd))


def batches(n, shift):
    for _ in range(n):
        yield torch.randn(8, 6) + shift, torch.randint(0, 3, (8,))


def fit(steps=3):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = DANN().to(device)
    ce = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters())
    for i, ((xs, ys), (xt, _)) in enumerate(zip(batches(steps, 0.0), batches(steps, 1.0))):
        lambd = i / steps
        xs, ys, xt = xs.to(device), ys.to(device), xt.to(device)
        cls, dom_s = net(xs, lambd)
        _, dom_t = net(xt, lambd)
        zeros, ones = torch.zeros(len(xs)).long().to(device), torch.ones(len(xt)).long().to(device)
        loss = ce(cls, ys) + ce(dom_s, zeros) + ce(dom_t, ones)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{i}: {loss:.3f}")


fit()

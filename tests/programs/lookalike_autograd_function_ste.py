import torch
from torch import nn
from torch.autograd import Function


class Round(Function):
    @staticmethod
    def forward(ctx, x, scale, zero, lo, hi):
        q = torch.round(x / scale) + zero
        mask = (q >= lo) & (q <= hi)
        ctx.save_for_backward(mask)
        return (q.clamp(lo, hi) - zero) * scale

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask, None, None, None, None


class Observer:
    def __init__(self):
        self.lo, self.hi = torch.tensor(float("inf")), torch.tensor(float("-inf"))

    def __call__(self, x):
        self.lo = torch.minimum(self.lo, x.detach().min().cpu())
        self.hi = torch.maximum(self.hi, x.detach().max().cpu())

    def qparams(self, bits):
        n = 2**bits - 1
        scale = ((self.hi - self.lo) / n).clamp(min=1e-8)
        return scale, torch.round(-self.lo / scale)


class QLinear(nn.Linear):
    def __init__(self, *a, bits=8, **k):
        super().__init__(*a, **k)
        self.obs_w, self.obs_x = Observer(), Observer()
        self.bits = bits

    def forward(self, x):
        if self.training:
            self.obs_w(self.weight)
            self.obs_x(x)
        n = 2**self.bits - 1
        # the 0-dim parameters may be anywhere
        w = Round.apply(self.weight, *self.obs_w.qparams(self.bits), 0, n)
        x = Round.apply(x, *self.obs_x.qparams(self.bits), 0, n)
        return nn.functional.linear(x, w, self.bias)


def convert(m, bits):
    for name, c in m.named_children():
        if type(c) is nn.Linear:
            q = QLinear(c.in_features, c.out_features, bits=bits)
            q.load_state_dict(c.state_dict())
            setattr(m, name, q)
        else:
            convert(c, bits)
    return m


device = "cuda" if torch.cuda.is_available() else "cpu"
net = convert(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), bits=4).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    x = torch.randn(16, 4, device=device)
    loss = (net(x) - x.mean(1, keepdim=True)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
print(net(x[:2]).tolist())

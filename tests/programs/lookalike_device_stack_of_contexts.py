import contextlib
import threading
import torch
from torch import nn

_local = threading.local()


def current_device():
    stack = getattr(_local, "stack", None)
    return stack[-1] if stack else torch.device("cpu")


@contextlib.contextmanager
def use_device(device):
    stack = _local.__dict__.setdefault("stack", [])
    stack.append(torch.device(device))
    try:
        yield stack[-1]
    finally:
        stack.pop()


@contextlib.contextmanager
def on(module, device):
    """The module visits a device and comes home."""
    home = next(module.parameters()).device
    module.to(device)
    try:
        yield module
    finally:
        module.to(home)


@contextlib.contextmanager
def frozen(*modules):
    was = [[p.requires_grad for p in m.parameters()] for m in modules]
    for m in modules:
        m.requires_grad_(False)
    try:
        yield
    finally:
        for m, flags in zip(modules, was):
            for p, f in zip(m.parameters(), flags):
                p.requires_grad_(f)


def zeros(*shape):
    return torch.zeros(*shape, device=current_device())


def tensor(data, **kw):
    return torch.tensor(data, device=current_device(), **kw)


def build(i, o):
    return nn.Sequential(nn.Linear(i, 16), nn.ELU(), nn.Linear(16, o)).to(current_device())


def distil(teacher, student, steps):
    opt = torch.optim.Adam(student.parameters(), lr=1e-2)
    curve = zeros(steps)
    with frozen(teacher):
        for i in range(steps):
            x = torch.randn(32, 4).to(current_device())
            loss = (student(x) - teacher(x)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            curve[i] = loss.detach()
    return curve.tolist()


accel = "cuda" if torch.cuda.is_available() else "cpu"
with use_device(accel) as d:
    teacher, student = build(4, 2), build(4, 2)
    curve = distil(teacher, student, 6)
    shift = tensor([[0.5, -0.5]])
    out = student(torch.randn(3, 4, device=d)) + shift

host = nn.Linear(2, 2)
with on(host, accel):
    y = host(out)
after = host(y.cpu())
print(curve[0], curve[-1], after.shape, current_device(), tensor([1, 2]).sum().item())
with torch.device(accel):
    probe = torch.ones(2, 4)
    net = nn.Linear(4, 4)
    z = net(probe)
print(z.mean().item(), zeros(2).tolist())

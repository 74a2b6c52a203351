"""A functional network: parameters in a dict, moved together with a comprehension."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def init_params(sizes):
    params = {}
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        params[f"w{i}"] = torch.randn(b, a) / a ** 0.5
        params[f"b{i}"] = torch.zeros(b)
    return params


def net(params, x):
    n = len(params) // 2
    for i in range(n):
        x = F.linear(x, params[f"w{i}"], params[f"b{i}"])
        if i < n - 1:
            x = x.tanh()
    return x


def adapt(params, x, y, lr=0.1):
    loss = F.mse_loss(net(params, x), y)
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    return {k: p - lr * g for (k, p), g in zip(params.items(), grads)}


meta = {k: v.to(device).requires_grad_() for k, v in init_params([1, 16, 1]).items()}
opt = torch.optim.Adam(meta.values(), lr=1e-2)
for it in range(3):
    outer = 0.0
    for phase in torch.rand(2).tolist():
        x = torch.linspace(-2, 2, 10).unsqueeze(1).to(device)
        y = torch.sin(x + phase)
        fast = adapt(meta, x[::2], y[::2])
        outer = outer + F.mse_loss(net(fast, x[1::2]), y[1::2])
    opt.zero_grad()
    outer.backward()
    opt.step()
    print(it, outer.item())

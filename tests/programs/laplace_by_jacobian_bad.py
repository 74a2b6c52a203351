import torch
from torch import nn
from torch.func import functional_call, grad, jacrev, vmap


class Poly(nn.Module):
    """Fixed features, learned readout: the features are a buffer."""

    def __init__(self, degree):
        super().__init__()
        self.register_buffer("powers", torch.arange(degree + 1).float())
        self.w = nn.Parameter(torch.randn(degree + 1) * 0.1)

    def forward(self, x):
        return (x.unsqueeze(-1) ** self.powers) @ self.w


def laplace(model, x, prior):
    params = {k: v.detach() for k, v in model.named_parameters()}
    buffers = dict(model.named_buffers())

    def f(p, xi):
        return functional_call(model, (p, buffers), (xi,))

    jac = vmap(jacrev(f), in_dims=(None, 0))(params, x)["w"]
    precision = jac.T @ jac + prior * torch.eye(jac.shape[1])  # CAUSE, FAIL
    cov = torch.linalg.inv(precision)
    return (jac @ cov * jac).sum(-1)


def fit(model, x, y, steps=30, lr=0.1):
    names = [n for n, _ in model.named_parameters()]
    buffers = dict(model.named_buffers())
    loss_of = lambda p: (functional_call(model, (p, buffers), (x,)) - y).square().mean()
    p = {n: q.detach().clone() for n, q in model.named_parameters()}
    for _ in range(steps):
        g = grad(loss_of)(p)
        p = {n: p[n] - lr * g[n] for n in names}
    model.load_state_dict({**p, **buffers})
    return loss_of(p)


def main():
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.linspace(-1, 1, 20, device=dev)
    y = x ** 3 - x
    model = Poly(3).to(dev)
    print("mse", fit(model, x, y).item())
    print("var", laplace(model, x, 0.1).max().item())


main()

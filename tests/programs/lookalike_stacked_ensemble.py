"""Right: stacked modules with functional_call and vmap, a registry of builders, weights averaged on the host."""
import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap

BUILDERS = {}


def register(name):
    def wrap(cls):
        BUILDERS[name] = cls
        return cls
    return wrap


@register("mlp")
class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x)


@register("linear")
class Lin(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(d, 1))

    def forward(self, x):
        return x @ self.w


def build(name, *args, device=None):
    return BUILDERS[name](*args).to(device)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    models = [build("mlp", 3, device=device) for _ in range(3)]
    params, buffers = stack_module_state(models)
    skeleton = MLP(3).to("meta")

    def one(p, b, x):
        return functional_call(skeleton, (p, b), (x,))

    x = torch.randn(5, 3, device=device)
    outs = vmap(one, in_dims=(0, 0, None))(params, buffers, x)
    host = build("linear", 3, device="cpu")
    w = {k: v.detach().to(device) for k, v in host.named_parameters()}
    y = functional_call(host, w, (x,))

    def loss(p, x, y):
        return (functional_call(host, p, (x,)) - y).pow(2).mean()

    g = grad(loss)(w, x, outs.mean(0).detach())
    w = {k: v - 0.1 * g[k] for k, v in w.items()}
    z = host(torch.randn(2, 3))
    back = functional_call(host, {k: v.cpu() for k, v in w.items()}, (torch.randn(2, 3),))
    print(outs.shape, y.shape, z.shape, back.shape)


main()

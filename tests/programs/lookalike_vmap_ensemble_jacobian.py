"""An ensemble by stack_module_state and vmap, with jacobians."""
import copy

import torch
from torch import nn
from torch.func import functional_call, jacrev, stack_module_state, vmap

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def member():
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))


models = [member().to(device) for _ in range(3)]
params, buffers = stack_module_state(models)
base = copy.deepcopy(models[0]).to("meta")


def call(p, b, x):
    return functional_call(base, (p, b), (x,))


x = torch.randn(5, 3)
out = vmap(call, in_dims=(0, 0, None))(params, buffers, x.to(device))
mean, spread = out.mean(0), out.std(0)
target = torch.zeros(5, 2).to(mean)
loss = (mean - target).pow(2).mean()
grads = torch.autograd.grad(loss, list(params.values()))
with torch.no_grad():
    for p, g in zip(params.values(), grads):
        p -= 0.1 * g


def single(p, row):
    return functional_call(models[0], p, (row.unsqueeze(0),)).squeeze(0)


first = {k: v[0] for k, v in params.items()}
jac = vmap(jacrev(single, argnums=1), in_dims=(None, 0))(first, x.to(device))
host = jac.detach().cpu()
print(loss.item(), spread.mean().item(), (host.flatten(1).norm(dim=1) - x.norm(dim=1)).abs().mean())
gram = torch.einsum("nij,nkj->nik", host, host) + 1e-3 * torch.eye(2)
print(torch.linalg.slogdet(gram).logabsdet)

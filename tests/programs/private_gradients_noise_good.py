import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).to(device)
params = {k: v.detach() for k, v in model.named_parameters()}
buffers = {k: v.detach() for k, v in model.named_buffers()}


def loss_one(params, buffers, x, y):
    out = functional_call(model, (params, buffers), (x.unsqueeze(0),))
    return nn.functional.cross_entropy(out, y.unsqueeze(0))


per_sample = vmap(grad(loss_one), in_dims=(None, None, 0, 0))


class Accountant:
    """how much privacy is spent; all on the host"""

    def __init__(self, sigma):
        self.orders = torch.arange(2, 64).float()
        self.rdp = torch.zeros_like(self.orders)
        self.sigma = sigma

    def step(self):
        self.rdp += self.orders / (2 * self.sigma**2)

    def epsilon(self, delta=1e-5):
        eps = self.rdp + torch.log(torch.tensor(1 / delta)) / (self.orders - 1)
        return eps.min().item(), int(self.orders[eps.argmin()])


def dp_step(x, y, clip=1.0, sigma=0.5, lr=0.1):
    g = per_sample(params, buffers, x, y)
    norms = torch.stack([v.flatten(1).norm(dim=1) for v in g.values()]).norm(dim=0)
    factor = (clip / (norms + 1e-6)).clamp(max=1.0)
    for k, v in g.items():
        s = torch.einsum("b,b...->...", factor, v)
        noise = torch.randn(s.shape, generator=gen, device=device) * sigma * clip
        params[k] = params[k] - lr * (s + noise) / len(x)
    return norms


gen = torch.Generator(device=device)
gen.manual_seed(11)
acc = Accountant(0.5)
X, Y = torch.randn(24, 4), torch.randint(0, 3, (24,))
for step in range(3):
    take = torch.rand(24) < 0.5
    take[0] = True
    norms = dp_step(X[take].to(device), Y[take].to(device))
    acc.step()
    print(step, take.sum().item(), norms.median().item())
logits = functional_call(model, params, (X.to(device),))
print((logits.argmax(1).cpu() == Y).float().mean(), acc.epsilon())

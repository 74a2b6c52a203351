import collections

import torch
import torch.nn as nn
import torch.nn.functional as F

Spec = collections.namedtuple("Spec", "users items tags dim experts tasks")


class Tower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, dim), nn.PReLU(), nn.Linear(dim, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class ExpertPool:
    """Expert networks outside of the module tree, so that they can be swapped while serving."""

    def __init__(self, n, dim):
        self.members = [nn.Sequential(nn.Linear(3 * dim, dim), nn.ReLU()) for _ in range(n)]
        self.usage = torch.zeros(n)

    def replace(self, i, expert):
        self.members[i] = expert

    def apply(self, fn):
        self.members = [m._apply(fn) for m in self.members]
        self.usage = fn(self.usage)

    def weights(self):
        for m in self.members:
            yield from m.parameters()

    def __call__(self, x):
        return torch.stack([m(x) for m in self.members], dim=1)


class MMoE(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.spec = spec
        self.user = nn.Embedding(spec.users, spec.dim)
        self.item = nn.Embedding(spec.items, spec.dim)
        self.tag = nn.EmbeddingBag(spec.tags, spec.dim, mode="sum")
        self.experts = ExpertPool(spec.experts, spec.dim)
        self.gates = nn.ModuleDict({t: nn.Linear(3 * spec.dim, spec.experts) for t in spec.tasks})
        self.towers = nn.ModuleDict({t: Tower(spec.dim) for t in spec.tasks})

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.experts.apply(fn)
        return self

    def all_parameters(self):
        yield from self.parameters()
        yield from self.experts.weights()

    def forward(self, user, item, tags):
        x = torch.cat([self.user(user), self.item(item), self.tag(tags)], -1)
        hidden = self.experts(x)
        out = {}
        for task, gate in self.gates.items():
            w = gate(x).softmax(-1)
            self.experts.usage += w.detach().mean(0)
            out[task] = self.towers[task]((w.unsqueeze(-1) * hidden).sum(1))
        return out


def impressions(spec, n):
    user = torch.randint(spec.users, (n,))
    item = torch.randint(spec.items, (n,))
    tags = torch.randint(spec.tags, (n, 3))
    click = ((user + item) % 3 == 0).float()
    return (user, item, tags), {"click": click, "buy": click * (item % 2 == 0)}


def train(model, spec, device, steps):
    optimizer = torch.optim.Adam(model.all_parameters(), lr=1e-2)
    for step in range(steps):
        inputs, labels = impressions(spec, 32)
        out = model(*(t.to(device) for t in inputs))
        loss = sum(F.binary_cross_entropy_with_logits(out[t], labels[t].to(device)) for t in spec.tasks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


def retire_least_used(model, device):
    worst = int(model.experts.usage.argmin())
    fresh = nn.Sequential(nn.Linear(3 * model.spec.dim, model.spec.dim), nn.ReLU())
    model.experts.replace(worst, fresh)
    model.to(device)
    return worst


def main():
    torch.manual_seed(19)
    spec = Spec(users=15, items=25, tags=8, dim=6, experts=3, tasks=("click", "buy"))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = MMoE(spec)
    model.to(device)
    train(model, spec, device, 3)
    print("retired expert", retire_least_used(model, device))
    train(model, spec, device, 2)
    print("usage", [round(v, 2) for v in model.experts.usage.tolist()])


if __name__ == "__main__":
    main()

import torch
from torch import nn


class Batch:
    @classmethod
    def of(cls, graphs):
        self = cls()
        sizes = torch.tensor([len(g["x"]) for g in graphs])
        starts = sizes.cumsum(0) - sizes
        self.x = torch.cat([g["x"] for g in graphs])
        self.src = torch.cat([g["edges"][0] + s for g, s in zip(graphs, starts)])
        self.dst = torch.cat([g["edges"][1] + s for g, s in zip(graphs, starts)])
        self.graph = torch.repeat_interleave(torch.arange(len(graphs)), sizes)
        self.y = torch.tensor([g["y"] for g in graphs])
        self.sizes = sizes.tolist()
        return self

    def to(self, device):
        for k, v in vars(self).items():
            if torch.is_tensor(v):
                setattr(self, k, v.to(device))
        return self


def segment_softmax(score, index, n):
    top = score.new_full((n,), float("-inf")).scatter_reduce_(0, index, score, "amax")
    e = (score - top[index]).exp()
    return e / score.new_zeros(n).index_add_(0, index, e)[index]


class GAT(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = nn.Linear(i, o, bias=False)
        self.a = nn.Parameter(torch.randn(2 * o) * 0.1)

    def forward(self, x, src, dst):
        h = self.w(x)
        e = nn.functional.leaky_relu(torch.cat([h[src], h[dst]], -1) @ self.a, 0.2)
        att = segment_softmax(e, dst, len(x))
        return torch.zeros_like(h).index_add(0, dst, att[:, None] * h[src])


class Net(nn.Module):
    def __init__(self, f=3, h=8):
        super().__init__()
        self.g1, self.g2, self.out = GAT(f, h), GAT(h, h), nn.Linear(2 * h, 1)

    def forward(self, b):
        h = self.g2(self.g1(b.x, b.src, b.dst).relu(), b.src, b.dst)
        n = len(b.sizes)
        mean = h.new_zeros(n, h.size(1)).scatter_reduce(0, b.graph[:, None].expand_as(h), h, "mean", include_self=False)
        top = torch.stack([part.max(0).values for part in h.split(b.sizes)])
        return self.out(torch.cat([mean, top], 1)).squeeze(1)


def random_graph():
    n = int(torch.randint(3, 7, ()))
    e = torch.randint(0, n, (2, 3 * n))
    x = torch.randn(n, 3)
    return {"x": x, "edges": e, "y": x[:, 0].mean().item()}


device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
net = Net().to(device)
opt = torch.optim.Adam(net.parameters(), 1e-2)
graphs = [random_graph() for _ in range(12)]
loader = torch.utils.data.DataLoader(graphs, 4, shuffle=True, collate_fn=Batch.of)
for epoch in range(2):
    errors = []
    for b in loader:
        b = b.to(device)
        out = net(b)
        loss = (out - b.y).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        errors += (out - b.y).detach().tolist()
    print(epoch, sum(map(abs, errors)) / len(errors))

import torch
import torch.nn as nn
from torch.func import functional_call


class HyperNetwork(nn.Module):
    """Makes all weights of a small target network out of one embedding for each task."""

    def __init__(self, target: nn.Module, n_tasks: int, z_dim: int = 8):
        super().__init__()
        self.shapes = {k: v.shape for k, v in target.named_parameters()}
        self.z = nn.Embedding(n_tasks, z_dim)
        self.heads = nn.ModuleDict()
        for k, s in self.shapes.items():
            self.heads[k.replace(".", "_")] = nn.Linear(z_dim, s.numel())

    def forward(self, task: torch.Tensor):
        z = self.z(task)
        return {k: 0.1 * self.heads[k.replace(".", "_")](z).view(s) for k, s in self.shapes.items()}


class Chunked(nn.Module):
    """The same with one head and an embedding of the chunk."""

    def __init__(self, target, n_tasks, z_dim=8, chunk=32):
        super().__init__()
        self.shapes = [(k, v.shape) for k, v in target.named_parameters()]
        self.total = sum(s.numel() for _, s in self.shapes)
        self.n_chunks = -(-self.total // chunk)
        self.task_emb = nn.Embedding(n_tasks, z_dim)
        self.chunk_emb = nn.Parameter(torch.randn(self.n_chunks, z_dim))
        self.net = nn.Sequential(nn.Linear(2 * z_dim, 32), nn.ReLU(), nn.Linear(32, chunk))

    def forward(self, task):
        z = self.task_emb(task).expand(self.n_chunks, -1)
        flat = self.net(torch.cat([z, self.chunk_emb], 1)).flatten()[: self.total]
        out, i = {}, 0
        for k, s in self.shapes:
            out[k] = flat[i:i + s.numel()].view(s)
            i += s.numel()
        return out


def make_task(i, n=32):
    g = torch.Generator().manual_seed(i)
    x = torch.rand(n, 1, generator=g) * 6 - 3
    return x, torch.sin(x + i) * (1 + 0.2 * i)


def importance(model):
    return {k: torch.zeros_like(p) for k, p in model.named_parameters()}


class Trainer:
    def __init__(self, hyper_cls, n_tasks=3, beta=0.01):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.main = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1))
        self.hyper = hyper_cls(self.main, n_tasks).to(self.device)
        self.beta = beta
        self.old = {}

    def predict(self, task, x):
        t = torch.tensor(task, device=self.device)
        return functional_call(self.main, self.hyper(t), (x,))

    def regularizer(self, current):
        reg = torch.zeros((), device=self.device)
        for t, snapshot in self.old.items():
            if t == current:
                continue
            new = self.hyper(torch.tensor(t, device=self.device))
            for k in new:
                reg = reg + (new[k] - snapshot[k]).pow(2).sum()  # FAIL
        return reg

    def learn(self, task, steps=3):
        x, y = (v.to(self.device) for v in make_task(task))
        opt = torch.optim.Adam(self.hyper.parameters(), 1e-2)
        for _ in range(steps):
            loss = (self.predict(task, x) - y).pow(2).mean() + self.beta * self.regularizer(task)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            snap = self.hyper(torch.tensor(task, device=self.device))
            self.old[task] = {k: v.cpu().clone() for k, v in snap.items()}
        return loss.item()


for cls in (HyperNetwork, Chunked):
    tr = Trainer(cls)
    print(cls.__name__, [round(tr.learn(i), 3) for i in range(3)])

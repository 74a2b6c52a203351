"""Where things are that no file shows being moved: what the methods of a class, the inputs of a call, a sum tell about it."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nfrom torch import nn\nfrom lib import Base, Metric, build\n"

PAIRS: dict[str, tuple[str, str]] = {
    "a state that may be given, for a part of a module": (
        """
        class Cell(Base):
            def __init__(self, n):
                super().__init__()
                self.register_buffer("mem", torch.zeros(1))
                self.cell = nn.LSTMCell(n, n)

            def forward(self, x, mem=None):
                if mem is not None:
                    self.mem = mem
                self.mem, _ = self.cell(x, (self.mem, self.mem))
                return self.mem
        """,
        """
        class Cell(Base):
            def __init__(self, n):
                super().__init__()
                self.mem = torch.zeros(1)
                self.cell = nn.LSTMCell(n, n)

            def forward(self, x, mem=None):
                if mem is not None:
                    self.mem = mem
                self.mem, _ = self.cell(x, (self.mem, self.mem))
                return self.mem
        """,
    ),
    "a class that keeps a device of its own places what it builds, whatever its base": (
        """
        class Scorer(Base):
            def __init__(self):
                self.gpt = nn.Linear(3, 3)

            def score(self, rows):
                return self.gpt(torch.tensor(rows).to(self.device))
        """,
        """
        class Scorer(Base):
            def __init__(self, device):
                self.gpt = nn.Linear(3, 3)
                self.device = device

            def score(self, rows):
                return self.gpt(torch.tensor(rows).to(self.device))
        """,
    ),
    "a parameter that another one replaces": (
        """
        class Table(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(n, 3))

            def swap(self, rows):
                self.weight = rows

            def extend(self, n):
                extra = torch.zeros(n, 3)
                self.weight = nn.Parameter(torch.cat([self.weight.data, extra]))
        """,
        """
        class Table(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(n, 3))

            def extend(self, n):
                extra = torch.zeros(n, 3)
                self.weight = nn.Parameter(torch.cat([self.weight.data, extra]))
        """,
    ),
    "the model is moved in another method": (
        """
        class Runner(Base):
            def setup(self):
                self.model = build()
                self.model.to(self.device)

            def export(self):
                self.model.cpu()

            def predict(self, rows):
                return self.model(torch.tensor(rows))
        """,
        """
        class Runner(Base):
            def setup(self):
                self.model = build()
                self.model.to(self.device)

            def predict(self, rows):
                return self.model(torch.tensor(rows))
        """,
    ),
    "the model is moved where it is made": (
        """
        class Agent:
            def __init__(self, device):
                self.device = torch.device(device)
                self.q_net = None

            def make(self, n):
                self.q_net = build(n).to(self.device)

            def act(self, state):
                return self.q_net(torch.from_numpy(state).unsqueeze(0).to(self.device))
        """,
        """
        class Agent:
            def __init__(self, device):
                self.device = torch.device(device)
                self.q_net = None

            def make(self, n):
                self.q_net = build(n).to(self.device)

            def act(self, state):
                return self.q_net(torch.from_numpy(state).unsqueeze(0))
        """,
    ),
    "the model gets inputs on the device in another method": (
        """
        class Runner(Base):
            def fit(self, rows):
                device = self._device
                return self._model(torch.from_numpy(rows).float().to(device))

            def compare(self, x):
                return self._model(x.cpu())

            def predict(self, rows):
                return self._model(torch.from_numpy(rows))
        """,
        """
        class Runner(Base):
            def fit(self, rows):
                device = self._device
                return self._model(torch.from_numpy(rows).float().to(device))

            def predict(self, rows):
                return self._model(torch.from_numpy(rows))
        """,
    ),
    "what is no model may get anything": (
        """
        class Runner(Base):
            def fit(self, rows):
                return self.writer(torch.from_numpy(rows).to(self.device))

            def predict(self, rows):
                return self.writer(torch.from_numpy(rows))
        """,
        """
        class Runner(Base):
            def fit(self, rows):
                return self.estimator.model(torch.from_numpy(rows).to(self.estimator.device))

            def predict(self, rows):
                return self.estimator.model(torch.from_numpy(rows))
        """,
    ),
    "`def to(self, device)` moves the class's device along": (
        """
        class Runner(Base):
            def to(self, device):
                self.model.to(device)
                return self

            def predict(self, rows):
                return self.model(torch.tensor(rows))
        """,
        """
        class Runner(Base):
            def to(self, device):
                self.device = device
                self.model.to(device)
                return self

            def fit(self, x):
                return self.model(x.to(self.device))

            def predict(self, rows):
                return self.model(torch.tensor(rows))
        """,
    ),
    "lengths may stay on the CPU": (
        """
        def run(model, x, device):
            lengths = torch.tensor([3, 4])
            return model(x.to(device), lengths)
        """,
        """
        def run(model, x, device):
            ids = torch.tensor([3, 4])
            return model(x.to(device), ids)
        """,
    ),
    "a 0-dim input may stay on the CPU": (
        """
        def run(model, x: torch.Tensor):
            return model(x, torch.tensor(3))
        """,
        """
        def run(model, x: torch.Tensor):
            return model(x, torch.tensor([3]))
        """,
    ),
    "a function that builds a model does not run it": (
        """
        class Runner(Base):
            def fit(self, rows, device):
                return self.build_model(torch.from_numpy(rows).to(device), torch.zeros(3))
        """,
        """
        class Runner(Base):
            def fit(self, rows, device):
                return self.model(torch.from_numpy(rows).to(device), torch.zeros(3))
        """,
    ),
    "the loss gets the target on the device": (
        """
        class Runner(Base):
            def fit(self, x, y):
                out = self.model(torch.from_numpy(x).to(self.device))
                return self.criterion(out, torch.from_numpy(y).to(self.device))
        """,
        """
        class Runner(Base):
            def fit(self, x, y):
                out = self.model(torch.from_numpy(x).to(self.device))
                return self.criterion(out, torch.from_numpy(y))
        """,
    ),
    "a metric of whatever it is given": (
        """
        def score(model, seeds: torch.Tensor, indexes: torch.Tensor):
            metric = Metric()
            return metric(torch.empty(seeds.shape[0], device=seeds.device), indexes)
        """,
        """
        def score(model, seeds: torch.Tensor, indexes: torch.Tensor):
            metric = Metric()
            return metric(torch.empty(seeds.shape[0]), indexes)
        """,
    ),
    "a number or a parameter": (
        """
        class Gate(nn.Module):
            def __init__(self, biased, n):
                super().__init__()
                self.bias = nn.Parameter(torch.ones(n)) if biased else 1.0

            def forward(self, x):
                return x.relu() * self.bias
        """,
        """
        class Gate(nn.Module):
            def __init__(self, biased, n):
                super().__init__()
                self.bias = torch.ones(n) if biased else 1.0

            def forward(self, x):
                return x.relu() * self.bias
        """,
    ),
    "a sum that starts from a number": (
        """
        def rank(trace, n):
            total = 0
            for site in trace.values():
                if site["kind"]:
                    total = total + site["log_prob"].reshape(n, -1)
            order = torch.argsort(total)
            return torch.index_select(torch.arange(n, device=order.device), -1, order)
        """,
        """
        def rank(trace, n):
            total = 0
            for site in trace.values():
                if site["kind"]:
                    total = total + site["log_prob"].reshape(n, -1)
            order = torch.argsort(total)
            return torch.index_select(torch.arange(n), -1, order)
        """,
    ),
    "a mask of a scatter": (
        """
        def fill(species: torch.Tensor, values):
            out = torch.full((4,), 0.0)
            return out.masked_scatter_(species.cpu() == 3, values.cpu())
        """,
        """
        def fill(species: torch.Tensor, values):
            out = torch.full((4,), 0.0)
            return out.masked_scatter_(species == 3, values)
        """,
    ),
    "a seed of the backward pass": (
        """
        def penalty(real: torch.Tensor):
            out = real.sum(1)
            out.mean().backward(torch.tensor(1.0))
            return torch.autograd.grad(out, real, grad_outputs=torch.ones_like(out))[0]
        """,
        """
        def penalty(real: torch.Tensor):
            out = real.sum(1)
            return torch.autograd.grad(out, real, grad_outputs=torch.ones(out.size()))[0]
        """,
    ),
    "a seed of each output": (
        """
        def penalty(a: torch.Tensor):
            torch.autograd.backward([a.sum(1)], [torch.ones(3, device=a.device)])
        """,
        """
        def penalty(a: torch.Tensor):
            torch.autograd.backward([a.sum(1)], [torch.ones(3)])
        """,
    ),
    "a mask that is made only when none is given": (
        """
        def f(x: torch.Tensor, mask=None):
            if mask is None:
                mask = torch.tensor(1.0)
            return x * mask
        """,
        """
        def f(x: torch.Tensor, mask=None):
            if mask is None:
                mask = torch.ones(3)
            return x * mask
        """,
    ),
    "a tensor that is evidently one, or the default for it": (
        """
        def f(x: torch.Tensor, mask: torch.Tensor = None):
            if mask is None:
                mask = torch.ones(3, device=x.device)
            return x * mask
        """,
        """
        def f(x: torch.Tensor, mask: torch.Tensor = None):
            if mask is None:
                mask = torch.ones(3)
            return x * mask
        """,
    ),
    "a default device has nothing to do with a default tensor": (
        """
        def f(x: torch.Tensor, device=None):
            if device is None:
                device = "cpu"
            return x * torch.ones(3, device=device)
        """,
        """
        def f(x: torch.Tensor, start=None):
            if start is None:
                start = torch.zeros(3)
            return x + start
        """,
    ),
    "a default weight that a loss keeps": (
        """
        class Loss(nn.Module):
            def __init__(self, weight=None):
                super().__init__()
                self.weight = weight
                if self.weight is None:
                    self.register_buffer("table", torch.ones(3))

            def forward(self, pred: torch.Tensor):
                return pred.log() * self.table
        """,
        """
        class Loss(nn.Module):
            def __init__(self, weight=None):
                super().__init__()
                self.weight = weight
                if self.weight is None:
                    self.weight = torch.ones(3)

            def forward(self, pred: torch.Tensor):
                return pred.log() * self.weight
        """,
    ),
    "a cache that forward fills": (
        """
        class Rope(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.proj = nn.Linear(dim, dim)
                self.cache = {}

            def forward(self, x):
                n = x.size(1)
                if n not in self.cache:
                    self.cache[n] = torch.arange(n, device=x.device)
                return self.proj(x) * self.cache[n]
        """,
        """
        class Rope(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.proj = nn.Linear(dim, dim)
                self.cache = {}

            def forward(self, x):
                n = x.size(1)
                if n not in self.cache:
                    self.cache[n] = torch.arange(n)
                return self.proj(x) * self.cache[n]
        """,
    ),
    "the key of a cache is another one": (
        """
        class Rope(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.proj = nn.Linear(dim, dim)
                self.cache = {}

            def forward(self, x, n):
                self.cache[n] = torch.arange(n)
                n = x.size(1)
                return self.proj(x) * self.cache[n]
        """,
        """
        class Rope(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.proj = nn.Linear(dim, dim)
                self.cache = {}

            def forward(self, x, n):
                n = x.size(1)
                self.cache[n] = torch.arange(n)
                return self.proj(x) * self.cache[n]
        """,
    ),
    "a part of what was moved": (
        """
        def advantages(values, device):
            values = values.to(device)
            return values[0] + torch.zeros(3, device=device)
        """,
        """
        def advantages(values, device):
            values = values.to(device)
            return values[0] + torch.zeros(3)
        """,
    ),
    "a batch of graphs moves as a whole": (
        """
        def train(model, loader, device):
            for data in loader:
                data = data.to(device)
                yield torch.ones(3, 4) * data.num_graphs
        """,
        """
        def train(model, loader, device):
            for data in loader:
                data = data.to(device)
                yield torch.ones(3, 4) * data.x
        """,
    ),
    "losses in a list": (
        """
        import numpy as np

        def train(net, loader, device):
            losses = []
            for x, y in loader:
                losses.append(nn.functional.cross_entropy(net(x.to(device)), y.to(device)).item())
            return np.mean(losses)
        """,
        """
        import numpy as np

        def train(net, loader, device):
            losses = []
            for x, y in loader:
                losses.append(nn.functional.cross_entropy(net(x.to(device)), y.to(device)))
            return np.mean(losses)
        """,
    ),
    "what a model returns is where its inputs are": (
        """
        def predict(model, x):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            return torch.softmax(model(x.to(device)), dim=1).cpu().numpy()
        """,
        """
        def predict(model, x):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            return torch.softmax(model(x.to(device)), dim=1).numpy()
        """,
    ),
    "a mask for a part of a module": (
        """
        class Classifier(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.bert = build(name)

            def forward(self, input_ids: torch.Tensor):
                return self.bert(input_ids, torch.tensor(1.0))
        """,
        """
        class Classifier(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.bert = build(name)

            def forward(self, input_ids: torch.Tensor):
                return self.bert(input_ids, torch.ones(input_ids.shape))
        """,
    ),
    "a gradient is where the input is": (
        """
        def forces(energy, positions, device):
            positions = positions.to(device)
            return torch.autograd.grad(energy(positions), positions)[0].cpu().numpy()
        """,
        """
        def forces(energy, positions, device):
            positions = positions.to(device)
            return torch.autograd.grad(energy(positions), positions)[0].numpy()
        """,
    ),
    "what a class builds and keeps to itself stays where it was built": (
        """
        class Agent:
            def __init__(self, n, device):
                self.device = torch.device(device)
                self.q_net = nn.Linear(n, n)

            def act(self, state):
                return self.q_net(torch.from_numpy(state).to(self.device))

        def start(n, device):
            agent = Agent(n, device)
            agent.q_net.to(device)
            return agent
        """,
        """
        class Agent:
            def __init__(self, n, device):
                self.device = torch.device(device)
                self.q_net = nn.Linear(n, n)

            def act(self, state):
                return self.q_net(torch.from_numpy(state).to(self.device))

        def start(n, device):
            agent = Agent(n, device)
            agent.q_net.eval()
            return agent
        """,
    ),
    "what a class builds may be moved by whom it is handed to": (
        """
        class Trainer:
            def __init__(self, n):
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.model = nn.Linear(n, n)
                self.model.eval()
                build(self)

            def step(self, rows):
                return self.model(rows.to(self.device))
        """,
        """
        class Trainer:
            def __init__(self, n):
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.model = nn.Linear(n, n)
                self.model.eval()
                build(n)

            def step(self, rows):
                return self.model(rows.to(self.device))
        """,
    ),
    "a model that another method builds": (
        """
        class Runner:
            def __init__(self, n):
                self.n, self.use_cuda = n, torch.cuda.is_available()
                self.model = None

            def make(self):
                self.model = nn.Linear(self.n, 1).to("cuda" if self.use_cuda else "cpu")

            def step(self, rows):
                if self.model is None:
                    self.make()
                return self.model(rows.cuda() if self.use_cuda else rows)
        """,
        """
        class Runner:
            def __init__(self, n):
                self.n, self.use_cuda = n, torch.cuda.is_available()
                self.model = None

            def make(self):
                self.model = nn.Linear(self.n, 1)

            def step(self, rows):
                if self.model is None:
                    self.make()
                return self.model(rows.cuda() if self.use_cuda else rows)
        """,
    ),
    "a checkpoint is loaded to the device, the model is not": (
        """
        def load_model(path, device="cpu"):
            saved = torch.load(path, map_location=device)
            model = build(saved["settings"])
            model.load_state_dict(saved["state"], assign=True)
            return model

        def restore(model, path, device):
            model.load_state_dict(torch.load(path, map_location=device))
            return model
        """,
        """
        def load_model(path, device="cpu"):
            saved = torch.load(path, map_location=device)
            model = build(saved["settings"])
            model.load_state_dict(saved["state"])
            return model
        """,
    ),
    "a caller moves the model that was loaded": (
        """
        def load_model(path, device):
            model = build()
            with open(path, "rb") as file:
                model.load_state_dict(torch.load(file, device))
            return model

        def start(path, device):
            model = load_model(path, device)
            return model.to(device)
        """,
        """
        def load_model(path, device):
            model = build()
            with open(path, "rb") as file:
                model.load_state_dict(torch.load(file, device))
            return model

        def start(path, device):
            model = load_model(path, device)
            return model.eval()
        """,
    ),
    "what a setter of `__init__` leaves": (
        """
        class Cell(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.reset()

            def reset(self):
                self.register_buffer("mem", torch.zeros(1))

            def forward(self, x: torch.Tensor):
                return x.unsqueeze(0) + self.mem
        """,
        """
        class Cell(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.reset()

            def reset(self):
                self.mem = torch.zeros(1)

            def forward(self, x: torch.Tensor):
                return x.unsqueeze(0) + self.mem
        """,
    ),
    "the state that a module carries on": (
        """
        class Cell(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.beta = beta
                self.mem = torch.zeros(1)

            def forward(self, x: torch.Tensor):
                if self.mem.shape != x.shape:
                    self.mem = torch.zeros_like(x)
                self.mem = self.mem * self.beta + x
                return self.mem
        """,
        """
        class Cell(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.beta = beta
                self.mem = torch.zeros(1)

            def reset(self):
                self.mem = torch.zeros_like(self.mem)

            def forward(self, x: torch.Tensor, mem=None):
                if not mem == None:
                    self.mem = mem
                if self.mem.shape != x.shape:
                    self.mem = torch.zeros_like(x, device=self.mem.device)
                self.mem = self.step(x)
                return self.mem

            def step(self, x):
                return self.mem * self.beta + x
        """,
    ),
    "the state is made where the input is before it is used": (
        """
        class Cell(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.mem = torch.zeros(1)

            def start(self, x):
                self.mem = torch.zeros(3).to(x)

            def forward(self, x: torch.Tensor):
                self.mem = self.mem + x
                return self.mem
        """,
        """
        class Cell(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.mem = torch.zeros(1)

            def detach(self):
                self.mem = self.mem.detach()

            def forward(self, x: torch.Tensor):
                self.mem = self.mem + x
                return self.mem
        """,
    ),
    "a running mean": (
        """
        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(3))

            def forward(self, x: torch.Tensor):
                self.mean = 0.9 * self.mean + 0.1 * x.mean(dim=0)
                return x - self.mean
        """,
        """
        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.mean = torch.zeros(3)

            def forward(self, x: torch.Tensor):
                self.mean = 0.9 * self.mean + 0.1 * x.mean(dim=0)
                return x - self.mean
        """,
    ),
    "the first step sets the state": (
        """
        class Cell(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.mem = torch.zeros(1)

            def forward(self, x: torch.Tensor, first: bool):
                if first:
                    self.mem = torch.zeros_like(x)
                self.mem = self.mem + x
                return self.mem
        """,
        """
        class Cell(nn.Module):
            def __init__(self, beta):
                super().__init__()
                self.mem = torch.zeros(1)

            def forward(self, x: torch.Tensor, first: bool):
                if first:
                    self.mem = self.mem * 0
                self.mem = self.mem + x
                return self.mem
        """,
    ),
    "an input that may be left out": (
        """
        def measure(config, device, cached):
            block = build(config)
            cache = (torch.empty(2, 0, 3, device=device), torch.empty(2, 0, 3, device=device))
            x = torch.randn(1, 3, 4, device=device)
            return block(x, cache if cached else None)
        """,
        """
        def measure(config, device, cached):
            block = build(config)
            cache = (torch.empty(2, 0, 3), torch.empty(2, 0, 3))
            x = torch.randn(1, 3, 4, device=device)
            return block(x, cache if cached else None)
        """,
    ),
    "a part, by unknown indices, of what a function is given": (
        """
        def lengthened(vectors, n):
            query = torch.ones(n, device=vectors[0].device)
            return torch.cat([vectors[0][:n], query], dim=0)
        """,
        """
        def lengthened(vectors, n):
            query = torch.ones(n)
            return torch.cat([vectors[0][:n], query], dim=0)
        """,
    ),
    "the inputs of a wrapper that is told devices": (
        """
        import tensor_parallel as tp
        KEY = torch.randn(1, 2, 3)
        def quantized(model: nn.Module):
            for name, part in model.named_children():
                print(name, part)
            return model
        def measure(block, device: torch.device, dtype):
            block = quantized(tp.TensorParallel(block, [device], output_device=device))
            cache = (KEY.to(device), KEY.to(device))
            hidden = torch.randn(1, 3, 3, device=device, dtype=dtype)
            return block.forward(hidden, layer_past=cache)
        """,
        """
        import tensor_parallel as tp
        KEY = torch.randn(1, 2, 3)
        def quantized(model: nn.Module):
            for name, part in model.named_children():
                print(name, part)
            return model
        def measure(block, device: torch.device, dtype):
            block = quantized(tp.TensorParallel(block, [device], output_device=device))
            cache = (KEY.to(dtype), KEY.to(dtype))
            hidden = torch.randn(1, 3, 3, device=device, dtype=dtype)
            return block.forward(hidden, layer_past=cache)
        """,
    ),
    "what is reckoned with and asked for its device is a tensor": (
        """
        def shifted(x, y):
            assert x.device == y.device
            offset = torch.zeros(3, device=x.device)
            return x + offset
        """,
        """
        def shifted(x, y):
            assert x.device == y.device
            offset = torch.zeros(3)
            return x + offset
        """,
    ),
    "what is called and asked for its device may be a module": (
        """
        def scores(model, batch):
            where = model.device
            return model(batch) + torch.zeros(3)
        """,
        """
        def scores(batch, weights):
            where = batch.device
            return weights * batch + torch.zeros(3)
        """,
    ),
    "what a result is written to": (
        """
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        a = torch.ones(3, device=dev)
        out = torch.empty(3, device=dev)
        torch.add(a, 1, out=out)
        torch.cat([a, a], out=torch.empty(6, device=a.device))
        torch.arange(3, out=torch.empty(3))
        """,
        """
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        a = torch.ones(3, device=dev)
        out = torch.empty(3)
        torch.add(a, 1, out=out)
        """,
    ),
    "what a result without dimensions is written to": (
        """
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        total = torch.zeros((), device=dev)
        torch.add(total, torch.ones(()), out=total)
        """,
        """
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        total = torch.zeros(())
        torch.add(total, torch.ones(3, device=dev).sum(), out=total)
        """,
    ),
    "a function that calls itself": (
        """
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def power(matrix, n):
            if n == 1:
                return matrix
            half = power(matrix, n // 2)
            return half @ half

        def run(n):
            return power(torch.eye(3).to(dev), n) @ torch.ones(3, device=dev)
        """,
        """
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def power(matrix, n):
            if n == 1:
                return matrix
            half = power(matrix, n // 2)
            return half @ half

        def run(n):
            return power(torch.eye(3), n) @ torch.ones(3, device=dev)
        """,
    ),
    "a function that calls itself on a number": (
        """
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def factorial(n):
            if n == 0:
                return torch.zeros(3)
            return factorial(n - 1) * 2

        def run(n):
            return factorial(n) + torch.ones(3)
        """,
        """
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def factorial(n):
            if n == 0:
                return torch.zeros(3)
            return factorial(n - 1) * 2

        def run(n):
            return factorial(n) + torch.ones(3, device=dev)
        """,
    ),
    "what a language model writes is where its prompt was": (
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        tokenizer = AutoTokenizer.from_pretrained("m")
        model = AutoModelForCausalLM.from_pretrained("m").to(dev)
        ids = tokenizer("a", return_tensors="pt").input_ids
        torch.cat([ids.to(dev), model.generate(ids.to(dev))], dim=1)
        """,
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer
        dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        tokenizer = AutoTokenizer.from_pretrained("m")
        model = AutoModelForCausalLM.from_pretrained("m").to(dev)
        ids = tokenizer("a", return_tensors="pt").input_ids
        torch.cat([ids, model.generate(ids.to(dev))], dim=1)
        """,
    ),
}


def _codes(program: str) -> list[str]:
    return [
        found.code
        for found in findings(
            HEAD + textwrap.dedent(program), "program.py", Config(off_by_default=frozenset({"TDV106"}))
        )
    ]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


def test_the_fix_names_the_device_of_what_is_held() -> None:
    program = PAIRS["what is no model may get anything"][1]
    (found,) = findings(
        HEAD + textwrap.dedent(program), "program.py", Config(off_by_default=frozenset({"TDV106"}))
    )
    assert found.fix is not None
    assert "self.estimator.device" in found.fix.edits[-1].content


def test_what_may_be_left_out_is_not_moved_by_a_safe_fix() -> None:
    _, wrong = PAIRS["an input that may be left out"]
    fixes = [
        one.fix
        for one in findings(
            HEAD + textwrap.dedent(wrong), "m.py", Config(off_by_default=frozenset({"TDV106"}))
        )
    ]
    assert [None if fix is None else fix.applicability.name for fix in fixes] == ["UNSAFE"]


def test_a_model_that_is_never_moved_is_told_where_the_class_builds_it() -> None:
    _, wrong = PAIRS["a class that keeps a device of its own places what it builds, whatever its base"]
    (found,) = findings(
        HEAD + textwrap.dedent(wrong), "program.py", Config(off_by_default=frozenset({"TDV106"}))
    )
    assert (found.code, found.range.start.row) == ("TDV001", 7)


def test_a_part_that_is_attached_late_goes_where_the_others_are() -> None:
    program = """
    net = nn.Sequential(nn.Linear(3, 3))
    net.cuda()
    net.head = nn.Linear(3, 2)
    net(torch.zeros(3, 3).cuda())
    """
    (found,) = findings(HEAD + textwrap.dedent(program), "program.py", Config(select=("TDV008",)))
    assert found.fix is not None
    assert found.fix.edits[0].content == ".to(next(net.parameters()).device)"

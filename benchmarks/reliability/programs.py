"""Random PyTorch programs that run: tensors and modules made, moved and brought together in many ways, on two devices.

Every tensor is a 4x3 float tensor, so that anything fits anything but for its device; the generator knows the device of each
name, and lets tensors of different devices meet at most once, in its last statements. What a program does is then
judged by running it, not by what the generator meant.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEADS = {
    "combine": """
def combine(left, right):
    return left * right
""",
    "outer": """
def inner(one, other):
    return torch.sub(one, other)


def outer(one, other):
    return inner(one, other).abs()
""",
    "gather": """
def gather(*parts, scale=1.0):
    total = parts[0]
    for part in parts[1:]:
        total = total + part * scale
    return total
""",
    "Holder": """
class Holder:
    def __init__(self, kept):
        self.kept = kept

    def plus(self, other):
        return self.kept + other

    @property
    def double(self):
        return self.kept * 2
""",
    "Pair": """
@dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor

    def joined(self):
        return torch.max(self.first, self.second)
""",
    "Scale": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)
        self.register_buffer("factor", torch.ones(3))

    def forward(self, x):
        return self.line(x) * self.factor
""",
    "Forgetful": """
class Forgetful(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)
        self.factor = torch.ones(3)

    def forward(self, x):
        return self.line(x) * self.factor
""",
    "Noisy": """
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)

    def forward(self, x):
        return self.line(x) + torch.rand(x.shape)
""",
    "make": """
def make(where):
    return torch.rand(4, 3, device=where)
""",
    "batches": """
def batches():
    data = TensorDataset(torch.rand(8, 3))
    for (batch,) in DataLoader(data, batch_size=4):
        yield batch
""",
}

PRELUDES = (
    'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    'device = "cuda" if torch.cuda.is_available() else "cpu"',
    'device = torch.device("cuda")',
    'device = torch.device("cuda:0")',
    'device = "cuda"',
    'use_cuda = torch.cuda.is_available()\ndevice = torch.device("cuda" if use_cuda else "cpu")',
    """def pick_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


device = pick_device()""",
)

IMPORTS = """import copy
import functools
import io
import sys
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
"""

# How two tensors meet: `{a}` and `{b}` become `{c}`.
MEETINGS: dict[str, str] = {
    "operator": "{c} = {a} + {b}",
    "function": "{c} = torch.mul({a}, {b})",
    "method": "{c} = {a}.sub({b})",
    "in place": "{c} = {a}.clone()\n{c} += {b}",
    "in place method": "{c} = {a}.clone()\n{c}.add_({b})",
    "cat": "{c} = torch.cat([{a}, {b}])[:4]",
    "stack": "{c} = torch.stack(({a}, {b})).sum(0)",
    "matmul": "{c} = {a} @ {b}.t() @ {b}",
    "where": "{c} = torch.where({a} > 0, {a}, {b})",
    "maximum": "{c} = torch.max({a}, {b})",
    "loss": "{c} = {a} * F.mse_loss({a}, {b})",
    "loss module": "{c} = {a} * nn.L1Loss()({a}, {b})",
    "helper": "{c} = combine({a}, {b})",
    "keywords": "{c} = combine(right={b}, left={a})",
    "nested helpers": "{c} = outer({a}, {b})",
    "star arguments": "{c} = gather({a}, {b}, scale=0.5)",
    "attribute": "holder_{c} = Holder({a})\n{c} = holder_{c}.plus({b})",
    "property": "{c} = Holder({a}).double + {b}",
    "dataclass": "{c} = Pair({a}, {b}).joined()",
    "list": "pair_{c} = [{a}, {b}]\n{c} = pair_{c}[0] - pair_{c}[1]",
    "dictionary": 'both_{c} = {{"x": {a}, "y": {b}}}\n{c} = both_{c}["x"] * both_{c}["y"]',
    "unpacking": "left_{c}, right_{c} = {a}, {b}\n{c} = left_{c} / (right_{c} + 2)",
    "loop": "{c} = {a}\nfor step_{c} in range(2):\n    {c} = {c} + {b} * step_{c}",
    "loop over tensors": "{c} = {a}\nfor one_{c} in [{b}, {b}]:\n    {c} = {c} + one_{c}",
    "comprehension": "{c} = [one * {b} for one in ({a},)][0]",
    "sum": "{c} = sum([{a}, {b}])",
    "reduce": "{c} = functools.reduce(torch.add, [{a}, {b}])",
    "lambda": "add_{c} = lambda x: x + {b}\n{c} = add_{c}({a})",
    "closure": "def with_{c}(x):\n    return x - {b}\n\n\n{c} = with_{c}({a})",
    "conditional expression": "{c} = {a} + ({b} if len(sys.argv) < 9 else {a})",
    "branch": "if len(sys.argv) < 9:\n    other_{c} = {b}\nelse:\n    other_{c} = {a}\n{c} = {a} * other_{c}",
    "no_grad": "with torch.no_grad():\n    {c} = {a} + {b}",
    "zip": "for x_{c}, y_{c} in zip([{a}], [{b}]):\n    {c} = x_{c} + y_{c}",
    "mask": "{c} = {a}.masked_fill({b} > 0.5, 0.0)",
    "addmm": "{c} = torch.addmm({a}, {a}, torch.mm({b}.t(), {b}))",
    "walrus": "{c} = ({a} if (kept_{c} := {b}) is None else {a} + kept_{c})",
}

# How a tensor comes to be on the CPU, and on the device `device`. `{x}` is one that is there already.
MADE_CPU = {
    "factory": "{c} = torch.rand(4, 3)",
    "tensor": "{c} = torch.tensor([[1.0, 2.0, 3.0]] * 4)",
    "from_numpy": "{c} = torch.from_numpy(torch.zeros(4, 3).numpy())",
    "loader": "{c} = next(iter(DataLoader(TensorDataset(torch.rand(8, 3)), batch_size=4)))[0]",
    "generator function": "{c} = next(batches())",
    "helper on the CPU": '{c} = make("cpu")',
    "list of rows": "{c} = torch.stack([torch.ones(3) for _ in range(4)])",
    "discarded move": "{c} = torch.rand(4, 3)\n{c}.to(device)",
}
MADE_DEVICE = {
    "factory with device": "{c} = torch.rand(4, 3, device=device)",
    "to": "{c} = torch.rand(4, 3).to(device)",
    "cuda": "{c} = torch.rand(4, 3).cuda()",
    "helper": "{c} = make(device)",
    "context": "with torch.device(device):\n    {c} = torch.ones(4, 3)",
    "loader moved": "for ({c},) in DataLoader(TensorDataset(torch.rand(8, 3)), batch_size=4):\n    {c} = {c}.to(device, non_blocking=True)",
    "loop over loader": "for {c} in batches():\n    {c} = {c}.to(device)",
    "module": "{c} = nn.Linear(3, 3).to(device)(torch.rand(4, 3, device=device))",
    "own module": "net_{c} = Scale().to(device)\n{c} = net_{c}(torch.rand(4, 3).to(device))",
    "sequential": "net_{c} = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 3)).cuda()\n{c} = net_{c}(torch.rand(4, 3).cuda())",
    "comprehension moved": "{c} = [one.to(device) for one in (torch.rand(4, 3), torch.ones(4, 3))][1]",
}
MADE_LIKE = {
    "zeros_like": "{c} = torch.zeros_like({x})",
    "new_ones": "{c} = {x}.new_ones(4, 3)",
    "alias": "{c} = {x}",
    "clone": "{c} = {x}.detach().clone()",
    "arithmetic": "{c} = {x} * 2 - 1",
    "deepcopy": "{c} = copy.deepcopy({x}.detach())",
    "to a tensor": "{c} = torch.rand(4, 3).to({x})",
    "to its device": "{c} = torch.rand(4, 3).to({x}.device)",
    "device of a tensor": "{c} = torch.rand(4, 3, device={x}.device)",
    "normalised": "{c} = ({x} - {x}.mean(0)) / ({x}.std() + 1e-6)",
    "0-dim operand": "{c} = {x} * torch.tensor(0.5)",
    "indexed by the CPU": "{c} = {x}[torch.tensor([3, 2, 1, 0])]",
    "sorted": "{c}, order_{c} = {x}.sort(dim=0)",
    "reshaped": "{c} = {x}.view(2, 6).reshape(4, 3).contiguous()",
    "functional": "{c} = F.relu({x}).softmax(dim=1)",
    "saved and loaded": "file_{c} = io.BytesIO()\ntorch.save({x}.detach(), file_{c})\nfile_{c}.seek(0)\n{c} = torch.load(file_{c})",
    "split": "{c} = torch.cat({x}.chunk(2))",
    "conditional move": '{c} = {x}\nif {c}.device.type == "meta":\n    {c} = {c}.cpu()',
}

# What is said of a module that is at fault by itself, given a tensor on the device.
FAULTS = {
    "plain tensor attribute": "{c} = Forgetful().to(device)({a})",
    "module left on the CPU": "{c} = nn.Linear(3, 3)({a})",
    "factory in forward": "{c} = Noisy().to(device)({a})",
    "input left on the CPU": "net_{c} = Scale().to(device)\n{c} = net_{c}(torch.rand(4, 3))",
    "numpy": "{c} = torch.from_numpy({a}.detach().numpy())",
}
USES = {
    "combine": "combine", "keywords": "combine", "nested helpers": "outer", "star arguments": "gather", "attribute": "Holder",
    "property": "Holder", "dataclass": "Pair", "helper": "combine", "generator function": "batches",
    "helper on the CPU": "make", "loop over loader": "batches", "own module": "Scale", "plain tensor attribute": "Forgetful",
    "factory in forward": "Noisy", "input left on the CPU": "Scale",
}  # fmt: skip


@dataclass
class Program:
    """`text` is the program; `meant` says how it brings devices together, None when it does not; `how` the ways of the two tensors."""

    seed: int
    text: str
    meant: str | None
    how: tuple[str, str] = ("", "")
    lineage: frozenset[str] = frozenset()
    """Every way that the two tensors, and what they were made of, have gone."""


@dataclass
class Writer:
    chance: random.Random
    lines: list[str] = field(default_factory=list)
    heads: dict[str, str] = field(default_factory=dict)
    names: dict[str, tuple[bool, str]] = field(default_factory=dict)
    """By name: whether it is on the device, and how it came there."""
    lineage: dict[str, frozenset[str]] = field(default_factory=dict)
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"{self.chance.choice(('x', 'batch', 'target', 'mask', 'out', 'h'))}{self.count}"

    def emit(self, ways: dict[str, str], way: str, **names: str) -> None:
        used = "make" if ways is MADE_DEVICE and way == "helper" else USES.get(way)
        if used:
            self.heads[used] = HEADS[used].strip("\n")
        self.lines += ways[way].format(**names).split("\n")

    def make(self, on_device: bool) -> str:
        """A tensor on the device or not."""
        known = [name for name, (on, _) in self.names.items() if on == on_device]
        name = self.fresh()
        anew = MADE_DEVICE if on_device else MADE_CPU
        ways = MADE_LIKE if known and self.chance.random() < 0.5 else anew
        way = self.chance.choice(list(ways))
        model = self.chance.choice(known) if known else ""
        self.emit(ways, way, c=name, x=model)
        self.lineage[name] = frozenset({way}) | (self.lineage[model] if ways is MADE_LIKE else frozenset())
        self.names[name] = on_device, way
        return name

    def meet(self, one: str, other: str) -> str:
        way = self.chance.choice(list(MEETINGS))
        name = self.fresh()
        self.emit(MEETINGS, way, a=one, b=other, c=name)
        self.lineage[name] = self.lineage[one] | self.lineage[other] | {way}
        self.names[name] = self.names[one][0], f"met: {way}"
        return way


def program(seed: int) -> Program:
    """The program of a seed; two of three bring devices together."""
    writer = Writer(random.Random(seed))
    chance = writer.chance
    for _ in range(chance.randint(2, 6)):
        writer.make(chance.random() < 0.6)
        alike = [
            name
            for name, (on, _) in writer.names.items()
            if on == writer.names[next(reversed(writer.names))][0]
        ]
        if chance.random() < 0.7:
            writer.meet(chance.choice(alike), chance.choice(alike))
    meant, how, lineage = None, ("", ""), frozenset[str]()
    if chance.random() < 0.2:
        meant = chance.choice(list(FAULTS))
        on = writer.make(True)
        writer.emit(FAULTS, meant, a=on, c=writer.fresh())
        lineage = writer.lineage[on] | {meant}
    elif chance.random() < 0.6:
        pair = [writer.make(True), writer.make(False)]
        for index in (0, 1):
            others = [name for name, (on, _) in writer.names.items() if on == (index == 0)]
            pair[index] = chance.choice(others)
        chance.shuffle(pair)
        how = writer.names[pair[0]][1], writer.names[pair[1]][1]
        meant = writer.meet(*pair)
        lineage = writer.lineage[pair[0]] | writer.lineage[pair[1]] | {meant}
    body = writer.lines
    if chance.random() < 0.5:
        body = ["def main():", *(f"    {line}" if line else "" for line in body), "", "", "main()"]
    parts = [IMPORTS, "\n\n\n".join(writer.heads.values()), chance.choice(PRELUDES), "\n".join(body)]
    return Program(seed, "\n\n".join(part for part in parts if part) + "\n", meant, how, lineage)

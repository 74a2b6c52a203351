"""What a fifth round of programs and projects taught, whose authors had not seen the linter, each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]
Checked = Callable[[Path, dict[str, str], str], list[str]]

START = """\
import copy
import itertools

import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 2).to(device)
"""

CASES: dict[str, tuple[str, Ways]] = {
    "callbacks, not all of which have a method": (
        """
        class Average:
            def attach(self, model):
                self.shadow = copy.deepcopy(model)

            def on_step(self, trainer):
                own = dict(trainer.model.named_parameters())
                for name, held in self.shadow.named_parameters():
                    held.lerp_(own[name], 0.1)


        class Printer:
            def on_step(self, trainer):
                print(trainer)


        class Trainer:
            def __init__(self, model, callbacks):
                self.model = model
                self.callbacks = list(callbacks)
                {0}
                for one in self.callbacks:
                    if hasattr(one, "attach"):
                        one.attach(self.model)
                {1}

            def step(self):
                for one in self.callbacks:
                    one.on_step(self)


        Trainer(nn.Linear(3, 2), [Printer(), Average()]).step()
        """,
        [(("pass", "self.model.to(device)"), ["TDV004"]), (("self.model.to(device)", "pass"), [])],
    ),
    "an attribute that may be set from elsewhere is not absent": (
        """
        class Plain:
            def run(self, batch):
                if hasattr(self, "brings"):
                    batch = batch.to(device)
                return net(batch)


        plain = Plain()
        {0}
        plain.run(torch.rand(4, 3))
        """,
        [("print(plain)", ["TDV001"]), ('setattr(plain, "brings", True)', []), ("plain.brings = True", [])],
    ),
    "what `getattr` gives where there is no such attribute": (
        """
        class Printer:
            def show(self, batch):
                print(batch)


        batch = getattr(Printer(), "bring", {0})(torch.rand(4, 3))
        net(batch)
        """,
        [("lambda batch: batch", ["TDV001"]), ("lambda batch: batch.to(device)", [])],
    ),
    "a frozen set of names": (
        """
        HOST = frozenset({0})


        def ready(batch):
            return {{k: v if k in HOST else v.to(device) for k, v in batch.items()}}


        batch = ready({{"x": torch.rand(4, 3), "lengths": torch.tensor([3, 2, 2, 1])}})
        net(batch["x"])
        nn.utils.rnn.pack_padded_sequence(net(batch["x"])[None], batch["lengths"], enforce_sorted=False)
        """,
        [
            ('{"lengths", "index"}', []),
            ('["lengths"]', []),
            ('{"index", "x", "lengths"}', ["TDV001"]),
        ],
    ),
    "a table of the host under numbers of the host": (
        """
        def weights(priorities, count):
            index = {0}
            return priorities[index] / priorities.sum()


        found = weights(torch.rand(10), 4)
        print((found{1} * net(torch.rand(4, 3, device=device)).sum(1)).mean())
        """,
        [
            (("torch.multinomial(priorities, count).numpy()", ""), ["TDV005"]),
            (("np.random.randint(0, 10, count)", ""), ["TDV005"]),
            (("np.random.randint(0, 10, count)", ".to(device)"), []),
            (("int(priorities.argmax())", ""), []),
        ],
    ),
    "how much a memory holds is a number": (
        """
        class Memory:
            def __init__(self, capacity):
                self.capacity = capacity
                self.size = 0
                self.beta = 0.4
                self.priorities = torch.rand(capacity)

            def push(self):
                self.size = min(self.size + 1, self.capacity)

            def weights(self):
                self.beta = min(1.0, self.beta + 1e-3)
                return (self.size * self.priorities).pow(-self.beta)


        def run(capacity):
            memory = Memory(capacity)
            for _ in range(4):
                memory.push()
            return net(torch.rand(capacity, 3, device=device)).sum(1) * memory.weights(){0}


        run(4)
        """,
        [("", ["TDV004"]), (".to(device)", [])],
    ),
    "columns of `zip` are tuples": (
        """
        def bring(thing):
            if isinstance(thing, torch.Tensor):
                return thing.to(device)
            if isinstance(thing, {0}):
                return [bring(one) for one in thing]
            return thing


        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, index):
                return torch.rand(3), torch.rand(2, 3)


        def collate(samples):
            images, targets = zip(*samples)
            return torch.stack(images), targets


        for images, targets in torch.utils.data.DataLoader(Rows(), batch_size=2, collate_fn=collate{1}):
            for one in bring(targets):
                net(one)
        """,
        [
            (("list", ""), ["TDV001"]),
            (("(list, tuple)", ""), []),
            (("list", ", pin_memory=True"), []),  # before PyTorch 2.5 tuples were made lists there
            (("list", ", pin_memory=False"), ["TDV001"]),
        ],
    ),
    "tensors that are kept by `setattr`": (
        """
        class Front(nn.Module):
            def __init__(self):
                super().__init__()
                for name, table in {{"window": torch.hann_window(4), "rows": torch.rand(4, 3)}}.items():
                    {0}

            def forward(self, wave):
                return wave * self.window @ self.rows


        Front().to(device)(torch.rand(2, 4, device=device))
        """,
        [
            ("setattr(self, name, table)", ["TDV006"]),
            ("self.register_buffer(name, table)", []),
        ],
    ),
    "a method that `forward` of the base calls": (
        """
        class Front(nn.Module):
            def forward(self, wave):
                return self.compute(wave.unfold(-1, 4, 2)).transpose(1, 2)


        class Windowed(Front):
            def __init__(self):
                super().__init__()
                {0}

            def compute(self, frames):
                return (frames * self.window).log()


        class Plain(Front):
            def compute(self, frames):
                return frames.log()
        """,
        [
            ("self.window = torch.hann_window(4)", ["TDV006"]),
            ('self.register_buffer("window", torch.hann_window(4))', []),
        ],
    ),
    "one of two stores, of which one brings what it is given": (
        """
        class Store:
            def __init__(self, keys):
                self.keys = keys


        class There(Store):
            def near(self, queries):
                return torch.cdist(queries, self.keys)


        class Here(Store):
            def __init__(self, keys):
                super().__init__({0})

            def near(self, queries):
                return torch.cdist(queries.cpu(), self.keys).to(queries.device)


        for offload in [bool(input())]:
            store = (Here if offload else There)(net(torch.rand(4, 3, device=device)))
            store.near(net(torch.rand(4, 3, device=device)))
        """,
        [("keys.cpu()", []), ("keys", ["TDV004"])],
    ),
    "modules that a mixin registers under numbers": (
        """
        class Numbered:
            def enrol(self, prefix, module):
                counters = self.__dict__.setdefault("_counters", {{}})
                number = next(counters.setdefault(prefix, itertools.count()))
                {0}
                return module


        class Mixed(Numbered, nn.Module):
            def __init__(self, width, depth):
                super().__init__()
                self.blocks = [self.enrol("block", nn.Linear(width, width)) for _ in range(depth)]
                self.mixers = {{k: self.enrol("mix", nn.Linear(width, width)) for k in ("early", "late")}}

            def forward(self, batch):
                for block in self.blocks:
                    batch = block(batch)
                return self.mixers["early"](batch) + self.mixers["late"](batch)


        mixed = Mixed(3, 2)
        mixed.to(device)
        mixed(torch.rand(4, 3, device=device))
        """,
        [
            ('self.add_module(f"{prefix}{number}", module)', []),
            ("print(number)", ["TDV007"]),
        ],
    ),
    "one of the layers of a table, with its width": (
        """
        class Plain(nn.Module):
            def __init__(self, width):
                super().__init__()

            def forward(self, batch):
                return batch.to(device)


        class Noisy(nn.Module):
            def __init__(self, width):
                super().__init__()

            def forward(self, batch):
                return torch.rand(len(batch), 3{0})


        LAYERS = {{"plain": (Plain, 3), "noisy": (Noisy, 3)}}


        def run(name):
            layer, width = LAYERS[name]
            if name == "noisy":
                net(layer(width)(torch.rand(4, width)))


        run(input())
        """,
        [("", ["TDV001"]), (", device=device", [])],
    ),
    "one of the samplers of a table": (
        """
        class Sampler:
            def __call__(self, positives):
                return self.draw(positives)


        class Uniform(Sampler):
            def draw(self, positives):
                return torch.rand(len(positives), 3, device=positives.device)


        class Popular(Sampler):
            def draw(self, positives):
                return torch.rand(len(positives), 3{0})


        SAMPLERS = {{"uniform": Uniform, "popular": Popular, "again": Popular}}


        def draw(name):
            if name != "uniform":
                net(SAMPLERS[name]()(torch.rand(4, 3, device=device)))


        draw(input())
        """,
        [("", ["TDV001"]), (", device=positives.device", [])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way(START, *CASES[name])


# -- a script that proves what a file under another name of torch does

RESPACED = """\
{imported}


class Respaced:
    def __init__(self, model, steps):
        self.model = model
        self.steps = steps

    def __call__(self, x, ts):
        table = {tensor}(self.steps{place})
        return self.model(x * table[ts][:, None])
"""
SAMPLE = """\
import torch
from torch import nn
from respaced import Respaced

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 3).to(device)
Respaced(model, [1, 4, 9])(torch.rand(4, 3, device=device), torch.randint(3, (4,), device=device))
"""


@pytest.mark.parametrize(
    ("imported", "tensor"), [("import torch as th", "th.tensor"), ("from torch import tensor", "tensor")]
)
@pytest.mark.parametrize(("place", "found"), [("", ["TDV005"]), (", device=ts.device", [])])
def test_torch_under_another_name(
    imported: str, tensor: str, place: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    respaced = RESPACED.format(imported=imported, tensor=tensor, place=place)
    assert checked(tmp_path, {"respaced.py": respaced, "sample.py": SAMPLE}, "respaced.py") == found


# -- pre-hooks that another file registers

MIXER = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Linear(width, width)

    def forward(self, x, decay):
        return self.out(x) * decay


class Mixer(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.decays = [torch.linspace(1.0, 0.5, width) for _ in range(depth)]

    def forward(self, x):
        for block, decay in zip(self.blocks, self.decays):
            x = block(x, decay)
        return x
"""
ENGINE = """\
class Align:
    def __init__(self, device):
        self.device = device

    def __call__(self, module, args):
        return tuple({brings} for one in args)


def attach(model, device):
    for block in model.blocks:
        block.to(device).{register}(Align(device))
    return model
"""


@pytest.mark.parametrize(
    ("register", "brings", "found"),
    [
        ("register_forward_pre_hook", "one.to(self.device)", []),
        ("register_forward_hook", "one.to(self.device)", ["TDV006"]),
    ],
)
def test_pre_hooks_of_another_file(
    register: str, brings: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    files = {"mixer.py": MIXER, "engine.py": ENGINE.format(register=register, brings=brings)}
    assert checked(tmp_path, files, "mixer.py") == found


# -- what goes wrong where a program is run without options

OPTIONS = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="plain")
parser.add_argument("--late", action="store_true")
parser.add_argument("--early", action="store_false")
parser.add_argument("--gpu", action="store_true")
parser.add_argument("--none")
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
device = torch.device({device})
net = nn.Linear(3, 2).to(device)
{before}
"""
BROUGHT = "batch = torch.rand(4, 3)\nif {test}:\n    batch = batch.to(device)\nnet(batch)"


@pytest.mark.parametrize("device", ["args.device", "'cuda'"])
@pytest.mark.parametrize(
    ("before", "found"),
    [
        (BROUGHT.format(test="args.mode == 'wide'"), ["TDV001"]),
        (BROUGHT.format(test="args.mode != 'wide'"), []),
        (BROUGHT.format(test="args.late"), ["TDV001"]),
        (BROUGHT.format(test="args.early"), []),
        (BROUGHT.format(test="not args.early"), ["TDV001"]),
        # what says where the program runs, and what has no default
        (BROUGHT.format(test="args.gpu"), []),
        (BROUGHT.format(test="args.mode == 'gpu'"), []),
        (BROUGHT.format(test="args.none == 'wide'"), []),
        (BROUGHT.format(test="args.none"), []),
        # it takes an option to get there
        (
            "if args.late:\n    batch = torch.rand(4, 3)\n    net(batch.to(device) if args.mode == 'wide' else batch)",
            [],
        ),
        ("args.mode = input()\n" + BROUGHT.format(test="args.mode == 'wide'"), []),
    ],
)
def test_without_options(
    device: str, before: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    text = OPTIONS.format(device=device, before=before)
    told = checked(tmp_path, {"main.py": text}, "main.py")
    assert [code for code in told if code != "TDV018"] == found  # that `--gpu` is bypassed is another thing


# -- the names of a named tuple, with more of them

RECORDS = """\
from collections import namedtuple

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 2).to(device)
Step = namedtuple("Step", "state action")
Sample = namedtuple("Sample", {names})
sample = Sample(torch.rand(4, 3, device=device), torch.rand(4, 3), {given})
net(sample.state)
net(sample.weight)
"""


@pytest.mark.parametrize(
    ("names", "given", "found"),
    [
        ('Step._fields + ("weight",)', "torch.rand(4, 3)", ["TDV001"]),
        ('Step._fields + ("weight",)', "torch.rand(4, 3, device=device)", []),
        ('("state", input(), "weight")', "torch.rand(4, 3)", []),
        ('("state", input(), "weight")', "torch.rand(4, 3, device=device)", []),
    ],
)
def test_names_of_a_named_tuple(
    names: str, given: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    files = {"main.py": RECORDS.format(names=names, given=given)}
    assert checked(tmp_path, files, "main.py") == found


# -- what no edit may write


def _written(text: str) -> list[str]:
    """What the edits of all findings would write."""
    found = check_source(text, "main.py", DEFAULT)
    assert found
    return [edit.content for one in found if one.fix is not None for edit in one.fix.edits]


INJECTED = """\
import torch
from torch import nn


class Low(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.zeros(3, 3))

    def forward(self, x):
        return self.base(x) + x @ self.a


def inject(root):
    for parent in list(root.modules()):
        for name, child in list(parent.named_children()):
            setattr(parent, name, Low(child))
    return root


class Tuner:
    def __init__(self, device):
        self.device = device
        self.model = inject(nn.Sequential(nn.Linear(3, 3)).to(device))

    def step(self, x):
        return self.model(x.to(self.device))


if __name__ == "__main__":
    tuner = Tuner(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    tuner.step(torch.rand(4, 3))
"""


def test_no_name_of_the_script_in_a_function() -> None:
    """`tuner` is what the function is called for: nobody has it yet."""
    assert not any("tuner" in one for one in _written(INJECTED))


HEAD = """\
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, targets):
        return [self.head(one["x"]) for one in targets]
"""
NESTED = """\
import torch
from head import Head

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
head = Head().to(device)
_, targets = zip(*[(i, {row}) for i in range(int(input()))])
head(targets)
"""


@pytest.mark.parametrize(("row", "moved"), [('{"x": torch.rand(4, 3)}', False), ("torch.rand(4, 3)", True)])
def test_no_move_of_dicts(row: str, moved: bool, tmp_path: Path) -> None:
    """What a list holds that is a dict has no `.to`."""
    text = NESTED.replace("{row}", row)
    (tmp_path / "head.py").write_text(HEAD if not moved else HEAD.replace('one["x"]', "one"))
    (tmp_path / "main.py").write_text(text)
    (tmp_path / "pyproject.toml").touch()
    found = check_source(text, str(tmp_path / "main.py"), DEFAULT, DiskSources())
    assert [one.code for one in found] == ["TDV001"]
    assert any("for t in" in edit.content for one in found if one.fix for edit in one.fix.edits) == moved

"""What the scripts of a project bring about in a file that they lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources

MASKS = """
import torch


def bias(size, device=None):
    return torch.arange(size, device=device).float()
"""
NET = """
from torch import nn

from masks import bias


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, dim)

    def forward(self, x):
        scores = self.qkv(x)
        return scores + bias({size})


class Net(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.attention = Attention(4)
        self.heads = {holder}
        for name, size in heads.items():
            self.heads[name] = nn.Linear(4, size)

    def forward(self, x):
        x = self.attention(x)
        return {{name: head(x) for name, head in self.heads.items()}}
"""
TRAIN = """
import torch
from net import Net

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main():
    net = Net({{"a": 2, "b": 3}}){moved}
    x = torch.randn(2, 4){there}
    print(net(x)["a"].sum().item())


{run}
"""
GUARDED = 'if __name__ == "__main__":\n    main()'


def _found(directory: Path, files: dict[str, str], checked: str = "net.py") -> list[tuple[str, int]]:
    (directory / ".git").mkdir()
    (directory / ".git" / "HEAD").touch()
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    path = directory / checked
    config = Config(off_by_default=frozenset({"TDV101", "TDV105", "TDV106"}))
    found = check_source(path.read_text(encoding="utf-8"), str(path), config, DiskSources())
    return [(one.code, one.range.start.row) for one in found]


def _files(
    *,
    size: str = "4",
    holder: str = "nn.ModuleDict()",
    moved: str = ".to(device)",
    there: str = ".to(device)",
    run: str = GUARDED,
) -> dict[str, str]:
    return {
        "masks.py": MASKS,
        "net.py": NET.format(size=size, holder=holder),
        "train.py": TRAIN.format(moved=moved, there=there, run=run),
    }


@pytest.mark.parametrize("run", [GUARDED, "main()"])
@pytest.mark.parametrize(
    ("size", "moved", "found"),
    [
        ("4", ".to(device)", [("TDV004", 14)]),
        ("4", ".cuda()", [("TDV004", 14)]),
        ("4", "", []),
        ("4, x.device", ".to(device)", []),
    ],
)
def test_what_only_may_fail_fails_where_a_script_moves_the_module(
    tmp_path: Path, run: str, size: str, moved: str, found: list[tuple[str, int]]
) -> None:
    """`masks.py` makes it on the CPU, `train.py` moves the module, and they meet in `net.py`."""
    there = ".to(device)" if moved else ""
    assert _found(tmp_path, _files(size=size, moved=moved, there=there, run=run)) == found


@pytest.mark.parametrize(
    ("holder", "found"), [("{}", [("TDV007", 21)]), ("nn.ModuleDict()", []), ("dict()", [("TDV007", 21)])]
)
def test_what_a_script_shows_alone(tmp_path: Path, holder: str, found: list[tuple[str, int]]) -> None:
    """What the script gives the class makes it what it is."""
    assert [
        one for one in _found(tmp_path, _files(size="4, x.device", holder=holder)) if one[0] == "TDV007"
    ] == found


def test_what_lies_in_the_script_is_told_there(tmp_path: Path) -> None:
    files = _files(size="4, x.device", there="")
    assert _found(tmp_path, files) == []
    (tmp_path / ".git" / "HEAD").unlink()
    (tmp_path / ".git").rmdir()
    assert _found(tmp_path, files, "train.py") == [("TDV001", 10)]


def test_a_file_between(tmp_path: Path) -> None:
    """The script need not import the file itself."""
    files = _files()
    files["engine.py"] = files["train.py"]
    files["train.py"] = "from engine import main\n\nmain()\n"
    assert _found(tmp_path, files) == [("TDV004", 14)]


def test_what_others_install(tmp_path: Path) -> None:
    """Their scripts are not in sight, and those that are may be examples of a use that is not theirs."""
    install = '[project]\nname = "net"\nversion = "1"\ndescription = "Nets"\nauthors = [{name = "A"}]\n'
    assert _found(tmp_path, {**_files(), "pyproject.toml": install}) == []


def test_many_scripts(tmp_path: Path) -> None:
    """Of more than three nobody says which is meant."""
    files = _files()
    more = {f"train_{n}.py": files["train.py"] for n in range(3)}
    assert _found(tmp_path, files | more) == []


def test_no_fault_is_told_twice(tmp_path: Path) -> None:
    """What the file tells anyway is not told of the call that a script makes, too."""
    net = (
        "import torch\n\n\ndef evaluate(net, x, device):\n    catalogue = torch.arange(4).float()\n"
        "    return (catalogue * x.to(device)).sum() + net(catalogue)\n"
    )
    train = (
        "import torch\nfrom net import evaluate\n\nnet = torch.nn.Linear(4, 1).cuda()\n"
        "print(evaluate(net, torch.ones(4), 'cuda'))\n"
    )
    assert _found(tmp_path, {"net.py": net, "train.py": train}) == [("TDV005", 5)]


SCALES = """
import torch

SCALES = {{}}
EXTRA = []


def scale(name):
    def enter(cls):
        SCALES[name] = cls
        EXTRA.append(name)
        return cls
    return enter


@scale("ramp")
class Ramp:
    def __init__(self, n, device="cpu"):
        self.values = torch.linspace(0, 1, n, device=device)

    def __call__(self, h):
        return h * self.values


@scale("flat")
class Flat:
    def __init__(self, n, device="cpu"):
        self.value = 1.0

    def __call__(self, h):
        return h * self.value


def make(config{parameter}):
    config = dict(config)
    return SCALES[config.pop("kind")](**config{handed})
"""
SCALED = """
import torch
from scales import make
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.proj = nn.Linear(4, 4)

    def forward(self, x):
        return self.scale(self.proj(x))


net = Net(make({{"kind": "{kind}", "n": 4}}{given})).to(device)
print(net(torch.ones(2, 4, device=device)))
"""


@pytest.mark.parametrize(
    ("kind", "parameter", "handed", "given", "found"),
    [
        ("ramp", "", "", "", [("TDV004", 22)]),
        ("ramp", ', device="cpu"', ", device=device", "", [("TDV004", 22)]),
        ("ramp", ', device="cpu"', ", device=device", ", device", []),
        ("flat", "", "", "", []),
        ("other", "", "", "", []),
    ],
)
def test_a_registry_of_the_file(
    tmp_path: Path, kind: str, parameter: str, handed: str, given: str, found: list[tuple[str, int]]
) -> None:
    """The script finds in it what the file's decorators have entered."""
    files = {
        "scales.py": SCALES.format(parameter=parameter, handed=handed),
        "train.py": SCALED.format(kind=kind, given=given),
    }
    assert _found(tmp_path, files, "scales.py") == found


KINDS = """
import torch


class Registry:
    def __init__(self):
        self.kinds = {{}}

    def enter(self, cls):
        self.kinds[cls.__name__] = cls
        return cls

    def build(self, config):
        config = dict(config)
        return self.kinds[config.pop("kind")](**config)

    def scaled(self, values, weight):
        return weight * torch.linspace(0, 1, {size})


KINDS = Registry()
"""
LATER = """
from kinds import KINDS
from torch import nn


@KINDS.enter
class Head(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.proj = nn.Linear(n, n)

    def forward(self, x):
        return KINDS.scaled(x, self.proj.weight)
"""
BUILDS = """
import later
import torch
from kinds import KINDS

head = KINDS.build({"kind": "Head", "n": 3}).to("cuda")
print(head(torch.ones(2, 3, device="cuda")))
"""


@pytest.mark.parametrize(
    ("size", "found"), [("3", [("TDV005", 18)]), ("3, device=weight.device", []), ("3).to(weight", [])]
)
def test_what_others_enter_in_it(tmp_path: Path, size: str, found: list[tuple[str, int]]) -> None:
    """A file that the script imports enters its classes in a registry of the checked one."""
    files = {"kinds.py": KINDS.format(size=size), "later.py": LATER, "train.py": BUILDS}
    assert _found(tmp_path, files, "kinds.py") == found


LOOP = """
class Loop:
    def __init__(self, net, batches, calls):
        self.net, self.batches, self.calls = net, batches, calls

    def tell(self, name):
        for call in sorted(self.calls, key=lambda call: call.rank):
            getattr(call, name)(self)

    def run(self, epochs):
        self.tell("begin")
        for self.epoch in range(epochs):
            for self.x in self.batches:
                self.tell("before")
                self.y = self.net(self.x)
                self.tell("after")
"""
CALLS = """
import torch

class Call:
    rank = 0

    def begin(self, loop): ...
    def before(self, loop): ...
    def after(self, loop): ...


class There(Call):
    rank = {rank}

    def begin(self, loop):
        loop.net.to("cuda")

    def before(self, loop):
        loop.x = loop.x.to("cuda")


class Sum(Call):
    rank = 3

    def begin(self, loop):
        self.total = 0
        {long}

    def after(self, loop):
        self.total = self.total + loop.y.sum(){and_weights}
"""
LOOPS = """
import torch
from loop import Loop
from calls import Sum, There

batches = [torch.ones(2, 4) for _ in range(3)]
loop = Loop(torch.nn.Linear(4, 4), batches, [Sum(), There()])
loop.run(3)
print(loop.net(torch.ones(2, 4).to(loop.x.device)))
"""


@pytest.mark.parametrize("checked", ["loop.py", "calls.py", "train.py"])
@pytest.mark.parametrize("statements", [1, 20, 40, 60, 120, 150, 180, 250])
def test_what_is_called_in_a_loop_does_its_work_however_long_it_takes(
    tmp_path: Path, statements: int, checked: str
) -> None:
    """Where a call of another file is not read any more, it may have set what the object that it is given holds."""
    long = "\n        ".join(["self.total += 1"] * statements)
    files = {
        "loop.py": LOOP,
        "calls.py": CALLS.format(rank=-1, long=long, and_weights=""),
        "train.py": LOOPS,
    }
    assert _found(tmp_path, files, checked) == []


@pytest.mark.parametrize(("rank", "found"), [(-1, []), (5, [("TDV004", 30)])])
def test_what_is_called_comes_in_order(tmp_path: Path, rank: int, found: list[tuple[str, int]]) -> None:
    """What moves the model comes first, or after what has made something for it where it was."""
    calls = CALLS.format(
        rank=rank, long="self.first = torch.ones(4).to(loop.net.weight.device)", and_weights=" * self.first"
    )
    assert _found(tmp_path, {"loop.py": LOOP, "calls.py": calls, "train.py": LOOPS}, "calls.py") == found


RAMP = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = torch.arange(4).float()
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        return self.out(torch.sin(x * self.steps))
"""
SETTLED = """
import torch

PLACE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
WITHIN = """
import torch
import settled
from net import Net


def solve():
    net = Net(){moved}
    print(net(torch.rand(2, 1{given})).sum().item(), net.out.weight.device)


with {block}:
    solve()
"""


@pytest.mark.parametrize("checked", ["net.py", "train.py"])
@pytest.mark.parametrize(
    ("block", "moved", "given", "found"),
    [
        ("settled.PLACE", "", "", []),
        ("torch.no_grad()", ".to(settled.PLACE)", ", device=settled.PLACE", [("TDV006", 9)]),
    ],
)
def test_what_only_may_fail_does_not_where_the_script_has_both_on_one_device(
    tmp_path: Path, checked: str, block: str, moved: str, given: str, found: list[tuple[str, int]]
) -> None:
    """A block of another file builds the model and runs it: what its class makes is there."""
    train = WITHIN.format(block=block, moved=moved, given=given)
    files = {"net.py": RAMP, "settled.py": SETTLED, "train.py": train}
    assert _found(tmp_path, files, checked) == (found if checked == "net.py" else [])


def test_one_that_fails_and_one_that_does_not(tmp_path: Path) -> None:
    """What works in one place is told where another brings it about."""
    right = WITHIN.format(block="settled.PLACE", moved="", given="")
    more = "\n\nnet = Net().to(settled.PLACE)\nprint(net(torch.rand(2, 1).to(settled.PLACE)).sum().item())\n"
    files = {"net.py": RAMP, "settled.py": SETTLED, "train.py": right + more}
    assert _found(tmp_path, files) == [("TDV006", 9)]


SCALER = """
{line}


class Scaler:
    def fit(self, rows):
        self.low = rows.min(dim=0).values
        return self

    def back(self, rows):
        return rows.detach() + self.low
"""
FITS = """
import torch
from scaler import Scaler

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(Scaler().fit(torch.randn(4, 3)).back(torch.randn(4, 3, device=device)))
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [("import torch", [("TDV004", 11)]), ("import math", [("TDV004", 11)])],
    ids=["it imports torch", "it calls a method of tensors"],
)
def test_a_file_that_only_calls_methods_of_tensors(
    tmp_path: Path, line: str, found: list[tuple[str, int]]
) -> None:
    files = {"scaler.py": SCALER.format(line=line), "fit.py": FITS}
    assert _found(tmp_path, files, "scaler.py") == found

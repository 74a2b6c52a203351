"""What a seventh round of programs and projects taught, whose authors had not seen the linter, each idiom right and wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)

START = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(2, 3, device=device)
"""

CASES: dict[str, tuple[str, Sequence[tuple[str, list[str]]]]] = {
    "the state of an optimizer of one's own is restored before the move": (
        """
        class Lion(torch.optim.Optimizer):
            def __init__(self, params, lr=1e-3):
                super().__init__(params, dict(lr=lr))

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if "m" not in state:
                            state["m"] = torch.zeros_like(p)
                        state["m"].mul_(0.9).add_(p.grad)
                        p.sub_(state["m"], alpha=group["lr"])


        net = nn.Linear(3, 1)
        {0}
        saved = torch.load("last.pt", map_location="cpu")
        opt = Lion(net.parameters())
        opt.load_state_dict(saved["opt"])
        net.to(device)
        net(x).sum().backward()
        opt.step()
        """,
        [("", ["TDV014"]), ("net.to(device)", [])],
    ),
    "an optimizer of one's own that brings its state to each parameter": (
        """
        class Lion(torch.optim.Optimizer):
            def __init__(self, params, lr=1e-3):
                super().__init__(params, dict(lr=lr))

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        m = state.get("m", torch.zeros_like(p)){0}
                        p.sub_(m, alpha=group["lr"])


        net = nn.Linear(3, 1)
        saved = torch.load("last.pt", map_location="cpu")
        opt = Lion(net.parameters())
        opt.load_state_dict(saved["opt"])
        net.to(device)
        net(x).sum().backward()
        opt.step()
        """,
        [("", ["TDV014"]), (".to(p.device)", [])],
    ),
    "classes that are looked for among all names of the file": (
        """
        class Center(nn.Module):
            def __init__(self):
                super().__init__()
                self.centers = nn.Parameter(torch.ones(3))

            def forward(self, x):
                return (x - self.centers).pow(2).mean()


        class Composite(nn.Module):
            def __init__(self, names):
                super().__init__()
                self.terms = {0}
                for name in names:
                    self.terms[name] = globals()[name]()

            def forward(self, x):
                return sum(term(x) for term in self.terms.values())


        Composite(["Center"]).to(device)(x)
        """,
        [("{}", ["TDV007"]), ("nn.ModuleDict()", [])],
    ),
    "a collection of modules, a class of its own": (
        """
        class Metric(nn.Module):
            def __init__(self):
                super().__init__()
                self.defaults = {"seen": torch.zeros(3)}
                self.register_buffer("seen", torch.zeros(3))

            def reset(self):
                for name, value in self.defaults.items():
                    setattr(self, name, value{0})

            def update(self, x):
                self.seen += x.sum(0)


        class Metrics(nn.ModuleDict):
            def __init__(self):
                super().__init__({"one": Metric()})

            def reset(self):
                for metric in self.values():
                    metric.reset()

            def update(self, x):
                for metric in self.values():
                    metric.update(x)


        metrics = Metrics().to(device)
        metrics.reset()
        metrics.update(x)
        """,
        [(".clone()", ["TDV006"]), (".to(self.seen.device)", [])],
    ),
    "a list of modules that grows is not known by what it was given at first": (
        """
        class Stages(nn.ModuleList):
            def __init__(self):
                super().__init__([{0}])
                self.append(nn.Linear(3, 3))

            def forward(self, x):
                for stage in self:
                    x = stage(x)
                return x


        Stages().to(device)(x)
        """,
        [("nn.Linear(3, 3)", []), ("nn.Linear(3, 3, device='cpu')", [])],
    ),
    "a `__setattr__` that sets what the wrapped module keeps": (
        """
        class Wrapper:
            def __init__(self, inner):
                self.__dict__["inner"] = inner

            def __getattr__(self, name):
                return getattr(self.inner, name)
        {0}
            def __call__(self, x):
                return self.inner(x)


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(3, 3)
                self.window = torch.ones(3)

            def forward(self, x):
                return self.head(x * self.window)


        net = Wrapper(Net().to(device))
        net.window = torch.ones(3, device=device)
        net(x)
        """,
        [
            ("", ["TDV006"]),
            (
                """
            def __setattr__(self, name, value):
                setattr(self.inner, name, value)
        """,
                [],
            ),
        ],
    ),
    "options for factories, handed on by a container of one's own": (
        """
        class Kernel(nn.Module):
            def __init__(self, size, device=None, dtype=None):
                super().__init__()
                self.options = {{0}}
                self.scale = nn.Parameter(torch.ones(size, device=device, dtype=dtype))

            def forward(self):
                return self.scale * torch.arange(3, **self.options)


        class Model(nn.Sequential):
            def __init__(self, **options):
                super().__init__(Kernel(3, **options))

            def forward(self):
                for part in self.children():
                    return part()


        Model(device=device)()
        """,
        [('"device": device, "dtype": dtype', []), ('"dtype": dtype', ["TDV005"])],
    ),
    "settings in a text of JSON": (
        """
        import json

        CONFIG = json.loads('{"loss": {0}, "weights": [1.0, 2.0], "stages": null}')


        def build(name, weights):
            if name == "weighted":
                return nn.CrossEntropyLoss(torch.tensor(weights))
            return nn.MSELoss()


        loss = build(CONFIG["loss"], CONFIG["weights"])
        loss(nn.Linear(3, 2).to(device)(x), torch.zeros(2, dtype=torch.long, device=device))
        """,
        [('"weighted"', ["TDV001"]), ('"plain"', [])],
    ),
    "what layers of a plain list give is no finding of its own": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = {0}
                self.out = nn.Linear(3, 3)

            def forward(self, x):
                for layer in self.body:
                    x = layer(x).relu()
                return self.out(x)


        def run(batch):
            net = Net().to(device)
            return net(batch.to(device))


        run(torch.ones(2, 3))
        """,
        [
            ("[nn.Linear(3, 3) for _ in range(4)]", ["TDV007"]),
            ("nn.ModuleList(nn.Linear(3, 3) for _ in range(4))", []),
        ],
    ),
    "who has a module moves what it keeps": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(3, 3)
                self.window = torch.ones(3)

            def forward(self, x):
                return self.head(x * self.window)


        def deploy(net):
            net.to(device)
            {0}
            return net
        """,
        [("pass", ["TDV006"]), ("net.window = net.window.to(device)", [])],
    ),
}


@pytest.mark.parametrize(
    ("text", "put", "found"),
    [
        pytest.param(text, put, found, id=f"{name}: {put.strip() or 'nothing'}")
        for name, (text, ways) in CASES.items()
        for put, found in ways
    ],
)
def test_idioms_of_blind_programs(text: str, put: str, found: list[str]) -> None:
    """Each is told where it fails, and silent where it does not."""
    source = START + textwrap.dedent(text.replace("{0}", put))
    assert [one.code for one in check_source(source, "program.py", DEFAULT)] == found


ADAPTERS = """\
from torch import nn


def wrap(model, names):
    for name, part in list(model.named_modules()):
        if isinstance(part, nn.Linear) and name in names:
            setattr(model, name, nn.Sequential(part, nn.Linear(3, 3)))
    return model
"""
TUNING = """\
from adapters import wrap
from torch import nn


def build(device):
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    {0}
    return model
"""
TUNE = """\
import torch
from tuning import build

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
build(device)(torch.ones(2, 3, device=device))
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("model = wrap(model.to(device), ['0'])", ["TDV008"]),
        ("model = wrap(model, ['0']).to(device)", []),
    ],
)
def test_parts_that_a_file_adds_to_what_it_has_moved(line: str, found: list[str], tmp_path: Path) -> None:
    """The file that moves the module and has parts put into it is at fault, whichever script runs it."""
    text = TUNING.replace("{0}", line)
    (tmp_path / "adapters.py").write_text(ADAPTERS)
    (tmp_path / "tuning.py").write_text(text)
    (tmp_path / "train.py").write_text(TUNE)
    (tmp_path / "pyproject.toml").touch()
    told = check_source(text, str(tmp_path / "tuning.py"), DEFAULT, DiskSources())
    assert [one.code for one in told] == found


NORMALIZER = """\
import torch


class RunningNorm:
    def __init__(self, size):
        self.mean = torch.zeros(size)
        self.var = torch.ones(size)

    def to(self, device):
        self.mean = self.mean.to(device)
        {0}
        return self

    def update(self, x):
        self.mean += x.mean(0) - self.mean
        self.var = self.var * 2
"""
NORMALIZE = """\
import torch
from normalizer import RunningNorm

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
norm = RunningNorm(3).to(device)
norm.update(torch.ones(2, 3, device=device))
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [("self.var.to(device)", ["TDV003"]), ("self.var = self.var.to(device)", [])],
)
def test_copies_that_another_file_has_thrown_away(line: str, found: list[str], tmp_path: Path) -> None:
    """That an attribute is a tensor is seen where a script has the object moved."""
    text = NORMALIZER.replace("{0}", line)
    (tmp_path / "normalizer.py").write_text(text)
    (tmp_path / "train.py").write_text(NORMALIZE)
    (tmp_path / "pyproject.toml").touch()
    told = check_source(text, str(tmp_path / "normalizer.py"), DEFAULT, DiskSources())
    assert [one.code for one in told] == found


def test_a_move_is_written_before_the_call_that_restores_the_state() -> None:
    """What is restored in a function stands there; the move goes before the call of it."""
    text = START + textwrap.dedent(
        """
        def restore(net, opt):
            saved = torch.load("last.pt", map_location="cpu")
            net.load_state_dict(saved["net"])
            opt.load_state_dict(saved["opt"])


        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters())
        restore(net, opt)
        net.to(device)
        net(x).sum().backward()
        opt.step()
        """
    )
    (told,) = check_source(text, "program.py", DEFAULT)
    assert told.code == "TDV014"
    assert told.fix is not None
    line = text.splitlines().index("restore(net, opt)") + 1
    assert [(edit.content, edit.range.start.row) for edit in told.fix.edits] == [("net.to(device)\n", line)]


def test_what_a_closure_keeps_goes_where_an_item_of_its_argument_is() -> None:
    """`args[0].device` may be read again; no other name for that device is in scope."""
    text = "import torch\nfrom torch import nn\n" + textwrap.dedent(
        """
        def normalizer():
            mean = torch.tensor([0.4, 0.5, 0.6])
            std = torch.tensor([0.2, 0.2, 0.2])

            def apply(module, args):
                return ((args[0] - mean) / std,)

            return apply


        def run():
            place = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = nn.Linear(3, 3).to(place)
            net.register_forward_pre_hook(normalizer())
            net(torch.ones(2, 3, device=place))


        run()
        """
    )
    told = check_source(text, "program.py", DEFAULT)
    assert [one.code for one in told] == ["TDV005", "TDV005"]
    edits = [edit.content for one in told if one.fix is not None for edit in one.fix.edits]
    assert edits == [".to(args[0].device)", ".to(args[0].device)"]

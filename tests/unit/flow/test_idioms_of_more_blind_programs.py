"""What a third round of programs and projects taught (docs/programs.md), and the repositories beside them, each idiom wrong and right."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.parsing import judge_of
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.fixes.fixpoint import fix_text
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)
Checked = Callable[[Path, dict[str, str], str], list[str]]
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import torch
from torch import nn
from torch.utils._pytree import tree_map
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


OPTIONS = """
        class Options(dict):
            __getattr__ = dict.__getitem__
            {0}
        def to_device(obj):
            if torch.is_tensor(obj):
                return obj.to(device)
            if isinstance(obj, {1}):
                return Options({{key: to_device(value) for key, value in obj.items()}})
            return obj
        given = Options(scale=torch.ones(3), size=3)
        {2}
        given.scale * torch.ones(3, device=device)
"""
SETTER = "__setattr__ = dict.__setitem__"
METHOD = "def __setattr__(self, key, value): self[key] = value"
UNREAD = f"@logged\n            {METHOD}"
WHOLE = "given = to_device(given)"
TWICE = "given = Options({key: value * 2 for key, value in given.items()})"

# what stands for {0}, and what is found then
CASES: dict[str, tuple[str, Ways]] = {
    "what a module gives that has its own place, beside what it is given on the GPU": (
        """
        class Warp(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 2, 3)
            def warp(self, x, flow):
                grid = torch.ones(flow.shape)
                if x.is_cuda:
                    {0}
                mask = torch.ones(x.size()).cuda()
                return grid * mask
            def forward(self, x):
                y = self.conv(x)
                return self.warp(y, y)
        """,
        [("grid = grid.cuda()", ["TDV016", "TDV018"]), ("pass", ["TDV005", "TDV018"])],
    ),
    "items that are moved by their key": (
        """
        class Engine:
            KEYS = ("image", "target")
            def prepare(self, batch):
                return {{k: v.to(device) if {0} else v for k, v in batch.items()}}
            def run(self, loader):
                for batch in map(self.prepare, loader):
                    torch.zeros(3) + batch["meta"]["joints"]
        """,
        [("k in self.KEYS", []), ("isinstance(v, torch.Tensor)", ["TDV005"])],
    ),
    "a hook that brings back what a module gives": (
        """
        def fetch(module, args, output):
            return tree_map(lambda v: {0} if isinstance(v, torch.Tensor) else v, output)
        class Server:
            def __init__(self, model):
                self.model = model.to(device)
                self.handle = self.model.register_forward_hook(fetch)
            def ask(self, x):
                return self.model(x.to(device))["median"].numpy()
        """,
        [("v.cpu()", []), ("v * 2", ["TDV010"])],
    ),
    "a module that brings what its methods are given": (
        """
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.emb = nn.Embedding(3, 3)
            def encode(self, x):
                return self.emb(x)
        class Placed(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner.to(device)
            {0}
                value = getattr(self.inner, name)
                return lambda *given: value(*(one.to(device) for one in given))
        Placed(Inner()).encode(torch.tensor([1]))
        """,
        [("def __getattr__(self, name):", []), ("def get(self, name):", ["TDV001"])],
    ),
    "dicts with attributes": (
        OPTIONS,
        [
            ((SETTER, "Options", ""), ["TDV005"]),
            ((SETTER, "Options", WHOLE), []),
            ((SETTER, "dict", WHOLE), []),
            ((SETTER, "list", WHOLE), ["TDV005"]),
            (("pass", "Options", WHOLE), []),
            ((METHOD, "Options", WHOLE), []),
            ((METHOD, "Options", "given.scale = torch.ones(3).to(device)"), []),
            ((METHOD, "Options", "given.scale = torch.ones(3)"), ["TDV005"]),
            ((SETTER, "Options", "given.scale = torch.ones(3).to(device)"), []),
            (("pass", "Options", "given['scale'] = given.scale.to(device)"), []),
            ((SETTER, "Options", TWICE), ["TDV005"]),
            ((UNREAD, "Options", f"given.scale = torch.ones(3).to(device)\n        {TWICE}"), []),
            ((SETTER, "Options", f"given.scale = torch.ones(3).to(device)\n        {TWICE}"), []),
        ],
    ),
    "items that are moved by what their key begins or ends with": (
        """
        class Batch(dict):
            __getattr__ = dict.__getitem__
            def to(self, place):
                return Batch((k, v if k.{0} else v.to(place)) for k, v in self.items())
        batch = Batch(lens_host=torch.ones(3)).to("cuda")
        batch.lens_host * torch.ones(3)
        """,
        [
            ('endswith("_host")', []),
            ('endswith(("_cpu", "_host"))', []),
            ('startswith("lens")', []),
            ('endswith("lens")', ["TDV005"]),
            ('endswith("_host", 0, 4)', ["TDV005"]),
            ("endswith(read_ending())", ["TDV005"]),
            ('endswith(("_host", read_ending()))', ["TDV005"]),
        ],
    ),
    "stages that take over what they are given": (
        """
        places = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
        class Stage(nn.Module):
            def __init__(self, block, place):
                super().__init__()
                self.block, self.place = block.to(place), place
            def forward(self, x):
                return self.block({0})
        def split(blocks):
            return nn.Sequential(*[Stage(block, places[i // 2]) for i, block in enumerate(blocks)])
        split([nn.Linear(3, 3), nn.Linear(3, 3)])(torch.ones(3))
        """,
        [("x.to(self.place)", []), ("x", ["TDV001"])],
    ),
    "devices by a truth": (
        """
        def pick(wanted):
            return torch.zeros(3, device={{{0}: torch.device("cuda:0"), False: "cpu"}}[wanted])
        """,
        [("True", []), ('"yes"', [])],
    ),
    "devices by what they are called": (
        """
        def pick(name):
            return torch.zeros(3, device={{"gpu": "cuda:0", {0}}}[name])
        """,
        [
            ('"cpu": "cpu"', []),
            ('"apple": "mps:0"', ["TDV002"]),
            ('"cpu": "cpu", "parts": 3', ["TDV002"]),
            ('"cpu": "cpu", "kind": "net"', ["TDV002"]),
        ],
    ),
    "what is kept when it was asked for once": (
        """
        class Graph:
            def __init__(self):
                self.raw, self.kept = torch.ones(3, 3), {{}}
            def normal(self):
                if "norm" not in self.kept:
                    self.kept["norm"] = self.raw / self.raw.sum()
                return self.kept["norm"]
            def to(self, place):
                self.raw = self.raw.to(place)
                {1}
                return self
        graph = Graph()
        {0}
        graph.to(device)
        graph.normal() @ torch.ones(3, 3, device=device)
        """,
        [
            (("print(graph.normal())", "pass"), ["TDV004"]),
            (("print(graph.raw)", "pass"), []),
            (("print(graph.normal())", "self.kept.clear()"), []),
            (
                (
                    "for name in read_names(): graph.kept[name] = graph.raw.to(device)",
                    "self.raw = self.raw.cpu()",
                ),
                [],
            ),
        ],
    ),
    "copies of the parameters of groups": (
        """
        net = nn.Linear(3, 3)
        decay, rest = [], []
        for name, p in net.named_parameters():
            {0}
        {3}
        groups = [{{"params": [p for p in net.parameters() if p.dim() > 1]}}, {{"params": rest}}]
        base = torch.optim.SGD({1}, lr=0.1)
        {2}
        slow = [[p.detach().clone() for p in g["params"]] for g in base.param_groups]
        net.to(device)
        for group, kept in zip(base.param_groups, slow):
            for p, s in zip(group["params"], kept):
                s += p - s
        """,
        [
            (("rest.append(p)", "groups", "", ""), ["TDV004"]),
            (("rest.append(p)", "rest", "", ""), ["TDV004"]),
            (("rest.append(p)", "groups", "net.to(device)", ""), []),
            (("rest.append(torch.ones(1))", "groups", "", ""), []),
            (("rest.extend(ones(p))", "groups", "", ""), []),
            (("rest.append(p)", "rest", "", "rest = others()"), []),
        ],
    ),
    "an optimizer of named lists whose state is restored before the move": (
        """
        net = nn.Linear(3, 3)
        weights = [p for n, p in net.named_parameters() if n != "bias"]
        optimizer = torch.optim.Adam([{{"params": weights}}])
        {0}
        optimizer.load_state_dict(torch.load("last.pt", map_location="cpu"))
        net.to(device)
        net(torch.ones(1, 3, device=device)).sum().backward()
        optimizer.step()
        """,
        [("", ["TDV014"]), ("net.to(device)", [])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way(START, *CASES[name])


def test_what_a_hook_gives_may_still_be_a_dict() -> None:
    """Of a model that cannot be read it is not known whether it gives a tensor, or several."""
    text = """
        def fetch(module, args, output):
            return tree_map(lambda v: v.cpu() if isinstance(v, torch.Tensor) else v, output)
        def ask(model, x):
            model.to(device).eval()
            model.register_forward_hook(fetch)
            out = model(x.to(device))
            reveal_device(out)
        """
    (one,) = findings(START + textwrap.dedent(text), "train.py", DEFAULT)
    assert one.message == "`out` is a batch on the CPU"


# -- default devices of contexts in other files

FLOW = """\
import torch
from torch import nn

class Coupling(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.mask = torch.arange(n) % 2
        self.net = nn.Linear(n, n)

    def forward(self, x):
        return self.net(self.mask * x)

class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.coupling = Coupling(n)

    def forward(self, x):
        return self.coupling(x)

class Flow(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList(Block(n) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
RUNTIME = """\
from contextlib import contextmanager
import torch

class Runtime:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @contextmanager
    def scope(self):
        {0}
            yield self
"""
MAIN = """\
import torch
from flow import Flow
from runtime import Runtime

rt = Runtime()
{0}
    flow = Flow(4)
print(flow(torch.ones(4, device=rt.device)))
"""


@pytest.mark.parametrize(
    ("block", "entered", "found"),
    [
        ("with self.device:", "with rt.scope():", []),
        ("with torch.no_grad():", "with rt.scope():", ["TDV006"]),
        ("with self.device:", "if rt:", ["TDV006"]),
    ],
)
def test_a_class_that_is_built_in_the_context_of_another_file(
    tmp_path: Path, checked: Checked, block: str, entered: str, found: list[str]
) -> None:
    """By other classes of its own file, which are built in a context manager that a third file defines. No script is run for a library."""
    files = {"flow.py": FLOW, "runtime.py": RUNTIME.format(block), "main.py": MAIN.format(entered)}
    files["setup.py"] = "from setuptools import setup\nsetup(name='flow')\n"
    assert checked(tmp_path, files, "flow.py") == found


SETTINGS = """\
import torch
from contextlib import contextmanager

class Settings:
    current = None

    @classmethod
    def get(cls):
        if cls.current is None:
            cls.current = read_settings()
        return cls.current

    @contextmanager
    def {0}(self):
        with torch.device(self.device):
            yield self.device
"""
GAM = """\
import torch
from torch import nn
from settings import Settings

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
with Settings.get().scope():
    net = nn.Linear(3, 3)
net(torch.ones(3, device=device))
"""


@pytest.mark.parametrize(("name", "found"), [("scope", []), ("other", ["TDV001"])])
def test_a_context_that_cannot_be_followed(
    tmp_path: Path, checked: Checked, name: str, found: list[str]
) -> None:
    """It goes by the name of one that sets the default device."""
    assert checked(tmp_path, {"settings.py": SETTINGS.format(name), "gam.py": GAM}, "gam.py") == found


# -- what scripts prove

RECIPE = """\
import torch

class Recipe:
    def __init__(self, model, device):
        self.model = model.to(device)
        self.device = device

    def step(self, ids, durations):
        return self.model(ids.to(self.device), torch.ones(3, dtype=torch.long))
"""
SPEAKER = """\
import torch
from torch import nn
from recipe import Recipe

class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 3)

    def forward(self, ids, durations):
        return {0}

class Adder(Speaker):
    def forward(self, ids, durations):
        return self.emb(ids) * durations[:, None]

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
{1}
Recipe(Speaker(), {2}).step({3}, 3)
"""


@pytest.mark.parametrize(
    ("used", "first", "place", "ids", "found"),
    [
        ("self.emb(ids)[durations]", "", "device", "torch.tensor([1, 2, 3])", []),
        ("self.emb(ids) * durations[:, None]", "", "device", "torch.tensor([1, 2, 3])", ["TDV001"]),
        ("self.emb(ids)[durations]", "", "torch.device('cpu')", "torch.tensor([1, 2, 3])", ["TDV001"]),
        ("self.emb(ids)[durations]", "", "device", "read()", ["TDV001"]),
        (
            "self.emb(ids)[durations]",
            "Recipe(Adder(), device).step(torch.tensor([1]), 1)",
            "device",
            "torch.tensor([1, 2, 3])",
            ["TDV001"],
        ),
    ],
)
def test_a_call_that_scripts_come_through(
    tmp_path: Path, checked: Checked, used: str, first: str, place: str, ids: str, found: list[str]
) -> None:
    """Inputs of a model that is not known have to be together, unless the scripts run a model which takes them apart, each time."""
    files = {"recipe.py": RECIPE, "speak.py": SPEAKER.format(used, first, place, ids)}
    assert checked(tmp_path, files, "recipe.py") == found


NETS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)

if __name__ == "__main__":
    net = Net()
    net(torch.ones(3).cuda())
"""
RUNS = """\
import torch
from nets import Net

net = Net().cuda()
net(torch.ones(3).cuda())
"""


def test_what_another_script_comes_through_is_still_wrong_in_this_one(
    tmp_path: Path, checked: Checked
) -> None:
    """The layer is given what is on the GPU in both, but only one of them has moved it."""
    assert checked(tmp_path, {"nets.py": NETS, "runs.py": RUNS}, "nets.py") == ["TDV001"]


AUDIO = """\
def to_array(wav):
    return wav.detach(){0}.numpy()
"""
PREVIEW = """\
import torch
from audio import to_array

to_array(torch.ones(3).to("cuda"))
"""


@pytest.mark.parametrize(("brought", "found"), [("", ["TDV010"]), (".cpu()", [])])
def test_a_file_that_only_reads_tensors(
    tmp_path: Path, checked: Checked, brought: str, found: list[str]
) -> None:
    """It does not even import torch."""
    assert checked(tmp_path, {"audio.py": AUDIO.format(brought), "main.py": PREVIEW}, "audio.py") == found


LAYERS = """\
import torch
from torch import nn

class Embed(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.row = nn.Embedding(n, n)

    def positions(self, n):
        return torch.arange(n{0})

    def forward(self, x):
        return x + self.row(self.positions(x.size(0)))
"""
SCRIPT = """\
import torch
from layers import Embed

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
embed = Embed(4){0}
embed(torch.ones(4, 4){0})
"""


@pytest.mark.parametrize(
    ("made", "moved", "found"),
    [
        ("", ".to(device)", ["TDV001"]),
        (", device=self.row.weight.device", ".to(device)", []),
        ("", "", ["TDV004"]),
    ],
)
def test_what_may_be_wrong_and_is_where_a_script_runs_it(
    tmp_path: Path, checked: Checked, made: str, moved: str, found: list[str]
) -> None:
    """Of who never moves it nothing is learned: it is a module's, which is there to be moved."""
    files = {"layers.py": LAYERS.format(made), "main.py": SCRIPT.format(moved)}
    assert checked(tmp_path, files, "layers.py") == found
    whole = check_source(files["layers.py"], str(tmp_path / "layers.py"), Config(), DiskSources())
    assert [one.code for one in whole if one.code != "TDV106"] == found or not found


DRAWS = """\
import torch

def draw(n, place, generator):
    return torch.rand(n, device=place, generator=generator)
"""
ASKS = """\
import torch
from draws import draw

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
draw(3, device, torch.Generator({0}))
"""


@pytest.mark.parametrize(("place", "found"), [("", ["TDV011"]), ("device", [])])
def test_a_generator_that_a_script_hands_over(
    tmp_path: Path, checked: Checked, place: str, found: list[str]
) -> None:
    assert checked(tmp_path, {"draws.py": DRAWS, "asks.py": ASKS.format(place)}, "draws.py") == found


EXPERIMENT = """\
import torch

class Experiment:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def load(self):
        self.optimizer.load_state_dict(torch.load("last.pt", map_location="cpu"))
"""
BUILD = """\
import torch
from torch import nn
from experiment import Experiment

def build(device):
    net = nn.Linear(3, 3)
    {0}
    experiment = Experiment(net, torch.optim.Adam(net.parameters()))
    experiment.load()
    experiment.net.to(device)
    return experiment
"""
TRAIN = """\
import torch
from build import build

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
experiment = build(device)
experiment.net(torch.ones(1, 3, device=device)).sum().backward()
experiment.optimizer.step()
"""


@pytest.mark.parametrize(("earlier", "found"), [("pass", ["TDV014"]), ("net.to(device)", [])])
def test_state_that_a_method_of_another_file_restores_too_early(
    tmp_path: Path, checked: Checked, earlier: str, found: list[str]
) -> None:
    files = {"experiment.py": EXPERIMENT, "build.py": BUILD.format(earlier), "train.py": TRAIN}
    assert checked(tmp_path, files, "build.py") == found


# -- edits

PAIR = """\
from torch import nn

def build():
    {0}
"""
USES = """\
import torch
from pair import build

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net{0} = build()
net(torch.ones(3, 3, device=device))
"""


@pytest.mark.parametrize(
    ("built", "others", "edited"),
    [
        ("return nn.Linear(3, 3)", "", "net = build().to(device)"),
        ("return nn.Linear(3, 3), nn.MSELoss()", ", loss", None),
    ],
)
def test_what_was_built_among_others_is_not_moved_with_them(
    tmp_path: Path, built: str, others: str, edited: str | None
) -> None:
    """A tuple has no `.to`."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "pair.py").write_text(PAIR.format(built))
    path = tmp_path / "uses.py"
    path.write_text(USES.format(others))
    (one,) = check_source(path.read_text(), str(path), DEFAULT, DiskSources())
    assert one.code == "TDV001"
    assert (one.fix is None) == (edited is None)
    if one.fix is not None:
        (edit,) = one.fix.edits
        assert (edit.content, edit.range.start.row) == (".to(device)", 5)


LOSSES = """
config = read_config()
if not torch.cuda.is_available():
    config["device"] = "cpu"
def plain(n):
    return nn.CrossEntropyLoss()
def weighted(n):
    w = torch.ones(n)
    return nn.CrossEntropyLoss(weight=w)
class Own:
    def __call__(self, given, wanted):
        return given.sum()
def own(n):
    return Own()
TABLE = {"plain": plain, "weighted": weighted, "own": OTHER}
class Trainer:
    def __init__(self, config):
        self.device = torch.device(config["device"])
        self.net = nn.Linear(3, 3).to(self.device)
        self.loss = TABLE[config["name"]](3)
    def step(self):
        x = torch.ones(3, 3).to(self.device)
        return self.loss(self.net(x), x.argmax(1))
Trainer(config).step()
"""


@pytest.mark.parametrize(("other", "fixed"), [("plain", True), ("own", False)])
def test_one_of_several_losses_is_moved_where_it_is_kept(other: str, fixed: bool) -> None:
    """Which of the functions builds it is not known, nor do they know the device."""
    text = START + LOSSES.replace("OTHER", other)
    (one,) = findings(text, "train.py", DEFAULT)
    assert one.code == "TDV001"
    assert (one.fix is not None) == fixed
    if one.fix is not None:
        (edit,) = one.fix.edits
        line = text.splitlines()[edit.range.start.row - 1]
        assert (edit.content, line.strip()) == (".to(self.device)", 'self.loss = TABLE[config["name"]](3)')


MASKS = """
class Flow(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(n, n) for _ in range(4))
        self.masks = {0}
    def forward(self, x):
        for layer, mask in zip(self.layers, self.masks):
            x = layer(x * mask{2})
        return x
    {1}
Flow(3).to(device)(torch.ones(3, device=device))
"""
PARAMETERS = "nn.ParameterList(nn.Parameter(t, requires_grad=False) for t in {0})"


@pytest.mark.parametrize(
    ("made", "more", "kept"),
    [
        ("[[torch.ones(n)] for _ in range(4)]", "", False),
        ("[torch.ones(n) for _ in range(4)]", "", True),
        ("[torch.ones(n), torch.zeros(n)]", "", True),
        ("[torch.ones(n) for _ in range(4)]", "def more(self): self.masks.append(torch.ones(3))", False),
        ("[torch.ones(n) for _ in range(4)]", "def more(self): self.masks[0] = torch.ones(3)", False),
        ("make(n)", "", False),
    ],
)
def test_a_list_of_tensors_becomes_one_of_parameters(made: str, more: str, kept: bool) -> None:
    """They move with the module, and are no parameters to be trained. What cannot be made one is moved where it is used."""
    text = f"{START}def make(n):\n    return [torch.ones(n) for _ in range(4)]\n{MASKS.format(made, more, '[0]' if '[[' in made else '')}"
    (one,) = findings(text, "flow.py", DEFAULT)
    assert one.code == "TDV006"
    assert one.fix is not None
    if kept:
        before, after = one.fix.edits
        assert before.content + made + after.content == PARAMETERS.format(made)
    else:
        assert [edit.content for edit in one.fix.edits] == [".to(x.device)"]


TURNS = """
import torch

class Buffer:
    def __init__(self, n):
        self.values, self.rewards, self.dones = (torch.zeros(n, 2) for _ in range(3))

    def finish(self, last, gamma):
        running = torch.zeros(2)
        for t in reversed(range(3)):
            alive = 1 - self.dones[t]
            delta = self.rewards[t] + gamma * last * alive - self.values[t]
            running = delta + gamma * alive * running
            last = self.values[t]

buffer = Buffer(3)
buffer.finish(torch.zeros(2).cuda(), 0.9)
"""


def test_two_that_take_turns_are_not_brought_to_each_other_for_ever() -> None:
    def check(text: str) -> list[object]:
        return list(findings(text, "a.py", DEFAULT))

    fixed = fix_text(TURNS, check, judge_of(TURNS), frozenset(Applicability))  # type: ignore[arg-type]
    assert fixed.errors == ()
    assert ".device).to(" not in fixed.text
    assert fixed.text != TURNS


TOTALS = """
def total(rewards, values):
    sum_ = START
    for reward, value in zip(rewards, values):
        sum_ = value.cuda() + 0.9 * sum_
        reward * sum_
total([torch.ones(3)] * 3, [torch.ones(3)] * 3)
"""


@pytest.mark.parametrize(("start", "fixed"), [("0.0", False), ("torch.zeros(3).cuda()", True)])
def test_what_is_a_number_at_first_has_no_device(start: str, fixed: bool) -> None:
    (one,) = findings(START + TOTALS.replace("START", start), "train.py", DEFAULT)
    assert one.code == "TDV004"
    assert (one.fix is not None) == fixed


AVERAGES = """
net = nn.Linear(3, 3)
mean = {k: p.detach().clone() for k, p in net.named_parameters()}
net.to("cuda")
for k, p in net.named_parameters():
    mean[k].mul_(0.9)CHANGE
"""


@pytest.mark.parametrize(
    ("change", "edited"),
    [
        (".add_(p, alpha=0.1)", ".add_(p.to(mean[k].device), alpha=0.1)"),
        (".clamp_(0, 1).lerp_(p, 0.1)", ".clamp_(0, 1).lerp_(p.to(mean[k].device), 0.1)"),
        (".square().add_(p)", None),
    ],
)
def test_what_is_changed_in_place_more_than_once_stays(change: str, edited: str | None) -> None:
    text = START + AVERAGES.replace("CHANGE", change)
    (one,) = findings(text, "train.py", DEFAULT)
    assert one.code == "TDV004"
    assert (one.fix is None) == (edited is None)
    if one.fix is not None:
        (edit,) = one.fix.edits
        line = text.splitlines()[edit.range.start.row - 1]
        column = edit.range.start.column - 1
        after = line[:column] + edit.content + line[edit.range.end.column - 1 :]
        assert edited is not None
        assert after.endswith(edited)

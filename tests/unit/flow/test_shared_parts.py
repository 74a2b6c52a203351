"""Parameters and parts of a module that are also kept elsewhere: what moves the module moves them."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.registry import all_rules

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

GAINS = """
class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gains = []
        for i in range(3):
            gain = {made}
            {registered}
            self.gains.append({kept})
    def forward(self, x):
        for gain in self.gains:
            x = x * gain
        return x
net = Mixer().to(device)
net(torch.ones(2, 4, device=device))
"""

NAMED = """
net = nn.BatchNorm1d(4){at_first}
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.ones(4))
scale = Scale()
held = {held}
{moved}
torch.ones(2, 4, device=device) * {used}
"""

IN_FUNCTION = """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
def send(model):
    model.cuda()
scale = Scale()
held = scale.scale
{call}
torch.ones(2, 4).cuda() * held
"""

BRANCH = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--gpu", action="store_true")
args = parser.parse_args()
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
scale = Scale()
held = [scale.scale]
x = torch.ones(2, 4)
if args.gpu:
    {moved}
if args.gpu:
    x = x.cuda()
x * held[0]
"""

TAPS = """
def features():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU())
class Taps(nn.Module):
    def __init__(self, cut=2):
        super().__init__()
        net = features()
        {kept}
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
model = Taps().to(device)
model(torch.ones(1, 3, 8, 8, device=device))
"""

SLICES = """
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU())
first, second = net[:2], net[2:]
x = torch.ones(1, 3, 8, 8, device=device)
{moved}
{called}
"""

LAYERS = """
class Stack(nn.Module):
    def __init__(self, cut=2):
        super().__init__()
        layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
        {kept}
    def forward(self, x):
        for layer in self.early:
            x = layer(x)
        return x
model = Stack().to(device)
model(torch.ones(1, 4, device=device))
"""


def _rows(code: str) -> int:
    text = HEAD + textwrap.dedent(code)
    compile(text, "snippet", "exec")
    return len({one.range.start.row for one in findings(text, "snippet.py", DEFAULT_RULES)})


PARAMETER = "nn.Parameter(torch.ones(4))"


@pytest.mark.parametrize(
    ("made", "registered", "kept", "count"),
    [
        (PARAMETER, 'self.register_parameter("gain%d" % i, gain)', "gain", 0),
        (PARAMETER, 'setattr(self, f"gain{i}", gain)', "gain", 0),
        (PARAMETER, 'setattr(self, f"gain{i}", gain)', "(i, gain)[1]", 0),
        (PARAMETER, "pass", "gain", 1),
        # a buffer is replaced by what was moved, and the list keeps what it has
        ("torch.ones(4)", 'self.register_buffer(f"gain{i}", gain)', "gain", 1),
        (PARAMETER, 'self.register_parameter("gain%d" % i, gain)', "gain.detach()", 1),
        (PARAMETER, 'self.register_parameter("gain%d" % i, gain)', "gain.data", 1),
        (PARAMETER, 'self.register_parameter("gain%d" % i, gain)', "nn.Parameter(torch.ones(4))", 1),
    ],
)
def test_a_parameter_in_a_list_moves_with_the_module_that_has_it(
    made: str, registered: str, kept: str, count: int
) -> None:
    assert _rows(GAINS.format(made=made, registered=registered, kept=kept)) == count


@pytest.mark.parametrize(
    ("held", "moved", "used", "count"),
    [
        ("scale.scale", "scale.to(device)", "held", 0),
        ("net.weight", "net.to(device)", "held", 0),
        ("[net.bias, scale.scale]", "net.to(device), scale.to(device)", "held[1] + held[0]", 0),
        ("list(scale.parameters())", "scale.to(device)", "held[0]", 0),
        ('{"gain": scale.scale}', "scale.to(device)", 'held["gain"]', 0),
        ("dict(scale.named_parameters())", "scale.to(device)", 'held["scale"]', 0),
        ("scale.scale", "net.to(device)", "held", 1),
        ("[net.bias, scale.scale]", "net.to(device)", "held[1]", 1),
        ("scale.shift", "scale.to(device)", "held", 1),
        ("scale.scale.clone()", "scale.to(device)", "held", 1),
        ("scale.scale.data", "scale.to(device)", "held", 1),
    ],
)
def test_a_parameter_that_was_taken_before_the_move(held: str, moved: str, used: str, count: int) -> None:
    assert _rows(NAMED.format(at_first="", held=held, moved=moved, used=used)) == count


@pytest.mark.parametrize(("call", "count"), [("send(scale)", 0), ("send(Scale())", 1), ("pass", 1)])
def test_a_function_that_moves_the_module_moves_what_its_caller_has(call: str, count: int) -> None:
    assert _rows(IN_FUNCTION.format(call=call)) == count


@pytest.mark.parametrize(("moved", "count"), [("scale.cuda()", 0), ("pass", 1)])
def test_a_parameter_that_is_moved_on_one_way(moved: str, count: int) -> None:
    assert _rows(BRANCH.format(moved=moved)) == count


@pytest.mark.parametrize(
    ("kept", "count"),
    [
        ("self.blocks = [net[:2], net[2:]]", 1),
        ("self.blocks = [net[:cut], net[cut:]]", 1),
        ("self.blocks = []; self.blocks.append(net[:2].eval())", 1),
        ("self.blocks = nn.ModuleList([net[:2], net[2:]])", 0),
        ("self.net = net; self.blocks = [net[:2], net[2:]]", 0),
        ("self.blocks = net[:cut]", 0),
        ("self.blocks = net[1:3]", 0),
        ("self.blocks = [part.to(device) for part in (net[:2], net[2:])]", 0),
        ("self.rest = net[:2]; self.blocks = [net[2:]]", 1),
    ],
)
def test_slices_of_a_sequential_are_modules(kept: str, count: int) -> None:
    assert _rows(TAPS.format(kept=kept)) == count


@pytest.mark.parametrize(
    ("moved", "called", "count"),
    [
        ("net.to(device)", "second(first(x))", 0),
        ("first.to(device); second.to(device)", "net(x)", 0),
        ("net[0].to(device); net[2].to(device)", "second(first(x))", 0),
        ("first.to(device)", "second(first(x))", 1),
        ("whole = nn.Sequential(*first, *second, nn.Flatten()).to(device)", "whole(x)", 0),
        ("whole = nn.Sequential(*first, *second, nn.Flatten())", "whole(x)", 1),
        ("whole = nn.Sequential(*net[:3])", "whole(x)", 1),
    ],
)
def test_a_slice_is_where_its_parts_are(moved: str, called: str, count: int) -> None:
    assert _rows(SLICES.format(moved=moved, called=called)) == count


@pytest.mark.parametrize(
    ("kept", "count"),
    [
        ("self.early = layers[:2]", 0),
        ("self.early = layers[:cut]", 0),
        ("self.early = [*layers[:2]]", 1),
        ("self.layers = layers; self.early = [*layers[:2]]", 0),
    ],
)
def test_a_slice_of_a_module_list_is_registered(kept: str, count: int) -> None:
    assert _rows(LAYERS.format(kept=kept)) == count

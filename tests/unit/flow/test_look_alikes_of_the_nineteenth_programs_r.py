"""Pairs of look-alikes of the nineteenth fresh programs: the way that it is right, beside the nearest one that is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


STACKED = """
    def stack(sizes, act=nn.ReLU, norm=None):
        layers = []
        for n, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            layers.append({layer})
            if n < len(sizes) - 2:
                layers.append(act())
        {last}
        return nn.Sequential(*layers)

    old = stack([4, 8, 8, 2])
    {prepared}
    old.eval()
    with torch.no_grad():
        print(old(torch.rand(5, 4, device=device)))
"""
LAYER = "nn.Linear(a, b)"
CALLED = [("TDV001", "print(old(torch.rand(5, 4, device=device)))")]


@pytest.mark.parametrize(
    ("layer", "last", "prepared", "expected"),
    [
        (LAYER, "pass", "old.load_state_dict(torch.load('old.pt', map_location=device))", CALLED),
        (LAYER, "pass", "pass", CALLED),
        (LAYER, "pass", "old.to(device)", []),
        (LAYER, "pass", "old = old.to(device)", []),
        # one of its layers may be anything
        (LAYER, "layers.append(norm(8) if norm is not None else unseen())", "pass", []),
        # some are moved, and some are not: it is nowhere that could be told of
        (LAYER + ".to(device)", "pass", "pass", []),
        ("nn.Linear(a, b) if n else nn.Linear(a, b).to(device)", "pass", "pass", []),
    ],
)
def test_a_stack_of_layers_some_of_which_a_condition_adds(
    layer: str, last: str, prepared: str, expected: list[tuple[str, str]]
) -> None:
    """Where each of them is, whichever there are, all of them are."""
    assert told(STACKED.format(layer=layer, last=last, prepared=prepared)) == expected


ADAPTED = """
    class Adapter(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base
            {made}

        def forward(self, x):
            return self.base(x) + x @ self.down

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    def load():
        return Net().to(device)

    def adapt(model, names=("0", "1")):
        for parent in list(model.modules()):
            for name, child in list(parent.named_children()):
                if name in names and isinstance(child, nn.Linear):
                    setattr(parent, name, {attached})

    net = load()
    adapt(net)
    {then}
    net(torch.rand(2, 3, device=device))
"""
MADE_HERE = "self.down = nn.Parameter(torch.zeros(3, 3))"
NEW = "Adapter(child)"
MOVED_LATER = [
    "net.to(device)",
    "net.blocks.to(device)",
    "for one in net.blocks: one.to(device)",
    "[one.to(device) for one in net.modules()]",
    "for one in net.modules():\n        if isinstance(one, Adapter):\n            one.to(device)",
    "for one in net.modules():\n        if isinstance(one, Adapter):\n            one.down.data = one.down.data.to(device)",
    "net.get_submodule('blocks').to(device)",
    "net.apply(lambda one: one.to(device))",
]
OTHERS = ["pass", "other = nn.Linear(3, 3).to(device)", "net.requires_grad_(False)"]


@pytest.mark.parametrize("then", OTHERS)
def test_what_is_put_into_any_module_of_a_model_comes_too_late(then: str) -> None:
    """Whichever part of the whole it is put into, the whole was moved before."""
    expected = [("TDV008", "setattr(parent, name, Adapter(child))")]
    assert told(ADAPTED.format(made=MADE_HERE, attached=NEW, then=then)) == expected


@pytest.mark.parametrize(
    ("made", "attached", "then"),
    [
        ("self.down = nn.Parameter(base.weight.new_zeros(3, 3))", NEW, "pass"),
        ("self.down = nn.Parameter(torch.zeros(3, 3, device=base.weight.device))", NEW, "pass"),
        ("self.down = nn.Parameter(base.weight.detach().clone())", NEW, "pass"),
        (MADE_HERE, NEW + ".to(device)", "pass"),
        (MADE_HERE, "nn.Identity()", "pass"),
        *[(MADE_HERE, NEW, then) for then in MOVED_LATER],
    ],
)
def test_what_is_put_into_any_module_of_a_model_is_taken_along(made: str, attached: str, then: str) -> None:
    """Made where the layer is, or moved there: alone, with the whole, or with whatever holds it."""
    assert told(ADAPTED.format(made=made, attached=attached, then=then)) == []


NAMED = ADAPTED.replace(
    "for parent in list(model.modules()):", "for path, one in model.named_modules():"
).replace(
    "for name, child in list(parent",
    "parent = model.get_submodule(path)\n            for name, child in list(parent",
)


@pytest.mark.parametrize("then", MOVED_LATER)
def test_what_is_put_somewhere_may_be_what_is_moved(then: str) -> None:
    """The same of a part that was found by its path."""
    assert told(NAMED.format(made=MADE_HERE, attached=NEW, then=then)) == []
    assert told(NAMED.format(made=MADE_HERE, attached=NEW, then="pass")) != []


HALVES = """
    import argparse

    def pick(spec):
        if spec:
            return [torch.device(one) for one in spec.split(",")]
        n = torch.cuda.device_count()
        if n >= 2:
            return [torch.device("cuda:0"), torch.device("cuda:1")]
        return [torch.device("cuda:0" if n == 1 else "cpu")] * 2

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--devices", default="")
        parser.add_argument("--beta", {type}, default=1)
        args = parser.parse_args()
        near, far = {picked}
        first, second = nn.Linear(3, 3).to(near), nn.Linear(3, 3).to(far)
        hidden = first(torch.rand(2, 3).to(near))
        out = second(hidden.to(far))
        size = hidden.pow(2).sum()
        print({summed})

    main()
"""
PICKED = "pick(args.devices)"
BOTH = "out.sum() + args.beta * size"
APART = [("TDV004", "print(out.sum() + args.beta * size)")]


@pytest.mark.parametrize(
    ("type_", "picked", "summed", "expected"),
    [
        ("type=float", PICKED, BOTH, APART),
        ("type=int", "pick('')", BOTH, APART),
        ("type=float", PICKED, "out.sum() + size", [("TDV004", "print(out.sum() + size)")]),
        # what is 0-dim is admitted on the host only
        ("type=float", PICKED, "out.sum() + args.beta * size.cpu()", []),
        ("type=float", PICKED, "out.sum() + args.beta * size.to(out.device)", []),
        ("type=float", PICKED, "out.sum().item() + args.beta * size", []),
        # both on the first: the list may be any
        ("type=float", "pick(args.devices)[0], pick(args.devices)[0]", BOTH, []),
        ("type=float", "[torch.device(one) for one in args.devices.split(',')]", BOTH, []),
        # who knows what it holds
        ("type=unseen", PICKED, BOTH, []),
    ],
)
def test_two_halves_on_devices_that_a_list_holds(
    type_: str, picked: str, summed: str, expected: list[tuple[str, str]]
) -> None:
    """Sums of two halves meet where one is on the first GPU and the other on the second."""
    assert told(HALVES.format(type=type_, picked=picked, summed=summed)) == expected


LISTED = """
    def pick():
        if torch.cuda.device_count() > 1:
            return [torch.device("cuda:0"), torch.device("cuda:1")]
        return [torch.device("cuda:0" if torch.cuda.is_available() else "cpu")]

    devices = same = pick()
    {changed}
    x, y = torch.rand(3, device=devices[0]), torch.rand(3, device=devices[-1])
    print(x + y)
"""


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        ("pass", True),
        ("devices[0].type", True),
        ("devices.append(devices[0])", False),
        ("same.append(devices[0])", False),
        ("devices[-1] = devices[0]", False),
        ("same[-1] = devices[0]", False),
        ("devices.clear(); devices.append(torch.device('cpu'))", False),
    ],
)
def test_a_list_that_is_one_of_two_is_changed(changed: str, is_told: bool) -> None:
    """Whichever it is, all that hold it see what became of it."""
    expected = [("TDV004", "print(x + y)")]
    assert told(LISTED.format(changed=changed)) == (expected if is_told else [])


TAKEN_OVER = """
    class Squared(nn.Linear):
        def forward(self, x):
            return super().forward(x) ** 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    def square(model):
        for parent in list(model.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, nn.Linear):
                    new = {made}
                    {given}
                    setattr(parent, name, new)

    net = Net().to(device)
    square(net)
    net(torch.rand(2, 3, device=device))
"""
PUT = [("TDV008", "setattr(parent, name, new)")]


@pytest.mark.parametrize("made", ["Squared(3, 3)", "nn.Linear(3, 3)"])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("new.weight = child.weight; new.bias = child.bias", []),
        ("new.weight = child.weight", []),
        ("new.weight.data = child.weight.data; new.bias.data = child.bias.data", []),
        ("new.weight.data.copy_(child.weight.data)", PUT),
        ("new.load_state_dict(child.state_dict())", PUT),
        ("new.size = child.weight.size()", PUT),
        ("new.bias = None", PUT),
    ],
)
def test_a_layer_takes_over_the_parameters_of_another(
    made: str, given: str, expected: list[tuple[str, str]]
) -> None:
    """Then it is where that one is, which is not known; what is copied into its own parameters leaves them where they are."""
    assert told(TAKEN_OVER.format(made=made, given=given)) == expected

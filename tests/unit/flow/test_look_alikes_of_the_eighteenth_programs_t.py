"""Pairs of look-alikes of the eighteenth fresh programs: the way that it is right, beside the nearest one that is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
import json
import os
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


STREAM = """
    class Draw:
        def __init__(self, size):
            self.size = size

        def points(self):
            return torch.rand(self.size, 3)

    class Stream:
        def __iter__(self):
            while True:
                yield Draw(8)

    def endless():
        while True:
            yield Draw(4)

    net = nn.Linear(3, 1).to(device)
    {use}
"""


@pytest.mark.parametrize(
    "use", ["draw = next(iter(Stream()))", "draw = next(endless())", "for draw in Stream(): break"]
)
def test_what_a_generator_without_an_end_makes_is_known(use: str) -> None:
    """It waits at its `yield` when what it gives has been made."""
    assert told(STREAM.format(use=use) + "    net(draw.points().to(device))\n") == []
    assert told(STREAM.format(use=use) + "    net(draw.points())\n") == [("TDV001", "net(draw.points())")]


WEIGHTED = """
    class Weighted(nn.Module):
        def __init__(self, counts):
            super().__init__()
            share = 1 / torch.as_tensor(counts, dtype=torch.float32)
            self.register_buffer("weight", share / share.sum() * {factor})

        def forward(self, logits, target):
            return nn.functional.cross_entropy(logits, target, weight=self.weight)

    def main(x, y, counts):
        net = nn.Linear(3, 4).to(device)
        loss = Weighted(counts){moved}
        return loss(net(x.to(device)), y.to(device))

    main(torch.rand(8, 3), torch.randint(4, (8,)), json.loads(os.environ["COUNTS"]))
"""


def test_how_many_there_are_is_a_number() -> None:
    """What is computed with `len(counts)` stays where it is."""
    found = [("TDV001", "loss = Weighted(counts)")]
    assert told(WEIGHTED.format(factor="len(counts)", moved="")) == found
    assert told(WEIGHTED.format(factor="len(counts)", moved=".to(device)")) == []


REGISTRY = """
    class Registry:
        def __init__(self):
            self.kinds = {{}}

        def register(self, name):
            def note(kind):
                self.kinds[name] = kind
                return kind
            return note

        def build(self, name, **options):
            {built}

    NETS = Registry()

    @NETS.register("line")
    class Line(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(size))

        def forward(self, x):
            return x * self.weight

    class Runner:
        def __init__(self):
            self.device = device
            self.net = NETS.build("line", size=3).to(self.device)
            self.head = NETS.build("line", size=3){moved}

        def run(self, x):
            return self.head(self.net(x.to(self.device)))

    Runner().run(torch.rand(3))
"""


@pytest.mark.parametrize(
    "built",
    [
        "return self.kinds[name](**options)",
        "kind = self.kinds[name]; return kind(**options)",
    ],
)
def test_what_a_registry_builds_is_moved_where_it_was_asked_for(built: str) -> None:
    """Others ask the registry, too, and it knows no device."""
    assert told(REGISTRY.format(built=built, moved="")) == [
        ("TDV001", 'self.head = NETS.build("line", size=3)')
    ]
    assert told(REGISTRY.format(built=built, moved=".to(self.device)")) == []


def test_what_a_function_builds_by_its_own_choice_is_moved_there() -> None:
    """The class is written out: whoever calls it gets nothing else."""
    built = "return Line(**options)"
    assert told(REGISTRY.format(built=built, moved="")) == [("TDV001", built)]


LAST_CARD = """
    def places():
        if not torch.cuda.is_available():
            return "cpu", "cpu"
        return "cuda:0", {last}

    class Pair:
        def __init__(self):
            self.first, self.second = places()
            self.one = nn.Linear(3, 3).to(self.first)
            self.two = nn.Linear(3, 1).to(self.second)

        def run(self, x):
            h = self.one(x.to(self.first))
            {between}
            return self.two(h)

    Pair().run(torch.rand(4, 3))
"""


@pytest.mark.parametrize(
    "last",
    [
        'f"cuda:{torch.cuda.device_count() - 1}"',
        '"cuda:" + str(torch.cuda.device_count() - 1)',
        'torch.device("cuda", torch.cuda.device_count() - 1)',
    ],
)
def test_the_last_card_of_several_is_not_the_first(last: str) -> None:
    """Where there are two, what is on the first has to be taken along."""
    found = [("TDV001", "return self.two(h)")]
    assert told(LAST_CARD.format(last=last, between="pass")) == found
    assert told(LAST_CARD.format(last=last, between="h = h.to(self.second)")) == []
    several = "if torch.cuda.device_count() > 1: h = h.to(self.second)"
    assert told(LAST_CARD.format(last=last, between=several)) == []


@pytest.mark.parametrize("other", ["cuda", "cuda:1", "cuda:{torch.cuda.device_count() - 2}"])
def test_another_card_may_be_the_last_one(other: str) -> None:
    """The current one, the second of two, the last but one: they may be the same."""
    text = LAST_CARD.format(last='f"cuda:{torch.cuda.device_count() - 1}"', between="pass")
    text = text.replace('"cuda:0"', f'f"{other}"' if "{" in other else f'"{other}"')
    assert "TDV001" not in dict(told(text))


def test_where_there_is_one_the_last_is_the_first() -> None:
    """Only where there are several the two differ."""
    text = """
        def run(x):
            net = nn.Linear(3, 3).to(f"cuda:{torch.cuda.device_count() - 1}")
            if torch.cuda.device_count() %s 1:
                return net(x.to("cuda:0"))
            return None

        run(torch.rand(4, 3))
    """
    assert told(text % "==") == []
    assert [code for code, _ in told(text % ">")] == ["TDV001"]


RESUMED = """
    class Average:
        def __init__(self, model):
            self.kept = {{name: one.detach().clone() for name, one in model.state_dict().items()}}

        def update(self, model):
            for name, one in model.state_dict().items():
                self.kept[name].mul_(0.9).add_(one, alpha=0.1)

        def state_dict(self):
            return {{"kept": self.kept}}

        def load_state_dict(self, state):
            {taken}

    class Trainer:
        def __init__(self, folder):
            self.folder = folder
            self.net = nn.Linear(3, 3).to(device)
            self.average = Average(self.net)

        @property
        def path(self):
            return os.path.join(self.folder, "last.pt")

        def save(self):
            torch.save({{"average": self.average.state_dict()}}, self.path)

        def resume(self):
            self.average.load_state_dict(torch.load({file}, map_location="cpu")["average"])

    def main(folder):
        trainer = Trainer(folder)
        trainer.average.update(trainer.net)
        trainer.save()
        again = Trainer(folder)
        again.resume()
        again.average.update(again.net)

    main(os.environ["RUN"])
"""


def test_what_is_loaded_again_from_a_path_of_the_same_parts_is_what_was_saved() -> None:
    """It is wherever `map_location` says, and stays there unless it is copied into what was there before; so is that of another file."""
    kept = 'self.kept = state["kept"]'
    copied = 'for name, one in state["kept"].items(): self.kept[name].copy_(one)'
    for file in ("self.path", 'os.path.join(self.folder, "first.pt")'):
        assert told(RESUMED.format(taken=kept, file=file)) == [
            ("TDV004", "self.kept[name].mul_(0.9).add_(one, alpha=0.1)")
        ]
        assert told(RESUMED.format(taken=copied, file=file)) == []


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

    def owner(model, name):
        *folders, last = name.split(".")
        for folder in folders:
            model = getattr(model, folder)
        return model, last

    def adapt(model):
        names = [name for name, one in model.named_modules() if isinstance(one, nn.Linear)]
        for name in names:
            {found}
            setattr(parent, last, {attached})

    net = Net().to(device)
    adapt(net)
    {then}
    net(torch.rand(2, 3, device=device))
"""
MADE_HERE = "self.down = nn.Parameter(torch.zeros(3, 3))"
NEW = "Adapter(getattr(parent, last))"
OWNERS = [
    'path, _, last = name.rpartition("."); parent = model.get_submodule(path)',
    "parent, last = owner(model, name)",
]


@pytest.mark.parametrize("found", OWNERS)
def test_a_part_under_a_name_that_is_not_known_comes_too_late(found: str) -> None:
    """It is put into a part of what was moved before: what it makes on the CPU stays there."""
    told_of = [("TDV008", f"setattr(parent, last, {NEW})")]
    assert told(ADAPTED.format(made=MADE_HERE, found=found, attached=NEW, then="pass")) == told_of


@pytest.mark.parametrize("found", OWNERS)
@pytest.mark.parametrize(
    ("made", "attached", "then"),
    [
        ("self.down = nn.Parameter(base.weight.new_zeros(3, 3))", NEW, "pass"),
        ("self.down = nn.Parameter(torch.zeros(3, 3, device=base.weight.device))", NEW, "pass"),
        (MADE_HERE + "; self.to(base.weight.device)", NEW, "pass"),
        (MADE_HERE, NEW + ".to(device)", "pass"),
        (MADE_HERE, NEW, "net.to(device)"),
        (MADE_HERE, "nn.Identity()", "pass"),
    ],
)
def test_a_part_under_a_name_that_is_not_known_is_taken_along(
    found: str, made: str, attached: str, then: str
) -> None:
    """Made where the layer is, moved there, moved with the whole, or without anything to move."""
    assert told(ADAPTED.format(made=made, found=found, attached=attached, then=then)) == []

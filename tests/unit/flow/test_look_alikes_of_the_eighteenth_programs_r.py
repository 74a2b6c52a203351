"""Pairs of look-alikes of the eighteenth fresh programs: the way that it is right, beside the nearest one that is wrong."""

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
from torch.utils._pytree import tree_map

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


HOOKED = """
    bias = torch.rand(3)
    seen = []

    {hook}

    def prepare(model):
        model.to(device)
        {register}
        return model

    model = prepare({module})
    out = model(torch.rand(2, 3, device=device))
    print(out + bias)
"""

HOME = "def home(module, args, output):\n        return output.to('cpu')"
HOME_WITH_KWARGS = (
    "def home(module, args, kwargs, output):\n        return tree_map(lambda t: t.cpu(), output)"
)
PLAIN = "model.register_forward_hook(home)"
LAYER = "nn.Linear(3, 3)"
ADDED = [("TDV005", "bias = torch.rand(3)")]


@pytest.mark.parametrize(
    ("hook", "register", "module", "expected"),
    [
        (HOME, PLAIN, LAYER, []),
        (HOME_WITH_KWARGS, "model.register_forward_hook(home, with_kwargs=True)", LAYER, []),
        # the hook of the last part of a container
        (HOME, "model[1].register_forward_hook(home)", "nn.Sequential(nn.Linear(3, 3), nn.ReLU())", []),
        # what takes its hook off again may do so before the call: it is not known then, rather than where the hook takes it
        (HOME, f"handle = {PLAIN}\n        handle.remove()", LAYER, []),
        # one that keeps what it is given changes nothing
        (
            "def keep(module, args, output):\n        seen.append(output)",
            "model.register_forward_hook(keep)",
            LAYER,
            ADDED,
        ),
        ("", "model.register_forward_hook(lambda module, args, out: seen.append(out.cpu()))", LAYER, ADDED),
        # nor does one that returns what is where it was, or one of a backward pass
        ("", "model.register_forward_hook(lambda module, args, out: out * 2)", LAYER, ADDED),
        (
            "def home(module, given, taken):\n        return tuple(t.cpu() for t in given)",
            "model.register_full_backward_hook(home)",
            LAYER,
            ADDED,
        ),
    ],
)
def test_what_a_forward_hook_returns_stands_in_for_the_output(
    hook: str, register: str, module: str, expected: list[tuple[str, str]]
) -> None:
    assert told(HOOKED.format(hook=hook, register=register, module=module)) == expected


def test_what_a_hook_brings_home_meets_nothing_that_is_elsewhere() -> None:
    text = """
    def home(module, args, output):
        return output.to("cpu")

    model = nn.Linear(3, 3).to(device)
    model.register_forward_hook(home)
    out = model(torch.rand(2, 3, device=device))
    {line}
    """
    assert told(text.format(line="print(out.numpy())")) == []
    wrong = "loss = nn.functional.mse_loss(out, torch.rand(2, 3, device=device))"
    assert told(text.format(line=wrong)) == [("TDV004", wrong)]


METRICS = """
    from elsewhere import on_host

    class Metric:
        def __init__(self):
            self.total = torch.zeros(3)

        def __init_subclass__(cls, **kwargs):
            super().__init_subclass__(**kwargs)
            inner = cls.update

            def update(self, *tensors):
                return inner(self, *({each} for t in tensors))

            {put}

    class Errors(Metric):
        def update(self, pred, target):
            self.total += (pred - target).abs().sum(0)

    class Squares(Errors):
        pass

    def main():
        model = nn.Linear(3, 3).to(device)
        x, y = torch.rand(8, 3), torch.rand(8, 3)
        metric = {cls}()
        metric.update(model(x.to(device)), {target})

    main()
"""

UPDATED = [("TDV004", "self.total += (pred - target).abs().sum(0)")]


@pytest.mark.parametrize("cls", ["Errors", "Squares"])
@pytest.mark.parametrize(
    ("each", "put", "target", "expected"),
    [
        ("t.detach().cpu()", "cls.update = update", "y", []),
        ("t.detach().cpu()", "setattr(cls, 'update', update)", "y", []),
        # what cannot be read may take them home as well
        ("t.detach()", "cls.update = on_host(update)", "y", []),
        ("t.detach()", "cls.update = update", "y", UPDATED),
        ("t.detach()", "cls.update = update", "y.to(device)", UPDATED),
        ("t.detach().cpu()", "cls.updated = update", "y.to(device)", UPDATED),
    ],
)
def test_init_subclass_puts_another_method_in_place_of_one(
    cls: str, each: str, put: str, target: str, expected: list[tuple[str, str]]
) -> None:
    assert told(METRICS.format(each=each, put=put, target=target, cls=cls)) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("Sums.add = on_host(Sums.add)", []),
        ("if len(sys.argv) > 1:\n        Sums.add = at_home(Sums.add)", []),
        ("Sums.add = at_home(Sums.add)", []),
        ("Sums.add = as_it_is(Sums.add)", [("TDV004", "self.total += x.detach()")]),
        ("Sums.plus = on_host(Sums.add)", [("TDV004", "self.total += x.detach()")]),
    ],
)
def test_a_method_that_is_replaced_through_its_class(patch: str, expected: list[tuple[str, str]]) -> None:
    text = """
    import sys
    from elsewhere import on_host

    class Sums:
        def __init__(self):
            self.total = torch.zeros(3)

        def add(self, x):
            self.total += x.detach()

    def at_home(method):
        return lambda self, x: method(self, x.cpu())

    def as_it_is(method):
        return lambda self, x: method(self, x)

    {patch}

    def main():
        Sums().add(torch.rand(3, device=device))

    main()
    """
    assert told(text.format(patch=patch)) == expected


HANDMADE = """
    class Pool:
        def __init__(self, n):
            self.members = [nn.Linear(3, 3) for _ in range(n)]
            self.usage = torch.zeros(n)
            self.seen = {{"last": torch.zeros(n)}}

        def apply(self, fn):
            self.members = [m._apply(fn) for m in self.members]
            self.usage = fn(self.usage)
            for key in self.seen:
                self.seen[key] = fn(self.seen[key])

        def __call__(self, x):
            return torch.stack([m(x) for m in self.members], 1)

    class Mixture(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.gate = nn.Linear(3, n)
            self.pool = Pool(n)
            self.scale = torch.ones(n)

        def _apply(self, fn, recurse=True):
            super()._apply(fn, recurse)
            {moved}
            return self

        def forward(self, x):
            w = self.gate(x).softmax(-1)
            {used}
            return w

    def main():
        model = Mixture(3)
        model.to(device)
        model(torch.rand(2, 3, device=device))

    main()
"""


@pytest.mark.parametrize("used", ["self.pool.usage += w.detach().mean(0)", "w = w + self.pool.seen['last']"])
def test_what_an_apply_hands_to_a_plain_object(used: str) -> None:
    """Its own `_apply` speaks of the object, which then moves what it holds; else it stays where it was made."""
    assert told(HANDMADE.format(moved="self.pool.apply(fn)", used=used)) == []
    assert told(HANDMADE.format(moved="self.scale = fn(self.scale)", used=used))


BENCH = """
    class Mixer(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.slopes = torch.linspace(0, 1, n)

        def forward(self, x):
            return self.layer(x) - self.slopes[:3]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.mixers = nn.Sequential(*[Mixer(5) for _ in range(2)])

        def forward(self, x):
            return self.mixers(x)

    class Bench:
        def __init__(self, name):
            {scope}
            with self.scope:
                self.model = Net()
                self.clock = torch.arange(0, 3, device=name)

        def noise(self, n):
            return self.clock + torch.rand(n, 3)

        def wave(self, n):
            return torch.sin(self.noise(n))

        def train(self):
            with self.scope:
                for _ in range(2):
                    yield self.model(self.wave(4)).mean().item()

        def forecast(self):
            {ahead}
    """

SCOPE = "self.scope = torch.device(name)"
IN_SCOPE = "with self.scope:\n                return self.model(self.wave(1))"
PLAINLY_KEPT = ("TDV006", "self.slopes = torch.linspace(0, 1, n)")
LEFT = ("TDV001", "self.model = Net()")
NOISE = ("TDV005", "return self.clock + torch.rand(n, 3)")


@pytest.mark.parametrize(
    ("scope", "ahead", "expected"),
    [
        (SCOPE, IN_SCOPE, []),
        (SCOPE, "return self.model(self.wave(1))", [NOISE]),
        ("self.scope = open(name)", IN_SCOPE, [LEFT, NOISE, PLAINLY_KEPT]),
        ("self.scope = torch.device('cpu')", IN_SCOPE, [LEFT, NOISE, PLAINLY_KEPT]),
    ],
)
def test_what_runs_in_blocks_with_a_default_device_only(
    scope: str, ahead: str, expected: list[tuple[str, str]]
) -> None:
    assert told(BENCH.format(scope=scope, ahead=ahead)) == expected


def audited(text: str) -> list[tuple[str, str]]:
    """The same with all rules."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", Config())
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


@pytest.mark.parametrize("receiver", ["storage.obs[0]", "scale[0]", "storage[0].obs"])
@pytest.mark.parametrize(("method", "is_told"), [("copy_", False), ("add_", True)])
def test_what_is_copied_may_come_from_anywhere(receiver: str, method: str, is_told: bool) -> None:
    line = f"{receiver}.{method}(torch.from_numpy(frames))"
    text = f"""
    def begin(storage, frames):
        scale = storage.obs.detach()
        {line}
        return scale
    """
    assert bool(audited(text)) == is_told


RING = """
    class Ring:
        def __init__(self, n, device):
            self.data = {data}
            self.device = device

        def add(self, **row):
            for k, v in row.items():
                self.data[k]{at} = torch.as_tensor(v)

        def sample(self, i):
            return {{k: v[i].to(self.device) for k, v in self.data.items()}}
    """


@pytest.mark.parametrize(
    ("data", "at", "is_told"),
    [
        ("{k: torch.zeros(n) for k in ('obs', 'act')}", "[0]", False),
        ("{'obs': torch.zeros(n), 'act': torch.zeros(n)}", "[0]", False),
        ("{k: [None] * n for k in ('obs', 'act')}", "[0]", True),
        ("{k: torch.zeros(n) for k in ('obs', 'act')}", "", True),
    ],
)
def test_a_table_of_tensors_is_filled_by_copies(data: str, at: str, is_told: bool) -> None:
    found = [one for one in audited(RING.format(data=data, at=at)) if one[0] == "TDV106"]
    assert found == ([("TDV106", f"self.data[k]{at} = torch.as_tensor(v)")] if is_told else [])


BAG = """
    class Bag:
        def __init__(self, device, **fields):
            object.__setattr__(self, "_device", torch.device(device))
            for k, v in fields.items():
                setattr(self, k, v)

        def {setter}(self, key, value):
            if torch.is_tensor(value):
                value = value.to(self._device)
            object.__setattr__(self, key, value)

        def split(self, cut):
            mask = torch.zeros(self.n, dtype=torch.bool)
            mask[:cut] = True
            self.train_mask = mask
    """


def test_a_class_that_says_what_becomes_of_its_attributes() -> None:
    made = ("TDV106", "mask = torch.zeros(self.n, dtype=torch.bool)")
    assert made not in audited(BAG.format(setter="__setattr__"))
    assert made in audited(BAG.format(setter="put"))


SERIES = """
    class Series:
        def __init__(self, values, past, device):
            self.values, self.past, self.device = values, past, device

        def windows(self, starts):
            rows = self.values[starts.unsqueeze(1) + torch.arange(self.past{told})].to(self.device)
            return rows[:, :3], rows[:, 3:]

        def train(self, n):
            return self.windows(torch.randint(0, 9, (n,)))
    """


def test_a_method_of_the_class_joins_an_argument_with_what_it_makes_on_the_host() -> None:
    made = "return self.windows(torch.randint(0, 9, (n,)))"
    assert audited(SERIES.format(told="")) == []
    assert audited(SERIES.format(told=", device=self.device")) == [("TDV005", made)]

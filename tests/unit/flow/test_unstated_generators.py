"""TDV019: random generators that say no device where one is at hand, and draws that refuse the generators of a device."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

START = """
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, random_split


def on_host(size, source):
    return torch.randn(size, generator=source)


def there(model, generator):
    return torch.randn(3, device=model.device, generator=generator)


class Keeps:
    def __init__(self, model, generator):
        self.model, self.device = model, model.device
        self.rng = generator

    def draw(self, mean: Tensor, std: Tensor):
        return torch.normal(mean, std, generator=self.rng)


class Orders:
    def __init__(self, model, generator):
        self.model, self.device = model, model.device
        self.rng = generator

    def order(self, count):
        return torch.randperm(count, generator=self.rng)


"""


def _told(code: str, *, path: str = "drawn.py") -> list[str]:
    found = check_source(START + textwrap.dedent(code), path, Config(select=("TDV019",)))
    return [one.message for one in found]


MADE = "None if seed is None else torch.Generator().manual_seed(seed)"

DRAW = """
def draw(p: Tensor, q, count, seed, device, model, data, pipe, engine, other):
    g = {made}
    {body}
"""


def _drawn(body: str, made: str = MADE) -> list[str]:
    return _told(DRAW.format(made=made, body=body))


@pytest.mark.parametrize(
    "body",
    [
        "return torch.multinomial(p, count, generator=g)",
        "return torch.multinomial(q, count, generator=g)",
        "return p.uniform_(generator=g)",
        "return torch.bernoulli(p[0] / 2, generator=g)",
        "return torch.bernoulli(p.softmax(-1), generator=g)",
        "return torch.bernoulli(torch.sigmoid(p), generator=g)",
        "return torch.normal(p, 1.0, generator=g)",
        "return nn.init.normal_(p, generator=g)",
        "return other.rate.exponential_(generator=g)",
        "return torch.randn(count, generator=g, device=other.device)",
        "return engine(model, generator=g)",
        "return engine.sample(p, g)",
        "return engine(count, device=device, generator=g)",
        "return model.sample(count, generator=g)",
        "return Keeps(model, g)",
        "return there(model, g)",
    ],
)
def test_a_generator_of_the_cpu_goes_where_a_device_is(body: str) -> None:
    assert len(_drawn(body)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "return torch.randn(count, generator=g).to(device)",  # on the CPU on purpose
        "return torch.randperm(count, generator=g).to(device)",
        "return torch.normal(0.0, 1.0, (count,), generator=g)",
        "n = torch.empty_like(p).normal_(generator=g)\n    return (p + 0.1 * n).to(device)",  # taken there afterwards
        "for v in data_cpu.items():\n        other(v.normal_(generator=g))\n    other(device)",
        "return torch.bernoulli(host_rates, generator=g).to(device)",
        "return torch.normal(mean=0.0, std=1.0, size=(count,), generator=g)",
        "return torch.randn(count, generator=g, device='cpu')",
        "return torch.randn(count, generator=g, device=other.cpu_device)",
        "return torch.multinomial(torch.ones(count), 1, generator=g)",
        "return torch.multinomial(p.cpu(), count, generator=g)",
        "w = torch.tensor(data)\n    return torch.multinomial(w / w.sum(), count, generator=g)",
        "w = torch.rand(count, generator=g)\n    return torch.multinomial(p, count, generator=g) + w",
        "return nn.init.uniform_(torch.empty(count), generator=g)",
        "return DataLoader(data, shuffle=True, generator=g)",
        "return random_split(data, [1, count], generator=g)",
        "return engine.make_loader(model, generator=g)",
        "return engine(model, data, generator=g)",  # it shuffles them
        "return pipe(p, generator=g)",
        "return engine(count, generator=g)",
        "return on_host(p, g)",
        "return Orders(model, g)",
        "return g",
        "other.append(g)\n    return torch.bernoulli(p, generator=g)",
        "if g.device != p.device:\n        g = torch.Generator(p.device)\n    return torch.bernoulli(p, generator=g)",
        "g = torch.Generator(p.device)\n    return torch.bernoulli(p, generator=g)",
    ],
)
def test_what_draws_on_the_host_or_says_where_is_not_told(body: str) -> None:
    assert _drawn(body) == []


@pytest.mark.parametrize(
    "made",
    [
        "other or torch.manual_seed(seed)",
        "other if other is not None else torch.Generator()",
        "other if other is not None else torch.default_generator",
    ],
)
def test_ways_to_make_one(made: str) -> None:
    assert len(_drawn("return torch.bernoulli(p, generator=g)", made)) == 1


@pytest.mark.parametrize(
    "made",
    [
        "other",
        "torch.Generator(device).manual_seed(seed)",
        "None if seed is None else torch.Generator(device='cpu').manual_seed(seed)",
        "None",
    ],
)
def test_others_are_not_told(made: str) -> None:
    assert _drawn("return torch.bernoulli(p, generator=g)", made) == []


def test_a_device_has_to_matter() -> None:
    code = """
    def draw(q, count, seed):
        g = None if seed is None else torch.Generator().manual_seed(seed)
        return torch.multinomial(q, count, generator=g)
    """
    assert _told(code) == []
    assert len(_told(code.replace("(q, count, seed)", "(q: Tensor, count, seed)"))) == 1
    assert len(_told(code.replace("return", "q = q.to(q.device)\n        return"))) == 1


KEPT = """
class Process({base}):
    def __init__(self, device, seed, scale):
        self.device = device
        self.scale = scale
        self.rng = None if seed is None else torch.Generator().manual_seed(seed)

    def draw(self, state: Tensor, count):
        return {used}
"""


@pytest.mark.parametrize(
    "used",
    [
        "torch.randn(count, generator=self.rng, device=self.device)",
        "torch.bernoulli(state, generator=self.rng)",
        "state.normal_(generator=self.rng)",
        "torch.bernoulli(self.scale, generator=self.rng)",
    ],
)
def test_a_generator_that_is_kept_beside_a_device(used: str) -> None:
    code = KEPT.format(base="", used=used)
    assert len(_told(code)) == 1
    assert _told(code.replace("self.device", "self.where").replace("device=", "dtype=")) == []


def test_a_module_that_keeps_a_generator_need_not_keep_a_device() -> None:
    code = KEPT.format(base="nn.Module", used="torch.bernoulli(state, generator=self.rng)").replace(
        "self.device", "self.x"
    )
    assert len(_told(code)) == 1
    assert _told(code.replace("nn.Module", "object")) == []
    assert _told(code.replace("torch.bernoulli(state", "torch.randperm(count")) == []


@pytest.mark.parametrize(
    "used",
    [
        "torch.randn(count, generator=self.rng).to(self.device)",
        "torch.randperm(count, generator=self.rng)",
        "torch.bernoulli(torch.full((count,), 0.5), generator=self.rng)",
        "torch.bernoulli(state, generator=self.rng) + torch.rand(count, generator=self.rng).to(state)",
        "torch.bernoulli(state, generator=self.rng if self.rng.device == state.device else None)",
        "count",
        "self.swap(state, torch.bernoulli(state, generator=self.rng))\n\n    def reseed(self, rng):\n        self.rng = rng",
    ],
)
def test_a_generator_that_is_kept_for_the_host(used: str) -> None:
    assert _told(KEPT.format(base="", used=used)) == []


def test_classes_that_prepare_data_are_left_alone() -> None:
    used = "torch.bernoulli(state, generator=self.rng)"
    assert _told(KEPT.format(base="torch.utils.data.Dataset", used=used)) == []
    assert _told(KEPT.format(base="torch.utils.data.Sampler", used=used)) == []
    iterated = KEPT.format(base="", used=used).replace("Process", "RowSampler").replace("draw", "__iter__")
    assert _told(iterated) == []
    assert len(_told(KEPT.format(base="", used=used).replace("Process", "RowSampler"))) == 1


GIVEN = """
def step(x: Tensor, size, device, generator=None, rng=None):
    {body}
"""


@pytest.mark.parametrize(
    "body",
    [
        "return torch.randn(size, generator=generator).to(x.device)",
        "return torch.randn(size, generator=generator, dtype=x.dtype).to(x)",
        "return torch.rand(size, generator=rng).type_as(x)",
        "return torch.randint(0, 9, size, generator=generator).cuda()",
        "return (0.5 * torch.rand(size, generator=generator) - 1).float().to(device=device)",
        "n = torch.randn(size, generator=generator)\n    n = n.to(device)\n    return x + n",
        "return torch.normal(0.0, 1.0, size, generator=generator).to(device)",
    ],
)
def test_a_draw_that_refuses_the_generators_of_a_device(body: str) -> None:
    assert len(_told(GIVEN.format(body=body))) == 1


@pytest.mark.parametrize(
    "body",
    [
        "return torch.randn(size, generator=generator)",
        "return torch.randn(size, generator=generator).to(x.dtype)",
        "return torch.randn(size, generator=generator, device=device).to(x.device)",
        "return torch.randn(size, generator=generator, device=generator.device).to(x.device)",
        "where = generator.device\n    return torch.randn(size, generator=generator).to(x.device)",
        "return torch.randperm(9, generator=generator).to(device)",
        "return torch.randn(size, generator=size.rng).to(device)",
        "return torch.randn(size).to(device)",
        "# on the CPU, the same on all machines\n    return torch.randn(size, generator=generator).to(device)",
        "'''With a CPU generator.'''\n    return torch.randn(size, generator=generator).to(device)",
        "generator = generator or torch.Generator()\n    return torch.randn(size, generator=generator).to(device)",
        "generator = generator or torch.Generator('cpu')\n    return torch.randn(size, generator=generator).to(device)",
        "return torch.bernoulli(x, generator=generator).to(device)",
        "if generator is None:\n        return torch.randn_like(x)\n    else:\n"
        "        return torch.randn(size, generator=generator).to(x.device)",
    ],
)
def test_a_draw_that_takes_what_it_is_given(body: str) -> None:
    assert _told(GIVEN.format(body=body)) == []


def test_what_else_draws_on_the_host_with_it() -> None:
    code = GIVEN.format(body="return torch.randn(size, generator=generator).to(device){}")
    assert len(_told(code.format(""))) == 1
    assert _told(code.format(", torch.randint(0, 9, (1,), generator=generator).item()")) == []
    ordered = "\ndef order(count, generator):\n    return torch.randperm(count, generator=generator)\n"
    assert _told(code.format("") + ordered) == []
    assert (
        len(_told(code.format("") + ordered.replace("generator", "rng").replace("rng=", "generator="))) == 1
    )


def test_a_generator_that_the_file_gives_from_the_cpu() -> None:
    code = GIVEN.format(body="return torch.randn(size, generator=generator).to(device)")
    called = code + "\ndef main(x, device, g):\n    return step(x, 3, device, generator=g)\n"
    assert len(_told(called)) == 1
    assert (
        _told(called.replace("    return step", "    g = torch.Generator().manual_seed(1)\n    return step"))
        == []
    )


def test_a_generator_that_a_class_is_given() -> None:
    code = """
    class Noise:
        def __init__(self, generator, device):
            self.generator = generator
            self.device = device

        def draw(self, size):
            return torch.randn(size, generator=self.generator).to(self.device)
    """
    assert len(_told(code)) == 1
    assert (
        _told(code.replace("= generator\n", "= generator\n            print(self.generator.device)\n")) == []
    )
    assert (
        _told(
            code
            + "\n    def reset(self):\n            self.generator = None\n".replace("    def", "        def")
        )
        == []
    )


def test_what_is_known_better_is_not_told_twice() -> None:
    code = """
    def draw(p: Tensor, count):
        g = torch.Generator().manual_seed(3)
        return torch.multinomial(p, count, generator=g)
    """
    found = check_source(START + textwrap.dedent(code), "drawn.py", Config(select=("TDV011", "TDV019")))
    assert [one.code for one in found] == ["TDV011"]


def test_tests_and_default_devices_are_left_alone() -> None:
    code = DRAW.format(made=MADE, body="return torch.bernoulli(p, generator=g)")
    assert _told("import pytest\n" + code) == []
    assert _told(code + "\ndef test_it():\n    pass\n") == []
    assert _told(code + "\ndef main():\n    torch.set_default_device('cuda')\n") == []


def _fixed(code: str) -> list[str]:
    found = check_source(START + textwrap.dedent(code), "drawn.py", Config(select=("TDV019",)))
    return [edit.content for one in found if one.fix is not None for edit in one.fix.edits]


@pytest.mark.parametrize(
    ("body", "made", "written"),
    [
        ("return torch.bernoulli(p, generator=g)", MADE, ["torch.Generator(device=p.device)"]),
        (
            "return torch.bernoulli(p, generator=g)",
            "other or torch.manual_seed(seed)",
            ["torch.Generator(device=p.device).manual_seed"],
        ),
        ("return torch.bernoulli(p, generator=g)", "other or torch.default_generator", []),
        ("p = p.to(device)\n    return torch.bernoulli(p, generator=g)", MADE, []),
        ("h = other(q)\n    return torch.bernoulli(h, generator=g)", MADE, []),
        ("return engine(model, generator=g)", MADE, []),
        ("return engine(count, device=device, generator=g)", MADE, ["torch.Generator(device=device)"]),
    ],
)
def test_a_device_is_written_where_its_name_holds_already(body: str, made: str, written: list[str]) -> None:
    assert _fixed(DRAW.format(made=made, body=body)) == written


def test_a_device_is_written_into_the_draw() -> None:
    body = "return torch.randn(size, generator=generator).to({})"
    assert _fixed(GIVEN.format(body=body.format("x.device"))) == [", device=x.device"]
    assert _fixed(GIVEN.format(body=body.format("x"))) == [", device=x.device"]

"""TDV021: modules that are made and never moved where a device is at hand."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

START = """
import torch
import torchaudio
import torchvision
from transformers import AutoConfig, AutoModel
from elsewhere import Kernel, OtherKernel, Stats, engine, get_device, show
from torch import Tensor, nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))


class Net(nn.Module):
    def __init__(self, kind="a"):
        super().__init__()
        self.parts = [globals()[kind]() for _ in range(3)]
        self.inner = Inner()


class Placed(nn.Module):
    def __init__(self, device="cuda"):
        super().__init__()
        self.inner = nn.Linear(3, 3).to(device)


class Empty(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()


def update(x, net, scale=1):
    return net(x) * scale


def moved(x, net):
    return net.to(x.device)(x)
"""


def told(text: str, path: str = "code.py") -> list[str]:
    """The names of the modules that are told, with the fix that would move each."""
    found = check_source(START + textwrap.dedent(text), path, Config(select=("TDV021",)))
    return [
        one.message.split("`")[1] + ("" if one.fix is None else one.fix.edits[0].content) for one in found
    ]


@pytest.mark.parametrize(
    ("made", "used", "expected"),
    [
        ("Net()", "update(x, m)", ["m.to(x.device)"]),
        ("Net().eval()", "update(x, net=m)", ["m.to(x.device)"]),
        ("Net()", "update(3, m, x)", []),
        ("Net()", "moved(x, m)", []),
        ("Net()", "engine(x, m)", []),
        ("Net()", "m", []),
        ("Net()", "[m]", []),
        ("Net()", "m.to(x.device)(x)", []),
        ("Net()", "update(x.cpu(), m)", []),
        ("Net()", "update(torch.zeros(3), m)", []),
        ("Net()", "update(engine(y, device=device), m)", ["m.to(device)"]),
        ("Net()", "update(engine(y), m)", []),
        ("Net(y)", "update(y, m)", ["m.to(y.device)"]),
        ("Net(model)", "update(y, m)", []),
        ("Net()", "update(x.to(device), m)", []),  # TDV001's
        ("Net(device)", "update(x, m)", []),
        ("Net().to(device)", "update(x, m)", []),
        ("Placed()", "update(x, m)", []),
        ("Empty()", "update(x, m)", []),
        ("Kernel()", "update(x, m)", []),
        ("AutoModel.from_pretrained('a')", "m(y)", ["m.to(y.device)"]),
        ("AutoModel.from_pretrained('a', device_map='auto')", "m(y)", []),
        ("AutoConfig.from_pretrained('a')", "m(y)", []),
        ("torchaudio.transforms.AmplitudeToDB()", "update(x, m)", []),
        ("nn.CrossEntropyLoss()", "update(x, m)", []),
    ],
)
def test_a_function_makes_a_module_and_runs_it_on_what_it_is_given(
    made: str, used: str, expected: list[str]
) -> None:
    text = f"""
    def score(x: Tensor, device, y, model):
        m = {made}
        return {used}
    """
    assert told(text) == expected


def test_what_a_function_of_the_host_or_of_tests_makes_stays() -> None:
    text = "def {}(x: Tensor):\n    m = Net()\n    return update(x, m)\n"
    assert told(text.format("score")) == ["m.to(x.device)"]
    assert told(text.format("preprocess")) == []
    assert told("import pytest\n" + text.format("score")) == []
    assert told("import accelerate\n" + text.format("score")) == []
    assert told("torch.set_default_device('cuda')\n" + text.format("score")) == []


@pytest.mark.parametrize(
    ("made", "more", "expected"),
    [
        ("OtherKernel(3)", "", ["b.to(**kw)"]),
        ("OtherKernel(3)", "b.var = torch.zeros_like(b.var)", ["b.to(**kw)"]),
        ("OtherKernel(3)", "b.to(**kw)", []),
        ("OtherKernel(3)", "engine(b)", []),
        ("OtherKernel(3, **tkwargs)", "", []),
        ("Stats(3)", "", []),
    ],
)
def test_another_one_of_its_kind_is_moved(made: str, more: str, expected: list[str]) -> None:
    text = f"""
    def load(x, kw, tkwargs):
        a = Kernel(3).to(**kw)
        b = {made}
        {more or "pass"}
        return a, b
    """
    assert told(text) == expected


@pytest.mark.parametrize(
    ("test", "other", "after", "expected"),
    [
        ("new", "maker.from_pretrained(path)", "", ["m.to(get_device(x))"]),
        ("new", "show(path)", "", []),
        ("new", "maker.load(path, device)", "", []),
        ("new", "maker.load(path)", "m.to(device)", []),
        ("new", "maker.load(path)", "engine(m)", []),
        ("device", "maker.load(path)", "", []),
    ],
)
def test_one_branch_moves_what_it_makes(test: str, other: str, after: str, expected: list[str]) -> None:
    text = f"""
    def make(x, maker, path, new, device):
        if {test}:
            m = maker(3)
            m.to(get_device(x))
        else:
            m = {other}
        {after or "pass"}
        return m
    """
    assert told(text) == expected


CLASS = """
class Runner{base}:
    def __init__(self, module, device):
        self.device = device
        self.module = module
        {first}

    def initialize(self, **options):
        self.module_ = {made}

    def step(self, x):
        x = {brought}
        return self.infer(x)

    def infer(self, x):
        return self.module_(x)
{more}
"""


def of_class(
    made: str = "self.module(**options)",
    brought: str = "x.to(self.device)",
    base: str = "",
    first: str = "",
    more: str = "",
) -> list[str]:
    return told(
        CLASS.format(made=made, brought=brought, base=base, first=first, more=textwrap.indent(more, "    "))
    )


def test_a_class_moves_what_it_runs_its_module_on_and_not_that() -> None:
    assert of_class() == ["self.module_.to(self.device)"]
    assert of_class(made="Net()") == []  # TDV001's
    assert of_class(base="(Callback)") == ["self.module_.to(self.device)"]
    assert of_class(brought="to_tensor(x, device=self.device)") == ["self.module_.to(self.device)"]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("brought", "engine(x)"),
        ("made", "self.module(**options).to(self.device)"),
        ("made", "engine(options)"),
        ("base", "(Trainer)"),
        ("base", "(nn.Module)"),
        ("more", "def to(self, device):\n    self.module_.to(device)\n"),
        ("more", "def place(self):\n    for m in [self.module_]:\n        m.to(self.device)\n"),
        ("more", "def place(self):\n    engine.wrap(self.module_)\n"),
        ("more", "def place(self, name):\n    getattr(self, name).to(self.device)\n"),
        ("more", "def place(self):\n    return DataParallel(self)\n"),
    ],
)
def test_a_class_that_may_move_its_module(part: str, text: str) -> None:
    assert of_class(**{part: text}) == []


@pytest.mark.parametrize(
    ("more", "brought", "expected"),
    [
        ("", "x.to(engine.device)", ["self.emb.to(engine.device)"]),
        ("self.to(engine.device)", "x.to(engine.device)", []),
        ("self.emb.cuda()", "x.to(engine.device)", []),
        ("", "x.to(self.emb.weight.device)", []),
    ],
)
def test_others_of_the_same_kind_move_themselves(more: str, brought: str, expected: list[str]) -> None:
    text = f"""
    class Base(nn.Module):
        pass

    class Moved(Base):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(3, 3)
            self.to(engine.device)

    class Kept(Base):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(3, 3)
            {more or "pass"}

        def embed(self, sentences):
            x = torch.tensor(sentences)
            x = {brought}
            return self.emb(x)
    """
    assert told(text) == expected


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("nn.BCEWithLogitsLoss(pos_weight=show(y))", ["loss"]),
        ("nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))", []),
        ("nn.BCEWithLogitsLoss(pos_weight=weight)", []),
        ("nn.CrossEntropyLoss(weight=None)", []),
    ],
)
def test_a_loss_is_where_its_weight_is(loss: str, expected: list[str]) -> None:
    """A weight that the caller gives is where the caller has put it, and one without dimensions goes with all."""
    text = f"""
    def step(net, x, y: Tensor, weight, device):
        loss = {loss}
        return loss(net(x.to(device)), y.to(device))
    """
    assert [one.partition(".")[0] for one in told(text)] == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("m.eval()", ["m.to(x.device)"]),
        ("m.weight = nn.Parameter(kernel)", []),
        ("m.weight.data = m.weight.data * 2", ["m.to(x.device)"]),
        ("m.place(x.device)", []),
        ("m.split(dense_device=there)", []),
    ],
)
def test_a_module_of_the_callers_weight_or_that_is_told_a_device(after: str, expected: list[str]) -> None:
    text = f"""
    def smooth(x: Tensor, kernel: Tensor, there):
        m = Net()
        {after}
        return update(x, m)
    """
    assert told(text) == expected


@pytest.mark.parametrize(("loss", "expected"), [("nn.CrossEntropyLoss()", []), ("Net()", ["c.cuda()"])])
def test_what_holds_nothing_need_not_be_moved_beside_its_kind(loss: str, expected: list[str]) -> None:
    text = f"""
    def make(fast):
        if fast:
            c = {loss}
            c.cuda()
        else:
            c = {loss}
        print(c)
    """
    assert told(text) == expected


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ("m.train().to(x.device)", []),
        ("m.eval().requires_grad_(False).cuda()", []),
        ("m.train().double()", ["m.to(x.device)"]),
        ("print(m.describe().to(x.device))", ["m.to(x.device)"]),
    ],
)
def test_a_chain_of_methods_moves_a_module(moved: str, expected: list[str]) -> None:
    text = f"""
    def score(x: Tensor):
        m = Net()
        {moved}
        return update(x, m)
    """
    assert told(text) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("OtherKernel(3)", ["b.to(device)"]),
        ("OtherKernel({'a': a})", []),
        ("OtherKernel(3, parts=[a])", []),
        ("a(x, Kernel(2))", []),
    ],
)
def test_what_holds_moved_modules_is_where_they_are(made: str, expected: list[str]) -> None:
    text = f"""
    def load(x, device):
        a = Kernel(3).to(device)
        b = {made}
        return [a, len(dir(b))]
    """
    assert told(text) == expected

"""What a tenth round of blind programs and the thirty-eighth batch of repositories taught, each wrong and right."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.flow.project.projects import MAX_CALLERS

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import numpy as np
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
"""

CASES: dict[str, tuple[str, Ways]] = {
    "a model of which parts were moved is not all on the CPU": (
        """
        from transformers import OPTForCausalLM


        def first_inputs(model, tokens):
            layers = model.model.decoder.layers
            {0}
            return model(tokens.to(device))


        first_inputs(OPTForCausalLM.from_pretrained("opt"), torch.ones(1, 3).long())
        """,
        [
            ("layers[0] = layers[0].to(device)", []),
            ("for layer in layers: layer.to(device)", []),
            ("model.model.norm = model.model.norm.to(device)", []),
            ("layers[0].train()", ["TDV001"]),
            ("print(model.model.norm.weight.to(device))", ["TDV001"]),
        ],
    ),
    "a module may apply things to what a plain object of its own holds": (
        """
        class Hidden:
            def __init__(self, net):
                self.net = net


        class Distiller(nn.Module):
            def __init__(self, student, teacher):
                super().__init__()
                self.student = student
                self.teacher = Hidden(teacher)

            def _apply(self, fn, recurse=True):
                {0}
                return super()._apply(fn, recurse)

            def forward(self, x):
                return self.student(x) - self.teacher.net(x)


        both = Distiller(nn.Linear(2, 2), nn.Linear(2, 2)).to(device)
        both(torch.ones(2, 2).to(device))
        """,
        [("self.teacher.net._apply(fn)", []), ("print(recurse)", ["TDV001"])],
    ),
    "a function around may be moving what another one runs": (
        """
        class Engine:
            def __init__(self, step):
                self.step, self.handlers = step, []

            def on_start(self, handler):
                self.handlers.append(handler)
                return handler

            def run(self, batches):
                for handler in self.handlers:
                    handler(self)
                for batch in batches:
                    self.step(batch)


        class Target:
            def __init__(self, net):
                self.net = net


        def build():
            online, target = nn.Linear(2, 2), Target(nn.Linear(2, 2))

            def step(batch):
                batch = batch.to(device)
                return online(batch) - target.net(batch)

            engine = Engine(step)

            @engine.on_start
            def place(_):
                {0}

            return engine


        build().run([torch.ones(2)])
        """,
        [
            ("for net in (online, target.net): net.to(device)", []),
            ("online.to(device), target.net.to(device)", []),
            ("online.train(), target.net.train()", ["TDV001"]),
        ],
    ),
    "a decorator moves whatever is a tensor of what is given": (
        """
        def on_device(function):
            def inner(*args, **named):
                args = [one.to(device) if torch.is_tensor(one) else one for one in args]
                named = {{key: one.to(device) if {0} else one for key, one in named.items()}}
                return function(*args, **named)

            return inner


        @on_device
        def packed(ids, lengths):
            return nn.utils.rnn.pack_padded_sequence(ids, lengths, batch_first=True)


        @on_device
        def packed_as_well(ids, lengths):
            return nn.utils.rnn.pack_padded_sequence(ids, lengths, batch_first=True)


        packed(torch.ones(1, 3, 1), [3])
        packed_as_well(torch.ones(1, 3, 1), lengths={1})
        """,
        [
            (("torch.is_tensor(one)", "[3]"), []),
            (("isinstance(one, torch.Tensor)", "[3]"), []),
            (("isinstance(one, torch.Tensor)", "torch.tensor([3])"), ["TDV013"]),
        ],
    ),
    "what is asked for what no tensor has is no tensor": (
        """
        def votes(bank, query):
            near, labels = bank.topk(query, 5)
            counts = torch.zeros(len(query), 3)
            return counts.scatter_add_(1, labels, near){0}
        """,
        [(".size(bank.classes)", []), ("", ["TDV005"])],
    ),
    "what is read in one branch says nothing of the other": (
        """
        def shown(image, plain=False):
            {0}
                table = image.numpy()
            return torch.clamp(image, torch.zeros(3))
        """,
        [
            ("if plain:", ["TDV005"]),
            ("if not torch.is_tensor(image):", ["TDV005"]),
            ("if True:", []),
            ("if image is not None:", []),
        ],
    ),
    "a dict is asked for a key that is one of two": (
        """
        def pick(accelerator="auto"):
            if accelerator == "auto":
                accelerator = {0}
            return {1}


        print(torch.zeros(3, device=pick()) + torch.ones(3))
        """,
        [
            (
                (
                    '"gpu" if torch.cuda.is_available() else "cpu"',
                    '{"gpu": "cuda:0", "cpu": "cpu"}[accelerator]',
                ),
                ["TDV005"],
            ),
            (
                (
                    '"gpu" if torch.cuda.is_available() else "cpu"',
                    '{"gpu": "cuda:0"}.get(accelerator, "cpu")',
                ),
                ["TDV005"],
            ),
            (
                (
                    '"tpu" if torch.cuda.is_available() else "cpu"',
                    '{"gpu": "cuda:0"}.get(accelerator, "cpu")',
                ),
                [],
            ),
        ],
    ),
    "a slice leaves a dimension": (
        """
        def part(start):
            part = {0}
            return torch.zeros(8)[part] + torch.ones(3, device=device)
        """,
        [("slice(start, start + 3)", ["TDV005"]), ("start", [])],
    ),
    "what an optimizer keeps for a parameter is for where that is": (
        """
        class Slots(torch.optim.Optimizer):
            def slot(self, p):
                {0}

            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            for name in self.slots:
                                state[name] = self.slot(p)
                        self.update(p, state)
        """,
        [
            ("return torch.zeros(p.shape)", ["TDV005"]),
            ("rows, columns = p.shape; return torch.eye(rows)", ["TDV005"]),
            ("return torch.zeros(p.shape, device=p.device)", []),
            ("return torch.zeros(p.shape, pin_memory=True)", []),
            ("return torch.zeros(1)", []),
            ("return torch.zeros(p.shape).to(p)", []),
        ],
    ),
    "the step of a base class is that of the classes that say what it does": (
        """
        class Base(torch.optim.Optimizer):
            def update(self, p, state):
                raise NotImplementedError

            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            state["m"] = torch.empty(p.numel()).normal_()
                        self.update(p, state)


        class Own(Base):
            def update(self, p, state):
                p.add_({0})
        """,
        [('state["m"].view(2, 2)', ["TDV005"]), ('state["m"].to(p.device)', [])],
    ),
    "a list that is put into a container of PyTorch's afterwards is registered": (
        """
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(2, 2))

            def forward(self, x):
                return x.mm(self.weight)


        class Cells(nn.Module):
            def __init__(self):
                super().__init__()
                self.cells = [Cell()]
                {0}

            def forward(self, x):
                for cell in self.cells:
                    x = cell(x)
                return x


        cells = Cells()
        if torch.cuda.device_count() > 1:
            cells = cells.cuda()
        cells(torch.ones(2, 2).to(device))
        """,
        [("self.cells = nn.ModuleList(self.cells)", ["TDV004"]), ("print(len(self.cells))", ["TDV007"])],
    ),
    "a list of what the module has as attributes hides nothing": (
        """
        from models import load_weights


        class Vit(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.patch = Patch(width)
                self.position = nn.Parameter(torch.zeros(1, width))

            def forward(self, x):
                return self.patch(x) + self.position[:, :x.size(1)]


        def create(kind):
            if kind == "base":
                net = Vit(4)
            return net, 3


        class Pair(nn.Module):
            def __init__(self, kind="base"):
                super().__init__()
                self.one, width = create(kind)
                self.other, width = create(kind)
                if kind == "base":
                    load_weights(self.one)
                self.both = {0}

            def forward(self, x):
                for net in self.both:
                    x = net(x)
                return self.one(x)
        """,
        [("[[self.one, self.other]]", []), ("[self.one, Vit(3)]", ["TDV007"])],
    ),
    "a buffer goes where its module is put, whatever device is named": (
        """
        class Filter(nn.Module):
            def __init__(self, weight, device):
                super().__init__()
                {0}

            def forward(self, x):
                return x * self.filter


        print(Filter(2, device))
        """,
        [
            ('self.register_buffer("filter", torch.tensor([1.0, -1.0]) / weight)', []),
            ("self.filter = torch.tensor([1.0, -1.0]) / weight", ["TDV006", "TDV017"]),
        ],
    ),
    "a stride is a number": (
        """
        class Anchors(nn.Module):
            def forward(self, features, {0}):
                return torch.zeros(features.shape[-1], 3) * {0}
        """,
        [("stride", []), ("offsets", ["TDV005"])],
    ),
    "who calls what is named for the CPU is there": (
        """
        def {0}(weight):
            whole = torch.empty(8, 4)
            nn.init.normal_(whole)
            torch.cat(torch.split(whole, 4), dim=1, out=weight)


        class Linear(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(4, 8))

            def initialize_again(self):
                {0}(self.weight)
        """,
        [("initialize_cpu", []), ("initialize", ["TDV005"])],
    ),
    "what was thrown out of a dict on one way is not in it": (
        """
        class Tables:
            def __init__(self, raw):
                self.host = torch.tensor(raw)
                self.there = {{}}
                self.where = None

            def near(self, x):
                if self.where != x.device:
                    self.where = x.device
                    {0}
                return self

            def get(self, key):
                if key not in self.there:
                    self.there[key] = self.host.to(self.where)
                return self.there[key]


        tables = Tables([1.0, 2.0])
        x, y = torch.zeros(2), torch.zeros(2, device=device)
        print(tables.near(x).get("low") + x)
        print(tables.near(y).get("low") + y)
        """,
        [("self.there.clear()", []), ("print(len(self.there))", ["TDV004"])],
    ),
    "what is handed on may move what a display names, one after the other": (
        """
        import signal


        def train():
            student, teacher = nn.Linear(2, 2), nn.Linear(2, 2)

            def stop(*_):
                for net in (student, teacher):
                    net.{0}

            signal.signal(signal.SIGINT, stop)
            return student(torch.ones(2).to(device))
        """,
        [("to(device)", []), ("eval()", ["TDV001"])],
    ),
}


@pytest.mark.parametrize(("code", "ways"), CASES.values(), ids=CASES)
def test_each_is_told_wrong_and_not_right(
    code: str, ways: Ways, told_each_way: Callable[[str, str, Ways], None]
) -> None:
    """Each way of writing it is told of where it is wrong, and only there."""
    told_each_way(START, code, ways)


@pytest.mark.parametrize(("name", "found"), [("convert_hf.py", []), ("layers.py", ["TDV005"])])
def test_checkpoints_are_converted_on_the_host(
    tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]], name: str, found: list[str]
) -> None:
    """What a script that converts checkpoints pads them with is where they are."""
    code = """
    import torch


    def padded(weight, rows):
        return torch.cat([weight.detach(), torch.zeros(rows, weight.shape[1])])
    """
    assert checked(tmp_path, {name: textwrap.dedent(code)}, name) == found


@pytest.mark.parametrize(("brings", "found"), [("x = x.to(TRAIN)", []), ("x = x.float()", ["TDV001"])])
def test_a_model_that_is_not_known_may_be_one_of_the_project(
    tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]], brings: str, found: list[str]
) -> None:
    """A network that an agent is told how to make is most likely one of those in sight, and they bring what they are given."""
    agent = """
    import torch
    from torch import nn

    SAMPLE = torch.device("cpu")
    TRAIN = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


    class Agent:
        def __init__(self, network):
            self.network = network().to(TRAIN)

        def act(self, state):
            return self.network(state.to(SAMPLE).float())
    """
    network = f"""
    import torch
    from torch import nn


    class Net(nn.Module):
        def forward(self, x, fast=False):
            if fast:
                {brings}
            return self.layers(x)
    """
    far = "class Net:\n    def forward(self, x):\n        return self.to(float).layers(x)\n"
    # more than are looked at, before it by their names: those near the agent are looked at first
    files = {f"above/net{number}.py": far for number in range(MAX_CALLERS)}
    files |= {"agents/agent.py": textwrap.dedent(agent), "agents/networks/net.py": textwrap.dedent(network)}
    assert checked(tmp_path, files, "agents/agent.py") == found


@pytest.mark.parametrize(("bias", "found"), [("torch.zeros(2)", ["TDV005"]), ("features.new_zeros(2)", [])])
def test_the_forward_of_another_file_is_that_of_the_classes_that_say_what_it_does(
    tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]], bias: str, found: list[str]
) -> None:
    """What a method is given that only a base class calls, which another file has."""
    base = """
    from torch import nn


    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.compute(self.layer(x))
    """
    own = f"""
    import torch
    from base import Base


    class Own(Base):
        def compute(self, features):
            bias = {bias}
            return bias + features
    """
    files = {"base.py": textwrap.dedent(base), "own.py": textwrap.dedent(own)}
    assert checked(tmp_path, files, "own.py") == found

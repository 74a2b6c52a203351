"""Pairs of look-alikes of the nineteenth fresh programs: what a list of the program's own class holds, criteria, stages, optimizers."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
from collections import UserList
from typing import List, TypedDict
import torch
import torch.nn.functional as F
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


# -- what an instance of a class that derives from `list` holds

CHAIN = """
    class Bias:
        def __init__(self, n, where="cpu"):
            self.bias = torch.zeros(n, device=where)

        def __call__(self, scores):
            return scores + self.bias

    class Chain({base}):
        {more}

        def __call__(self, scores):
            for one in {run_over}:
                scores = one(scores)
            return scores

    def main():
        model = nn.Linear(3, 4).to(device)
        {make}
        print(chain(model(torch.rand(2, 3, device=device))))

    main()
"""
NOTHING = "kind = 'chain'"
GIVEN = "def __init__(self, *ones):\n            super().__init__(ones)"
BY_NAME = "def __init__(self, *ones):\n            list.__init__(self, ones)"
ITSELF = "def __init__(self, n):\n            self.append(Bias(n))"
CHAINS = [
    ("list", NOTHING, "self", "chain = Chain([Bias(4)])", True),
    ("list", NOTHING, "self", "chain = Chain([Bias(4, device)])", False),
    ("List[Bias]", NOTHING, "self", "chain = Chain(); chain.append(Bias(4))", True),
    ("List[Bias]", NOTHING, "self", "chain = Chain(); chain.append(Bias(4, device))", False),
    ("UserList", NOTHING, "self.data", "chain = Chain([Bias(4)])", True),
    ("UserList", NOTHING, "self.data", "chain = Chain([Bias(4, device)])", False),
    ("list", GIVEN, "self[::-1]", "chain = Chain(Bias(4))", True),
    ("list", GIVEN, "self[::-1]", "chain = Chain(Bias(4, device))", False),
    ("list", BY_NAME, "reversed(self)", "chain = Chain(Bias(4))", True),
    ("list", BY_NAME, "reversed(self)", "chain = Chain(Bias(4, device))", False),
    ("list", ITSELF, "self", "chain = Chain(4)", True),
    ("list", ITSELF, "self", "chain = Chain(4); chain.clear()", False),
    ("list", NOTHING, "self", "chain = Chain(); chain += [Bias(4)]", True),
    ("list", NOTHING, "self", "chain = Chain(); chain += [Bias(4, device)]", False),
    ("list", NOTHING, "self", "chain = Chain([Bias(4, device)]); chain[0] = Bias(4)", True),
    ("list", NOTHING, "self", "chain = Chain([Bias(4)]); chain[0] = Bias(4, device)", False),
    ("list", NOTHING, "self", "chain = Chain([Bias(4)]); chain[:] = [Bias(4, device)]", False),
    ("list", NOTHING, "self", "chain = Chain([Bias(4)]); del chain[0]; chain.append(Bias(4, device))", False),
    ("list", NOTHING, "self", "chain = Chain([Bias(4), Bias(4, device)]); chain.pop(0)", False),
    (
        "list",
        NOTHING,
        "self",
        "chain = Chain([Bias(4)]); chain[0].bias = torch.ones(4, device=device)",
        False,
    ),
    ("list", "def __iter__(self):\n            return iter([])", "self", "chain = Chain([Bias(4)])", False),
]


@pytest.mark.parametrize(("base", "more", "run_over", "make", "wrong"), CHAINS)
def test_a_list_of_a_class_of_its_own_holds_what_was_put_into_it(
    base: str, more: str, run_over: str, make: str, wrong: bool
) -> None:
    found = told(CHAIN.format(base=base, more=more, run_over=run_over, make=make))
    assert found == ([("TDV004", "return scores + self.bias")] if wrong else [])


SHARED = """
    class Chain(list):
        def total(self):
            return torch.stack([one.sum() for one in self])

    def fill(chain, n):
        for i in range(n):
            chain.append(torch.ones(3, device=device))

    def main(n):
        chain = Chain()
        fill(chain, n)
        weights = torch.rand(n, device={where})
        print(chain.total() * weights)
"""


@pytest.mark.parametrize(("where", "wrong"), [('"cpu"', True), ("device", False)])
def test_what_a_function_appends_to_such_a_list_is_in_it(where: str, wrong: bool) -> None:
    assert bool(told(SHARED.format(where=where))) is wrong


# -- a method that brings a batch to a device, and calls itself for what the batch holds

TRAINER = """
    class Targets(TypedDict):
        near: torch.Tensor
        far: torch.Tensor

    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_vars = nn.Parameter(torch.zeros(2))

        def forward(self, outputs, targets):
            losses = torch.stack([F.l1_loss(outputs, targets["near"]), F.l1_loss(outputs, targets["far"])])
            return (losses * torch.exp(-self.log_vars)).sum()

    class Moving:
        @property
        def device(self):
            return next(self.model.parameters()).device

        def to_device(self, batch):
            if isinstance(batch, dict):
                return {{k: self.to_device(v) for k, v in batch.items()}}
            {more}
            return batch.to(self.device)

    class Trainer(Moving):
        def __init__(self, model, criterion):
            self.model, self.criterion = model, criterion

        def step(self, image, targets):
            image, targets = self.to_device(image), self.to_device(targets)
            return self.criterion(self.model(image), targets)

    def main(loader):
        criterion = Weighted()
        trainer = Trainer(nn.Linear(3, 1).to(device), {criterion})
        for image, targets in {batches}:
            print(trainer.step(image, targets))
"""
TYPED = "[(torch.rand(2, 3), Targets(near=torch.rand(2, 1), far=torch.rand(2, 1)))]"
MOVING = "self.criterion.to(self.device)"
HANDING = "prepare(self)"
TRAINERS = [
    (NOTHING, "criterion", TYPED, True),
    (NOTHING, "criterion.to(device)", TYPED, False),
    (NOTHING, "criterion", "[(torch.rand(2, 3), dict(near=torch.rand(2, 1), far=torch.rand(2, 1)))]", True),
    (MOVING, "criterion", TYPED, False),
    (NOTHING, "criterion", "loader", True),
    (NOTHING, "criterion.to(device)", "loader", False),
    (MOVING, "criterion", "loader", False),
    (HANDING, "criterion", "loader", False),
]


@pytest.mark.parametrize(("more", "criterion", "batches", "wrong"), TRAINERS)
def test_a_method_that_calls_itself_leaves_what_its_object_holds(
    more: str, criterion: str, batches: str, wrong: bool
) -> None:
    assert bool(told(TRAINER.format(more=more, criterion=criterion, batches=batches))) is wrong


# -- what an optimizer keeps for each parameter: made in one of its methods, used in another

OPTIMIZER = """
    class Factored(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-3):
            super().__init__(params, dict(lr=lr))

        def _begin(self, p):
            state = self.state[p]
            state["step"] = torch.zeros(())
            state["row"] = torch.zeros(p.size(0), device=p.device)
            state["column"] = {column}
            return state

        def _scale(self, state, grad):
            state["row"].add_(grad.mean(1))
            state["column"].add_({added})
            return torch.outer(state["row"], {read})

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p] or self._begin(p)
                    state["step"] += 1
                    p.sub_(group["lr"] * self._scale(state, p.grad))
"""
COLUMNS = [
    ("torch.zeros(p.size(1))", "grad.mean(0)", 'state["column"]', True),
    ("torch.zeros(p.size(1), device=p.device)", "grad.mean(0)", 'state["column"]', False),
    ("torch.zeros(p.size(1)).to(p)", "grad.mean(0)", 'state["column"]', False),
    ("torch.zeros_like(p[0])", "grad.mean(0)", 'state["column"]', False),
    ("torch.zeros(p.size(1))", "grad.mean(0).cpu()", 'state["column"].to(grad.device)', False),
    ("torch.zeros(p.size(1))", "grad.mean(0).cpu()", 'state["column"]', True),
]


@pytest.mark.parametrize(("column", "added", "read", "wrong"), COLUMNS)
def test_the_state_of_a_parameter_is_made_where_the_parameter_is(
    column: str, added: str, read: str, wrong: bool
) -> None:
    found = told(OPTIMIZER.format(column=column, added=added, read=read))
    assert found == ([("TDV005", 'state["column"] = torch.zeros(p.size(1))')] if wrong else [])


def test_no_fix_asks_an_optimizer_for_its_device() -> None:
    text = """
        import torch
        WEIGHTS = torch.rand(3)

        class Weighted(torch.optim.Optimizer):
            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(p.grad * WEIGHTS)
    """
    (found,) = check_source(textwrap.dedent(text), "program.py", Config())
    assert found.code == "TDV105"
    assert found.fix is not None
    assert [edit.content for edit in found.fix.edits] == [".to(p.grad.device)"]


# -- stages dealt out over as many devices as there are

STAGES = """
    def pick(n_stages):
        if not torch.cuda.is_available():
            return [torch.device("cpu")] * n_stages
        n = torch.cuda.device_count()
        return {devices}

    class Piped(nn.Module):
        def __init__(self, devices):
            super().__init__()
            self.devices = devices
            self.stages = nn.ModuleList(nn.Linear(4, 4).to(where) for where in devices)

        @property
        def first(self):
            return self.devices[0]

        @property
        def last(self):
            return self.devices[-1]

        def forward(self, x):
            for stage, where in zip(self.stages, self.devices):
                x = stage(x.to(where))
            return x

    def train(model, loader):
        for x, y in loader:
            y = y.to({where})
            print(F.cross_entropy(model(x.to(model.first)), y))

    if __name__ == "__main__":
        train(Piped(pick({number})), [(torch.rand(2, 4), torch.zeros(2).long())])
"""
DEALT = '[torch.device("cuda", i % n) for i in range(n_stages)]'
NUMBERED = '[torch.device("cuda", i) for i in range(n_stages)]'
CHOSEN = '[torch.device("cuda", 0), torch.device("cuda", 1 if n > 1 else 0)]'
WRITTEN = '[torch.device(f"cuda:{i % n}") for i in range(n_stages)]'
MADE_OF = [
    (DEALT, 2, "model.first", True),
    (DEALT, 2, "model.last", False),
    (DEALT, 2, "model.devices[1]", False),
    (DEALT, 3, "model.first", True),
    (DEALT, 3, "model.last", False),
    (DEALT, 3, "model.devices[2]", False),
    (DEALT, 3, "model.devices[1]", True),
    (DEALT, 1, "model.first", False),  # the first is the last
    (NUMBERED, 2, "model.first", True),
    (NUMBERED, 2, "model.last", False),
    (CHOSEN, 2, "model.first", True),
    (CHOSEN, 2, "model.last", False),
    (WRITTEN, 2, "model.first", True),
    (WRITTEN, 2, "model.last", False),
]


@pytest.mark.parametrize(("devices", "number", "where", "wrong"), MADE_OF)
def test_the_target_goes_to_the_device_of_the_last_stage(
    devices: str, number: int, where: str, wrong: bool
) -> None:
    text = STAGES.format(devices=devices, number=number, where=where)
    line = "print(F.cross_entropy(model(x.to(model.first)), y))"
    assert [(code, at) for code, at in told(text) if code == "TDV004"] == (
        [("TDV004", line)] if wrong else []
    )


ONE_OR_MORE = """
    def main():
        n = torch.cuda.device_count()
        if {test}:
            a = torch.zeros(3, device=torch.device("cuda", 1 % n))
            b = torch.zeros(3, device=torch.device("cuda", 2 % n))
            print(a + b)
"""


@pytest.mark.parametrize(("test", "wrong"), [("n == 1", False), ("n > 1", True), ("n > 2", True)])
def test_more_than_two_devices_are_more_than_one(test: str, wrong: bool) -> None:
    assert bool(told(ONE_OR_MORE.format(test=test))) is wrong

"""Modules that are run on what was moved, and are not (TDV110): what is told of them, and what is not."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = """\
import copy

import torch
from torch import nn
from models.vgg import vgg16
from library import load_model, apply_model, place

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

"""


def _told(program: str) -> list[tuple[int, str]]:
    config = Config(select=("TDV110",))
    told = findings(HEAD + textwrap.dedent(program), "program.py", config)
    return [(one.range.start.row - HEAD.count("\n"), one.message) for one in told]


FUNCTION = """
    def evaluate(loader, path, device):
        model = {made}
        {between}
        for x, y in loader:
            x = {moved}
            scores = {run}
"""


def _of_function(
    made: str = "load_model(path)",
    between: str = "model.eval()",
    moved: str = "x.to(device)",
    run: str = "model(x)",
) -> list[tuple[int, str]]:
    return _told(FUNCTION.format(made=made, between=between, moved=moved, run=run))


@pytest.mark.parametrize("made", ["load_model(path)", "vgg16()", "Thing.from_pretrained(path)"])
def test_what_is_made_or_loaded_elsewhere(made: str) -> None:
    assert _of_function(made) == [
        (3, "nothing in sight moves `model`, and it is run on `x`, which was moved to `device`")
    ]


@pytest.mark.parametrize(
    ("between", "run"),
    [
        ("model = model.eval()", "model(x)"),
        ("optimizer = torch.optim.SGD(model.parameters(), lr=0.1)", "model(x)"),
        ("model.eval()", "apply_model(model, x)"),
        ("model.eval()", "model(x.flatten(1))"),
    ],
)
def test_what_leaves_it_where_it_is(between: str, run: str) -> None:
    assert len(_of_function(between=between, run=run)) == 1


@pytest.mark.parametrize(
    "between",
    [
        "model.to(device)",
        "model = model.cuda()",
        "model = nn.DataParallel(model)",
        "model = place(model)",
        "place(model)",
        "self.model = model",
        "models = [model]",
    ],
)
def test_what_moves_it_or_may(between: str) -> None:
    assert _of_function(between=between) == []


@pytest.mark.parametrize(
    "made", ["load_model(path, device)", "load_model(path).to(device)", "place(path)", "copy.deepcopy(path)"]
)
def test_what_may_be_made_there(made: str) -> None:
    assert _of_function(made, between="pass") == []


@pytest.mark.parametrize("moved", ["x", "x.cpu()", "x.to('cpu')", "x.to(torch.float32)"])
def test_inputs_that_are_not_moved(moved: str) -> None:
    assert _of_function(moved=moved) == []


def test_a_function_of_the_file_that_runs_it() -> None:
    program = """
        def epoch(net, device, loader):
            {moved}
            for x in loader:
                net(x.to(device))

        def main(kind, loader):
            model = kind()
            model.train()
            device = torch.device("cuda")
            epoch(model, device, loader)
    """
    assert [row for row, _ in _told(program.format(moved="net.train()"))] == [11]
    assert _told(program.format(moved="net.to(device)")) == []


def test_a_script_and_its_functions() -> None:
    program = """
        def train(loader):
            net.train()
            for x in loader:
                net(x.cuda())

        if __name__ == "__main__":
            from models.dense import dense
            net = dense(){moved}
            train([])
    """
    assert [row for row, _ in _told(program.format(moved=""))] == [9]
    assert _told(program.format(moved=".cuda()")) == []


def test_a_model_that_a_training_is_given() -> None:
    program = """
        def train(net, loader, device):
            {moved}
            optimizer = {optimizer}
            for x in loader:
                net(x.to(device))
        {called}
    """
    adam = "torch.optim.Adam(net.parameters())"
    assert [row for row, _ in _told(program.format(moved="pass", optimizer=adam, called=""))] == [6]
    assert _told(program.format(moved="net.to(device)", optimizer=adam, called="")) == []
    assert _told(program.format(moved="pass", optimizer="None", called="")) == []
    assert (
        _told(program.format(moved="pass", optimizer=adam, called="train(vgg16().cuda(), [], device)")) == []
    )


def test_one_of_two_branches() -> None:
    program = """
        def policy(name, cfg, device):
            if name is None:
                net = cfg.build()
                net.to({device})
            else:
                net = cfg.restore(name){moved}
            {after}
            return net
    """
    assert [row for row, _ in _told(program.format(device="device", moved="", after=""))] == [7]
    assert _told(program.format(device="device", moved=".to(device)", after="")) == []
    assert _told(program.format(device="cfg.weight().dtype", moved="", after="")) == []
    assert _told(program.format(device="device", moved="", after="net = net.to(device)")) == []


def test_a_layer_without_the_device_of_the_others() -> None:
    program = """
        class Head(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.one = nn.Linear(3, 3, device=device)
                self.two = {two}
    """
    assert [row for row, _ in _told(program.format(two="nn.Linear(3, 2)"))] == [6]
    assert _told(program.format(two="nn.Linear(3, 2, device=device)")) == []
    assert _told(program.format(two="nn.ReLU()")) == []
    assert _told(program.format(two="nn.Linear(3, 2).to(device)")) == []

"""Functions that run a model on examples: the model and what they are given for it have to be on one device."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x, scale=None):
        return self.fc(x)
model = Net().to(device)
x = torch.randn(1, 4)
"""

WRONG = {
    "exported": 'torch.onnx.export(model, x, "net.onnx")',
    "exported, a tuple": 'torch.onnx.export(model, (x,), "net.onnx")',
    "exported by names": 'torch.onnx.export(model=model, args=(x,), f="net.onnx")',
    "traced": "traced = torch.jit.trace(model, x)",
    "traced by names": "traced = torch.jit.trace(model, example_inputs=x)",
    "exported as a program": "program = torch.export.export(model, (x,))",
    "drawn": """
        from torch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter()
        writer.add_graph(model, x)
        """,
    "drawn by a writer that is given": """
        def draw(writer):
            writer.add_graph(model, (x,))
        """,
    "counted": """
        from thop import profile
        flops, params = profile(model, inputs=(x,))
        """,
}

RIGHT = {
    "brought": 'torch.onnx.export(model, x.to(device), "net.onnx")',
    "the model is on the host": 'torch.onnx.export(model.cpu(), (x,), "net.onnx")',
    "a model that moves what it is given": """
        class Brings(Net):
            def forward(self, x):
                return self.fc(x.to(self.fc.weight.device))
        torch.onnx.export(Brings().to(device), x, "net.onnx")
        """,
    "an argument that the model does not use": 'torch.onnx.export(model, (x.to(device), torch.ones(2)), "net.onnx")',
    "not known": """
        def export(inputs):
            torch.onnx.export(model, inputs, "net.onnx")
            torch.jit.trace(model, tuple(inputs))
        """,
    "a graph of something else": """
        def draw(board, nodes):
            board.add_graph(nodes, x)
            board.add_graph(model)
        """,
    "a size": """
        from thop import profile
        profile(model, (1, 4))
        """,
}


def told(program: str) -> set[str]:
    found = findings(HEAD + textwrap.dedent(program), "a.py", Config(off_by_default=OFF_BY_DEFAULT))
    return {one.code for one in found}


@pytest.mark.parametrize("program", WRONG.values(), ids=WRONG)
def test_it_is_told(program: str) -> None:
    assert told(program) == {"TDV001"}


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_nothing_is_told(program: str) -> None:
    assert told(program) == set()

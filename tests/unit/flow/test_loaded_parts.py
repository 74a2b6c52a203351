"""What was loaded to the CPU is there: a file's tensors, and what a class takes from one in the place of its own."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = """
import os
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.rand(3, 3, device=device)
"""


def _told(program: str) -> list[str]:
    text = HEAD + textwrap.dedent(program)
    lines = text.splitlines()
    config = Config(select=("TDV001", "TDV004", "TDV005"))
    return [lines[one.range.start.row - 1].strip() for one in findings(text, "program.py", config)]


USES = {
    "torch.matmul(kept['w'], x)": True,
    "torch.matmul(x, kept['w'])": True,
    "x.mm(kept['rows']['a'])": True,
    "kept['w'].mm(x)": True,
    "kept['w'].view(3, 3) @ x": True,
    "kept['w'].to(device).mm(x)": False,
    "kept['step'] * x": False,
    "x.copy_(kept['w'])": False,
    "kept['w'].mm(torch.ones(3, 3))": False,
}


@pytest.mark.parametrize(("use", "told"), USES.items(), ids=USES)
@pytest.mark.parametrize("where", ['"cpu"', 'torch.device("cpu")', "lambda storage, location: storage"])
def test_what_a_file_holds_is_where_it_was_loaded_to(use: str, told: bool, where: str) -> None:
    program = f"kept = torch.load(os.environ['KEPT'], map_location={where})\nprint({use})\n"
    assert _told(program) == ([f"print({use})"] if told else [])


@pytest.mark.parametrize(
    "where", ["device", "None", "lambda storage, location: storage.cuda()", "{'a': 'b'}"]
)
def test_where_a_file_is_loaded_to_may_not_be_known(where: str) -> None:
    program = f"kept = torch.load(os.environ['KEPT'], map_location={where})\nprint(x.mm(kept['w']))\n"
    assert _told(program) == []


@pytest.mark.parametrize("saved", ["", "torch.save({'w': torch.ones(3, 3)}, 'kept.pt')"])
def test_it_is_told_where_it_was_loaded(saved: str) -> None:
    text = HEAD + saved + "\nkept = torch.load('kept.pt', map_location='cpu')\nprint(x.mm(kept['w']))\n"
    (told,) = findings(text, "program.py", Config(select=("TDV004",)))
    assert [(one.message, one.range.start.row) for one in told.related][-1] == (
        "it is loaded to the CPU here",
        8,
    )


def test_what_the_program_saved_is_wherever_the_storage_is_brought() -> None:
    """A function says where: not every one leaves a tensor on the CPU."""
    saved = "torch.save({'w': torch.ones(3, 3)}, 'kept.pt')\n"
    for where, told in (("lambda one, location: one", 1), ("lambda one, location: one.cuda()", 0)):
        loaded = f"kept = torch.load('kept.pt', map_location={where})\nprint(x.mm(kept['w']))\n"
        assert len(_told(saved + loaded)) == told


EXCHANGED = """
kept = torch.load(os.environ["KEPT"], map_location="cpu")
{between}
print(torch.matmul(kept["w"], x))
"""


@pytest.mark.parametrize(
    ("between", "told"),
    [
        ("print(kept['step'], len(kept), sorted(kept))", True),
        ("kept['w'] = kept['w'].to(device)", False),
        ("kept = {name: one.to(device) for name, one in kept.items() if name == 'w'}", False),
        ("for name in ('w',): kept[name] = kept[name].to(device)", False),
        (
            "for name in list(kept):\n    if torch.is_tensor(kept[name]): kept[name] = kept[name].to(device)",
            False,
        ),
        ("bring(kept, device)", False),
        ("bring([kept], device)", False),
    ],
)
def test_what_may_have_been_exchanged_in_it(between: str, told: bool) -> None:
    program = "from helpers import bring\n" + EXCHANGED.format(between=between)
    assert bool(_told(program)) == told


def test_modules_and_what_is_registered_move() -> None:
    program = """
        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                kept = torch.load(os.environ["KEPT"], map_location="cpu")
                self.register_buffer("w", kept["w"])
                self.a = nn.Parameter(kept["rows"]["a"])

            def forward(self, x):
                return torch.matmul(self.w.t(), x).mm(self.a) + torch.mm(self.a, x)

        print(Scale().to(device)(x))
        whole = torch.load("whole.pt", map_location="cpu")
        whole.to(device)
        print(whole(x), torch.matmul(whole.weight, x))
        """
    assert _told(program) == []


def test_who_loads_to_the_host_wants_it_there() -> None:
    """What a function is given may be on the CPU as well."""
    program = """
        def blend(y: torch.Tensor):
            kept = torch.load(os.environ["KEPT"], map_location="cpu")
            return torch.matmul(kept["w"], y)
        """
    assert _told(program) == []


RESUMED = """
class Average:
    def __init__(self, model):
        self.held = {{name: p.detach().clone() for name, p in model.named_parameters()}}

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            self.held[name].mul_(0.9).add_(p, alpha=0.1)

    def state_dict(self):
        return {{"held": self.held}}

    def load_state_dict(self, state):
        {taken}


def main(path, resume):
    model = nn.Linear(3, 3).to({there})
    average = Average(model)
    if {test}:
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        average.load_state_dict(state["average"])
    average.update(model)


main("last.pt", False)
"""
UPDATE = "self.held[name].mul_(0.9).add_(p, alpha=0.1)"


@pytest.mark.parametrize(
    ("taken", "there", "test", "told"),
    [
        ('self.held = state["held"]', "device", "os.path.exists(path)", [UPDATE]),
        ('self.held = state["held"]', '"cuda"', "os.path.exists(path)", [UPDATE]),
        ('self.held = state["held"]', "device", "input() == 'go on'", [UPDATE]),
        ('self.held = state["held"]', '"cpu"', "os.path.exists(path)", []),
        ('self.held = state["held"]', "device", "input() == 'no cuda'", []),
        (
            'self.held = {name: one.to(device) for name, one in state["held"].items()}',
            "device",
            "os.path.exists(path)",
            [],
        ),
        (
            'for name, one in state["held"].items(): self.held[name].copy_(one)',
            "device",
            "os.path.exists(path)",
            [],
        ),
    ],
)
def test_what_takes_the_place_of_what_was_on_a_device(
    taken: str, there: str, test: str, told: list[str]
) -> None:
    """A run that goes on has what it loaded in the place of what was made beside the model."""
    assert _told(RESUMED.format(taken=taken, there=there, test=test)) == told

"""The mutator of the mutation study: each operator on a few lines."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import mutator
import pytest
from mutator import Mutant, mutants

PROGRAMS = sorted(Path(mutator.__file__).parent.glob("programs/*.py"))


@cache
def mutants_of(path: Path) -> list[Mutant]:
    return mutants(path.read_text(encoding="utf-8"))


# (operator, what stands there, what the operator makes of it), the imports and the device understood
CASES = [
    ("tensor-to-dropped", "y = f(x.to(device))", "y = f(x)"),
    ("tensor-to-dropped", "x = x.to(device)", "pass"),
    ("tensor-to-dropped", "self.x = x.to(device)", "self.x = x"),
    ("tensor-to-dropped", "y = (a + b).to(device, non_blocking=True)", "y = (a + b)"),
    ("tensor-to-dropped", "y = x.to(device, torch.float16)", "y = x.to(torch.float16)"),
    ("tensor-to-dropped", "y = x.to(torch.float16, device=args.device)", "y = x.to(torch.float16)"),
    ("tensor-to-dropped", "y = x.cuda()", "y = x"),
    ("follow-dropped", "y = x.to(z.device)", "y = x"),
    ("follow-dropped", "y = x.to(z)", "y = x"),
    ("follow-dropped", "y = x.type_as(z)", "y = x"),
    ("module-to-dropped", "net = nn.Linear(3, 2).to(device)", "net = nn.Linear(3, 2)"),
    ("module-to-dropped", "net = Net().to(device).eval()", "net = Net().eval()"),
    ("module-to-dropped", "model = model.cuda()", "pass"),
    ("module-move-deleted", "model.to(device)", "pass"),
    ("module-move-deleted", "model.cuda()", "pass"),
    ("result-discarded", "x = x.to(device)", "x.to(device)"),
    ("result-discarded", "a, b = a.to(device), b.to(device)", "a.to(device), b.to(device)"),
    ("result-discarded", "self.low = self.low.to(device)", "self.low.to(device)"),
    ("module-result-discarded", "model = model.to(device)", "model.to(device)"),
    ("factory-device-dropped", "x = torch.zeros(3, device=device)", "x = torch.zeros(3)"),
    ("factory-device-dropped", "x = torch.zeros((), device=device)", "x = torch.zeros(())"),
    (
        "factory-device-dropped",
        "x = torch.zeros(3, device=device, dtype=torch.long)",
        "x = torch.zeros(3, dtype=torch.long)",
    ),
    ("factory-device-dropped", "x = torch.tensor([1], device=self.device)", "x = torch.tensor([1])"),
    ("factory-follow-dropped", "x = torch.zeros(3, device=y.device)", "x = torch.zeros(3)"),
    (
        "factory-follow-dropped",
        "x = torch.arange(3, device=next(model.parameters()).device)",
        "x = torch.arange(3)",
    ),
    ("call-device-dropped", "probe = nn.Linear(3, 2, device=device)", "probe = nn.Linear(3, 2)"),
    ("call-device-dropped", "m = make_mask(3, device=device)", "m = make_mask(3)"),
    ("default-device-dropped", "torch.set_default_device(device)", "pass"),
    ("like-to-factory", "y = torch.zeros_like(x)", "y = torch.zeros(x.shape, dtype=x.dtype)"),
    ("like-to-factory", "y = torch.full_like(x, 1.0)", "y = torch.full(x.shape, 1.0, dtype=x.dtype)"),
    (
        "like-to-factory",
        "y = torch.ones_like(x, dtype=torch.bool)",
        "y = torch.ones(x.shape, dtype=torch.bool)",
    ),
    ("new-to-factory", "y = x.new_zeros(2, 3)", "y = torch.zeros(2, 3, dtype=x.dtype)"),
    (
        "new-to-factory",
        "y = x.new_full((2,), 7, dtype=torch.long)",
        "y = torch.full((2,), 7, dtype=torch.long)",
    ),
    ("buffer-to-attribute", 'self.register_buffer("n", torch.ones(3))', "self.n = torch.ones(3)"),
    ("buffer-to-attribute", "self.register_buffer('n', t, persistent=False)", "self.n = t"),
    ("parameter-to-tensor", "self.w = nn.Parameter(torch.ones(3))", "self.w = torch.ones(3)"),
    ("modulelist-to-list", "self.m = nn.ModuleList([f(i) for i in r])", "self.m = [f(i) for i in r]"),
    ("modulelist-to-list", "self.m = nn.ModuleList(f(i) for i in r)", "self.m = list(f(i) for i in r)"),
    ("modulelist-to-list", "self.m = nn.ModuleList()", "self.m = []"),
    ("moduledict-to-dict", 'self.m = nn.ModuleDict({"a": a})', 'self.m = {"a": a}'),
    ("moduledict-to-dict", "self.m = nn.ModuleDict()", "self.m = {}"),
    ("map-location-dropped", "s = torch.load(f, map_location=device)", "s = torch.load(f)"),
    ("cpu-before-numpy-dropped", "a = x.detach().cpu().numpy()", "a = x.detach().numpy()"),
    ("cpu-before-numpy-dropped", 'a = x.to("cpu").numpy()', "a = x.numpy()"),
    ("cpu-dropped", "a = x.cpu().tolist()", "a = x.tolist()"),
    ("generator-device-dropped", "g = torch.Generator(device=device)", "g = torch.Generator()"),
    ("generator-device-dropped", "g = torch.Generator(device)", "g = torch.Generator()"),
    ("other-gpu-literal", "y = x.to(device)", 'y = x.to("cuda:1")'),
    ("other-gpu-literal", "y = torch.ones(3, device=device)", 'y = torch.ones(3, device="cuda:1")'),
]

NOT_TOUCHED = [
    ("tensor-to-dropped", "y = x.to(torch.float32)"),
    ("tensor-to-dropped", "y = x.to(other.dtype)"),
    ("tensor-to-dropped", 'y = x.to("cpu")'),
    ("tensor-to-dropped", "net = nn.Linear(3, 2).to(device)"),
    ("tensor-to-dropped", "model.to(device)"),
    ("module-to-dropped", "y = x.to(device)"),
    ("module-move-deleted", "y = x.to(device)"),
    ("module-move-deleted", "torch.cuda.synchronize()"),
    ("result-discarded", "y = x.to(device)"),
    ("result-discarded", "a, b = b.to(device), a.to(device)"),
    ("result-discarded", "model = model.to(device)"),
    ("module-result-discarded", "x = x.to(device)"),
    ("factory-device-dropped", "g = torch.Generator(device=device)"),
    ("factory-device-dropped", "x = make(3, device=device)"),
    ("call-device-dropped", "x = need_device(3, device=device)"),
    ("cpu-dropped", "a = x.cpu().numpy()"),
    ("cpu-before-numpy-dropped", "a = x.cpu().tolist()"),
    ("generator-device-dropped", "g = torch.Generator()"),
    ("other-gpu-literal", 'y = x.to("cpu")'),
    ("other-gpu-literal", "y = x.to(z.device)"),
]

BEFORE = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    pass


def make_mask(n, device=None):
    return torch.ones(n)


def need_device(n, device):
    return torch.ones(n)


"""


def made(operator: str, line: str) -> list[str]:
    """What the operator makes of a line."""
    source = f"{BEFORE}{line}\nprint(1)\n"
    found = mutants(source, [operator])
    for mutant in found:
        assert mutant.source.startswith(BEFORE)
        assert mutant.source.endswith("\nprint(1)\n")
        assert (mutant.operator, mutant.row) == (operator, BEFORE.count("\n") + 1)
    return [mutant.line for mutant in found]


@pytest.mark.parametrize(("operator", "line", "mutated"), CASES)
def test_an_operator_makes_its_mistake(operator: str, line: str, mutated: str) -> None:
    assert made(operator, line) == [mutated]


@pytest.mark.parametrize(("operator", "line"), NOT_TOUCHED)
def test_an_operator_leaves_the_rest_alone(operator: str, line: str) -> None:
    assert made(operator, line) == []


def test_every_operator_is_tested() -> None:
    assert {operator for operator, _, _ in CASES} == set(mutator.OPERATORS)


def test_one_place_is_one_mutant() -> None:
    found = mutants("def f(a, b, device):\n    return a.to(device), b.to(device)\n", ["tensor-to-dropped"])
    assert [(mutant.row, mutant.column) for mutant in found] == [(2, 13), (2, 27)]
    assert [mutant.line for mutant in found] == ["return a, b.to(device)", "return a.to(device), b"]


def test_columns_count_characters() -> None:
    [mutant] = mutants("é = 'ü'; f(é.to(device))\n", ["tensor-to-dropped"])
    assert (mutant.column, mutant.line) == (13, "é = 'ü'; f(é)")


def test_rows_stay_where_they_are() -> None:
    source = "x = f(\n    torch.zeros(\n        3,\n        device=device,\n    ),\n    y.to(\n        device\n    ),\n)\nlast = 1\n"
    found = mutants(source, ["factory-device-dropped", "tensor-to-dropped"])
    assert len(found) == 2
    for mutant in found:
        assert mutant.source.split("\n")[9] == "last = 1"


def test_literals_are_tried_at_a_few_places() -> None:
    source = "def f(xs, device):\n" + "".join(f"    x{i} = xs[{i}].to(device)\n" for i in range(10))
    assert [mutant.row for mutant in mutants(source, ["other-gpu-literal"])] == [2, 6, 10]


def test_a_bad_edit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = mutator.Operator("broken", "", lambda node, program: iter([mutator.Edit(0, 1, "(")]))
    monkeypatch.setitem(mutator.OPERATORS, "broken", broken)
    with pytest.raises(mutator.MutationError, match="broken at 1:1"):
        mutants("x = 1\n", ["broken"])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_mutants_of_the_programs(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    found = mutants_of(path)
    assert len(found) >= 3
    assert len({mutant.source for mutant in found} - {source}) == len(found)
    for mutant in found:
        ast.parse(mutant.source)
        changed = [
            row
            for row, (old, new) in enumerate(
                zip(source.split("\n"), mutant.source.split("\n"), strict=True), 1
            )
            if old != new
        ]
        assert changed[0] == mutant.row


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 30
    assert {mutant.operator for path in PROGRAMS for mutant in mutants_of(path)} == set(mutator.OPERATORS)

"""Running the inference on a snippet, and looking at what its names are bound to.

`bound(code)` gives each name's value as a short text. A tensor is its device (`cpu`, `cuda:0`, `cuda` without an index, the
text of a symbol, `?` where it is not known), with `0-dim` before it when it is certainly a scalar; other values say
what they are: `module cuda:0`, `device cpu`, `(cpu, 3)`, `many cpu`, `{a: cpu}`.
"""

from __future__ import annotations

import importlib.util
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import libcst as cst
import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.activation.analysis import Analysis, Options
from torchdev_lint.flow.activation.events import Event
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.lattice import (
    Accelerator,
    Anywhere,
    Choice,
    Cpu,
    Device,
    Level,
    Symbol,
    conflict,
)
from torchdev_lint.flow.domain.values import (
    DeviceValue,
    Dtype,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.execution import interpreter
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

PRELUDE = """\
import torch
from torch import nn
"""
OPTIONS = Options(frozenset())
DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]
"""What is put into a program in the place of its `{0}`, `{1}`, ..., and what is found then."""


class Case(NamedTuple):
    """A snippet, and what some of its names are bound to, as text: one of a test module's `CASES`."""

    name: str
    code: str
    expected: dict[str, str]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a `case` is run for each of its module's `CASES`."""
    if "case" in metafunc.fixturenames:
        cases = [Case(*case) for case in metafunc.module.CASES]
        metafunc.parametrize("case", cases, ids=[case.name for case in cases])


@dataclass
class Reading:
    """A module that was interpreted from top to bottom (its functions only where they are called)."""

    frame: Frame

    def value(self, name: str) -> Value:
        """What the name is bound to at the end."""
        return self.frame.lookup(name)

    def shown(self, name: str) -> str:
        """The same as text."""
        return show(self.frame, self.value(name))

    def device(self, name: str) -> Device:
        """The device of the tensor or module that the name is bound to."""
        value = self.value(name)
        if isinstance(value, (Tensor, DeviceValue)):
            return value.device
        assert isinstance(value, Object)
        return self.frame.state(value).device


def show_device(device: Device) -> str:
    """A device as text."""
    match device:
        case Cpu():
            return "cpu"
        case Accelerator(type=kind, index=index):
            return kind if index is None else f"{kind}:{index}"
        case Symbol(text=text):
            return text or "a symbol"
        case Anywhere():
            return "anywhere"
        case Choice(then=then, otherwise=otherwise):
            return f"{show_device(then)} or {show_device(otherwise)}"
        case _:
            return "?"


def show(frame: Frame, value: Value) -> str:
    """A value as text."""
    match value:
        case Tensor(device=device, scalar=scalar):
            return ("0-dim " if scalar else "") + show_device(device)
        case DeviceValue(device=device):
            return f"device {show_device(device)}"
        case Literal(value=constant):
            return repr(constant)
        case Dtype():
            return "dtype"
        case Items(items):
            return f"({', '.join(show(frame, item) for item in items)})"
        case Many(element):
            return f"many {show(frame, element)}"
        case Entries(entries=entries, default=default):
            parts = [f"{name}: {show(frame, entry)}" for name, entry in entries]
            rest = show(frame, default)
            return f"{{{', '.join([*parts, *([f'**{rest}'] if rest != '?' else [])])}}}"
        case Either(then=then, otherwise=otherwise):
            left, right = show(frame, then), show(frame, otherwise)
            return "?" if left == right == "?" else f"{left} or {right}"
        case Object():
            state = frame.state(value)
            if state.kind == "module":
                return f"module {show_device(state.device)}"
            if state.kind in ("instance", "loader"):
                return state.kind
            return f"moved {show_device(state.device)}" if state.moved else "?"
        case _:
            return "?"


@pytest.fixture(scope="session")
def read() -> Callable[[str], Reading]:
    """Interpret a snippet; `torch` and `nn` are imported."""

    def run(code: str) -> Reading:
        module = cst.parse_module(PRELUDE + textwrap.dedent(code))
        frame = Frame(Analysis(module, OPTIONS), Environment())
        frame.execute(module.body)
        return Reading(frame)

    return run


@pytest.fixture(scope="session")
def bound(read: Callable[[str], Reading]) -> Callable[..., dict[str, str]]:
    """Interpret a snippet and show what some names are bound to."""

    def run(code: str, *names: str) -> dict[str, str]:
        reading = read(code)
        return {name: reading.shown(name) for name in names}

    return run


@pytest.fixture(scope="session")
def events() -> Callable[..., list[Event]]:
    """All events of a snippet (of one type, if given), each function also read on its own."""

    def run(code: str, kind: type[Any] = object) -> list[Event]:
        module = cst.parse_module(PRELUDE + textwrap.dedent(code))
        return [event for event in interpreter.read_module(module, OPTIONS) if isinstance(event, kind)]

    return run


@pytest.fixture(scope="session")
def checked() -> Callable[[Path, dict[str, str], str], list[str]]:
    """The codes of what is found, by default, in one of the files of a repository that is written to a directory."""
    return partial(_checked, DEFAULT)


@pytest.fixture(scope="session")
def every_code() -> Callable[[Path, dict[str, str], str], list[str]]:
    """The same with all rules."""
    return partial(_checked, Config())


def _checked(config: Config, root: Path, files: dict[str, str], name: str) -> list[str]:
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").touch()
    for one, text in files.items():
        (root / one).parent.mkdir(parents=True, exist_ok=True)
        (root / one).write_text(text, encoding="utf-8")
    return [one.code for one in check_source(files[name], str(root / name), config, DiskSources())]


@pytest.fixture(scope="session")
def told_each_way() -> Callable[[str, str, Ways], None]:
    """See that of a program, which begins with `start` and in which something is put, these codes are found by default, whatever is put."""

    def run(start: str, text: str, ways: Ways) -> None:
        for put, found in ways:
            whole = start + textwrap.dedent(text.format(*((put,) if isinstance(put, str) else put)))
            assert sorted({one.code for one in findings(whole, "train.py", DEFAULT)}) == found, put

    return run


@pytest.fixture(scope="session")
def told_each_time() -> Callable[[str, Ways], None]:
    """The same of a program that may have braces of its own: every finding, in the order of the lines."""

    def run(text: str, ways: Ways) -> None:
        for put, found in ways:
            whole = textwrap.dedent(text)
            for index, part in enumerate((put,) if isinstance(put, str) else put):
                whole = whole.replace(f"{{{index}}}", part.replace("\\n", "\n"))
            assert [one.code for one in check_source(whole, "program.py", DEFAULT)] == found, put

    return run


# -- the same snippets run by PyTorch itself, on the simulated accelerator

_REPORTER = """
import contextlib, io, json, sys, torch
from torch import nn

def tell(value):
    if isinstance(value, torch.Tensor):
        return {"tensor": str(value.device), "ndim": value.ndim}
    if isinstance(value, nn.Module):
        first = next(iter([*value.parameters(), *value.buffers()]), None)
        return {"module": None if first is None else str(first.device)}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, (list, tuple)):
        return {"items": [tell(item) for item in value]}
    if isinstance(value, dict):
        return {"entries": {str(key): tell(entry) for key, entry in value.items()}}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"literal": value}
    return {}

told = {}
for name, code, wanted in json.load(open(sys.argv[1])):
    names = {"__name__": "__main__"}
    torch.set_default_device(None)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, name, "exec"), names)
        told[name] = {one: tell(names[one]) for one in wanted}
    except Exception as error:
        told[name] = {"failed": f"{type(error).__name__}: {error}"}
print(json.dumps(told))
"""


@pytest.fixture(scope="session")
def simulator() -> Iterator[Any]:
    """PyTorch with a simulated accelerator of two devices."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    from torchdev_lint.harness.forkserver import ForkServer

    with ForkServer("simulated", preload=("torch",)) as server:
        yield server


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, simulator: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """For each snippet of the test module's `CASES`, what PyTorch says of the names that are looked at."""
    folder: Path = tmp_path_factory.mktemp("told")
    cases = [
        (name, PRELUDE + textwrap.dedent(code), list(expected))
        for name, code, expected in request.module.CASES
    ]
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    (folder / "reporter.py").write_text(_REPORTER, encoding="utf-8")
    verdict = simulator.run(folder / "reporter.py", args=[str(folder / "cases.json")])
    assert str(verdict.kind) == "passed", verdict.describe()
    found: dict[str, Any] = json.loads(verdict.stdout.strip().splitlines()[-1])
    return found


def _device(text: str) -> Device:
    kind, _, index = text.partition(":")
    return Cpu() if kind == "cpu" else Accelerator(kind, int(index or 0))


def disagreement(frame: Frame, value: Value, told: dict[str, Any]) -> str | None:
    """What is wrong with an inferred value, given what PyTorch says of the real one; None when it may be so."""
    match value:
        case Tensor(mapping=True) | Tensor(batch=True):
            return None
        case Tensor(device=device, scalar=scalar):
            if "tensor" not in told:
                return f"taken for a tensor: {told}"
            if scalar is not None and scalar != (told["ndim"] == 0):
                return f"0-dim: {scalar}, but it has {told['ndim']} dimensions"
            return _differs(device, told["tensor"])
        case DeviceValue(device=device, is_object=True):
            return _differs(device, told["device"]) if "device" in told else f"taken for a device: {told}"
        case Literal(value=constant):
            return None if told.get("literal", told) == constant else f"taken for {constant!r}: {told}"
        case Items(items):
            parts = told.get("items")
            if parts is None or len(parts) != len(items):
                return f"taken for {len(items)} items: {told}"
            found = [disagreement(frame, item, part) for item, part in zip(items, parts, strict=True)]
            return next((one for one in found if one), None)
        case Many(element):
            found = [disagreement(frame, element, part) for part in told.get("items", [])]
            return next((one for one in found if one), None)
        case Entries(entries=entries):
            parts = told.get("entries", {})
            found = [disagreement(frame, entry, parts.get(name, {})) for name, entry in entries]
            return next((one for one in found if one), None)
        case Object():
            state = frame.state(value)
            if state.kind != "module" or "module" not in told or told["module"] is None:
                return None
            return _differs(state.device, told["module"])
        case _:
            return None


def _differs(device: Device, actual: str) -> str | None:
    found = conflict(device, _device(actual))
    if found is not None and found.level == Level.CERTAIN:
        return f"inferred {show_device(device)}, but it is on {actual}"
    return None


@pytest.fixture(scope="module")
def disagreements(read: Callable[[str], Reading], told: dict[str, Any]) -> Callable[[Case], list[str]]:
    """What is wrong with the inferred values of a case's names, given what PyTorch says of them."""

    def compare(case: Case) -> list[str]:
        found = told[case.name]
        assert "failed" not in found, found
        reading = read(case.code)
        wrong = (disagreement(reading.frame, reading.value(name), found[name]) for name in case.expected)
        return [one for one in wrong if one]

    return compare

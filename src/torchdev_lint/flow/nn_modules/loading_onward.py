"""What a program that loads a checkpoint goes on to in functions of the project: those that use an accelerator, whatever the machine.

`utils.predict(loader, model)`, whose every batch goes through `.cuda()`, ends on a machine without an accelerator a few lines after
`torch.load`: whoever loads a file there has one. Functions are found by name, in the checked file and in those of the project that it
imports, directly or not; where several have one name, all of them have to use it. Nothing is executed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Import, Namespace
from torchdev_lint.flow.nn_modules import loading_scopes
from torchdev_lint.flow.project import reach
from torchdev_lint.flow.project.accelerator_uses import is_use, running_with
from torchdev_lint.flow.project.project_calls import argument_given, functions_named, methods_named
from torchdev_lint.flow.syntax.trees import all_parameters, dotted
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

MAX_DEPTH = 2
"""Functions that these functions call."""

_ASKS = re.compile(r"is_available\(|\.is_cuda\b")
_OF_MODULES = frozenset(
    "train eval forward step backward zero_grad state_dict load_state_dict parameters update save load append "
    "extend items keys values reset close write get add join format print".split()
)
"""What modules, optimizers, containers and files are asked for: whose method it is is not in the name."""


Called = tuple[cst.FunctionDef, cst.Module]
"""A function, and the file that it is in."""


def goes_on_to_use(
    frame: Frame, scope: cst.CSTNode, call: cst.Call, settled: frozenset[str] = frozenset()
) -> bool:
    """Whether what runs along with a call in a scope uses an accelerator, or calls a function of the project that does, whatever the
    machine."""
    key = ("goes on to use", id(scope), id(call), settled)
    known: bool | None = frame.analysis.notes.get(key)
    if known is None:
        known = _goes_on(frame, frame.analysis.module, scope, call, settled, MAX_DEPTH)
        frame.analysis.notes[key] = known
    return known


def _goes_on(
    frame: Frame,
    home: cst.Module,
    scope: cst.CSTNode,
    place: cst.Call | None,
    settled: frozenset[str],
    depth: int,
) -> bool:
    named: set[str] = set()
    for node in running_with(scope, place, certain=False, settled=settled):
        if is_use(node, named, numbered=True):
            return True
        match node:
            case _ if depth == 0:
                pass
            case cst.Call() if node is not place and _leads_to_use(frame, home, node, depth):
                return True
            case cst.If(body=body, orelse=cst.If() | cst.Else() as other) if all(
                _goes_on(frame, home, branch, None, settled, depth) for branch in (body, other)
            ):
                return True  # whichever of both is taken
            case _:
                pass
    return False


def _leads_to_use(frame: Frame, home: cst.Module, call: cst.Call, depth: int) -> bool:
    called = [one for one in _called(frame, home, call) if not _is_abstract(one[0])]
    return bool(called) and all(
        _ASKS.search(frame.analysis.text(function.body)) is None
        and _goes_on(frame, file, function.body, None, frozenset(_left_true(function, call)), depth - 1)
        for function, file in called
    )


def _is_abstract(function: cst.FunctionDef) -> bool:
    """Whether a function leaves everything to those that override it."""
    steps = [
        step
        for line in function.body.body
        for step in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])
    ]
    return all(
        isinstance(step, (cst.Pass, cst.Raise))
        or (isinstance(step, cst.Expr) and isinstance(step.value, (cst.SimpleString, cst.Ellipsis)))
        for step in steps
    )


def _left_true(function: cst.FunctionDef, call: cst.Call) -> Iterator[str]:
    """The parameters that are True by default, and that a call leaves so: `def evaluate(loader, model, cuda=True)`."""
    if any(one.star for one in call.args):
        return
    for parameter in all_parameters(function.params):
        given = argument_given(function, call, parameter.name.value)
        value = parameter.default if given is None else given
        if isinstance(value, cst.Name) and value.value == "True":
            yield parameter.name.value


def _called(frame: Frame, home: cst.Module, call: cst.Call) -> tuple[Called, ...]:
    name = loading_scopes.name_of_call(call)
    if not name or name.startswith("__"):
        return ()
    if (name in _OF_MODULES or name in TENSOR_NAMES) and not _is_of_project(frame, call.func):
        return ()
    if isinstance(call.func, cst.Name):
        own = tuple((function, home) for function in functions_named(home.body, name))
        if own:
            return own
    receiver = (dotted(call.func.value) or "") if isinstance(call.func, cst.Attribute) else ""
    receiver = receiver.rpartition(".")[2]
    key = ("goes on to", name, receiver)
    known: tuple[Called, ...] | None = frame.analysis.notes.get(key)
    if known is None:
        known = frame.analysis.notes[key] = tuple(_definitions(frame, name, receiver))
    return known


def _classes_of(frame: Frame, receiver: str) -> frozenset[str]:
    """What an attribute or name of the checked file is made by, wherever it is: `self.policy = Policy(...)`."""
    if not receiver:
        return frozenset()
    return frozenset(re.findall(rf"\b{re.escape(receiver)}[ \t]*=[ \t]*(\w+)\(", frame.analysis.written))


def _is_of_project(frame: Frame, function: cst.BaseExpression) -> bool:
    """Whether a function is named by a file of the project (`utils.eval`), or by its bare name."""
    match function:
        case cst.Attribute(value=cst.Name(value=module)):
            return _file_of(frame, module) is not None
        case _:
            return isinstance(function, cst.Name)


def _file_of(frame: Frame, module: str) -> str | None:
    """What the file is called that a name of the checked file stands for, `utils.py`; None where it stands for none of the project."""
    match frame.module_frame.env.names.get(module):
        case Import(location=location, name="") | Namespace(location=location):
            return os.path.basename(location.file or "")
        case Import(name=name):
            return f"{name}.py"
        case _:
            return None


def _definitions(frame: Frame, name: str, receiver: str) -> list[Called]:
    """The functions of a name here and in what is imported, and the methods; of one file or class only, if that is named and has one."""
    modules = {frame.analysis.source.path: frame.analysis.module}
    near = frame.analysis.learn(_imported, frame.analysis)
    if near:
        others = frame.analysis.imports.callers(f"def {name}", name)
        modules.update((path, module) for path, module in others if path in near)
    file, classes = _file_of(frame, receiver), _classes_of(frame, receiver)
    own = [
        (function, module)
        for path, module in modules.items()
        for function in (
            *(functions_named(module.body, name) if os.path.basename(path) == file else ()),
            *(
                method
                for line in module.body
                if isinstance(line, cst.ClassDef) and line.name.value in classes
                for method in functions_named(line.body.body, name)
            ),
        )
    ]
    return own or [
        (function, module) for module in modules.values() for function in methods_named(module, name)
    ]


def _imported(analysis: Analysis) -> frozenset[str]:
    """The files of the project that the checked one imports, directly or not, by path; none where there are too many."""
    known: frozenset[str] | None = analysis.notes.get("imported files")
    if known is None:
        found = reach.with_imported(analysis, {analysis.source.path: analysis.written})
        known = analysis.notes["imported files"] = frozenset(found or ()) - {analysis.source.path}
    return known

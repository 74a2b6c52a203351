"""Code that is only meant for a machine with an accelerator: by what it imports, measures, insists on, or by how its tests are marked."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Api, Function
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, is_main_guard, remembered, walk
from torchdev_lint.torch_api.libraries import ACCELERATOR_ONLY

_WAITS = re.compile(r"torch\.cuda\.synchronize\(\)|\bProfilerActivity\.CUDA\b")
_BENCHMARK = re.compile(r"(?i)(?:^|[/\\])bench\w*[/\\](?:[^/\\]+[/\\])?[^/\\]+$|(?:^|[/\\])bench\w*\.py$")
_TESTS_OF_GPUS = re.compile(
    r"(?i)(?:^|[/\\])(?:test_(?:\w+_)?(?:gpu|cuda)(?:_\w+)?|(?:\w+_)?(?:gpu|cuda)_tests?)\.py$"
)
_GUARD_DECORATOR = re.compile(r"(?i)cuda|gpu|accelerator|skip_?if|skip_?unless|require")
_GUARD_FIXTURE = re.compile(r"(?i)^(?:requires?|needs?|skip\w*|only)_\w*(?:cuda|gpu|accelerator)")
"""Fixtures of pytest that skip the test which asks for them."""


def needs_accelerator(frame: Frame) -> bool:
    """Whether a machine without an accelerator does not come so far: the file, or the way to here, has imported what only runs on one."""
    return frame.analysis.learn(_needs_accelerator, frame.analysis) or any(
        isinstance(value, Api) and ACCELERATOR_ONLY.match(value.path) is not None
        for value in frame.env.names.values()
    )


def is_marked_function(function: Function) -> bool:
    """Whether a decorator of the function or of its class, or a fixture, keeps it from machines without an accelerator."""
    owner = () if function.owner is None else function.owner.decorators
    if any(_GUARD_DECORATOR.search(decorator) for decorator in (*function.decorators, *owner)):
        return True
    return isinstance(function.node, cst.FunctionDef) and _asks_for_guard(function.node)


def insists(node: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function raises by itself where there is no accelerator: its default device is what it says that it needs."""
    return not isinstance(node, cst.Lambda) and any(map(_is_demand, walk(node.body)))


_BY_DEFAULT = re.compile(r"""^torch\.set_default_(?:tensor_type|device)\(\s*['"]?(?:torch\.)?cuda\b""")


@remembered(cst.Module)
def is_run_there(module: cst.Module) -> bool:
    """Whether a script begins with making all tensors on an accelerator, whatever the machine: without one it does not come far.

    `if __name__ == "__main__": torch.set_default_tensor_type("torch.cuda.FloatTensor"); train()`.
    """
    code = module.code_for_node
    return any(
        isinstance(part, cst.SimpleStatementLine) and _BY_DEFAULT.match(code(part).strip()) is not None
        for line in module.body
        for part in (line.body.body if isinstance(line, cst.If) and is_main_guard(line.test) else (line,))
    )


_ONLY_THERE = frozenset(f"torch.cuda.{name}" for name in ("Stream", "CUDAGraph", "graph"))


def parts_for_accelerators(module: cst.Module) -> frozenset[int]:
    """What stands, by id, in functions that are called for an accelerator, so that there is a first one.

    One that opens a stream on it whatever happens, one that numbers several (`f"cuda:{index}"`), the step of one process among others,
    and by default what a method called `cuda`, or `to`, is asked for, and what one of a class such as `KMeansGPU` is.
    """
    found: set[int] = set()
    for owner, function in _functions(module):
        named = owner is not None and (
            function.name.value in ("cuda", "to") or _OF_GPUS.search(owner.name.value) is not None
        )
        if named:
            found |= {id(part) for parameter in all_parameters(function.params) for part in walk(parameter)}
        if _is_for_accelerators(function):
            found |= {id(part) for part in walk(function)}
    return frozenset(found)


@remembered(cst.FunctionDef)
def _is_for_accelerators(function: cst.FunctionDef) -> bool:
    return (
        _opens_stream(function)
        or works_with_others(function)
        or any(map(_numbers_devices, walk(function.body)))
    )


_OF_GPUS = re.compile(r"(?:GPU|Gpu|CUDA|Cuda)$")
"""Classes, by name, of which another does the same on the CPU."""

_COLLECTIVES = frozenset("broadcast all_gather all_reduce reduce_scatter gather scatter".split())


def works_with_others(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function is one step of a process among others, to which it hands tensors: each has made its own device the current one."""
    if isinstance(function, cst.FunctionDef):
        return _hands_tensors(function)
    return any(map(_is_collective, walk(function.body)))


@remembered(cst.FunctionDef)
def _hands_tensors(function: cst.FunctionDef) -> bool:
    return any(map(_is_collective, walk(function.body)))


def _is_collective(node: cst.CSTNode) -> bool:
    if type(node) is not cst.Call:
        return False
    path = dotted(node.func) or ""
    return path.startswith(("torch.distributed.", "dist.")) and path.rpartition(".")[2] in _COLLECTIVES


def _functions(module: cst.Module) -> Iterator[tuple[cst.ClassDef | None, cst.FunctionDef]]:
    for node in walk(module, below=(cst.ClassDef, cst.FunctionDef)):
        if isinstance(node, cst.FunctionDef):
            yield None, node
        elif isinstance(node, cst.ClassDef):
            yield from ((node, line) for line in node.body.body if isinstance(line, cst.FunctionDef))


def _opens_stream(function: cst.FunctionDef) -> bool:
    return any(
        isinstance(node, cst.Call) and dotted(node.func) in _ONLY_THERE
        for line in function.body.body
        if isinstance(line, (cst.SimpleStatementLine, cst.With))
        for node in walk(line)
    )


def _numbers_devices(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.FormattedString)
        and len(node.parts) == 2
        and isinstance(node.parts[0], cst.FormattedStringText)
        and node.parts[0].value == "cuda:"
    )


def _is_demand(part: cst.CSTNode) -> bool:
    """`assert torch.cuda.is_available()`, or `if not torch.cuda.is_available(): raise ...`."""
    return (isinstance(part, cst.Assert) and _asks_for_one(part.test)) or (
        isinstance(part, cst.If)
        and isinstance(part.test, cst.UnaryOperation)
        and isinstance(part.test.operator, cst.Not)
        and _asks_for_one(part.test)
        and any(isinstance(line, cst.Raise) for line in walk(part.body))
    )


def _asks_for_one(test: cst.BaseExpression) -> bool:
    return any(
        isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and part.func.attr.value == "is_available"
        for part in walk(test)
    )


def _asks_for_guard(node: cst.FunctionDef) -> bool:
    return node.name.value.startswith("test") and any(
        _GUARD_FIXTURE.match(parameter.name.value) for parameter in all_parameters(node.params)
    )


def _needs_accelerator(analysis: Analysis) -> bool:
    """Whether a machine without an accelerator is not meant to run the file: it imports, unconditionally, what only runs on one, or
    demands one when it is imported, it is a benchmark that waits for one, or a file of tests for one, by its name, or all its tests ask
    for one."""
    known = analysis.notes.get("needs accelerator")
    if known is None:
        measures = _BENCHMARK.search(analysis.source.path) is not None
        tests = [
            line
            for line in analysis.module.body
            if isinstance(line, cst.FunctionDef) and line.name.value.startswith("test")
        ]
        known = (
            (measures and analysis.says(_WAITS))
            or _TESTS_OF_GPUS.search(analysis.source.path) is not None
            or (bool(tests) and all(map(_asks_for_guard, tests)))
            or any(
                _is_demand(statement) or any(map(ACCELERATOR_ONLY.match, _modules_imported(statement)))
                for line in analysis.module.body
                for statement in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])
            )
        )
        analysis.notes["needs accelerator"] = known
    return bool(known)


def _modules_imported(statement: cst.BaseSmallStatement | cst.BaseCompoundStatement) -> Iterator[str]:
    match statement:
        case cst.Import(names=names):
            yield from (alias.evaluated_name for alias in names)
        case cst.ImportFrom(module=module, relative=()) if module is not None:
            yield dotted(module) or ""
        case _:
            pass

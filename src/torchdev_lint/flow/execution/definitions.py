"""Statements that bind a name to what they define or import: functions, classes, imports."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame, statement
from torchdev_lint.flow.calling.decorators import announce, decorated, run_on_class
from torchdev_lint.flow.calling.functions import evaluate_defaults
from torchdev_lint.flow.domain.values import (
    Class,
    Function,
)
from torchdev_lint.flow.instances.classes import ClassModel, decorator_names
from torchdev_lint.flow.project.broken_imports import fails_in_cell
from torchdev_lint.flow.syntax.trees import dotted, walk


@statement(cst.FunctionDef)
def visit_FunctionDef(frame: Frame, node: cst.FunctionDef) -> None:
    defaults = evaluate_defaults(frame, node)
    function = Function(node, node.name.value, frame, decorators=decorator_names(node), defaults=defaults)
    frame.bind(node.name.value, decorated(frame, node, function))
    frame.analysis.notes["defined under", id(node)] = frame.env.path
    frame.analysis.meet(function)


@statement(cst.ClassDef)
def visit_ClassDef(frame: Frame, node: cst.ClassDef) -> None:
    bases = tuple(frame.analysis.imports.force(frame.evaluate(base.value)) for base in node.bases)
    model = ClassModel(node.name.value, node, frame, bases, decorators=decorator_names(node))
    for keyword in node.keywords:
        if keyword.keyword is not None and keyword.keyword.value == "metaclass":
            model.metaclass = frame.analysis.imports.force(frame.evaluate(keyword.value))
    body = Frame(
        frame.analysis,
        frame.env.inside(),
        parent=frame,
    )
    if model.is_enum:
        frame.analysis.quiet += 1  # the members of an enumeration are names
    fields: list[str] = []
    for line in node.body.body:
        if isinstance(line, cst.FunctionDef):
            evaluate_defaults(body, line)
            names = decorator_names(line)
            if "setter" in names or "deleter" in names:
                if "setter" in names:
                    model.setters[line.name.value] = line
                continue
            model.methods[line.name.value] = line
            plain = Function(line, line.name.value, body, decorators=names)
            wrapped = decorated(body, line, plain)
            if isinstance(wrapped, Function) and wrapped != plain:
                model.wrapped[line.name.value] = wrapped
            continue
        if isinstance(line, cst.SimpleStatementLine):
            fields += [
                part.target.value
                for part in line.body
                if isinstance(part, cst.AnnAssign) and isinstance(part.target, cst.Name)
            ]
        body.execute([line])
    if model.is_enum:
        frame.analysis.quiet -= 1
    inherited = [name for base in model.bases_in_file() for name in base.fields]
    model.fields = tuple(dict.fromkeys([*inherited, *fields]))
    model.attributes = frame.analysis.table(dict(body.env.names))
    model.replaced = frame.analysis.table({})
    frame.env.heap = body.env.heap
    frame.bind(node.name.value, Class(model))
    announce(frame, node, model)
    for name, method in model.methods.items():
        frame.analysis.meet(model.function(method, name, None))
    if (template := _template(model)) is not None and not frame.source.foreign:
        frame.analysis.pending.append(template)  # of another file, too, which does not know of this class
    run_on_class(frame, node, Class(model))
    model.is_complete = True


def _template(model: ClassModel) -> Function | None:
    """The `forward` or `step` of a base class, which calls methods that the class has of its own: it is read as that of the class.

    `def forward(self, x): return self.compute(self.prepare(x))`: what `compute` is given nobody else says.
    """
    name = "forward" if model.is_module else "step" if model.is_optimizer else ""
    inherited = None if not name or name in model.methods else model.find(name)
    if inherited is None or not any(
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in model.methods
        and dotted(node.func.value) == "self"
        for node in walk(inherited.body)
    ):
        return None
    function = model.function(inherited, name, Class(model))
    return function if function.node is inherited else None


_TESTS = re.compile(r"\bTestCase\b|\bunittest\.\w")
"""What a file says that has tests; others import `unittest` and make nothing of it."""


@statement(cst.Import)
def visit_Import(frame: Frame, node: cst.Import) -> None:
    for alias in node.names:
        path = _dotted_name(alias.name)
        if path != "unittest" or frame.source.foreign or _TESTS.search(frame.analysis.written):
            frame.analysis.imported.add(path.partition(".")[0])
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            frame.bind(alias.asname.name.value, frame.analysis.imports.imported(frame, path, ""))
        else:
            frame.bind(path.partition(".")[0], frame.analysis.imports.package(frame, path))


@statement(cst.ImportFrom)
def visit_ImportFrom(frame: Frame, node: cst.ImportFrom) -> None:
    base = "." * len(node.relative) + ("" if node.module is None else _dotted_name(node.module))
    frame.analysis.imported.add(base.partition(".")[0])
    if isinstance(node.names, cst.ImportStar):
        frame.analysis.imports.star(frame, base)
        return
    if frame.runs_cells() and fails_in_cell(frame.analysis, base, node):
        frame.leave()
        return
    for alias in node.names:
        name = _dotted_name(alias.name)
        bound = alias.name if alias.asname is None else alias.asname.name
        assert isinstance(bound, cst.Name)
        frame.bind(bound.value, frame.analysis.imports.imported(frame, base, name))


def _dotted_name(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted_name(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""

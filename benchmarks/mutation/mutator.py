"""Takes one thing at a time out of a program that handles its devices rightly.

An *operator* is a kind of mistake: a forgotten `.to(device)`, a buffer that became a plain attribute. It is a function that
looks at one LibCST node and yields the edits of its mistake at this place. A *mutant* is the program with one operator
applied at one place. Edits are made in the text, not in the tree, and keep every line end, so that a row of the mutant is the
same row of the program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, ParentNodeProvider

MAX_LITERALS = 3
"""At how many places of a program a literal GPU is tried: the mistake is the same everywhere."""

DTYPE = re.compile(r"torch\.(?:u?int|float|double|half|bfloat|long|short|bool|complex)\w*|(?:.*\.)?dtype")
STORED = frozenset({"self", "args", "opt", "cfg", "config", "settings", "hparams", "agent"})
"""What a stored device hangs on; `x.device` of anything else is the device of another value."""


class MutationError(Exception):
    """An operator has made a text that does not parse: a mistake of the operator."""


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the text between two offsets."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Mutant:
    """One program with one mistake; `row` and `column` (1-based) are where it was made, `line` is what stands there now."""

    operator: str
    row: int
    column: int
    line: str
    source: str


@dataclass(frozen=True)
class Operator:
    """A kind of mistake."""

    name: str
    what: str
    edits: Callable[[cst.CSTNode, Program], Iterator[Edit]]


OPERATORS: dict[str, Operator] = {}
"""All operators by name, in the order of the report."""

_Edits = Callable[[cst.CSTNode, "Program"], Iterator[Edit]]


def operator(name: str, what: str) -> Callable[[_Edits], _Edits]:
    """Register the function below as an operator."""

    def register(function: _Edits) -> _Edits:
        OPERATORS[name] = Operator(name, what, function)
        return function

    return register


class Program:
    """A parsed program and what the operators ask about it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._bytes = b"" if source.isascii() else source.encode()
        wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
        self.module = wrapper.module
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)
        self.nodes = _walk(self.module)
        self._functions: dict[str, cst.FunctionDef] = {}
        self._classes: dict[str, cst.ClassDef] = {}
        for node in self.nodes:
            if isinstance(node, cst.FunctionDef):
                self._functions[node.name.value] = node
            elif isinstance(node, cst.ClassDef):
                self._classes[node.name.value] = node
        self._module_classes: set[str] = set()
        self._modules: set[str] = {"model", "module"}
        self._module_functions: set[str] = set()
        self._devices: set[str] = set()
        for _ in range(3):  # each round may use the names of the one before
            self._learn()

    # -- text

    def start(self, node: cst.CSTNode) -> int:
        """The offset of the node's first character."""
        return self._offset(self._spans[node].start)

    def end(self, node: cst.CSTNode) -> int:
        """The offset behind the node's last character."""
        span = self._spans[node]
        return self._offset(span.start + span.length)

    def _offset(self, byte: int) -> int:
        return len(self._bytes[:byte].decode()) if self._bytes else byte

    def text(self, node: cst.CSTNode) -> str:
        """The node as it is written, without parentheses around it."""
        return self.source[self.start(node) : self.end(node)]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around this one."""
        return self._parents.get(node)

    # -- meaning, guessed from the text; it decides only under which operator a mutant is counted

    def is_module(self, node: cst.BaseExpression) -> bool:
        """Whether the expression is a network, as far as this file tells."""
        if isinstance(node, cst.Call):
            name = self.text(node.func)
            if re.fullmatch(r"(?:torch\.)?nn\.(?!Parameter\b)[A-Z]\w*", name) or name in self._module_classes:
                return True
            if name in self._module_functions:
                return True
            if name.rpartition(".")[2] == "deepcopy" and node.args:
                return self.is_module(node.args[0].value)
            if isinstance(node.func, cst.Attribute) and node.func.attr.value in (
                "to",
                "cuda",
                "eval",
                "train",
            ):
                return self.is_module(node.func.value)
            return False
        return isinstance(node, (cst.Name, cst.Attribute)) and self.text(node) in self._modules

    def is_device(self, node: cst.BaseExpression) -> bool:
        """Whether the expression is the device that the program has chosen, rather than where some value is."""
        if isinstance(node, cst.IfExp):
            return self.is_device(node.body)
        if isinstance(node, (cst.SimpleString, cst.FormattedString)):
            return "cuda" in self.text(node) or "cpu" in self.text(node)
        if isinstance(node, cst.Call):
            return "device" in self.text(node.func).rpartition(".")[2]
        if isinstance(node, cst.Subscript):
            return "device" in self.text(node)
        if isinstance(node, cst.Attribute) and node.attr.value == "device":
            return self.text(node.value).rpartition(".")[2] in STORED
        text = self.text(node)
        return text in self._devices or "dev" in text.rpartition(".")[2].lower()

    def is_float(self, text: str) -> bool:
        """Whether the text of an argument is a dtype."""
        return DTYPE.fullmatch(text) is not None

    def has_default(self, call: cst.Call, parameter: str) -> bool:
        """Whether a function or class of this file may be called without `parameter`."""
        name = self.text(call.func)
        function = self._functions.get(name)
        if name in self._classes:
            body = self._classes[name].body.body
            function = next(
                (one for one in body if isinstance(one, cst.FunctionDef) and one.name.value == "__init__"),
                None,
            )
        if function is None:
            return False
        parameters = (*function.params.params, *function.params.kwonly_params)
        return any(one.name.value == parameter and one.default is not None for one in parameters)

    def _learn(self) -> None:
        for name, defined in self._classes.items():
            bases = [self.text(base.value) for base in defined.bases]
            if any(base.endswith("nn.Module") or base in self._module_classes for base in bases):
                self._module_classes.add(name)
        for node in self.nodes:
            if isinstance(node, cst.Return) and node.value is not None and self.is_module(node.value):
                around = self.parent(node)
                while around is not None and not isinstance(around, cst.FunctionDef):
                    around = self.parent(around)
                if around is not None and around.name.value != "forward":
                    self._module_functions.add(around.name.value)
            elif isinstance(node, cst.Assign):
                self._learn_assignment(node)

    def _learn_assignment(self, node: cst.Assign) -> None:
        target, value = node.targets[0].target, node.value
        pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [(target, value)]
        if isinstance(target, cst.Tuple):
            names = [element.value for element in target.elements]
            if isinstance(value, cst.Tuple):
                pairs = list(zip(names, [element.value for element in value.elements], strict=False))
            else:
                pairs = [(name, value) for name in names]
        for name, what in pairs:
            if self.is_module(what):
                self._modules.add(self.text(name))
            elif isinstance(name, (cst.Name, cst.Attribute)) and self.is_device(what):
                self._devices.add(self.text(name))


def _walk(node: cst.CSTNode) -> list[cst.CSTNode]:
    found = [node]
    for child in node.children:
        found += _walk(child)
    return found


def mutants(source: str, operators: Sequence[str] | None = None) -> list[Mutant]:
    """Every mutant of a program, by place; of the named operators only, if any are named.

    Raises MutationError when an operator has made what is not Python.
    """
    program = Program(source)
    found: list[Mutant] = []
    for name, one in OPERATORS.items():
        if operators is not None and name not in operators:
            continue
        edits = sorted({edit for node in program.nodes for edit in one.edits(node, program)})
        if name == "other-gpu-literal":
            edits = edits[:: max(1, -(-len(edits) // MAX_LITERALS))]
        found += [_mutant(source, name, edit) for edit in edits]
    return sorted(found, key=lambda mutant: (mutant.row, mutant.column, mutant.operator))


def _mutant(source: str, name: str, edit: Edit) -> Mutant:
    missing = source.count("\n", edit.start, edit.end) - edit.text.count("\n")
    mutated = source[: edit.start] + edit.text + "\n" * missing + source[edit.end :]
    row = source.count("\n", 0, edit.start) + 1
    column = edit.start - (source.rfind("\n", 0, edit.start) + 1) + 1
    try:
        ast.parse(mutated)
    except SyntaxError as error:
        raise MutationError(f"{name} at {row}:{column}: {error}") from error
    return Mutant(name, row, column, mutated.split("\n")[row - 1].strip(), mutated)


# -- what the operators look for


def _method(node: cst.CSTNode, *names: str) -> tuple[cst.Call, cst.Attribute] | None:
    """The call and its function, if the node is a call of a method with one of these names."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in names:
        return node, node.func
    return None


def _without_call(call: cst.Call, func: cst.Attribute, program: Program) -> Edit:
    """`receiver.method(...)` becomes `receiver`."""
    return Edit(program.start(func.dot), program.end(call), "")


def _target(call: cst.Call, program: Program) -> cst.Arg | None:
    """The argument of `.to` that says where; None for `.to(torch.float32)`."""
    for arg in call.args:
        keyword = arg.keyword.value if arg.keyword is not None else None
        if keyword in ("device", "other") or (
            keyword is None and not program.is_float(program.text(arg.value))
        ):
            return arg
    return None


def _without_argument(call: cst.Call, arg: cst.Arg, program: Program) -> Edit:
    """The call without one of its arguments, and without the comma that this takes."""
    at = next(i for i, one in enumerate(call.args) if one is arg)
    if at + 1 < len(call.args):
        return Edit(program.start(arg), program.start(call.args[at + 1]), "")
    if at:
        return Edit(program.end(call.args[at - 1]), program.end(arg), "")
    return Edit(program.start(arg), program.end(arg), "")


def _moves(node: cst.CSTNode, program: Program) -> tuple[cst.Call, cst.Attribute, cst.Arg | None] | None:
    """`x.to(where)` and `x.cuda()`, less those to the CPU."""
    found = _method(node, "to", "cuda")
    if found is None:
        return None
    call, func = found
    if func.attr.value == "cuda":
        return None if program.text(func.value) == "torch" else (call, func, None)
    arg = _target(call, program)
    if arg is None or program.text(arg.value).strip("'\"") == "cpu":
        return None
    return call, func, arg


def _unmoved(call: cst.Call, func: cst.Attribute, arg: cst.Arg | None, program: Program) -> Edit:
    """Without the move: a dtype that is asked for by the same call stays, and nobody writes `x = x`."""
    if arg is not None and len([one for one in call.args if not _is_flag(one)]) > 1:
        return _without_argument(call, arg, program)
    around = program.parent(call)
    if isinstance(around, cst.Assign) and program.text(around.targets[0].target) == program.text(func.value):
        return Edit(program.start(around), program.end(around), "pass")
    return _without_call(call, func, program)


def _is_flag(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value in ("non_blocking", "copy")


def _follows(arg: cst.Arg | None, program: Program) -> bool:
    return arg is not None and not program.is_device(arg.value)


def _is_statement(node: cst.CSTNode, program: Program) -> bool:
    return isinstance(program.parent(node), cst.Expr)


def _device_keyword(node: cst.CSTNode) -> tuple[cst.Call, cst.Arg] | None:
    if not isinstance(node, cst.Call):
        return None
    for arg in node.args:
        if arg.keyword is not None and arg.keyword.value == "device":
            return node, arg
    return None


def _is_factory(call: cst.Call, program: Program) -> bool:
    name = program.text(call.func)
    return re.fullmatch(r"torch\.(?!Generator\b|device\b|autocast\b)[a-z]\w*", name) is not None


# -- the operators


@operator("tensor-to-dropped", "`x.to(device)` of a tensor or a batch becomes `x`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _moves(node, program)
    if found is None or _is_statement(node, program):
        return
    call, func, arg = found
    if not program.is_module(func.value) and not _follows(arg, program):
        yield _unmoved(call, func, arg, program)


@operator("follow-dropped", "`x.to(y.device)`, `x.to(y)` or `x.type_as(y)` becomes `x`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _moves(node, program)
    if found is not None and _follows(found[2], program):
        yield _unmoved(*found, program)
    if (alike := _method(node, "type_as")) is not None:
        yield _unmoved(*alike, None, program)


@operator("module-to-dropped", "`Net().to(device)` becomes `Net()`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _moves(node, program)
    if found is None or _is_statement(node, program):
        return
    call, func, arg = found
    if program.is_module(func.value) and not _follows(arg, program):
        yield _unmoved(call, func, arg, program)


@operator("module-move-deleted", "the statement `model.to(device)` is gone (`pass` stands in its place)")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    if isinstance(node, cst.Expr) and _moves(node.value, program) is not None:
        yield Edit(program.start(node), program.end(node), "pass")


@operator("result-discarded", "`x = x.to(device)` of a tensor or a batch becomes `x.to(device)`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    yield from _discarded(node, program, modules=False)


@operator(
    "module-result-discarded", "`model = model.to(device)` becomes `model.to(device)`: no mistake, a control"
)
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    yield from _discarded(node, program, modules=True)


def _discarded(node: cst.CSTNode, program: Program, *, modules: bool) -> Iterator[Edit]:
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return
    target, value = node.targets[0].target, node.value
    names: list[cst.BaseExpression] = [target]
    values = [value]
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
        names = [element.value for element in target.elements]
        values = [element.value for element in value.elements]
    moves = [_moves(one, program) for one in values]
    receivers = [move[1].value for move in moves if move is not None]
    if [program.text(one) for one in names] != [program.text(one) for one in receivers]:
        return
    if all(program.is_module(one) for one in receivers) == modules:
        yield Edit(program.start(node), program.start(value), "")


@operator("factory-device-dropped", "`torch.zeros(n, device=device)` becomes `torch.zeros(n)`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _device_keyword(node)
    if found is not None and _is_factory(found[0], program) and program.is_device(found[1].value):
        yield _without_argument(*found, program)


@operator("factory-follow-dropped", "`torch.zeros(n, device=x.device)` becomes `torch.zeros(n)`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _device_keyword(node)
    if found is not None and _is_factory(found[0], program) and not program.is_device(found[1].value):
        yield _without_argument(*found, program)


@operator(
    "call-device-dropped",
    "`nn.Linear(3, 2, device=device)` loses its `device=`, a function of the file that can do without it too",
)
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _device_keyword(node)
    if found is None or _is_factory(found[0], program):
        return
    name = program.text(found[0].func)
    if name.startswith(("nn.", "torch.nn.")) or program.has_default(found[0], "device"):
        yield _without_argument(*found, program)


@operator("default-device-dropped", "`torch.set_default_device(device)` is gone (`pass` stands in its place)")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    if (
        isinstance(node, cst.Expr)
        and isinstance(node.value, cst.Call)
        and program.text(node.value.func) == "torch.set_default_device"
    ):
        yield Edit(program.start(node), program.end(node), "pass")


@operator("like-to-factory", "`torch.zeros_like(x)` becomes `torch.zeros(x.shape, dtype=x.dtype)`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    if not isinstance(node, cst.Call) or not node.args:
        return
    match = re.fullmatch(r"torch\.(\w+)_like", program.text(node.func))
    first = node.args[0]
    if match is None or not isinstance(first.value, (cst.Name, cst.Attribute)):
        return
    x, rest = program.text(first.value), [program.text(arg) for arg in node.args[1:]]
    dtype = [] if any(one.startswith("dtype") for one in rest) else [f"dtype={x}.dtype"]
    arguments = ", ".join([f"{x}.shape", *(one.rstrip(", ") for one in rest), *dtype])
    yield Edit(program.start(node), program.end(node), f"torch.{match[1]}({arguments})")


@operator("new-to-factory", "`x.new_zeros(n)` becomes `torch.zeros(n, dtype=x.dtype)`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _method(node, "new_zeros", "new_ones", "new_empty", "new_full", "new_tensor")
    if found is None:
        return
    call, func = found
    x, name = program.text(func.value), func.attr.value.removeprefix("new_")
    texts = [program.text(arg).rstrip(", ") for arg in call.args]
    if not any(one.startswith("dtype") for one in texts):
        texts.append(f"dtype={x}.dtype")
    yield Edit(program.start(call), program.end(call), f"torch.{name}({', '.join(texts)})")


@operator("buffer-to-attribute", '`self.register_buffer("n", t)` becomes `self.n = t`')
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _method(node, "register_buffer")
    if found is None or not _is_statement(node, program) or len(found[0].args) < 2:
        return
    name = program.text(found[0].args[0].value).strip("'\"")
    value = program.text(found[0].args[1])
    yield Edit(
        program.start(node), program.end(node), f"{program.text(found[1].value)}.{name} = {_joined(value)}"
    )


@operator("parameter-to-tensor", "`nn.Parameter(t)` becomes `t`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    if isinstance(node, cst.Call) and program.text(node.func) in ("nn.Parameter", "torch.nn.Parameter"):
        yield Edit(program.start(node), program.end(node), f"{_joined(program.text(node.args[0]))}")


@operator("modulelist-to-list", "`nn.ModuleList([...])` becomes `[...]`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    yield from _unwrapped(
        node, program, ("ModuleList", "ParameterList"), "list", "[]", (cst.List, cst.ListComp)
    )


@operator("moduledict-to-dict", "`nn.ModuleDict({...})` becomes `{...}`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    yield from _unwrapped(
        node, program, ("ModuleDict", "ParameterDict"), "dict", "{}", (cst.Dict, cst.DictComp)
    )


def _unwrapped(
    node: cst.CSTNode,
    program: Program,
    names: tuple[str, ...],
    plain: str,
    empty: str,
    displays: tuple[type[cst.CSTNode], ...],
) -> Iterator[Edit]:
    if not isinstance(node, cst.Call) or not program.text(node.func).endswith(
        tuple(f"nn.{n}" for n in names)
    ):
        return
    if not node.args:
        yield Edit(program.start(node), program.end(node), empty)
        return
    inside = program.source[program.end(node.func) + 1 : program.end(node) - 1].strip().rstrip(",")
    bare = isinstance(node.args[0].value, displays)
    yield Edit(program.start(node), program.end(node), inside if bare else f"{plain}({inside})")


def _joined(text: str) -> str:
    """An expression that was inside a call's parentheses and may stand over several lines."""
    return f"({text})" if "\n" in text else text


@operator("map-location-dropped", "`torch.load(f, map_location=device)` becomes `torch.load(f)`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    if isinstance(node, cst.Call):
        for arg in node.args:
            if arg.keyword is not None and arg.keyword.value == "map_location":
                yield _without_argument(node, arg, program)


@operator("cpu-before-numpy-dropped", "`x.cpu().numpy()` becomes `x.numpy()`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _to_cpu(node, program)
    if found is not None and _feeds_numpy(found[0], program):
        yield _without_call(*found, program)


@operator("cpu-dropped", "`x.cpu()` or `x.to('cpu')`, not before `.numpy()`, becomes `x`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    found = _to_cpu(node, program)
    if found is not None and not _feeds_numpy(found[0], program):
        yield _without_call(*found, program)


def _to_cpu(node: cst.CSTNode, program: Program) -> tuple[cst.Call, cst.Attribute] | None:
    found = _method(node, "cpu", "to")
    if found is None or found[1].attr.value == "cpu":
        return found
    arg = _target(found[0], program)
    return found if arg is not None and program.text(arg.value).strip("'\"") == "cpu" else None


def _feeds_numpy(call: cst.Call, program: Program) -> bool:
    around = program.parent(call)
    return isinstance(around, cst.Attribute) and around.attr.value == "numpy"


@operator("generator-device-dropped", "`torch.Generator(device=device)` becomes `torch.Generator()`")
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    if isinstance(node, cst.Call) and program.text(node.func) == "torch.Generator" and node.args:
        yield _without_argument(node, node.args[0], program)


@operator(
    "other-gpu-literal",
    f'`"cuda:1"` stands in one place for the chosen device (at most {MAX_LITERALS} places a program)',
)
def _(node: cst.CSTNode, program: Program) -> Iterator[Edit]:
    moves, keyword = _moves(node, program), _device_keyword(node)
    arg = moves[2] if moves is not None else keyword[1] if keyword is not None else None
    if arg is not None and not isinstance(arg.value, cst.SimpleString) and not _follows(arg, program):
        yield Edit(program.start(arg.value), program.end(arg.value), '"cuda:1"')

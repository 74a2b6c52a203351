"""Which parameters of a function are tensors.

A parameter counts as a tensor only on evidence: its annotation, or what the body does with it that only tensors allow,
before the name is given another value. To hand it to another function of the file, or a method of the class, that takes it for one is
evidence, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.activation.frame import BUILTINS, Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.values import UNKNOWN, Api, Function, Many
from torchdev_lint.flow.syntax.docstrings import is_number_told, tensors_told
from torchdev_lint.flow.syntax.trees import all_parameters, last_name, receiver_name, remembered, walk
from torchdev_lint.torch_api import factories, functions, modules, operators
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

TESTING = frozenset({"pytest", "unittest"})
"""Libraries that only tests import. What a test's helpers are given is in the test: on the device that it names, or on none."""

TENSOR_ANNOTATION = re.compile(
    r"(?:\b|\.)(?:Tensor|FloatTensor|LongTensor|BoolTensor|IntTensor|DoubleTensor|HalfTensor|ByteTensor|TensorType)\b"
)
_OTHER_ANNOTATION = re.compile(
    r"ndarray|np\.|numpy|ArrayLike|Array\b|[Ll]ist\b|[Dd]ict\b|[Tt]uple\b|Sequence|Iterable|Mapping|Iterator|Callable|\bint\b|\bfloat\b|\bstr\b|Any\b"
)

ONLY_TENSORS = (
    frozenset(
        (
            "unsqueeze unsqueeze_ permute contiguous detach detach_ expand expand_as masked_fill type_as view_as view index_select "
            "repeat_interleave log_softmax softmax sigmoid size dim numel long new_zeros new_ones new_full new_empty new_tensor "
            "narrow chunk bmm baddbmm matmul unbind unfold topk addmm is_cuda requires_grad grad_fn logsumexp masked_select "
            "element_size is_contiguous scatter_add gather is_sparse is_floating_point is_leaf tril triu cumsum_ bernoulli "
            "retain_grad multinomial to_dense coalesce relu tanh float_power norm_ log1p expm1 rsqrt erf lgamma digamma "
            "unsafe_chunk tensor_split nanmean index_add index_copy index_fill scatter movedim squeeze_ transpose_"
        ).split()
    )
    | {name for name in TENSOR_NAMES if name.endswith("_")}
) - frozenset("requires_grad_ share_memory_ apply_ map_ set_ get_ index_ data_ptr".split())
"""Attributes and methods that neither NumPy's arrays nor modules nor numbers have."""

_COUNTS = frozenset({"dim", "size", "numel"})
"""Methods of tensors whose names are also those of numbers that other things have: `config.dim`, `image.size`."""

_MODULES_TOO = frozenset(
    "shape device dtype mean sum T reshape transpose flatten squeeze clone ndim float half bool int double max min abs exp log pow "
    "sqrt argmax argmin cumsum clamp round repeat cpu cuda to t add sub mul div std var norm prod any all sort split".split()
)
"""Attributes and methods of tensors that other things have too: evidence in `forward`, where inputs are tensors as a rule."""

_NUMBER_NAME = re.compile(r"(?:stride|padding|dilation|kernel_size|patch_size|scale_factor|eps|epsilon)s?$")
"""What a parameter is called that is a number, as far as its being reckoned with says anything."""

_MODULE_METHODS = frozenset(modules.MODULE_EVIDENCE) - {"half", "requires_grad_", "apply"}
_ARRAY_ONLY = frozenset("append extend items keys values astype tolist_ iloc loc columns setdefault".split())


@remembered(cst.Module)
def has_tests(module: cst.Module) -> bool:
    """Whether a file has tests, by the names of its functions and classes."""
    return any(
        isinstance(node, (cst.FunctionDef, cst.ClassDef)) and node.name.value.startswith(("test_", "Test"))
        for node in module.body
    )


def in_a_test(frame: Frame) -> bool:
    """Whether the file is one of tests, or a test has led here."""
    if has_tests(frame.analysis.module):
        return True
    current: Frame | None = frame
    while current is not None:
        function = current.function
        if function is not None:
            if function.name.startswith("test_"):
                return True
            if function.owner is not None and "Test" in function.owner.name:
                return True
        current = current.caller
    return False


def fixtures_on_host(frame: Frame, function: Function) -> Iterator[str]:
    """The parameters of a test that are fixtures of its file which give the CPU, whatever the machine."""
    if function.name.startswith("test_") and isinstance(function.node, cst.FunctionDef):
        for parameter in all_parameters(function.node.params):
            fixture = frame.lookup(parameter.name.value)
            if (
                isinstance(fixture, Function)
                and "fixture" in fixture.decorators
                and isinstance(fixture.node, cst.FunctionDef)
                and _gives_cpu(fixture.node)
            ):
                yield parameter.name.value


def _gives_cpu(node: cst.FunctionDef) -> bool:
    given = [part.value for part in walk(node.body) if isinstance(part, cst.Return)]
    return bool(given) and all(
        isinstance(
            value.args[0].value if isinstance(value, cst.Call) and value.args else value, cst.SimpleString
        )
        and _CPU.search(cst.Module([]).code_for_node(value)) is not None
        for value in given
        if value is not None
    )


_CPU = re.compile(r"^(?:torch\.device\()?['\"]cpu['\"]\)?$")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a parameter is: a tensor, or a tuple (`count` of them) or list (`many`) of tensors; `optional`: or None."""

    optional: bool = False
    count: int = 0
    many: bool = False


_LIST_OF_TENSORS = re.compile(r"(?:typing\.)?(?:[Ll]ist|Sequence|Iterable)\[(?:torch\.)?Tensor\]")
_TUPLE_OF_TENSORS = re.compile(r"(?:typing\.)?[Tt]uple\[((?:torch\.)?Tensor(?:, (?:torch\.)?Tensor)*)\]")
_SEQUENCE = re.compile(r"(?:typing\.)?(?:[Ll]ist|Sequence)\b(?!.*Tensor)")


_OF_SEQUENCES = re.compile(r"[\w.]+\s*\[\s*(?:typing\.)?(?:[Ll]ist|Sequence)\b")


def sequence_parameters(frame: Frame, function: Function) -> Iterator[tuple[str, Many]]:
    """The parameters that are lists or tuples of something else than tensors, by their annotation, and what each holds."""
    for parameter in (*function.node.params.params, *function.node.params.kwonly_params):
        if parameter.annotation is not None:
            text = frame.analysis.text(parameter.annotation.annotation).strip("\"'")
            if _SEQUENCE.match(text):
                lists = _OF_SEQUENCES.match(text) is not None
                yield parameter.name.value, Many(Many(UNKNOWN) if lists else UNKNOWN)


def tensor_parameters(frame: Frame, function: Function) -> dict[str, Evidence]:
    """The parameters taken for tensors.

    `frame` resolves the names that the body uses.
    """
    node = function.node
    if not isinstance(node, cst.FunctionDef):
        return {}
    owner = function.owner
    in_forward = owner is not None and (
        (owner.is_module and function.name in ("forward", "__call__"))
        or any(isinstance(base, Api) and base.path == "torch.autograd.Function" for base in owner.bases)
    )
    candidates: dict[str, tuple[bool, bool]] = {}
    found: dict[str, Evidence] = {}
    parameters = all_parameters(node.params)
    for index, parameter in enumerate(parameters):
        name = parameter.name.value
        if (
            index == 0
            and function.owner is not None
            and ("staticmethod" not in function.decorators or function.owner.is_autograd_function)
        ):
            continue  # `self`; in an autograd function the context
        optional = isinstance(parameter.default, cst.Name) and parameter.default.value == "None"
        if parameter.annotation is not None:
            text = frame.analysis.text(parameter.annotation.annotation)
            optional = optional or "None" in text or "Optional" in text
            if TENSOR_ANNOTATION.search(text) and not _OTHER_ANNOTATION.search(text):
                found[name] = Evidence(optional)
                continue
            grouped = _TUPLE_OF_TENSORS.search(text)
            if grouped is not None and "..." not in text:
                found[name] = Evidence(optional, count=grouped[1].count("Tensor"))
                continue
            if _LIST_OF_TENSORS.search(text):
                found[name] = Evidence(optional, many=True)
                continue
            if text.strip("\"'") not in ("Optional", "None"):
                continue
        if parameter.default is not None and not optional:
            continue
        if name in ("grad", "grad_output"):
            found[name] = Evidence(optional)  # what hooks and `backward` are given
            continue
        candidates[name] = (optional, in_forward)
    if candidates:
        told = tensors_told(node, list(candidates))
        for name in _evidenced(frame, function, candidates, told):
            found[name] = Evidence(candidates[name][0])
    return found


def is_number_parameter(frame: Frame, key: Key) -> bool:
    """Whether the parameter of this key is a number: annotated or documented as one, or one by default."""
    current: Frame | None = frame
    while current is not None and (current.function is None or id(current.function.node) != key[1]):
        current = current.parent
    if current is None or current.function is None:
        return False
    parameters = current.function.node.params
    for parameter in all_parameters(parameters):
        if parameter.name.value == key[2]:
            if isinstance(parameter.default, (cst.Integer, cst.Float, cst.UnaryOperation)):
                return True
            if parameter.annotation is None:
                name = parameter.name.value
                node = current.function.node
                return is_number_told(node, name) or name in _given_as_numbers(node)
            text = frame.analysis.text(parameter.annotation.annotation).strip("\"'")
            return set(re.split(r"\W+", text)) <= _NUMBERS
    return False


_TAKES_NUMBERS = frozenset("range randint arange zeros ones empty rand randn linspace".split())
"""Functions, by their last name, whose arguments are numbers."""


@remembered(cst.FunctionDef)
def _given_as_numbers(node: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """The names that a function gives, alone or with a number, to what takes numbers: `range(n)`, `torch.randint(0, 1 + n, shape)`."""
    found: set[str] = set()
    for part in walk(node.body):
        match part:
            case cst.Call(func=function, args=args) if last_name(function) in _TAKES_NUMBERS:
                for argument in args:
                    match argument.value:
                        case cst.Name(value=name):
                            found.add(name)
                        case cst.BinaryOperation(left=cst.Name(value=name), right=cst.Integer()):
                            found.add(name)
                        case cst.BinaryOperation(left=cst.Integer(), right=cst.Name(value=name)):
                            found.add(name)
                        case _:
                            pass
            case _:
                pass
    return frozenset(found)


_NUMBERS = frozenset({"", "int", "float", "bool", "None", "Optional", "Union", "typing"})


def _evidenced(
    frame: Frame, function: Function, candidates: dict[str, tuple[bool, bool]], told: set[str]
) -> set[str]:
    """The candidates that the body treats as tensors before they are given another value, and those that are `told` to be some."""
    shown = set(told)
    attributes: dict[str, set[str]] = {}
    refuted: set[str] = set()
    rebound: set[str] = set()
    for kind, name in _uses(function, set(candidates)):
        if kind == "array":
            frame.analysis.notes["may be an array", id(function.node), name] = True
        if name in rebound or name not in candidates:
            continue
        if kind == "rebound":
            rebound.add(name)
        elif kind in ("no", "array"):
            refuted.add(name)
        elif kind == "strong" or (kind == "weak" and candidates[name][1]):
            shown.add(name)
        elif kind in ("shape", "device", "operand", "moved"):
            # arrays and numbers are asked for no device, nor moved; modules are not reckoned with
            known = attributes.setdefault(name, set())
            known.add(kind)
            if ("device" in known and len(known) > 1) or known >= {"moved", "operand"}:
                shown.add(name)
    return shown - refuted


def _uses(function: Function, names: set[str]) -> Iterator[tuple[str, str]]:
    """(what is said of it, the parameter), in the body's order.

    Said are `strong`, `weak`, `shape`, `device`, `moved`, `operand`, `no`, `array` or `rebound`.
    """
    for statement in function.node.body.body:
        yield from _of_statement(function, statement, names, defaulting=frozenset())


def _of_statement(
    function: Function, node: cst.CSTNode, names: set[str], *, defaulting: frozenset[str]
) -> Iterator[tuple[str, str]]:
    match node:
        case cst.If(test=test, body=body, orelse=orelse):
            yield from _of_expression(function, test, names)
            absent = tested_for_none(test)
            for line in body.body:
                yield from _of_statement(function, line, names, defaulting=defaulting | absent)
            if orelse is not None:
                yield from _of_statement(function, orelse, names, defaulting=defaulting)
        case cst.Assign(targets=targets, value=value):
            yield from _of_expression(function, value, names)
            for target in targets:
                yield from _rebinding(target.target, names - defaulting)
        case cst.AnnAssign(target=target, value=value):
            if value is not None:
                yield from _of_expression(function, value, names)
            yield from _rebinding(target, names - defaulting)
        case cst.For(target=target, iter=iterable):
            yield from _of_expression(function, iterable, names)
            yield from _rebinding(target, names)
            for line in node.body.body:
                yield from _of_statement(function, line, names, defaulting=defaulting)
        case cst.FunctionDef() | cst.ClassDef() | cst.Lambda():
            return
        case cst.SimpleStatementLine(body=lines) | cst.IndentedBlock(body=lines):
            for line in lines:
                yield from _of_statement(function, line, names, defaulting=defaulting)
        case cst.With() | cst.While() | cst.Try() | cst.Else() | cst.Finally():
            for child in node.children:
                yield from _of_statement(function, child, names, defaulting=defaulting)
        case _:
            yield from _of_expression(function, node, names)


def tested_for_none(test: cst.BaseExpression) -> frozenset[str]:
    """The name that a test finds to be None (or false): `x is None`, `not x`."""
    match test:
        case cst.Comparison(
            left=cst.Name(value=name),
            comparisons=[cst.ComparisonTarget(operator=cst.Is(), comparator=cst.Name(value="None"))],
        ):
            return frozenset({name})
        case cst.UnaryOperation(operator=cst.Not(), expression=cst.Name(value=name)):
            return frozenset({name})
        case _:
            return frozenset()


def _rebinding(target: cst.CSTNode, names: set[str]) -> Iterator[tuple[str, str]]:
    match target:
        case cst.Name(value=name) if name in names:
            yield "rebound", name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from _rebinding(element.value, names)
        case _:
            pass


def _of_expression(function: Function, root: cst.CSTNode, names: set[str]) -> Iterator[tuple[str, str]]:
    called: set[int] = set()
    for node in walk(root):
        if type(node) is cst.Call:
            called.add(id(node.func))
        match node:
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=attribute)) if name in names:
                if attribute in _COUNTS and id(node) not in called:
                    yield "no", name  # a number that something else has: a tensor is asked by a call
                elif attribute in ONLY_TENSORS:
                    yield "strong", name
                elif attribute in _MODULE_METHODS or attribute in _ARRAY_ONLY or attribute == "numpy":
                    yield "no", name
                elif attribute not in TENSOR_NAMES and not attribute.startswith("_"):
                    yield "no", name  # a bank of features has a `topk`, a group of processes a `size()`, too
                elif attribute in _MODULES_TOO:
                    yield "weak", name
                    if attribute in ("shape", "device"):
                        yield attribute, name
                    elif attribute in ("to", "cuda"):
                        yield "moved", name
            case cst.Subscript(
                value=cst.Name(value=name),
                slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString()))],
            ) if name in names:
                yield "no", name  # a mapping, or a record
            case cst.Call():
                yield from _of_call(function, node, names)
            case cst.BinaryOperation(left=left, right=right):
                for operand in (left, right):
                    if (
                        isinstance(operand, cst.Name)
                        and operand.value in names
                        and not _NUMBER_NAME.match(operand.value)
                    ):
                        yield "weak", operand.value
                        yield "operand", operand.value
            case cst.Comparison(
                left=cst.Name(value=name),
                comparisons=[
                    cst.ComparisonTarget(
                        operator=cst.Equal() | cst.NotEqual() | cst.LessThan() | cst.GreaterThan(),
                        comparator=cst.Integer() | cst.Float() | cst.Name(),
                    )
                ],
            ) if name in names:
                yield "operand", name
            case _:
                pass


def _of_call(function: Function, node: cst.Call, names: set[str]) -> Iterator[tuple[str, str]]:
    frame = function.frame
    match node.func:
        case cst.Name(value=name) if name in names:
            yield "no", name
            return
        case cst.Name(value="isinstance"):
            tested = frame.analysis.text(node.args[-1].value)
            if not TENSOR_ANNOTATION.search(tested):
                for name in _given_names(node, names):
                    yield "no", name  # of several kinds: the body says which of them it is where
            return
        case cst.Name(value="hasattr"):
            for name in _given_names(node, names):
                yield "no", name  # what it is is asked
            return
        case cst.Name(value=name) if name in BUILTINS:
            return
        case cst.Attribute(value=cst.Name(value=receiver), attr=cst.Name(value=method)) if receiver in names:
            if any(
                argument.keyword is not None and argument.keyword.value in ("dim", "keepdim")
                for argument in node.args
            ) and (method in TENSOR_NAMES):
                yield "strong", receiver
        case _:
            pass
    path = resolved_path(frame, node.func)
    if path is None:
        yield from (("strong", name) for name in _given_as_tensors(function, node, names))
        for name in _given_names(node, names):
            yield "weak", name
        return
    if path.startswith(("numpy.", "PIL.", "cv2.")) or path in (
        "torch.tensor",
        "torch.from_numpy",
        "torch.Tensor",
    ):
        for name in _given_names(node, names):
            yield "no", name
        if path == "torch.from_numpy":
            for argument in node.args:  # `torch.from_numpy(image.transpose(2, 0, 1))`
                made_of = receiver_name(argument.value)
                if made_of in names:
                    yield "array", made_of
    elif path in factories.FACTORIES:
        dtype = next(
            (a.value for a in node.args if a.keyword is not None and a.keyword.value == "dtype"), None
        )
        match dtype:
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="dtype")) if name in names:
                yield "strong", name
            case _:
                pass
    else:
        name = path.rpartition(".")[2]
        for index, argument in enumerate(node.args):
            lists = isinstance(argument.value, (cst.List, cst.Tuple))
            if lists and name not in _OF_LISTS:
                continue
            if argument.keyword is None and takes_tensors(path, index):
                for given in _names_in(argument, names):
                    yield "strong", given


def _given_as_tensors(function: Function, node: cst.Call, names: set[str]) -> Iterator[str]:
    """The names that a function of the same file, or a method of the same class, is given for what it evidently takes to be tensors."""
    if not any(True for _ in _given_names(node, names)):
        return
    helper = _helper(function, node.func)
    if helper is None or not isinstance(helper.node, cst.FunctionDef):
        return
    wanted = _tensors_of(function.frame, helper)
    bound = helper.owner is not None and "staticmethod" not in helper.decorators
    parameters = all_parameters(helper.node.params)[bound:]
    for parameter, argument in zip(parameters, node.args, strict=False):
        if argument.star:
            return
        name = parameter.name.value if argument.keyword is None else argument.keyword.value
        if name in wanted and isinstance(argument.value, cst.Name) and argument.value.value in names:
            yield argument.value.value


def _helper(function: Function, called: cst.BaseExpression) -> Function | None:
    frame, owner = function.frame, function.owner
    match called:
        case cst.Name(value=name):
            helper = frame.lookup(name)
            known = (
                isinstance(helper, Function) and helper.owner is None and helper.frame.source is frame.source
            )
            return helper if known and isinstance(helper, Function) else None
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)) if owner is not None:
            node = owner.methods.get(name)
            return None if node is None else owner.function(node, name, None)
        case _:
            return None


def _tensors_of(frame: Frame, helper: Function) -> frozenset[str]:
    """The parameters of a function that are tensors for certain, of those that have to be given."""
    key = ("tensors of", id(helper.node))
    known: frozenset[str] | None = frame.analysis.notes.get(key)
    if known is None:
        frame.analysis.notes[key] = frozenset()  # functions that call each other
        found = tensor_parameters(helper.frame, helper)
        known = frozenset(
            name for name, shown in found.items() if not (shown.optional or shown.count or shown.many)
        )
        frame.analysis.notes[key] = known
    return known


_OF_LISTS = frozenset(
    "cat concat stack hstack vstack dstack block_diag cartesian_prod meshgrid broadcast_tensors".split()
)


def takes_tensors(path: str, position: int = 0) -> bool:
    """Whether the function of this path is given a tensor at the position: first always, further on if nothing else will do."""
    if path.startswith(functions.OTHER_OPERATIONS):
        return position == 0
    operator = operators.operator(path)
    parameter = None if operator is None else operator.parameter(position)
    return parameter is not None and parameter.is_operand and (position == 0 or parameter.only_tensors)


def resolved_path(frame: Frame, node: cst.BaseExpression) -> str | None:
    """The dotted path of an imported name, by the names visible where the function is defined."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    value = frame.lookup(node.value)
    return ".".join([value.path, *reversed(parts)]) if isinstance(value, Api) else None


def _given_names(node: cst.Call, names: set[str]) -> Iterator[str]:
    for argument in node.args:
        yield from _names_in(argument, names)


def _names_in(argument: cst.Arg, names: set[str]) -> Iterator[str]:
    match argument.value:
        case cst.Name(value=name) if name in names and not argument.star:
            yield name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                if isinstance(element.value, cst.Name) and element.value.value in names:
                    yield element.value.value
        case _:
            pass

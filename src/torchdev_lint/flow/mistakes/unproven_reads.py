"""Reads on the host of which nothing shows that what they read is on the CPU: outputs of models, gradients, samples.

Where models run on accelerators, what comes from them is there, too. What the function was given or where the model is cannot be seen:
this is told to those only who want every read to say `.cpu()`. Nothing is said of what may be a CPU tensor by what the text shows: of
arguments (TDV103), of what functions return that cannot be read, unless it is detached, of batches, arrays and what is made here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.events import Event, HostRead, Place
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Cpu, leaves
from torchdev_lint.flow.domain.values import Function, Tensor, Value
from torchdev_lint.flow.mistakes.forwarding import parameters
from torchdev_lint.flow.read_alone.evidence import TESTING, in_a_test
from torchdev_lint.flow.read_alone.host_functions import draws, is_computed, works_on_host
from torchdev_lint.flow.read_alone.written_evidence import MAKES, is_operation, path_of
from torchdev_lint.flow.syntax.naming import is_model_name
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.flow.telling import attribution
from torchdev_lint.flow.torch_calls.tensor_values import tensor_device
from torchdev_lint.torch_api.distributions import DRAWS, PARAMETERS
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

_DISTRIBUTION = re.compile(r"(?i)(?:^|_)(?:\w*dist|\w*distribution|posterior|prior)s?$")
"""What distributions are called."""

_OF_DISTRIBUTIONS = DRAWS | PARAMETERS | {"icdf", "cdf", "log_prob", "entropy"}

_MAY_BRING = frozenset("cpu cuda to numpy tolist item type result get".split())
"""Methods after which a tensor is where they say, or no tensor; `to` and `type` also convert."""

_CONVERTS = re.compile(
    r"^(?:dtype=)?(?:torch|th|np)\.(?:u?int|float|bfloat|half|double|long|short|bool)\w*$|dtype$"
)

_ASKS = re.compile(r"\bis_cuda\b|\bis_cpu\b|\bdevice\.type\b|\bget_device\(")
"""Questions for where a tensor is."""

_HOLDS_TENSORS = re.compile(
    r"(?:[Dd]ict|[Mm]apping)\[str, *(?:torch\.)?Tensor\]|[Ll]ist\[(?:torch\.)?Tensor\]"
)
"""Annotations of what holds tensors and nothing else."""

_OTHERS = frozenset(("tensorflow", "tf", "jax", "paddle", "mxnet"))
"""Libraries whose tensors have a method `numpy`, too."""
_HOPS = 4


def shown(frame: Frame, reader: str, place: Place, value: Value) -> str:
    """Where something is that is read on the host, as far as the text shows it; empty where it is known, or may be anywhere."""
    analysis = frame.analysis
    if not analysis.options.audits or frame.function is None:
        return ""
    if analysis.muted or frame.source.foreign or frame.reads_tried:
        return ""
    if reader != ".numpy()" and not _is_tensor(value, place):
        return ""
    device = tensor_device(frame, value)
    if device is not None and any(isinstance(leaf, Cpu) for leaf in leaves(device)):
        return ""
    what = _origin(frame, place.value_node)
    return what if what and _matters(frame) else ""


def shown_by_use(frame: Frame, node: cst.BaseExpression) -> str:
    """Where a name is that PyTorch's own functions are given, `torch.sum(grad.abs())`; empty where it may be no tensor, or is known."""
    analysis = frame.analysis
    if (
        not analysis.options.audits
        or frame.function is None
        or analysis.muted
        or frame.source.foreign
        or not isinstance(node, cst.Name)
        or not isinstance(frame.function.node, cst.FunctionDef)
    ):
        return ""
    used = any(
        isinstance(part, cst.Call)
        and (path := path_of(frame, part.func)) is not None
        and path not in MAKES
        and is_operation(path)
        and any(
            isinstance(name, cst.Name) and name.value == node.value
            for argument in part.args
            for name in walk(argument.value)
        )
        for part in walk(frame.function.node.body)
    )
    given = _all_assigned(frame.function.node, node.value, node)
    brought = any("cpu" in analysis.text(one.value) for one in given)
    return "where it was computed" if used and given and not brought and _matters(frame) else ""


def _is_tensor(value: Value, place: Place) -> bool:
    """Whether what a function reads that takes other things, too, is a tensor for certain."""
    if isinstance(value, Tensor):
        return not value.guess and not value.mapping
    return any(
        isinstance(part, cst.Attribute) and part.attr.value == "detach" for part in walk(place.value_node)
    )


def without_known(events: Sequence[Event]) -> Iterator[Event]:
    """The events, less the unproven reads of which more is known."""
    known = {
        id(event.place.value_node)
        for event in events
        if isinstance(event, HostRead) and (event.certain or event.beside or event.parameter)
    }
    for event in events:
        if not (isinstance(event, HostRead) and event.unproven and id(event.place.value_node) in known):
            yield event


def _matters(frame: Frame) -> bool:
    """Whether the function may be called where an accelerator is used."""
    current: Frame | None = frame
    while current is not None:
        if current.function is not None and _is_for_host(current.function):
            return False
        current = current.caller
    analysis = frame.analysis
    assert frame.function is not None
    return not (
        in_a_test(frame)
        or not TESTING.isdisjoint(analysis.imported)
        or not _OTHERS.isdisjoint(analysis.imported)
        or _ASKS.search(analysis.text(frame.function.node)) is not None
        or attribution.host_was_chosen(frame.env.path)
        or attribution.belongs_to_host(frame)
        or attribution.is_reached_on_host(frame)
    )


def _is_for_host(function: Function) -> bool:
    """Whether a function is there for the CPU; not what computes an attribute, nor what draws its own inputs for a module."""
    own = function.owner is not None and function.owner.is_module and draws(function)
    return works_on_host(function) and not is_computed(function) and not own


# -- what is read


def _runs_a_model(name: str) -> bool:
    """Whether a model, or what runs it, is called so: `net`, `apply_model_fn`, `forward`."""
    stem = re.sub(r"_(?:fn|func)$", "", name)
    return is_model_name(stem) or stem.endswith("forward")


def _origin(frame: Frame, node: cst.BaseExpression, hops: int = _HOPS) -> str:
    """What the text shows of what is read, that would be on an accelerator where there is one; empty where it may be anything."""
    found = ""
    current = node
    while True:
        match current:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name)), args=arguments):
                if name in _MAY_BRING and not _only_converts(frame, name, arguments):
                    return ""
                if name in _OF_DISTRIBUTIONS and _is_called(inner, _DISTRIBUTION):
                    return "where the parameters of the distribution are"
                if _runs_a_model(name):
                    return "where the model is"
                if dotted(inner) in ("torch", "F", "nn.functional"):
                    return found or _of_arguments(frame, arguments, hops)
                if name == "detach":
                    found = "where it was computed"
                elif name not in TENSOR_NAMES:
                    return ""  # what cannot be read may give anything from the CPU
                current = inner
            case cst.Call(func=cst.Name(value=name)):
                return "where the model is" if _runs_a_model(name) else ""
            case cst.Attribute(value=inner, attr=cst.Name(value=name)):
                if name == "grad":
                    return "where the parameter is"
                if name in PARAMETERS and _is_called(inner, _DISTRIBUTION):
                    return "where the parameters of the distribution are"
                current = inner
            case cst.Subscript(value=inner):
                current = inner
            case cst.Name():
                return _of_name(frame, current, hops, found)
            case cst.BinaryOperation(left=left, right=right):
                return _origin(frame, left, hops) or _origin(frame, right, hops)
            case _:
                return ""


def _of_name(frame: Frame, before: cst.Name, hops: int, found: str) -> str:
    """The same of what has a name in the function."""
    name = before.value
    assert frame.function is not None
    node = frame.function.node
    if not isinstance(node, cst.FunctionDef) or not hops or name in ("np", "numpy", "self", "torch"):
        return found if name == "self" else ""
    declared = parameters(node)
    if name in declared:
        annotation = declared[name].annotation
        text = "" if annotation is None else frame.analysis.text(annotation.annotation)
        return f"wherever the caller put what `{name}` holds" if _HOLDS_TENSORS.search(text) else ""
    given = _assigned(node, name, before)
    if given is None or "cpu" in frame.analysis.text(given):
        return ""
    return _origin(frame, given, hops - 1)


def _assigned(function: cst.FunctionDef, name: str, before: cst.CSTNode) -> cst.BaseExpression | None:
    """What a name was given last before a place in the function, in the order of the text."""
    found = _all_assigned(function, name, before)
    return found[-1].value if found else None


def _all_assigned(function: cst.FunctionDef, name: str, before: cst.CSTNode) -> list[cst.Assign]:
    """The assignments of a name before a place in the function, in the order of the text, but the one that the place is in."""
    found: list[cst.Assign] = []
    for node in walk(function.body):
        if node is before:
            break
        if isinstance(node, cst.Assign) and any(
            isinstance(part, cst.Name) and part.value == name
            for target in node.targets
            if isinstance(target.target, (cst.Name, cst.Tuple))
            for part in walk(target.target)
        ):
            found.append(node)
    if found and any(part is before for part in walk(found[-1])):
        found.pop()
    return found


def _of_arguments(frame: Frame, arguments: Sequence[cst.Arg], hops: int) -> str:
    """The same of what a function of PyTorch's is given first: a tensor, or several."""
    first = arguments[0].value if arguments else None
    parts = [one.value for one in first.elements] if isinstance(first, (cst.List, cst.Tuple)) else [first]
    return next(filter(None, (_origin(frame, part, hops) for part in parts if part is not None)), "")


def _only_converts(frame: Frame, name: str, arguments: Sequence[cst.Arg]) -> bool:
    return name in ("to", "type") and all(
        _CONVERTS.search(frame.analysis.text(one)) is not None for one in arguments
    )


def _is_called(node: cst.BaseExpression, names: re.Pattern[str]) -> bool:
    """Whether the last name of what something is taken from is one of these."""
    text = dotted(node)
    return text is not None and names.search(text.rpartition(".")[2]) is not None

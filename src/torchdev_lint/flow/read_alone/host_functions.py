"""Functions in places where the CPU is right: datasets, collate functions, transforms, plots, conversions, tests.

Nothing is concluded there from what they are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Api, Class, Function, Object, alternatives
from torchdev_lint.flow.read_alone.evidence import TENSOR_ANNOTATION
from torchdev_lint.flow.syntax.docstrings import are_told_on_host
from torchdev_lint.flow.syntax.trees import dotted, last_name, remembered, walk
from torchdev_lint.torch_api.libraries import ON_HOST

HOST_FILE = re.compile(
    r"(?i)(?:^|[/\\])(?:\w+_)?(?:inputs|data_?sets?|data_?loaders?|data_?loading|data_?utils?|data_?transforms?\w*|transforms?|collat\w+|"
    r"(?:train|test|dev|valid?)_?sets?|pre_?process\w*|augment\w*|tokeni[sz]\w+|visuali[sz]\w+|plot\w*|gloo\w*|onnx\w*|\w+_onnx|convert(?:_\w+)?)\.(?:py|ipynb)$|"
    r"(?:^|[/\\])data\.py$|"
    r"[/\\]data[/\\](?:\w+[/\\])?\w*process\w*\.py$|[/\\](?:transforms|tests?|loaders?|data_?loaders?|\w*augment\w*)[/\\]|[/\\]datasets?[/\\](?:[^/\\]+[/\\])?[^/\\]+$"
)
"""Files, by name, of code that prepares data or shows it, or exports a model, on the host."""

_HOST_FUNCTION = re.compile(
    r"(?i)(?:^|_)(?:collat\w+|transforms?|augment\w*|preprocess\w*|convert\w*|plot\w*|draw\w*|show|visuali[sz]e\w*|imshow|save\w*|"
    r"export\w*|test|tests|setup|load\w*|tokeni[sz]e\w*|read\w*|write\w*|print\w*|report\w*|dump\w*|to_numpy|worker\w*|viterbi\w*)(?:_|$)"
)
"""Functions, by name, that work on the host."""

_SHOWS = re.compile(r"(?i)(?:^|_)(?:plot\w*|draw\w*|visuali[sz]e\w*|imshow)(?:_|$)")


def shows_something(frame: Frame) -> bool:
    """Whether one of the functions on the way here draws what it is given, which is on the CPU then."""
    return _leads_here(frame, _SHOWS)


def is_named_for_cpu(frame: Frame) -> bool:
    """Whether one of the functions on the way here says by its name that it is for the CPU: who calls `_init_cpu(weight)` is there."""
    return _leads_here(frame, _ON_CPU)


def _leads_here(frame: Frame, named: re.Pattern[str]) -> bool:
    current: Frame | None = frame
    while current is not None:
        if current.function is not None and named.search(current.function.name):
            return True
        current = current.caller
    return False


HOST_CLASS = re.compile(
    r"(?:Dataset|DataModule|Processing|Collat\w+|Transforms?|Augment\w*|Tokenizer\w*|TaskEncoder|Plotter|Visuali[sz]er|TestCase|Tests?|Reader|Writer)$|"
    r"Checkpoint(?:Saver|Loader|Converter)\w*$"
)
_TOKENIZER = re.compile(r"Tokenizer\w*$")
"""Those that are modules embed what they are given, and follow the model."""
_HOST_BASE = re.compile(rf"{HOST_CLASS.pattern}|Loader$")
"""Classes, by their name or that of a base, whose methods work on the host."""

_ON_CPU = re.compile(r"(?<!to)(?<!is)(?<!from)_cpu$|^cpu_(?!to)")
"""Functions that say by their name where they work: `_fetch_cpu`, beside `_fetch_cuda`."""

_ENTRY = re.compile(r"\w\.(?:weight|bias)$")


def _converts_entries(node: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a decorator names the entries of checkpoints that a function is given: `@transform(source="*.query.weight", target=...)`."""
    return isinstance(node, cst.FunctionDef) and any(
        isinstance(part, cst.SimpleString) and _ENTRY.search(str(part.raw_value))
        for one in node.decorators
        if isinstance(one.decorator, cst.Call)
        for part in walk(one.decorator)
    )


_SAMPLER = re.compile(r"^(?:Batch|Random|Distributed|Weighted\w*)?Sampler$")
"""Samplers of data, but for what such a class is given as tensors: a project calls that a sampler which draws actions, too."""


@remembered(cst.Module)
def transforms_of(module: cst.Module) -> frozenset[str]:
    """The classes of a file that it composes to a transform of its data: `Compose([Resize(256), Packed()])`."""
    return frozenset(
        part.func.value
        for node in walk(module)
        if isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] == "Compose"
        for argument in node.args
        for part in walk(argument.value)
        if isinstance(part, cst.Call) and isinstance(part.func, cst.Name)
    )


_DATA_SET = re.compile(r"(?i)(?:^|_)(?:data_?sets?\w*|ds)$")


@remembered(cst.Module)
def mapped_over_data(module: cst.Module) -> frozenset[str]:
    """The functions that a file has a data set apply to its items: `dataset.apply_transform(f)`, `train_set.map(f)`, `MaskedDataset(x, f)`.

    Also under another name: `starts = f`, then `MaskedDataset.build(x, starts=starts)`.
    """
    return frozenset(
        name
        for name, method, receiver in _handed_functions(module)
        if method == "apply_transform"
        or (method in ("map", "filter") and _DATA_SET.search(receiver) is not None)
    ) | _given_to_data_sets(module)


def _given_to_data_sets(module: cst.Module) -> frozenset[str]:
    given: set[str] = set()
    called: dict[str, set[str]] = {}
    for node in walk(module):
        match node:
            case cst.Call(func=function, args=args) if any(
                part.endswith("Dataset") for part in (dotted(function) or "").split(".")
            ):
                given |= {one.value.value for one in args if isinstance(one.value, cst.Name)}
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=other))], value=cst.Name(value=name)
            ):
                called.setdefault(other, set()).add(name)
            case _:
                pass
    return frozenset(given.union(*(called.get(name, ()) for name in given)))


_COLLATES = re.compile(r"(?i)(?:^|_)collat\w*(?:_|$)")


@remembered(cst.Module)
def collators(module: cst.Module) -> frozenset[str]:
    """The functions and classes of a file that make batches for a loader: by their name, or given as `collate_fn=`.

    `collate_fn=pad`, `collate_fn=Pad(0)`, `collate_fn=partial(pad, value=0)`, `collate_fn=lambda batch: pad(batch)`.
    """
    named = {
        node.name.value
        for node in walk(module)
        if isinstance(node, cst.FunctionDef) and _COLLATES.search(node.name.value) is not None
    }
    given = {
        last_name(part)
        for node in walk(module)
        if isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "collate_fn"
        for part in walk(node.value)
        if isinstance(part, (cst.Name, cst.Attribute))
    }
    return frozenset(named | given)


def _is_collator(analysis: Analysis, name: str) -> bool:
    return name in collators(analysis.module)


@remembered(cst.Module)
def run_by_processes(module: cst.Module) -> frozenset[str]:
    """The functions that a file has a pool of processes run, `pool.starmap(f, rows)`: they are given copies from the host."""
    return frozenset(
        name
        for name, method, receiver in _handed_functions(module)
        if method in _ONLY_OF_POOLS
        or (method in ("map", "apply", "submit") and _POOL.search(receiver) is not None)
    )


_ONLY_OF_POOLS = frozenset("starmap starmap_async imap imap_unordered map_async apply_async".split())
_POOL = re.compile(r"(?i)(?:^|_)(?:process_?)?(?:pool|executor)$")


def _handed_functions(module: cst.Module) -> Iterator[tuple[str, str, str]]:
    """The names that a file gives to a method first, `train_set.map(f)`: `f`, the method, and what that is called on (its last name)."""
    for node in walk(module):
        match node:
            case cst.Call(
                func=cst.Attribute(value=receiver, attr=cst.Name(value=method)),
                args=[cst.Arg(value=cst.Name(value=name)), *_],
            ):
                yield name, method, (dotted(receiver) or "").rpartition(".")[2]
            case _:
                pass


def works_on_host(function: Function) -> bool:
    """Whether the function belongs to what runs on the CPU whatever device the model is on."""
    if _HOST_FUNCTION.search(function.name) or function.name in ("__getitem__", "__len__"):
        return True
    if _ON_CPU.search(function.name) or _converts_entries(function.node):
        return True
    frame = function.frame
    if not frame.source.foreign and frame.analysis.learn(_is_collator, frame.analysis, function.name):
        return True
    if isinstance(function.node, cst.FunctionDef) and (
        _reads_what_it_makes(function.node) or are_told_on_host(function.node)
    ):
        return True
    if is_computed(function) or any(one in ("fixture", "parametrize") for one in function.decorators):
        return True
    owner = function.owner
    if owner is None:
        return False
    if function.name == "__call__" and not owner.is_module and not _speaks_of_tensors(function):
        return True  # transforms, collate functions, metrics
    if HOST_CLASS.search(owner.name) and not (owner.is_module and _TOKENIZER.search(owner.name)):
        return True
    paths = [base.path for given in owner.bases for base in alternatives(given) if isinstance(base, Api)]
    if any(map(ON_HOST.match, paths)):
        return True
    bases = [path.rpartition(".")[2] for path in paths]
    bases += [base.model.name for base in owner.bases if isinstance(base, Class)]
    return any(_HOST_BASE.search(name) for name in bases) or (
        any(_SAMPLER.search(name) for name in bases) and not _speaks_of_tensors(function)
    )


_MAKES = frozenset({"torch.zeros", "torch.ones", "torch.empty", "torch.full", "torch.Tensor"})


@remembered(cst.FunctionDef)
def _reads_what_it_makes(node: cst.FunctionDef) -> bool:
    """Whether a function fills a tensor that it made on the CPU and hands it to NumPy as it is: `picture = torch.zeros(3, h, w)`.

    It is made there on purpose: on another device, `picture.numpy()` would raise.
    """
    made: set[str] = set()
    for part in walk(node.body):
        match part:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                if isinstance(value, cst.Call) and _is_made_on_host(value):
                    made.add(name)
                else:
                    made.discard(name)
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="numpy"))):
                if name in made:
                    return True
            case _:
                pass
    return False


def _is_made_on_host(call: cst.Call) -> bool:
    """`torch.zeros(3, h, w)`, also `torch.zeros(3, h, w).byte()`."""
    while isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Call):
        if call.func.attr.value in ("to", "cuda"):
            return False
        call = call.func.value
    return dotted(call.func) in _MAKES and not any(
        one.keyword is not None and one.keyword.value == "device" for one in call.args
    )


def may_take_from_host(frame: Frame, thing: Object | None) -> bool:
    """Whether what is called may be a model of a library that takes its inputs from the CPU: the file works with one."""
    if thing is None or not any(map(ON_HOST.match, frame.analysis.imported)):
        return False
    state = frame.state(thing)
    return state.model is None and not state.moved and not state.api.startswith("torch.nn.")


def draws(function: Function) -> bool:
    """Whether the function draws something, by its name."""
    return _SHOWS.search(function.name) is not None


def is_computed(function: Function) -> bool:
    """Whether the function computes an attribute when it is asked for: `@property`."""
    return any(one in ("property", "cached_property") for one in function.decorators)


def _speaks_of_tensors(function: Function) -> bool:
    """Whether a parameter is annotated as a tensor, or as a model to be run."""
    return _has_tensors(function.node)


@remembered(cst.FunctionDef)
def _has_tensors(node: cst.FunctionDef) -> bool:
    text = cst.Module([]).code_for_node(node.params)
    return TENSOR_ANNOTATION.search(text) is not None or "nn.Module" in text

"""Functions of Python's standard library, and of NumPy, that hand on what they are given or ask what it is."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import folds, paths, workers
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Api,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Tensor,
    Value,
    join_all,
)
from torchdev_lint.flow.execution import containers
from torchdev_lint.flow.execution.iteration import iterate
from torchdev_lint.flow.instances import records
from torchdev_lint.torch_api import callables


def call(frame: Frame, path: str, site: CallSite, call_value: Callable[..., Value]) -> Value | None:
    """The result of a function of the standard library; None when nothing is known of it."""
    given = [argument.value for argument in site.positional()]
    first = given[0] if given else UNKNOWN
    module, _, name = path.rpartition(".")
    match module:
        case "collections":
            return _collection(frame, name, site, given, call_value)
        case "weakref" if name == "WeakSet":
            return _collection(frame, "deque", site, given, call_value)
        case "weakref" if name in ("WeakValueDictionary", "WeakKeyDictionary"):
            return _collection(frame, "OrderedDict", site, given, call_value)
        case "itertools":
            return _iterator(frame, name, given)
        case "random" | "numpy.random":
            return _drawn(frame, name, given, site)
        case "functools" if name == "reduce" and len(given) > 1:
            return folds.reduced(frame, site, call_value)
        case "operator" if name in folds.OPERATORS and len(given) == 2:
            return folds.operated(frame, site)
        case "contextlib" if name in ("nullcontext", "closing"):
            return first if given else NONE
        case "torch.utils._pytree" if name in ("tree_map", "tree_map_only") and len(given) == 2 + (
            name == "tree_map_only"
        ):
            function = CallSite(site.node, (), site.callee), given[-2]
            return _mapped(frame, given[-1], function, call_value, tensors_only=name == "tree_map_only")
        case "json" if name == "loads" and isinstance(first, Literal) and isinstance(first.value, str):
            return _from_json(frame, first.value, site)
        case "os.path" if name == "join":
            return None if site.has_star() else paths.joined(given, frame.analysis.text(site.node))
        case "pathlib" if name == "Path" and given and not site.has_star():
            return paths.joined(given, frame.analysis.text(site.node))
        case "queue" | "multiprocessing" | "torch.multiprocessing" | "asyncio" if name.endswith("Queue"):
            return containers.with_cell(frame, site.node, Items(()))
        case _:
            worker = workers.call(frame, path, site, call_value)
            return records.call(frame, path, site) if worker is None else worker


MAX_JSON = 20_000
"""Characters."""


def _from_json(frame: Frame, text: str, site: CallSite) -> Value | None:
    """What a text that is written out says: settings, `json.loads(\"\"\"{"loss": "focal"}\"\"\")`."""
    key = ("json", id(site.node))
    if key not in frame.analysis.notes:
        import json

        try:
            held = json.loads(text) if len(text) <= MAX_JSON else None
        except (ValueError, RecursionError):
            held = None
        # what is evaluated has to stay: it is known by its place in memory
        frame.analysis.notes[key] = None if held is None else cst.parse_expression(repr(held))
    written = frame.analysis.notes[key]
    return None if written is None else frame.evaluate(written)


def _mapped(
    frame: Frame,
    tree: Value,
    function: tuple[CallSite, Value],
    call_value: Callable[..., Value],
    *,
    tensors_only: bool,
) -> Value:
    """What a function makes of each leaf of containers in containers, in containers of the same kinds."""

    def below(part: Value) -> Value:
        return _mapped(frame, part, function, call_value, tensors_only=tensors_only)

    match tree:
        case Items(items):
            return Items(tuple(below(item) for item in items))
        case Many(element):
            return Many(below(element))
        case Entries():
            return tree.of_each(below)
        case Tensor() | Literal():
            if tensors_only and not isinstance(tree, Tensor):
                return tree
            site, called = function
            # what stands for a tensor, or for a container of such, comes to the function as its tensors
            one = replace(tree, batch=False, guess=False) if isinstance(tree, Tensor) else tree
            leaf = Argument(one, cst.Arg(cst.Name("_")))
            made = call_value(frame, called, replace(site, arguments=(leaf,)))
            if isinstance(tree, Tensor) and isinstance(made, Tensor):
                return replace(made, batch=tree.batch, guess=tree.guess)
            return made
        case _:
            return UNKNOWN  # a leaf, or a container of a kind that was registered


def asked(path: str, site: CallSite) -> Value | None:
    """What NumPy answers when asked whether a tensor is a number: that it is none; None for any other call."""
    given = site.positional()
    is_tensor = len(given) == 1 and isinstance(given[0].value, Tensor)
    return Literal(False) if is_tensor and path == "numpy.isscalar" else None


def _collection(
    frame: Frame, name: str, site: CallSite, given: list[Value], call_value: Callable[..., Value]
) -> Value | None:
    match name:
        case "deque":
            made = Items(()) if not given else containers.extended(Items(()), given[0], frame)
            return containers.with_cell(frame, site.node, made)
        case "OrderedDict":
            return containers.with_cell(frame, site.node, containers.updated_from(Entries(()), site))
        case "ChainMap" if not site.has_star():
            together = Entries(())
            for one in reversed(given):  # the first that has a key says what it is
                together = containers.merged(together, one)
            return containers.with_cell(frame, site.node, together)
        case "defaultdict" if given:
            factory = given[0]
            if isinstance(factory, Function):
                first = call_value(frame, factory, replace(site, arguments=()))
                some = first if isinstance(first, Tensor) else UNKNOWN
                return containers.with_cell(frame, site.node, Entries((), some, open=True))
            return containers.with_cell(frame, site.node, _defaults(factory))
        case _:
            return records.call(frame, f"collections.{name}", site)


def _defaults(factory: Value) -> Entries:
    """`defaultdict(list)`: every key is there already."""
    match factory:
        case Api(path="builtins.list" | "collections.deque" | "builtins.set"):
            return Entries((), Items(()), open=True)
        case Api(path="builtins.dict"):
            return Entries((), Entries(()), open=True)
        case _:
            return Entries((), UNKNOWN, open=True)


def _iterator(frame: Frame, name: str, given: list[Value]) -> Value | None:
    if not given:
        return None
    match name:
        case "cycle" | "islice" | "takewhile" | "dropwhile" | "filterfalse" | "accumulate":
            which = given[-1] if name in callables.FUNCTION_FIRST else given[0]
            return Many(iterate(frame, which))
        case "chain":
            return Many(join_all([iterate(frame, value) for value in given if value != Items(())]))
        case "repeat":
            return Many(given[0])
        case "product" | "zip_longest":
            return Many(Items(tuple(iterate(frame, value) for value in given)))
        case "combinations" | "permutations" | "pairwise":
            element = iterate(frame, given[0])
            two = name == "pairwise" or given[1:] == [Literal(2)]
            return Many(Items((element, element)) if two else Many(element))
        case "tee":
            return Many(given[0])
        case "count":
            return Many(UNKNOWN)
        case _:
            return None


def _drawn(frame: Frame, name: str, given: list[Value], site: CallSite) -> Value | None:
    if not given or not isinstance(given[0], (Items, Many)):
        return None
    match name:
        case "sample" | "choices":
            return Many(iterate(frame, given[0]))
        case "choice":
            return iterate(frame, given[0])
        case "shuffle":
            containers.forget_order(frame, given[0], site.arguments[0].node.value)
            return NONE
        case _:
            return None

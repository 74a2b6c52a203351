"""Functions that run a model: on examples, `torch.jit.trace(model, x)`, `torch.onnx.export(model, (x,), path)`, `add_graph`; on batches."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, Batches, CallSite, Implied, implied_items
from torchdev_lint.flow.domain.values import NONE, UNKNOWN, Items, Many, Object, Value
from torchdev_lint.flow.syntax.trees import dotted
from torchdev_lint.torch_api.modules import RUNS_ON_BATCHES, RUNS_ON_EXAMPLES


def run(frame: Frame, path: str, site: CallSite) -> Value:
    """The result of such a function: `torch.jit.trace` gives what runs where the model that it traced does."""
    check(frame, path, site)
    traced = site.get(0, RUNS_ON_EXAMPLES[path][0][1]) if path == "torch.jit.trace" else None
    return UNKNOWN if traced is None else traced.value


def check(frame: Frame, path: str, site: CallSite) -> None:
    """Call the model as such a function does: what it is given has to be where it is."""
    (at, name), (given_at, given_name) = RUNS_ON_EXAMPLES[path]
    model, given = site.get(at, name), site.get(given_at, given_name)
    if model is None or given is None or given.value == NONE or not _is_module(frame, model.value):
        return
    arguments = _written_out(given)
    if arguments is None:
        return
    from torchdev_lint.flow.calling.calls import call_value

    called = CallSite(site.node, arguments, dotted(model.node.value) or site.callee)
    call_value(frame, model.value, called)


def run_on_batches(frame: Frame, path: str, site: CallSite) -> Value:
    """`update_bn(loader, model)`: each batch, or the first part of it, is given to the model as it comes."""
    from torchdev_lint.flow.calling.calls import call_value
    from torchdev_lint.flow.execution.iteration import iterate
    from torchdev_lint.flow.execution.patterns import part_of

    model, loader, device = (site.get(at, name) for at, name in RUNS_ON_BATCHES[path])
    if model is None or loader is None or not _is_module(frame, model.value):
        return UNKNOWN
    if device is not None and device.value != NONE:
        return UNKNOWN
    batch = iterate(frame, loader.value)
    first = part_of(batch, 0, None) if isinstance(batch, (Items, Many)) else batch
    node = site.node if isinstance(site.node, cst.Call) else None
    given = (Argument(first, Batches(loader.node.value, call=node)),)
    call_value(frame, model.value, CallSite(site.node, given, dotted(model.node.value) or site.callee))
    return UNKNOWN


def check_method(frame: Frame, name: str, site: CallSite) -> None:
    """`writer.add_graph(model, images)` traces the model (torch/utils/tensorboard/_pytorch_graph.py), whoever the writer is."""
    if name in RUNS_ON_EXAMPLES:
        check(frame, name, site)


def _is_module(frame: Frame, value: Value) -> bool:
    return isinstance(value, Object) and frame.state(value).kind == "module"


def _written_out(given: Argument) -> tuple[Argument, ...] | None:
    """The inputs of which a tuple is made, or the only one; None where they are not known."""
    match given.value:
        case Items(items):
            nodes = implied_items(given, len(items))
            return tuple(Argument(value, node) for value, node in zip(items, nodes, strict=True))
        case Many():
            return None
        case _:
            return (Argument(given.value, Implied(given.node.value)),)

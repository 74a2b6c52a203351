"""Plain objects that a module holds: `self.stft = STFT(512)`, of a class that is no module and keeps a tensor of its own.

`Module.to` knows nothing of them, so that what their `__init__` made stays where it was made. That is only said of a class of the
project which leaves it there itself, and where nobody sets the attribute from outside.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Object, Tensor
from torchdev_lint.flow.instances import own_state
from torchdev_lint.flow.syntax.trees import remembered, walk


def kept_tensors(frame: Frame, thing: Object) -> Iterator[tuple[str, Tensor]]:
    """The attributes of such an object that are tensors which stay on the CPU, where its `__init__` has made them."""
    state = frame.state(thing)
    model = state.model
    if state.kind != "instance" or model is None or model.is_module or model.is_optimizer:
        return
    if model.has_unseen_base() or model.moves_itself():
        return
    unstable = frame.analysis.learn(
        own_state.unstable, model, model.find("__init__"), state.attributes
    ) | _set_from_outside(model.frame.source.module)
    if frame.source.module is not model.frame.source.module:
        unstable |= _set_from_outside(frame.source.module)
    for name, held in state.attributes.items():
        if isinstance(held, Tensor) and name not in unstable and own_state.made_on_host(held):
            yield name, held


@remembered(cst.Module)
def _set_from_outside(module: cst.Module) -> frozenset[str]:
    """The names of the attributes that a file sets of something else than `self`."""
    return frozenset(
        node.target.attr.value
        for node in walk(module)
        if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign))
        and isinstance(node.target, cst.Attribute)
        and not (isinstance(node.target.value, cst.Name) and node.target.value.value == "self")
    )

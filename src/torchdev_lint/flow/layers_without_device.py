"""Layers that a class makes without the `device=` that it gives its others."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.classes import ClassModel
from torchdev_lint.flow.evidence import resolved_path
from torchdev_lint.flow.placement_events import LayerWithoutDevice
from torchdev_lint.flow.trees import walk
from torchdev_lint.torch_api.modules import CONTAINERS, WITHOUT_PARAMETERS


def check_class(model: ClassModel) -> Iterator[LayerWithoutDevice]:
    """The layers of a module whose `__init__` places others by `device=`, and never moves anything."""
    initializer = model.methods.get("__init__")
    if initializer is None or not model.is_module:
        return
    placed: list[tuple[cst.Call, str]] = []
    others: list[tuple[cst.Call, str]] = []
    nodes = list(walk(initializer.body))
    for node in nodes:
        if not isinstance(node, cst.Call):
            continue
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in ("to", "cuda", "to_empty"):
            return
        path = resolved_path(model.frame, node.func) or ""
        if (
            not path.startswith("torch.nn.")
            or path.count(".") != 2
            or not path.rpartition(".")[2][:1].isupper()
            or path in CONTAINERS | WITHOUT_PARAMETERS
            or path == "torch.nn.Parameter"
        ):
            continue
        if any(argument.star for argument in node.args):
            return
        given = next(
            (one.value for one in node.args if one.keyword is not None and one.keyword.value == "device"),
            None,
        )
        text = "" if given is None else cst.Module([]).code_for_node(given)
        (placed if given is not None else others).append((node, text))
    if not placed or len({text for _, text in placed}) != 1 or len(others) > len(placed):
        return
    for node, _ in others:
        assert isinstance(node.func, (cst.Name, cst.Attribute))
        name = cst.Module([]).code_for_node(node.func)
        yield LayerWithoutDevice(node, name, placed[0][0], placed[0][1])

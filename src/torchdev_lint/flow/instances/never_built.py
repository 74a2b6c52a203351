"""Modules that cannot be made: `__init__` assigns a layer before `Module.__init__` has run, which raises an `AttributeError`.

Source: torch/nn/modules/module.py, `Module.__setattr__` ("cannot assign module before Module.__init__() call"). What the methods of such a
class would do nobody meets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.read_alone.written_evidence import path_of
from torchdev_lint.flow.syntax.trees import walk

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel


def is_never_built(function: Function) -> bool:
    """Whether a function is a method of such a class."""
    return function.owner is not None and cannot_be_built(function.owner)


def cannot_be_built(model: ClassModel) -> bool:
    """Whether to make an instance of a class of the program raises."""
    if not model.is_module or model.has_unseen_base():
        return False
    return model.frame.analysis.learn(_fails, model)


def _fails(owner: ClassModel) -> bool:
    initializer = owner.find("__init__")
    if initializer is None or owner.find("__new__") is not None:
        return False
    for line in initializer.body.body:
        if any(isinstance(part, cst.Name) and part.value in ("__init__", "super") for part in walk(line)):
            return False
        match line:
            case cst.SimpleStatementLine(
                body=[
                    cst.Assign(
                        targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value="self")))],
                        value=cst.Call(func=made),
                    )
                ]
            ):
                package, _, name = (path_of(owner.frame, made) or "").rpartition(".")
                if package == "torch.nn" and name[:1].isupper():
                    return True
            case cst.SimpleStatementLine():
                pass
            case _:
                return False
    return False

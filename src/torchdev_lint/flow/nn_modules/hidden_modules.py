"""A module that another one keeps out of what is registered on purpose: `self._teacher = [teacher]`.

It is neither trained nor saved with the whole, and has to be moved by hand: by an `_apply` of the class, which everything goes through
that moves or casts a module (torch/nn/modules/module.py).
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.syntax.trees import bound_to, dotted, functions_around, holds, last_name, walk


def hides_one(value: cst.BaseExpression | None) -> bool:
    """Whether one given module is kept in a list or tuple of one, `(teacher.eval(),)`: that it is not registered is what this is for."""
    match value:
        case cst.Tuple(elements=[cst.Element(value=one)]) | cst.List(elements=[cst.Element(value=one)]):
            return not (isinstance(one, cst.Call) and last_name(one.func)[:1].isupper())
        case _:
            return False


def are_attributes(value: cst.BaseExpression | None) -> bool:
    """Whether all that a display holds, at any depth, are attributes of `self`: a module among them is registered as such.

    (torch/nn/modules/module.py, `__setattr__`.)
    """
    match value:
        case cst.List(elements=elements) | cst.Tuple(elements=elements) | cst.Dict(elements=elements) if (
            elements
        ):
            return all(are_attributes(getattr(one, "value", None)) for one in elements)
        case cst.Attribute(value=cst.Name(value="self")):
            return True
        case _:
            return False


def is_list_of_function(
    module: cst.Module, assignment: cst.CSTNode, value: cst.BaseExpression | None
) -> bool:
    """Whether `self.blocks = blocks` keeps a list that the function has made, and to which nothing is added any more."""
    if not isinstance(value, cst.Name):
        return False
    function = next(functions_around(module, assignment), None)
    if function is None:
        return False
    made = list(bound_to(function.body, value.value))
    return (
        len(made) == 1
        and isinstance(made[0], (cst.List, cst.ListComp))
        and not _is_changed_after(function, assignment, value.value)
    )


def _is_changed_after(function: cst.FunctionDef, assignment: cst.CSTNode, name: str) -> bool:
    nodes = iter(walk(function.body))
    return any(node is assignment for node in nodes) and any(
        isinstance(node, (cst.Attribute, cst.AugAssign, cst.Subscript))
        and dotted(node.target if isinstance(node, cst.AugAssign) else node.value) == name
        for node in nodes
    )


def place_for_apply(module: cst.Module, assignment: cst.CSTNode) -> tuple[cst.CSTNode | None, str]:
    """The method, or its first decorator, before which the class of an assignment in its `__init__` may be given an `_apply`.

    With how deep that is indented; None where it has one already, or no method after `__init__`.
    """
    for owner in walk(module):
        if not isinstance(owner, cst.ClassDef) or not isinstance(owner.body, cst.IndentedBlock):
            continue
        methods = [line for line in owner.body.body if isinstance(line, cst.FunctionDef)]
        names = [method.name.value for method in methods]
        if "_apply" in names or not any(holds(method.body, assignment) for method in methods):
            continue
        after = names.index("__init__") + 1 if "__init__" in names else len(names)
        if after < len(methods) and holds(methods[after - 1].body, assignment) and owner in module.body:
            following = methods[after]
            first = following.decorators[0] if following.decorators else following
            return first, owner.body.indent or module.default_indent
    return None, ""

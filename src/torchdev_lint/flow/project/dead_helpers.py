"""Private functions and methods that nothing names any more: what their code would do nobody meets.

Only where the whole project is in sight, and no base class outside of it may call the method.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.project.reach import said

_BY_NAME = re.compile(r"\bgetattr\(|\bglobals\(\)|__dict__")
"""How code gets at what it does not name."""
_OF_MODULES = frozenset(
    "_apply _load_from_state_dict _save_to_state_dict _get_name _call_impl _wrapped_call_impl _named_members "
    "_replicate_for_data_parallel".split()
)
"""Methods that PyTorch itself calls of a module (torch/nn/modules/module.py)."""


def is_dead(function: Function) -> bool:
    """Whether it is one: `_jacobian`, the only call of which is a comment."""
    name, owner = function.name, function.owner
    if not name.startswith("_") or name.startswith("__") or function.decorators:
        return False
    if not isinstance(function.node, cst.FunctionDef) or function.frame.function is not None:
        return False
    if owner is not None and (owner.has_unseen_base() or name in _OF_MODULES):
        return False
    analysis = function.frame.analysis
    return not function.frame.source.foreign and analysis.learn(_is_named_nowhere, analysis, name)


def _is_named_nowhere(analysis: Analysis, name: str) -> bool:
    named = re.compile(rf"(?<!def )\b{re.escape(name)}\b")

    def may_be_called(text: str) -> bool:
        words = said(text)
        return named.search(words) is not None or _BY_NAME.search(words) is not None

    # nearly all are named in their own file: the others are looked for in the project's
    if may_be_called(analysis.written) or not analysis.imports.is_searched():
        return False
    others = analysis.imports.mentioning(name) or ()
    return not any(may_be_called(text) for _, text in others) and not analysis.imports.in_notebooks(name)

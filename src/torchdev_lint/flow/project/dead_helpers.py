"""Functions and methods that nothing names any more: what their code would do nobody meets.

Only where the whole project is in sight, and no base class outside of it may call the method. Of a class that a program makes, which nobody
else installs, that goes for all methods: `gradients` beside a `loss` that differentiates in another way by now. A library has them for its
users, unless they are private.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.project.project_calls import module_name
from torchdev_lint.flow.project.reach import said, with_imported

_BY_NAME = re.compile(r"\bgetattr\(|\bglobals\(\)|__dict__")
"""How code gets at what it does not name."""
_BY_TYPED_NAME = ("getattr(", "__dict__", "globals()", "eval(", "Fire(", "hydra", "instantiate(", "importlib")
"""How programs get at what somebody types, or writes into a file of settings."""
_OF_MODULES = frozenset(
    "_apply _load_from_state_dict _save_to_state_dict _get_name _call_impl _wrapped_call_impl _named_members "
    "_replicate_for_data_parallel".split()
)
"""Methods that PyTorch itself calls of a module (torch/nn/modules/module.py)."""
_OF_OTHERS = frozenset(
    "forward backward extra_repr setup_context vmap jvp reset_parameters train eval to cpu cuda state_dict load_state_dict "
    "parameters named_parameters buffers named_buffers children modules apply zero_grad requires_grad_ type float half double "
    "get_extra_state set_extra_state fit transform fit_transform predict predict_proba score step reset render seed close "
    "write read flush update compute sample rsample log_prob entropy".split()
)
"""Methods that PyTorch calls, or that libraries call of whatever they are given."""
_FOR_TESTS = re.compile(r"(?i)test|setup|teardown|bench")


def is_dead(function: Function) -> bool:
    """Whether it is one: `_jacobian`, the only call of which is a comment."""
    name, owner = function.name, function.owner
    if name.startswith("__") or function.decorators or function.frame.source.foreign:
        return False
    if not isinstance(function.node, cst.FunctionDef) or function.frame.function is not None:
        return False
    if owner is not None and (owner.has_unseen_base() or name in _OF_MODULES or name in _OF_OTHERS):
        return False
    analysis = function.frame.analysis
    if name.startswith("_"):
        return analysis.learn(_is_named_nowhere, analysis, name, None)
    # what is just being written is used by nobody yet: but a class, of which there is an instance; what is documented is for others
    return (
        owner is not None
        and not _FOR_TESTS.search(name)
        and analysis.imports.in_program()
        and function.node.get_docstring() is None
        and analysis.learn(_is_made, analysis, owner.name)
        and analysis.learn(_is_named_nowhere, analysis, name, owner.name)
        and analysis.learn(_is_for_nobody, analysis, name)
    )


def _is_made(analysis: Analysis, name: str) -> bool:
    """Whether an instance of a class is made in its file, or in one that names that."""
    made = re.compile(rf"(?<!class )\b{re.escape(name)}\(")
    return made.search(said(analysis.written)) is not None or any(
        made.search(said(text)) is not None for _, text in analysis.imports.mentioning(name) or ()
    )


def _is_named_nowhere(analysis: Analysis, name: str, owner: str | None) -> bool:
    """Of a method of a class `owner` it is asked where it is called, `x.name`, or named in a string."""
    word = re.escape(name)
    named = re.compile(rf"""\.\s*{word}\b|['"]{word}['"]""" if owner else rf"(?<!def )\b{word}\b")

    def may_be_called(text: str, *, by_name: bool = True) -> bool:
        words = said(text)
        return named.search(words) is not None or (by_name and _BY_NAME.search(words) is not None)

    # nearly all are named in their own file: the others are looked for in the project's
    if may_be_called(analysis.written) or not analysis.imports.is_searched():
        return False
    others = analysis.imports.mentioning(name) or ()
    if owner is None:
        return not any(may_be_called(text) for _, text in others) and not analysis.imports.in_notebooks(name)
    # who makes an instance may hand it to what it imports
    makers = dict(analysis.imports.mentioning(owner) or ())
    near = with_imported(analysis, {analysis.source.path: analysis.written, **makers})
    if near is None or any(
        may_be_called(less_its_own(text, name, owner), by_name=False) for path, text in others if path in near
    ):
        return False
    notebooks = analysis.imports.notebooks(f".{name}")
    return notebooks is not None and not any(module_name(analysis) in text for _, text in notebooks)


def less_its_own(text: str, name: str, owner: str) -> str:
    """What another file says, less the calls of a method of this name that its own classes have: `self.load(path)`, with a `def load(self`.

    A class of it that inherits from the `owner` of the method that is asked for may call that.
    """
    words = said(text)
    if not re.search(rf"\bdef {re.escape(name)}\(self\b", words):
        return words
    if re.search(rf"\bclass \w+\([^)]*\b{re.escape(owner)}\b", words):
        return words
    return re.sub(rf"\bself\.{re.escape(name)}\(", "", words)


def _is_for_nobody(analysis: Analysis, name: str) -> bool:
    """Whether nobody gets at it by a name that is typed or written elsewhere either."""
    own = module_name(analysis)
    return not any(
        own in text for word in _BY_TYPED_NAME for _, text in analysis.imports.mentioning(word) or ()
    ) and not analysis.imports.documents((name,))

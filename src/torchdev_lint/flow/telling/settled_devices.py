"""Devices that stand for nothing where a program runs, or of which the file says elsewhere that they are the CPU."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.lattice import Leaf, Symbol
from torchdev_lint.flow.project.callers_elsewhere import owner_of
from torchdev_lint.flow.project.reach import said
from torchdev_lint.flow.syntax.trees import last_name, names_cpu, remembered, walk
from torchdev_lint.torch_api.devices import speaks_of_accelerators


def is_open(frame: Frame, leaf: Leaf) -> bool:
    """Whether a running program has a device that nothing is known of: of what an unread call gave, where no accelerator is spoken of,
    or of a function that is not on the way to here.

    Such a function was called with a device, or without one: what it left in an object was read without a call.
    """
    if not frame.analysis.at_top or not isinstance(leaf, Symbol):
        return False
    if leaf.key[0] != "parameter":
        given = leaf.key[0] == "device" and leaf.key[1][0] == "call"
        return given and not speaks_of_accelerators(said(frame.analysis.written))
    return frame.taking(leaf.key) is None


_SETTING = re.compile(r"(?m)^\s*\w+ *[=:] *cpu *$")
_ATTRIBUTE = re.compile(r"^[\w.]+\.(\w+)$")


def is_set_to_host(frame: Frame, leaf: Leaf) -> bool:
    """Whether a device is an attribute that the file sets to the CPU, and to nothing else: `self.export_device = torch.device("cpu")`.

    Or a parameter that the file's own code gives the CPU, and nothing else, of a function that no other file names.
    Or whether it is read from somewhere, and the file has settings as they are written in files of these, `eval = cpu`.
    """
    if not isinstance(leaf, Symbol):
        return False
    if leaf.key[0] == "parameter":
        return frame.analysis.handed_from_host(leaf.key) and frame.analysis.learn(
            _is_only_here, frame, leaf.key
        )
    if frame.analysis.says(_SETTING):
        return True
    if leaf.key[0] != "attr":
        return False
    named = _ATTRIBUTE.match(leaf.text)
    return named is not None and named[1] in _set_to_host(frame.analysis.module)


def _is_only_here(frame: Frame, parameter: Key) -> bool:
    """Whether no other file of the project names the function that has the parameter."""
    function = owner_of(frame, parameter)
    return function is not None and not frame.analysis.imports.mentioning(function.name)


@remembered(cst.Module)
def _set_to_host(module: cst.Module) -> frozenset[str]:
    """The attributes that are set to the CPU only, whatever has them."""
    host: set[str] = set()
    elsewhere: set[str] = set()

    given: list[tuple[cst.BaseExpression, cst.BaseExpression | None]]
    for node in walk(module):
        match node:
            case cst.Assign(targets=targets, value=value):
                given = [(one.target, value) for one in targets]
            case cst.AnnAssign(target=target, value=value):
                given = [(target, value)]
            case cst.Arg(keyword=cst.Name() as name, value=value):
                given = [(name, value)]
            case cst.DictElement(key=cst.SimpleString() as key, value=value):
                given = [(key, value)]
            case cst.SimpleString() if node.raw_value.startswith("--"):
                given = [(node, None)]  # an option may say anything
            case _:
                continue
        for named, value in given:
            (host if names_cpu(value) else elsewhere).add(_called(named))
    return frozenset(host - elsewhere)


def _called(node: cst.BaseExpression) -> str:
    """The name of an attribute, an argument, a key or an option."""
    if isinstance(node, cst.SimpleString):
        return node.raw_value.lstrip("-").replace("-", "_")
    return last_name(node)

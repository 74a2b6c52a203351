"""Compilers: everything runs eagerly. A compiled program would be traced past the dispatcher."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.moves import parse_legacy_type
from torchdev_lint.harness.simulator.patches import Patches


def install(patches: Patches) -> None:
    """Make torch.compile and torch.jit return what they are given."""
    patches.function(torch, "compile", _compile)
    patches.set(torch.nn.Module, "compile", lambda self, *args, **kwargs: None)
    patches.function(torch.jit, "script", _decorate)
    patches.function(torch.jit, "script_method", _decorate)
    patches.function(torch.jit, "trace", lambda func, *args, **kwargs: func)
    patches.function(torch, "set_default_tensor_type", _set_default_tensor_type)
    _keep_dynamo_out(patches)


def _compile(model: Any = None, **_: Any) -> Any:
    machine.note("torch.compile was left out: everything ran eagerly")
    return (lambda function: function) if model is None else model


def _decorate(obj: Any = None, *_: Any, **__: Any) -> Any:
    machine.note("torch.jit.script was left out: everything ran eagerly")
    return (lambda function: function) if obj is None else obj


def _set_default_tensor_type(t: Any) -> None:
    parsed = parse_legacy_type(t)
    if parsed is None:
        raise TypeError(f"invalid type object: {t}")
    torch.set_default_dtype(parsed[1])
    torch.set_default_device(parsed[0])


def _keep_dynamo_out(patches: Patches) -> None:
    """Optimizers' methods import torch._dynamo at their first call (torch/_compile.py, _disable_dynamo).

    It takes seconds and is confused by replaced classes. The wrapper looks for a cached result on the
    function first.
    """
    for method in vars(Optimizer).values():
        function = getattr(method, "__wrapped__", None)
        if function is not None and not hasattr(function, "__dynamo_disable"):
            patches.set(function, "__dynamo_disable", function)


class _DynamoFinder(importlib.abc.MetaPathFinder):
    """Imports torch._dynamo with the originals in place: it inspects torch's classes and functions when it is
    loaded.

    Optimizers import it at their first step. Importing it beforehand would cost every program a second.
    """

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != "torch._dynamo":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_unpatched(module: Any) -> None:
            with self._patches.suspended():
                execute(module)

        spec.loader.exec_module = execute_unpatched  # type: ignore[method-assign]
        return spec


def finder(patches: Patches) -> importlib.abc.MetaPathFinder:
    """What must stand first in `sys.meta_path` while the patches are in place."""
    return _DynamoFinder(patches)

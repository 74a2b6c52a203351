"""The parameters of PyTorch's public functions and tensor methods, from what the installed torch says of itself.

What is built in is declared in `torchgen/packaged/ATen/native/native_functions.yaml` (several overloads are laid over
each other, position by position); what is written in Python has a signature; what has neither is named in
`torch.overrides.get_testing_overrides`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.overrides

NAMESPACES = (
    "torch",
    "torch.nn.functional",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.sparse",
    "torch.nn.utils.rnn",
    "torch.Tensor",
)

TENSOR, NUMBER, OUT, GENERATOR, DEVICE = "tensor", "number", "out", "generator", "device"


@dataclass(slots=True)
class Parameter:
    """One parameter: the names it goes by, what it takes, and whether it is given by keyword only or as `*args`."""

    names: list[str]
    kind: str = NUMBER
    keyword_only: bool = False
    star: bool = False
    required: bool = True
    types: list[str] = field(default_factory=list)

    def add(self, name: str, kind: str, written: str) -> None:
        """Lay another overload's parameter over this one."""
        if name not in self.names:
            self.names.append(name)
        if kind == TENSOR or self.kind == NUMBER:
            self.kind = kind
        if written not in self.types:
            self.types.append(written)


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The path and the object of everything callable that takes or makes tensors, by namespace and name."""
    for namespace in NAMESPACES:
        holder = torch.Tensor if namespace == "torch.Tensor" else importlib.import_module(namespace)
        for name in sorted(dir(holder)):
            held = getattr(holder, name)
            if name.startswith("_") or not callable(held) or inspect.isclass(held) or inspect.ismodule(held):
                continue
            if _belongs(namespace, name, held):
                yield f"{namespace}.{name}", held


def _belongs(namespace: str, name: str, held: Any) -> bool:
    if namespace in ("torch", "torch.nn.functional", "torch.sparse"):
        home = getattr(held, "__module__", None) or ""
        if name in ("boolean_dispatch", "handle_torch_function", "overload", "assert_int_or_pair"):
            return False
        native = inspect.isbuiltin(held) and (_declared(namespace, name) or name in stubs())
        listed = held in torch.overrides.get_testing_overrides()
        return (
            native or listed or home.startswith(("torch.functional", "torch.nn.functional", "torch._lowrank"))
        )
    if namespace == "torch.nn.utils.rnn":
        return getattr(held, "__module__", "") == namespace and name.islower()
    return True


def _declared(namespace: str, name: str) -> bool:
    return bool(declarations().get(_native_name(namespace, name)))


_OVERLOADS: dict[str, list[str]] = {}
_FUNCTION = re.compile(r"- func: ([\w]+)(?:\.(\w+))?\(")


def declarations() -> dict[str, list[str]]:
    """The declared signatures by name, without those that write to `out=` (and who has one, under `NAME out`)."""
    if not _OVERLOADS:
        from torchdev_lint.harness.simulator import native

        for line in native.path().read_text(encoding="utf-8").splitlines():
            match = _FUNCTION.match(line)
            if match is None:
                continue
            overload = match[2] or ""
            if "out" in re.split(r"_", overload) or "(a!) out" in line:
                _OVERLOADS.setdefault(f"{match[1]} out", []).append(overload)
            elif "Dimname" not in line:
                _OVERLOADS.setdefault(match[1], []).append(line.removeprefix("- func: "))
    return _OVERLOADS


_PREFIXES = {
    "torch.linalg": "linalg_",
    "torch.fft": "fft_",
    "torch.special": "special_",
    "torch.sparse": "_sparse_",
}


def _native_name(namespace: str, name: str) -> str:
    return _PREFIXES.get(namespace, "") + name


def signature(path: str, function: Callable[..., Any]) -> list[Parameter]:
    """The parameters of the function of this path; empty where nothing says what they are."""
    namespace, _, name = path.rpartition(".")
    if not inspect.isfunction(function):
        native = _native_name(namespace, name)
        if native not in declarations():
            native = getattr(function, "__name__", name)
        found = _native(native, method=namespace == "torch.Tensor")
        if found:
            return found
        if namespace == "torch" and name in stubs():
            return _stub(name)
    stand_in = torch.overrides.get_testing_overrides().get(function)
    written = _python(function)
    if stand_in is not None and (not written or any(one.star for one in written)):
        written = _python(stand_in)
    return written


def _native(name: str, *, method: bool) -> list[Parameter]:
    from torchgen.model import FunctionSchema

    positional: list[Parameter] = []
    keywords: dict[str, Parameter] = {}
    for text in declarations().get(name, ()):
        schema = FunctionSchema.parse(text)
        for index, argument in enumerate(schema.arguments.flat_positional):
            if index == len(positional):
                positional.append(Parameter([], required=argument.default is None))
            _lay_over(positional[index], argument, method=method)
        for argument in schema.arguments.flat_kwarg_only:
            held = keywords.setdefault(argument.name, Parameter([], keyword_only=True))
            _lay_over(held, argument, method=method)
    if not positional and not keywords:
        return []
    if f"{name} out" in declarations() and not method:
        keywords["out"] = Parameter(["out"], OUT, keyword_only=True, required=False)
    return [*positional, *keywords.values()]


_STUBS: dict[str, list[ast.FunctionDef]] = {}


def stubs() -> dict[str, list[ast.FunctionDef]]:
    """The functions of `torch/_C/_VariableFunctions.pyi` by name, with their overloads."""
    if not _STUBS:
        text = (
            Path(torch.__file__)
            .with_name("_C")
            .joinpath("_VariableFunctions.pyi")
            .read_text(encoding="utf-8")
        )
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                _STUBS.setdefault(node.name, []).append(node)
    return _STUBS


def _stub(name: str) -> list[Parameter]:
    positional: list[Parameter] = []
    keywords: dict[str, Parameter] = {}
    for function in stubs()[name]:
        for index, argument in enumerate([*function.args.posonlyargs, *function.args.args]):
            if index == len(positional):
                positional.append(Parameter([]))
            _add_stub(positional[index], argument)
        for argument in function.args.kwonlyargs:
            _add_stub(
                keywords.setdefault(argument.arg, Parameter([], keyword_only=True, required=False)), argument
            )
    return [*positional, *keywords.values()]


def _add_stub(parameter: Parameter, argument: ast.arg) -> None:
    written = "" if argument.annotation is None else ast.unparse(argument.annotation)
    kind = {"out": OUT, "generator": GENERATOR, "device": DEVICE}.get(argument.arg)
    parameter.add(argument.arg, kind or (TENSOR if "Tensor" in written else NUMBER), written)


def _lay_over(parameter: Parameter, argument: Any, *, method: bool) -> None:
    written = str(argument.type)
    named_self = argument.name == "self" and written.startswith("Tensor")
    parameter.add("input" if named_self and not method else argument.name, _kind(written), written)
    parameter.required &= argument.default is None


def _kind(written: str) -> str:
    if "Tensor" in written:
        return TENSOR
    if "Generator" in written:
        return GENERATOR
    return DEVICE if written.startswith("Device") else NUMBER


def _python(function: Callable[..., Any]) -> list[Parameter]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    found = []
    for one in parameters:
        if one.kind is one.VAR_KEYWORD:
            continue
        written = "" if one.annotation is one.empty else str(one.annotation)
        kind = TENSOR if re.search(r"\bTensor\b", written) else NUMBER
        kind = TENSOR if one.name == "self" else kind
        kind = {"out": OUT, "generator": GENERATOR, "device": DEVICE}.get(one.name, kind)
        star = one.kind is one.VAR_POSITIONAL
        found.append(
            Parameter(
                [one.name],
                kind,
                keyword_only=one.kind is one.KEYWORD_ONLY,
                star=star,
                required=one.default is one.empty and not star,
                types=[written],
            )
        )
    return found

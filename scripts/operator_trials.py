"""What a function does with the devices of its tensors, found by calling it on the simulated accelerator.

A call that works with everything on the accelerator is repeated with one parameter's tensors on the CPU, with that
parameter's alone on the accelerator, and with a 0-dim CPU tensor in its place. Which of them raise tells the role of
the parameter; where the results are, what they follow.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from operator_signatures import GENERATOR, TENSOR, Parameter
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from torchdev_lint.harness.classify import is_device_error
from torchdev_lint.torch_api.operators import ANY_SCALAR, ANYWHERE, FIRST, HOST, INDEX, SCALAR, SHARED

ACCELERATOR = "cuda:0"

EVERY = -2

LENIENCE = (SHARED, SCALAR, ANY_SCALAR, INDEX, FIRST, ANYWHERE, HOST)
"""The roles, from strict to lenient."""
PATIENCE = 3.0
"""Seconds of processor time for the trials of one function, after which no other call is tried."""


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments to call a function with; all tensors on the CPU."""

    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Finding:
    """What the trials of a function showed."""

    roles: dict[int, set[str]] = field(default_factory=dict)
    """The roles seen, by the position of the parameter in the signature."""
    runs: int = 0
    on_host: bool = False
    """All results were on the CPU although all tensors were on the accelerator."""
    follows: bool = False
    """A result was on the accelerator, as the tensors given were."""
    tensors: set[str] = field(default_factory=set)
    """Of `one`, `many`, `none`: what the results were."""
    dims: set[tuple[bool, int, bool]] = field(default_factory=set)
    """(all tensors given were 0-dim, the number of arguments if all of them are tensors else 0, the result was 0-dim)."""


class _FailedError(Exception):
    """A call failed for another reason than its devices."""


def _run(function: Callable[..., Any], call: Call) -> tuple[bool, Any]:
    """(whether it raised a device error, the result); raises _FailedError for any other error."""
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            return False, function(*call.arguments, **call.keywords)
    except Exception as error:
        if is_device_error(error):
            return True, None
        raise _FailedError(str(error)) from error


class Trial:
    """One call of a function, tried on different devices."""

    def __init__(self, function: Callable[..., Any], parameters: Sequence[Parameter], call: Call) -> None:
        self.function, self.call = function, call
        self.slots: dict[int, list[Any]] = {}
        """By position in the signature: the values given there."""
        self._where: list[tuple[int, int | str]] = []
        names = {name: index for index, one in enumerate(parameters) for name in one.names}
        star = next((i for i, one in enumerate(parameters) if one.star), None)
        for index in range(len(call.arguments)):
            slot = index if star is None or index < star else star
            self._where.append((slot, index))
        self._where += [(names.get(name, -1), name) for name in call.keywords]
        for slot, at in self._where:
            value = call.arguments[at] if isinstance(at, int) else call.keywords[at]
            if any(isinstance(leaf, Tensor) for leaf in tree_leaves(value)):
                self.slots.setdefault(slot, []).append(value)

    def placed(self, place: Callable[[int, Tensor, int], Tensor]) -> Call:
        """The call with each tensor replaced by `place(slot, tensor, its number in the slot)`."""
        counts: dict[int, int] = {}

        def at(slot: int, value: Any) -> Any:
            def one(leaf: Any) -> Any:
                if not isinstance(leaf, Tensor):
                    return leaf
                counts[slot] = counts.get(slot, -1) + 1
                return place(slot, leaf, counts[slot])

            return tree_map(one, value)

        arguments, keywords = list(self.call.arguments), dict(self.call.keywords)
        for slot, where in self._where:
            if isinstance(where, int):
                arguments[where] = at(slot, arguments[where])
            else:
                keywords[where] = at(slot, keywords[where])
        return Call(tuple(arguments), keywords)

    def run(self, on_cpu: Callable[[int, int], bool], scalar: int | None = None) -> tuple[bool, Any]:
        """Run with the tensors of which `on_cpu(slot, number)` on the CPU; those of slot `scalar` (or EVERY) become 0-dim."""

        def place(slot: int, tensor: Tensor, number: int) -> Tensor:
            made = tensor.detach().clone()
            if scalar in (slot, EVERY):
                made = made.reshape(-1)[0].clone()
            return made if on_cpu(slot, number) else made.to(ACCELERATOR)

        try:
            call = self.placed(place)
        except Exception as error:  # a sparse tensor, most likely
            raise _FailedError(str(error)) from error
        return _run(self.function, call)

    def numbers(self, slot: int) -> int:
        """How many tensors a slot holds."""
        return sum(isinstance(leaf, Tensor) for leaf in tree_leaves(self.slots[slot]))


def examine(function: Callable[..., Any], parameters: Sequence[Parameter], calls: Iterator[Call]) -> Finding:
    """Try a function with each of the calls."""
    found, started = Finding(), time.process_time()
    for call in calls:
        if time.process_time() - started > PATIENCE:
            break
        trial = Trial(function, parameters, call)
        try:
            _examine(trial, found)
        except _FailedError:
            continue
    return found


def examine_one(
    function: Callable[..., Any], parameters: Sequence[Parameter], calls: Iterator[Call], found: Finding
) -> None:
    """Add the first of the calls that works at all to what was found."""
    runs = found.runs
    for call in calls:
        try:
            _examine(Trial(function, parameters, call), found)
        except _FailedError:
            continue
        if found.runs > runs:
            return


def _examine(trial: Trial, found: Finding) -> None:
    leaves = [
        leaf for values in trial.slots.values() for leaf in tree_leaves(values) if isinstance(leaf, Tensor)
    ]
    _note_dims(trial, leaves, found)
    if any(leaf.numel() == 0 for leaf in leaves):
        return
    with contextlib.suppress(_FailedError):
        _note_dims_of_scalars(trial, found)
    raised, result = trial.run(lambda slot, number: False)
    if raised:
        _find_host_only(trial, found)
        return
    found.runs += 1
    outputs = _outputs(result)
    if leaves and not _names_device(trial.call):
        found.on_host |= _all_on(result, "cpu")
        found.follows |= any(leaf.device.type != "cpu" for leaf in outputs)
    if not outputs:
        found.tensors.add("none")
    else:
        named = hasattr(result, "_fields") or "return_types" in type(result).__module__
        found.tensors.add("one" if isinstance(result, Tensor) else "named" if named else "many")
    for slot in trial.slots:
        role = _role(trial, slot)
        if role is not None:
            found.roles.setdefault(slot, set()).add(role)


def _note_dims(trial: Trial, leaves: list[Tensor], found: Finding) -> None:
    if not leaves:
        return
    raised, result = trial.run(lambda slot, number: True)
    outputs = _outputs(result)
    some_scalar = any(leaf.dim() == 0 for leaf in leaves) and not all(leaf.dim() == 0 for leaf in leaves)
    if raised or not outputs or some_scalar:
        return
    given = len(trial.call.arguments) + len(trial.call.keywords)
    bare = given if len(trial.slots) == given else 0
    all_scalar = all(leaf.dim() == 0 for leaf in leaves)
    found.dims |= {(all_scalar, bare, leaf.dim() == 0) for leaf in outputs}


def _note_dims_of_scalars(trial: Trial, found: Finding) -> None:
    """The same call with 0-dim tensors only."""
    if not trial.slots:
        return
    raised, result = trial.run(lambda slot, number: True, scalar=EVERY)
    if not raised:
        found.dims |= {(True, 0, leaf.dim() == 0) for leaf in _outputs(result)}


def _find_host_only(trial: Trial, found: Finding) -> None:
    """Everything on the accelerator is refused: is it, because of one parameter?"""
    for slot in trial.slots:
        if len(trial.slots) == 1:
            return
        if not _raises_with(trial, slot):
            found.runs += 1
            found.tensors.add("one")
            found.follows = True
            found.roles.setdefault(slot, set()).add(HOST)
            for other in trial.slots:
                if other != slot:
                    found.roles.setdefault(other, set()).add(SHARED)
            return


def _raises_with(trial: Trial, slot: int) -> bool:
    """Whether a device error is raised when this slot's tensors alone are on the CPU."""
    return trial.run(lambda s, number: s == slot)[0]


def _role(trial: Trial, slot: int) -> str | None:
    """The role of the parameter in this call; None where the call does not tell."""
    tensors = [leaf for leaf in tree_leaves(trial.slots[slot]) if isinstance(leaf, Tensor)]
    others = [
        leaf
        for other, values in trial.slots.items()
        if other != slot
        for leaf in tree_leaves(values)
        if isinstance(leaf, Tensor)
    ]
    if not others:
        if len(tensors) == 1 or any(leaf.dim() == 0 for leaf in tensors):
            return SHARED if len(tensors) == 1 else None
        last = len(tensors) - 1
        raised, result = trial.run(lambda s, number: number == last)
        if raised:
            return SHARED
        _, whole = trial.run(lambda s, number: False)
        same = [leaf.device for leaf in _outputs(whole)] == [leaf.device for leaf in _outputs(result)]
        return FIRST if same else ANYWHERE
    if all(leaf.dim() == 0 for leaf in others):
        return None  # what meets a 0-dim tensor only says little
    left, left_result = trial.run(lambda s, number: s == slot)
    alone, alone_result = trial.run(lambda s, number: s != slot)
    if not left and not alone:
        if all(leaf.dim() == 0 for leaf in tensors):
            return ANY_SCALAR
        follows = _all_on(left_result, "cpu") and _all_on(alone_result, "cuda")
        return SHARED if follows else ANYWHERE
    if all(leaf.dim() == 0 for leaf in tensors):
        return None if left else SCALAR
    if not left:
        return INDEX
    try:
        plain, _ = trial.run(lambda s, number: True, scalar=slot)
        whole, _ = trial.run(lambda s, number: False, scalar=slot)
        if plain or whole:
            return SHARED
        refused, _ = trial.run(lambda s, number: s == slot, scalar=slot)
    except _FailedError:
        return SHARED
    return SHARED if refused else SCALAR


def _outputs(result: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]


def _all_on(result: Any, kind: str) -> bool:
    return bool(_outputs(result)) and all(leaf.device.type == kind for leaf in _outputs(result))


def _names_device(call: Call) -> bool:
    given = tree_leaves((call.arguments, dict(call.keywords)))
    return "device" in call.keywords or any(isinstance(leaf, torch.device) for leaf in given)


# -- what to call functions with


def database(limit: int) -> dict[str, list[Call]]:
    """Sample calls by the name of the operator, from PyTorch's own operator database. Simulate first."""
    from torchdev_lint.harness import sweep

    calls: dict[str, list[Call]] = {}
    for operator in sweep.operators():
        made: list[Call] = []
        for dtype in (torch.float32, torch.int64):
            if dtype not in operator.dtypes:
                continue
            torch.manual_seed(0)
            try:
                samples = list(
                    itertools.islice(operator.sample_inputs("cpu", dtype, requires_grad=False), limit * 4)
                )
            except Exception:  # some need what is not installed here
                continue
            made += [Call((one.input, *one.args), one.kwargs) for one in _spread(samples, limit)]
            break
        for name in {operator.name, *(alias.name for alias in operator.aliases)}:
            calls.setdefault(name, []).extend(made)
    return calls


def _spread(samples: list[Any], limit: int) -> list[Any]:
    """Some from all over the list: the first ones are often alike."""
    step = max(1, len(samples) // limit)
    return samples[::step][: limit + 1]


def invented(parameters: Sequence[Parameter]) -> Iterator[Call]:
    """Calls made up from the types of the required parameters."""
    for tensors in _TEMPLATES:
        supply = itertools.chain(tensors, itertools.repeat(tensors[-1]))
        keywords: dict[str, Any] = {}
        arguments: list[Any] = []
        for one in parameters:
            if one.kind == GENERATOR or not one.required:
                continue
            if one.kind == TENSOR or one.names[0] in ("input", "tensor", "tensors"):
                value: Any = copy.copy(next(supply))
                value = (
                    [value, value.clone()]
                    if any("[]" in text or "ist" in text for text in one.types)
                    else value
                )
            else:
                value = _NUMBERS.get(one.types[0].rstrip("?").partition("[")[0], 1)
            if one.keyword_only:
                keywords[one.names[0]] = value
            else:
                arguments.append(value)
        yield Call(tuple(arguments), keywords)


_NUMBERS: dict[str, Any] = {"float": 0.5, "bool": False, "Scalar": 1, "int": 1, "SymInt": 1, "str": "mean"}


def _templates() -> list[list[Tensor]]:
    vector, matrix = torch.tensor([0.5, 0.25, 0.75]), torch.rand(3, 3) + 0.1
    cube, picture = torch.rand(2, 3, 3), torch.rand(1, 2, 4, 4)
    wave = torch.complex(matrix, matrix)
    whole, mask = torch.tensor([0, 1, 2]), torch.tensor([True, False, True])
    return [
        [vector],
        [matrix],
        [cube],
        [picture],
        [wave],
        [whole],
        [mask],
        [vector, whole],
        [matrix, whole],
        [vector, mask],
        [matrix, vector],
        [vector, whole, vector],
        [matrix, matrix, vector],
    ]


_TEMPLATES = _templates()

"""What PyTorch's functions and tensor methods do with the devices of the tensors that they are given.

Reads `operator_table`, which is derived from PyTorch's own declarations and from trials on the simulated accelerator
(scripts/derive_operators.py). A row is parsed when it is first asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

SHARED = "t"
"""The role of a tensor that must be where the others are."""
SCALAR = "s"
"""The role of a tensor that must be where the others are, but for a 0-dim one on the CPU (TensorIterator's rule)."""
ANY_SCALAR = "z"
"""The role of a tensor that must be where the others are, but for a 0-dim one wherever it is."""
INDEX = "i"
"""The role of an index or mask, which may be on the CPU whatever the others are, but not on the accelerator without them."""
FIRST = "f"
"""The role of a list whose first tensor decides where the result is, the others may be anywhere."""
ANYWHERE = "a"
"""The role of a tensor that may be anywhere: it is copied, or only its shape matters."""
HOST = "h"
"""The role of a tensor that must be on the CPU."""
UNKNOWN_ROLE = "u"
"""The role of a tensor that no trial could tell anything of."""

_OPERANDS = frozenset((SHARED, SCALAR, ANY_SCALAR, INDEX, FIRST))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: the names it may be given by (several, where overloads differ), its role ("" for no tensor).

    `only_tensors`: no overload takes anything but a tensor (or None) here.
    """

    names: tuple[str, ...]
    role: str = ""
    keyword_only: bool = False
    star: bool = False
    only_tensors: bool = False

    @property
    def is_operand(self) -> bool:
        """Whether the device of what is given here has to do with that of the other operands."""
        return self.role in _OPERANDS


@dataclass(frozen=True, slots=True)
class Operator:
    """A function or tensor method (whose first parameter is the tensor itself).

    `result`: "f" follows the operands, "m" is made on the default device, "c" is on the CPU, "-" is no tensor.
    `many`: the result is a plain tuple or list of tensors, certainly, certainly not, or (None) it depends or has names.
    `dims` says when results are 0-dim: always ("0"), never ("k"), where all operands are ("p"), perhaps where all operands
    are ("w"), where nothing but tensors is given ("r"), where nothing but one tensor is given ("m"), or it is unknown ("u").
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: str
    many: bool | None = False
    dims: str = "u"

    @property
    def in_place(self) -> bool:
        """Whether it changes its first operand and returns it."""
        return self.name.endswith("_") and not self.name.endswith("__")

    def parameter(self, position: int) -> Parameter | None:
        """The parameter of the argument at a position."""
        for index, parameter in enumerate(self.parameters):
            if parameter.keyword_only:
                return None
            if index == position or parameter.star:
                return parameter
        return None

    def named(self, keyword: str) -> Parameter | None:
        """The parameter of an argument given by keyword."""
        return next((one for one in self.parameters if keyword in one.names), None)


@cache
def _rows() -> dict[str, dict[str, str]]:
    """By namespace and name: the row without the name."""
    from torchdev_lint.torch_api.operator_table import ROWS

    return {
        namespace: dict([line.split(" ", 1) for line in text.splitlines()])
        for namespace, text in ROWS.items()
    }


@cache
def operator(path: str) -> Operator | None:
    """What is known of the function of this dotted path (`torch.cat`, `torch.Tensor.add_`); None when nothing is."""
    namespace, _, name = path.rpartition(".")
    row = _rows().get(namespace, {}).get(name)
    return None if row is None else _parsed(name, row)


def method(name: str) -> Operator | None:
    """What is known of a method of tensors."""
    return operator(f"torch.Tensor.{name}")


def _parsed(name: str, row: str) -> Operator:
    *words, result = row.split()
    parameters: list[Parameter] = []
    keyword_only = False
    for word in words:
        if word == "*":
            keyword_only = True
            continue
        spelled, _, role = word.partition(":")
        star = spelled.startswith("*")
        names = tuple(spelled.lstrip("*").split("/"))
        parameters.append(Parameter(names, role.lower(), keyword_only, star, role.isupper()))
    if result == "=-":
        return Operator(name, tuple(parameters), "-")
    return Operator(name, tuple(parameters), result[1], {"1": False, "l": True}.get(result[2]), result[3])

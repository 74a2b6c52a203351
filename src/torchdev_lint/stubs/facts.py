"""What a stub file can say, as plain data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

RETURNS = (
    "tensor",
    "cpu-tensor",
    "cpu-batch",
    "cpu-mapping",
    "at-receiver",
    "receiver",
    "module",
    "host",
)
"""What a call may give, beside the value of an argument (`passes-through`) and a tensor where one is (`follows`)."""

KINDS = ("plain", "module", "mapping", "loader")
"""What the instances of a class are; a loader yields only what it is given."""

ANY_ARGUMENT = (-1, "")
"""`follows = "any"`: where the tensors among the arguments are."""


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))


def matches(globs: tuple[str, ...], name: str) -> bool:
    """Whether one of the patterns (`*`, `?`, `[abc]`; a `*` also covers dots) covers the whole name."""
    return any(glob == name or _pattern(glob).match(name) is not None for glob in globs)


@dataclass(frozen=True, slots=True)
class Handed:
    """What a library hands to a hook of a subclass, by the positions after `self`; all of it is on one device.

    `own`: the batch is where `self` is, a module. Otherwise it is where the library has brought the model (`model`), or where it computes.
    """

    batch: int = 0
    model: int = 0
    tensors: tuple[int, ...] = ()
    own: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """One table of a stub file. The fields are its keys; docs/stubs.md says what they mean."""

    names: tuple[str, ...]
    is_class: bool = False
    of: tuple[str, ...] = ("*",)
    when: tuple[tuple[str, bool | int | float | str], ...] = ()
    unless: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    makes: str = ""
    follows: tuple[int, str] | None = None
    passes_through: tuple[int, str] | None = None
    yields: str = ""
    reads_on_host: str = ""
    """Empty, `always`, or `lists`: only what stands in a list or tuple."""
    moves_inputs: bool = False
    brings_arguments: bool = False
    kind: str = ""
    placed_by: tuple[str, ...] = ()
    without_parameters: bool = False
    moves_in_place: bool = True
    named_device: bool = False
    device_property: bool = False
    composes: bool = False
    gathers: bool = False
    """A module that registers those that it is given: it is where these are."""
    known_as: tuple[str, ...] = ()
    hooks: tuple[tuple[str, Handed], ...] = ()
    runs: tuple[str, ...] = ()
    """Methods, of those who inherit from the class, in the course of which it calls their hooks."""
    needs: tuple[tuple[str, str], ...] = ()
    """Methods that are called only in the course of another one, which those who inherit have to define."""
    drives: tuple[int, str] | None = None
    """Which argument of a method is an object that is moved, and whose hooks are called."""


@dataclass(frozen=True, slots=True)
class Library:
    """The facts of one stub file, in the order in which they stand: the first that fits counts."""

    name: str
    alias_of: str = ""
    functions: tuple[Fact, ...] = ()
    classes: tuple[Fact, ...] = ()
    methods: tuple[Fact, ...] = ()
    source: str = ""
    notes: str = ""
    moves_nothing: bool = False
    """Whatever it is given stays where it is."""

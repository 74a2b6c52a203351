"""Dataclasses of values that never change, made so often that what Python does to keep them from changing counts.

A frozen dataclass stores each field through `object.__setattr__`, which takes several times as long as an assignment. So values
are frozen for the type checker only, and hashed by what they hold all the same. `replace` is that of `dataclasses`, less its
checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:
    import dataclasses

    def dataclass(*, slots: bool, frozen: bool = False):
        """A dataclass that is hashed like a frozen one, unless the class says how."""

        def make(kind: type) -> type:
            hashed = frozen and "__hash__" not in kind.__dict__
            return dataclasses.dataclass(slots=slots, unsafe_hash=hashed)(kind)

        return make

    _names: dict[type, tuple[str, ...]] = {}
    """The fields of a class that its constructor takes."""

    def replace(value, /, **changes):
        """The same value with some fields changed."""
        kind = type(value)
        names = _names.get(kind)
        if names is None:
            names = _names[kind] = tuple(one.name for one in dataclasses.fields(kind) if one.init)
        for name in names:
            if name not in changes:
                changes[name] = getattr(value, name)
        return kind(**changes)


__all__ = ["dataclass", "replace"]

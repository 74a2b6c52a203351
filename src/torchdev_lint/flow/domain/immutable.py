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

    _copiers = {}
    """By class and changed fields: what makes a copy with other values of these fields."""

    def replace(value, /, **changes):
        """The same value with some fields changed."""
        key = (type(value), *changes)
        copier = _copiers.get(key)
        if copier is None:
            copier = _copiers[key] = _copier(*key)
        return copier(value, *changes.values())

    def _copier(kind, *changed):
        # As with the methods of a dataclass, written out: going through the fields of each value takes several times as long.
        given = {name: f"new_{name}" for name in changed}
        fields = [one for one in dataclasses.fields(kind) if one.init]
        unknown = set(changed) - {one.name for one in fields}
        if unknown:
            raise TypeError(f"{kind.__name__} has no field {min(unknown)!r}")
        arguments = [
            f"{one.name}={given.get(one.name, f'value.{one.name}')}"
            if one.kw_only
            else given.get(one.name, f"value.{one.name}")
            for one in sorted(fields, key=lambda one: one.kw_only)
        ]
        text = f"lambda value, {', '.join(given.values())}: kind({', '.join(arguments)})"
        return eval(text, {"kind": kind})


__all__ = ["dataclass", "replace"]

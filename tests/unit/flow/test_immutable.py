"""Values that do not change, and copies of them with something else in a field."""

from __future__ import annotations

from dataclasses import field

import pytest

from torchdev_lint.flow.domain.immutable import dataclass, replace


@dataclass(frozen=True, slots=True)
class _Point:
    x: int
    named: str = field(default="", kw_only=True)
    y: int = 0
    total: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.x + self.y)


def test_a_copy_keeps_the_fields_that_are_not_given() -> None:
    point = _Point(1, 2, named="p")
    assert replace(point, x=5) == _Point(5, 2, named="p")
    assert replace(point, named="q", y=7) == _Point(1, 7, named="q")
    assert replace(point, y=7, named="q") == _Point(1, 7, named="q")


def test_a_copy_is_made_as_the_value_was() -> None:
    assert replace(_Point(1, 2), y=5).total == 6


def test_a_field_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError):
        replace(_Point(1), z=3)

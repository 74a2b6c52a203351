"""Tables that tell a journal are dicts, lists and sets beside; a step is done again only if what it read is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torchdev_lint.flow.incremental.journal import Journal
from torchdev_lint.flow.incremental.journal_tables import Group, Row, Table

CHANGES: list[Callable[[Any], Any]] = [
    lambda table: table.pop("a"),
    lambda table: table.pop("z", 7),
    lambda table: table.pop("z", None),
    lambda table: table.update({"b": 2}, c=3),
    lambda table: table.update(),
    lambda table: table.__ior__({"a": 4, "d": 5}) and None,
    lambda table: table.clear(),
    lambda table: table.setdefault("a", 9),
    lambda table: table.setdefault("e", 9),
    lambda table: table.__delitem__("a"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_is_a_dict(change: Callable[[Any], Any]) -> None:
    journal, plain = Journal(), {"a": 1, "b": 1}
    table = Table(journal, dict(plain))
    assert change(table) == change(plain)
    assert dict.items(table) == plain.items()
    journal.undo()
    assert dict.items(table) == {"a": 1, "b": 1}.items()


def test_what_is_not_there() -> None:
    table = Table(Journal(), {})
    with pytest.raises(KeyError, match=r"^'a'$"):
        table["a"]
    assert table.pop("a") is None, "other than of a dict, nothing is raised"


def test_nothing_is_noted_while_no_step_runs() -> None:
    journal = Journal()
    row, group = Row(journal), Group(journal, {1})
    row.append("x")
    assert (list(row), row[0], len(row), "x" in row) == (["x"], "x", 1, True)
    assert (set(group), len(group), 1 in group) == ({1}, 1, True)
    step = journal.begin()
    journal.step = None
    assert step.operations == []


READS: list[Callable[[Any, Any], Any]] = [
    lambda row, group: list(row),
    lambda row, group: row[0],
    lambda row, group: len(row),
    lambda row, group: "x" in row,
    lambda row, group: list(iter(group)),
    lambda row, group: len(group),
    lambda row, group: 2 in group,
]


@pytest.mark.parametrize("read", READS)
def test_what_was_read_has_to_be_the_same(read: Callable[[Any, Any], Any]) -> None:
    journal = Journal()
    row, group = Row(journal), Group(journal, {1})
    row.append("x")
    step = journal.begin()
    read(row, group)
    journal.step = None
    assert journal.replay(step)
    row.append("y")
    group |= {1, 2}
    assert not journal.replay(step)

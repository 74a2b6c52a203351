"""A dict, a list and a set that tell a journal what is read and written (`journal`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from torchdev_lint.flow.incremental.journal import MISSING, Journal, Step, same


class Table(dict[Any, Any]):
    """A dict that tells the journal. What `setdefault` puts there may be changed in place: then that is such a table, too."""

    __slots__ = ("_inner", "_journal", "_known")

    def __init__(self, journal: Journal, content: dict[Any, Any]) -> None:
        super().__init__(content)
        self._journal = journal
        self._known: dict[Any, int] = {}
        """The step that read or wrote a key last: it knows what is there."""
        self._inner: dict[Any, Table | Row | Group] = {}

    # -- reading

    def _read(self, key: Hashable) -> Any:
        value = dict.get(self, key, MISSING)
        step = self._journal.step
        if step is not None and not step.whole and self._known.get(key) != step.serial:
            self._known[key] = step.serial
            step.operations.append((self._holds, (key, value)))
        return value

    def _holds(self, key: Hashable, value: Any) -> bool:
        return same(dict.get(self, key, MISSING), value)

    def _read_all(self) -> None:
        if self._journal.step is not None:
            self._journal.note(self._is, tuple(dict.items(self)))

    def _is(self, items: tuple[tuple[Any, Any], ...]) -> bool:
        return same(tuple(dict.items(self)), items)

    def has(self, key: Hashable) -> bool:
        """Whether a key is there, whatever it holds."""
        found = dict.__contains__(self, key)
        step = self._journal.step
        if step is not None and not step.whole and self._known.get(key) != step.serial:
            step.operations.append((self._has, (key, found)))
        return found

    def _has(self, key: Hashable, found: bool) -> bool:
        return dict.__contains__(self, key) == found

    def __contains__(self, key: object) -> bool:
        return self.has(key)

    def __getitem__(self, key: Any) -> Any:
        value = self._read(key)
        if value is MISSING:
            raise KeyError(key)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        """As of a dict."""
        value = self._read(key)
        return default if value is MISSING else value

    def __len__(self) -> int:
        self._read_all()
        return dict.__len__(self)

    def __bool__(self) -> bool:
        found = dict.__len__(self) > 0
        self._journal.note(self._is_filled, found)
        return found

    def _is_filled(self, found: bool) -> bool:
        return (dict.__len__(self) > 0) == found

    def __iter__(self) -> Iterator[Any]:
        self._read_all()
        return dict.__iter__(self)

    def keys(self) -> Any:
        """As of a dict."""
        self._read_all()
        return dict.keys(self)

    def values(self) -> Any:
        """As of a dict."""
        self._read_all()
        return dict.values(self)

    def items(self) -> Any:
        """As of a dict."""
        self._read_all()
        return dict.items(self)

    # -- writing

    def _write(self, key: Any, value: Any) -> bool:
        journal = self._journal
        journal.taken.append((self._back, (key, dict.get(self, key, MISSING))))
        if value is MISSING:
            dict.pop(self, key, None)
        else:
            dict.__setitem__(self, key, value)
        if journal.step is not None:
            self._known[key] = journal.step.serial
            journal.note(self._write, key, value)
        return True

    def _back(self, key: Any, value: Any) -> None:
        if value is MISSING:
            dict.pop(self, key, None)
        else:
            dict.__setitem__(self, key, value)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._write(key, value)

    def __delitem__(self, key: Any) -> None:
        self[key]
        self._write(key, MISSING)

    def pop(self, key: Any, default: Any = None) -> Any:
        """As of a dict, but that nothing is raised."""
        value = self._read(key)
        if value is MISSING:
            return default
        self._write(key, MISSING)
        return value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """As of a dict. A list, set or dict is kept as one that tells the journal, always the same for a key."""
        value = self._read(key)
        if value is not MISSING:
            return value
        if isinstance(default, (list, set, dict)):
            inner = self._inner.get(key)
            if inner is None:
                made = (
                    Row(self._journal)
                    if isinstance(default, list)
                    else Group(self._journal)
                    if isinstance(default, set)
                    else Table(self._journal, {})
                )
                inner = self._inner[key] = made
            default = inner
        self._write(key, default)
        return default

    def update(self, *others: Any, **named: Any) -> None:
        """As of a dict."""
        for other in (*others, named):
            for key, value in dict(other).items():
                self[key] = value

    def __ior__(self, other: Any) -> Table:  # type: ignore[misc]
        self.update(other)
        return self

    def clear(self) -> None:
        """As of a dict."""
        for key in list(dict.keys(self)):
            self._write(key, MISSING)

    def written_in(self, step: Step) -> list[Any]:
        """The keys that a step wrote."""
        return [given[0] for again, given in step.operations if again == self._write]

    def replace_content(self, content: dict[Any, Any]) -> None:
        """Hold something else; nothing takes that back."""
        dict.clear(self)
        dict.update(self, content)


class Row(list[Any]):
    """A list that is appended to, and tells the journal."""

    __slots__ = ("_journal",)

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def append(self, item: Any) -> None:
        """As of a list."""
        self._append(item)

    def _append(self, item: Any) -> bool:
        list.append(self, item)
        self._journal.taken.append((self._back, ()))
        self._journal.note(self._append, item)
        return True

    def _back(self) -> None:
        list.pop(self)

    def _read_all(self) -> None:
        if self._journal.step is not None:
            self._journal.note(self._is, tuple(list.__iter__(self)))

    def _is(self, items: tuple[Any, ...]) -> bool:
        return same(tuple(list.__iter__(self)), items)

    def __iter__(self) -> Iterator[Any]:
        self._read_all()
        return list.__iter__(self)

    def __getitem__(self, index: Any) -> Any:
        self._read_all()
        return list.__getitem__(self, index)

    def __len__(self) -> int:
        self._read_all()
        return list.__len__(self)

    def __contains__(self, item: object) -> bool:
        self._read_all()
        return list.__contains__(self, item)


class Group(set[Any]):
    """A set that is added to, and tells the journal."""

    __slots__ = ("_journal", "_known")

    def __init__(self, journal: Journal, content: Iterable[Any] = ()) -> None:
        super().__init__(content)
        self._journal = journal

    def add(self, item: Any) -> None:
        """As of a set."""
        self._add(item)

    def _add(self, item: Any) -> bool:
        if not set.__contains__(self, item):
            set.add(self, item)
            self._journal.taken.append((self._back, (item,)))
        self._journal.note(self._add, item)
        return True

    def _back(self, item: Any) -> None:
        set.discard(self, item)

    def __ior__(self, other: Any) -> Group:  # type: ignore[misc]
        for item in other:
            self._add(item)
        return self

    def __contains__(self, item: object) -> bool:
        found = set.__contains__(self, item)
        self._journal.note(self._has, item, found)
        return found

    def _has(self, item: object, found: bool) -> bool:
        return set.__contains__(self, item) == found

    def _read_all(self) -> None:
        if self._journal.step is not None:
            self._journal.note(self._is, frozenset(set.__iter__(self)))

    def _is(self, items: frozenset[Any]) -> bool:
        return frozenset(set.__iter__(self)) == items

    def __iter__(self) -> Iterator[Any]:
        self._read_all()
        return set.__iter__(self)

    def __len__(self) -> int:
        self._read_all()
        return set.__len__(self)

"""Replaces attributes of PyTorch, and puts every one of them back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from torchdev_lint.harness.simulator import machine

_MISSING: Any = object()


@dataclass(slots=True)
class _Attribute:
    owner: Any
    name: str
    value: Any
    original: Any

    def apply(self) -> None:
        setattr(self.owner, self.name, self.value)

    def restore(self) -> None:
        if self.original is _MISSING:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self.original)


@dataclass(slots=True)
class _Entry:
    mapping: MutableMapping[Any, Any]
    key: Any
    value: Any
    original: Any

    def apply(self) -> None:
        self.mapping[self.key] = self.value

    def restore(self) -> None:
        if self.original is _MISSING:
            del self.mapping[self.key]
        else:
            self.mapping[self.key] = self.original


class Patches:
    """A log of replacements; `undo` restores the originals, last first."""

    def __init__(self) -> None:
        self._log: list[_Attribute | _Entry] = []
        self._caches: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace (or add) an attribute."""
        self._do(_Attribute(owner, name, value, vars(owner).get(name, _MISSING)))

    def function(self, owner: Any, name: str, value: Callable[..., Any]) -> None:
        """Replace a function of a module.

        A name imported from the module meanwhile (`from torch.cuda import is_available`) outlives `undo`: it
        then calls the original.
        """
        original = getattr(owner, name, None)
        if original is None:
            self.set(owner, name, value)
            return

        @wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            return (value if machine.active() else original)(*args, **kwargs)

        self.set(owner, name, replacement)

    def item(self, mapping: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """Replace (or add) an entry of a dict."""
        self._do(_Entry(mapping, key, value, mapping.get(key, _MISSING)))

    def _do(self, patch: _Attribute | _Entry) -> None:
        patch.apply()
        self._log.append(patch)

    def cache(self, clear: Callable[[], None]) -> None:
        """Call `clear` whenever what is in place changes, the first time at once."""
        self._caches.append(clear)
        clear()

    def undo(self) -> None:
        """Put everything back."""
        while self._log:
            self._log.pop().restore()
        self._clear_caches()

    def _clear_caches(self) -> None:
        for clear in self._caches:
            clear()

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Put everything back for a while (in all threads)."""
        for patch in reversed(self._log):
            patch.restore()
        self._clear_caches()
        try:
            yield
        finally:
            for patch in self._log:
                patch.apply()
            self._clear_caches()

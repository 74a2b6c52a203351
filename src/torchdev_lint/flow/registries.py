"""Registries: dicts that other files fill, which are imported for nothing else: `from . import hooks, nets`.

An imported file is not read before something of it is used (`projects`). What is looked for in a dict by a name, and is not there, may
have been entered by such a file; it is read then, if it has that name.
"""

from __future__ import annotations

from torchdev_lint.flow.environment import refreshed
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.values import Entries, Literal, Value


def filled(frame: Frame, held: Entries, key: Value) -> Entries:
    """The dict as it is once the files were read that may have entered something under a key."""
    if not isinstance(key, Literal) or not isinstance(key.value, str) or held.open or held.cell is None:
        return held
    if any(name == key.value for name, _ in held.entries) or not key.value.isidentifier():
        return held
    if not frame.analysis.imports.read_for(key.value):
        return held
    now = refreshed(frame.env, held)
    return now if isinstance(now, Entries) else held

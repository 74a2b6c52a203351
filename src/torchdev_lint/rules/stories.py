"""The related locations that tell why a value is where it is."""

from __future__ import annotations

from collections.abc import Iterator

from torchdev_lint.flow.domain.lattice import LOADED, Leaf, story
from torchdev_lint.rules.base import Note

_STEPS = {
    "moved": "{thing} is moved to {device} here",
    "factory": "{thing} is made on {device} here",
    "made": "{thing} is made on {device} here",
    "loaded": "the batches of this loader are on {device}",
    "left": "{thing} comes with what is moved afterwards, so it is on {device}",
}


def notes(leaf: Leaf, thing: str, device: str) -> Iterator[Note]:
    """One note for each step by which `thing` came to `device`."""
    for step in story(leaf):
        text = _STEPS.get(step.what, "{thing} is on {device} here")
        if step.name == LOADED:
            text = "{thing} is loaded to {device} here"
        yield Note(step.node, text.format(thing=thing, device=device))

"""TDV000: what `reveal_device(x)` was asked to show.

A note, not a finding: it has no fix, does not count as an error and leaves the exit code as it is. `reveal_device` stands for
nothing at run time (as mypy's `reveal_type`), so the call is to be removed once it has been read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.flow.activation.events import Revealed
from torchdev_lint.flow.domain.lattice import describe
from torchdev_lint.rules.base import Finding, Note, Rule
from torchdev_lint.rules.stories import notes

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class RevealedDevice(Rule):
    """See the module's docstring. Stands outside the registry, as syntax errors do."""

    code = "TDV000"
    name = "revealed-device"
    answers: ClassVar = (Revealed,)
    witness: ClassVar = ()

    def check(self, event: Event) -> Iterator[Finding]:
        """One note for each thing that the expression may be."""
        assert isinstance(event, Revealed)
        within = f" (in a call of `{event.within}`)" if event.within else ""
        expression = f"`{event.expression}`" if "\n" not in event.expression else "the expression"
        why: dict[int, Note] = {}
        for leaf in event.leaves:
            for note in notes(leaf, expression, describe(leaf)):
                why.setdefault(id(note.node), note)
        yield Finding(event.node, f"{expression} is {event.text}{within}", tuple(why.values()))

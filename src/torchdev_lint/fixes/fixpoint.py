"""Applies fixes in rounds until none is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.fixes.edits import EditError, apply_edits, choose_fixes, edits_of

MAX_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Fixed:
    """What fixing a text came to.

    `text` is the fixed text, the original one when there are `errors`. `diagnostics` are those of `text`.
    `counts` says how often each (code, name) was fixed. `errors` are bugs of this program, one line each.
    """

    text: str
    diagnostics: tuple[Diagnostic, ...]
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: tuple[str, ...] = ()


def fix_text(
    text: str,
    check: Callable[[str], list[Diagnostic]],
    parses: Callable[[str], bool],
    allowed: Collection[Applicability],
    newline: str = "\n",
) -> Fixed:
    """Check `text`, apply what is `allowed`, and again, until nothing is left to apply.

    A round whose result does not parse, or fixes that never come to an end, leave the text untouched: the
    result then carries errors.
    """
    original = check(text)
    current, diagnostics = text, original
    counts: Counter[tuple[str, str]] = Counter()
    for _ in range(MAX_ROUNDS):
        chosen = choose_fixes(diagnostics, allowed)
        if not chosen:
            return Fixed(current, tuple(diagnostics), counts)
        try:
            changed = apply_edits(current, edits_of(chosen), newline)
        except EditError as error:
            return Fixed(
                text, tuple(original), errors=(_blame(chosen, f"the fix cannot be applied ({error})"),)
            )
        if not parses(changed):
            guilty = [
                one for one in chosen if not parses(apply_edits(current, edits_of([one]), newline))
            ] or chosen
            message = _blame(guilty, "the fix gives source that does not parse")
            return Fixed(text, tuple(original), errors=(message,))
        counts.update((one.code, one.name) for one in chosen)
        current, diagnostics = changed, check(changed)
    message = _blame(
        choose_fixes(diagnostics, allowed), f"fixes do not come to an end in {MAX_ROUNDS} rounds"
    )
    return (
        Fixed(text, tuple(original), errors=(message,))
        if message
        else Fixed(current, tuple(diagnostics), counts)
    )


def _blame(diagnostics: list[Diagnostic], what: str) -> str:
    """One line that names the rules and places; empty for no diagnostics."""
    places = [f"{one.code} at {one.range.start.row}:{one.range.start.column}" for one in diagnostics]
    return f"{what}: {', '.join(places)}; file left untouched" if places else ""

"""What is said of every bad fixture, word for word: tests/unit/rules/said/CODE.txt, by which a change of words is seen where it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fixture_files import ROOT, FixtureFile, fixture_files

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic, Range
from torchdev_lint.engine.check import check_source

SAID = ROOT / "tests" / "unit" / "rules" / "said"


def said_documents() -> Mapping[Path, str]:
    """What each of the files is to contain."""
    rules = {fixture.rule for fixture in fixture_files()}
    return {SAID / f"{rule}.txt": said_document(rule) for rule in sorted(rules)}


def said_document(rule: str) -> str:
    """What the file of a rule is to contain: the findings, of every rule, in the fixtures that are to show this one."""
    return "\n".join(said_of(one) for one in fixture_files() if one.bad and one.rule == rule)


def said_of(fixture: FixtureFile) -> str:
    """All findings of a fixture, with what is told along with them."""
    found = check_source(fixture.text, str(fixture.path), Config(select=("ALL",)))
    return "\n".join([f"== {fixture.path.name}", *(line for one in found for line in _lines(one))]) + "\n"


def _lines(one: Diagnostic) -> Iterator[str]:
    yield f"{_span(one.range)} {one.code} {one.name}: {one.message}"
    for note in one.related:
        elsewhere = "" if note.path is None else f"{Path(note.path).name} "
        yield f"    {elsewhere}{_span(note.range)}: {note.message}"
    if one.fix is not None:
        cure = ", of the cause" if one.fix.cures_cause else ""
        yield f"    {one.fix.applicability.value} fix{cure}: {one.fix.message}"
    if one.noqa_row is not None and one.noqa_row != one.range.start.row:
        yield f"    silenced in row {one.noqa_row}"


def _span(span: Range) -> str:
    return f"{span.start.row}:{span.start.column}-{span.end.row}:{span.end.column}"

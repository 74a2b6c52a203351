"""`torchdev-lint explain`: takes a pasted error and says which line, which devices, where they come from, and the fix."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError
from torchdev_lint.diagnostics import Applicability, Position, Range
from torchdev_lint.engine.settings import Settings
from torchdev_lint.source.discovery import discover
from torchdev_lint.source.roots import given_as_roots

if TYPE_CHECKING:
    from torchdev_lint.explain.explanation import Explanation
    from torchdev_lint.explain.matching import Match
    from torchdev_lint.explain.places import Place
    from torchdev_lint.report.sources import Sources
    from torchdev_lint.report.style import Piece

EXPLAINED, UNEXPLAINED = 0, 1
MAX_MESSAGE = 500
"""How many characters of a message are repeated."""
MAX_INFERRED = 8
"""How many rows of what was inferred are shown."""

_EPILOG = """exit codes: 0 a finding explains the error, 1 none does or the error is not about devices,
2 bad usage, or nothing to read"""


def parser() -> argparse.ArgumentParser:
    """The arguments of `explain`."""
    made = Parser(
        prog="torchdev-lint explain",
        description="Explain a PyTorch error: read it with its traceback, as it was pasted from a terminal, a log, a notebook or "
        "pytest, and point at the line, the devices, the likely origin and the fix.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="the text; - or nothing for standard input"
    )
    made.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="PATH",
        help="a file or notebook that the traceback is about, if it is not found by its name",
    )
    made.add_argument("--output-format", choices=("text", "json"), default="text")
    made.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colour the output"
    )
    made.add_argument("--isolated", action="store_true", help="read no pyproject.toml")
    return made


def explain(arguments: Sequence[str]) -> int:
    """Explain the error that `arguments` name; returns the exit code. Raises `ConfigError`."""
    from torchdev_lint.config import Config
    from torchdev_lint.explain.explanation import explain as explanation_of
    from torchdev_lint.explain.places import Finder

    given = parser().parse_args(arguments)
    roots = given_as_roots(["."])
    settings = Settings(
        Config(root=os.getcwd()) if given.isolated else None, lambda config: replace(config, given=roots)
    )
    for path in given.source:
        if not os.path.isfile(path):
            raise ConfigError(f"--source: {path}: no such file")

    def nearby() -> Iterator[str]:
        yield from discover(["."], settings.file_rules).files

    answer = explanation_of(_text(given.file), Finder(given.source, nearby()), settings.for_file)
    if answer is None:
        raise ConfigError("explain: nothing to read: paste the error with its traceback")
    if given.output_format == "json":
        print(json.dumps(_as_json(answer), indent=2, ensure_ascii=False))
    else:
        from torchdev_lint.cli_output import colour_wanted
        from torchdev_lint.explain.explanation import notebooks_among
        from torchdev_lint.report.sources import Sources
        from torchdev_lint.report.style import write

        sources = Sources({}, notebooks_among(match.diagnostic.path for match in answer.findings))
        write(_pieces(answer, sources), sys.stdout, colour=colour_wanted(given.color, sys.stdout))
    return EXPLAINED if answer.findings else UNEXPLAINED


def _text(path: str) -> str:
    if path == "-":
        if sys.stdin.isatty():
            print("Paste the error and its traceback, then press Ctrl-D.", file=sys.stderr)
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise ConfigError(f"explain: {path}: cannot be read: {error.strerror}{_meant(path)}") from None


def _meant(given: str) -> str:
    """What somebody probably wanted who gave something else than a file's name."""
    if re.fullmatch(r"TDV\d+", given, re.IGNORECASE):
        return f"; `torchdev-lint rule {given}` explains a rule"
    return "; the error itself goes to standard input" if any(map(str.isspace, given)) else ""


def _pieces(answer: Explanation, sources: Sources) -> Iterator[Piece]:
    from torchdev_lint.report import full
    from torchdev_lint.report.excerpt import visible

    first = answer.error.message.split("\n")[0]
    if answer.error.type or first:
        kind = f"{answer.error.type}: " if answer.error.type and first else answer.error.type
        yield "code", visible(kind)
        yield "bold", f"{visible(first[:MAX_MESSAGE])}{'...' if len(first) > MAX_MESSAGE else ''}\n\n"
    yield from _meaning(answer)
    yield from _where(answer)
    if answer.complaint is None:
        return
    if answer.findings:
        best = answer.findings[0].diagnostic
        # One line of a traceback may have several causes; those further off are only named beside them.
        others = [match.diagnostic for match in answer.findings[1:]]
        yield "", f"\nWhat {'explains' if answer.findings[0].certain else 'probably explains'} it:\n\n"
        fixable = frozenset({Applicability.SAFE, Applicability.UNSAFE})
        yield from full.render([best], fixable, sources)
        if best in answer.silenced:
            yield "note", "note"
            yield "", f": a plain run does not report this: {best.code} is not selected, or suppressed here\n"
        if others:
            yield "", "Other findings on the way to this line:\n"
            for one in others:
                yield "", f"  {one.path}:{one.range.start.row}: {one.code} {visible(one.message)}\n"
        return
    yield from _without_finding(answer)


def _meaning(answer: Explanation) -> Iterator[Piece]:
    from torchdev_lint.torch_api.error_messages import KINDS

    complaint = answer.complaint
    if complaint is None:
        yield "", "This is not one of PyTorch's device errors that torchdev-lint knows"
        yield "", f": {answer.advice}.\n" if answer.advice else ".\n"
        return
    yield "", f"What it means: {KINDS[complaint.kind].meaning}.\n"
    if complaint.devices:
        named = [f"{what} on {device}" if what else device for what, device in complaint.devices]
        yield "", f"Devices: {', '.join(named)}.\n"
    if complaint.operation:
        argument = f", at its argument `{complaint.argument}`" if complaint.argument else ""
        yield "", f"Operation: `{complaint.operation}`{argument}.\n"


def _where(answer: Explanation) -> Iterator[Piece]:
    from torchdev_lint.explain.explanation import cell_text
    from torchdev_lint.report.excerpt import excerpt, place, visible
    from torchdev_lint.source.lines import LineIndex

    for number, one in enumerate(reversed(answer.places)):
        at = Range(Position(one.row, 1), Position(one.row, 1))
        inside = f" in {one.frame.function}" if one.frame.function else ""
        name = place(one.path, one.cell, at).rpartition(":")[0]
        if number:
            yield "", f"  called from {name}{inside}\n"
            continue
        yield "", f"It was raised by this line, the innermost of your own{inside}:\n"
        text = cell_text(one.path, one.cell)
        width = len(str(one.row + 2))
        yield "gutter", " " * width + "--> "
        yield "", f"{name}\n"
        if text is not None:
            lines = LineIndex(text)
            row = lines.line(one.row)
            start = Position(one.row, len(row) - len(row.lstrip()) + 1)
            yield from excerpt(lines, Range(start, Position(one.row, len(row.rstrip()) + 1)), width)
        if not one.certain:
            yield "note", "note"
            yield (
                "",
                f": the file has changed: the traceback shows `{visible(one.frame.code)}` at line {one.frame.row}\n",
            )
    if answer.lost and not answer.places:
        frame = answer.lost[-1]
        what = f"cell [{frame.cell}]" if frame.cell is not None else visible(frame.path)
        yield (
            "",
            f"It was raised at {what}, line {frame.row}, which is not here: run this where the program is, or name the file with ",
        )
        yield "", "`--source PATH`.\n"
    elif not answer.places:
        yield (
            "",
            "The text has no traceback that leads to a file of yours: paste all of it, from `Traceback` on.\n",
        )


def _without_finding(answer: Explanation) -> Iterator[Piece]:
    from torchdev_lint.torch_api.error_messages import KINDS

    assert answer.complaint is not None
    if answer.places:
        yield (
            "",
            "\ntorchdev-lint finds nothing on this way that would explain it: what decides it is out of its sight.\n",
        )
        rows = _inferred(answer.places[-1])
        if rows:
            yield "", "What it knows at this line:\n"
            for name, text in rows:
                yield "", f"  {name}: {text}\n"
    yield "help", "help"
    yield "", f": look at {KINDS[answer.complaint.kind].look}\n"
    if answer.complaint.kind in ("mix", "model", "index") and answer.places:
        yield "help", "help"
        yield "", ": to see the devices as the program runs, print `x.device` of each operand, and "
        yield "", "`next(model.parameters()).device` of a model, right before this line\n"


def _inferred(one: Place) -> list[tuple[str, str]]:
    """What was inferred of the names on a line, once each; nothing where that fails."""
    from torchdev_lint.cli_infer import sections
    from torchdev_lint.files import read_bytes
    from torchdev_lint.source.document import Document, SourceError

    if one.cell is not None:
        return []
    try:
        text = Document.from_bytes(read_bytes(one.path), one.path).text
        found = sections(text, one.row, one.path)
    except (OSError, SourceError, ConfigError):
        return []
    code = "\n".join(text.split("\n")[one.statement.first - 1 : one.statement.last])
    rows = [
        row
        for section in found
        for row in section.rows
        if re.search(rf"(?<![\w.]){re.escape(row[0])}(?!\w)", code)
    ]
    return list(dict.fromkeys(rows))[:MAX_INFERRED]


def _as_json(answer: Explanation) -> dict[str, Any]:
    from torchdev_lint.torch_api.error_messages import KINDS

    complaint = answer.complaint
    kind = None if complaint is None else KINDS[complaint.kind]
    return {
        "type": answer.error.type or None,
        "message": answer.error.message,
        "about_devices": complaint is not None,
        "kind": None if complaint is None else complaint.kind,
        "meaning": answer.advice if kind is None else kind.meaning,
        "look_at": None if kind is None else kind.look,
        "devices": [
            {"device": device, "of": what or None}
            for what, device in (() if complaint is None else complaint.devices)
        ],
        "operation": None if complaint is None else complaint.operation or None,
        "argument": None if complaint is None else complaint.argument or None,
        "frames": [_frame_as_json(one) for one in answer.places],
        "findings": [
            _finding_as_json(match, silenced=match.diagnostic in answer.silenced) for match in answer.findings
        ],
    }


def _finding_as_json(match: Match, *, silenced: bool) -> dict[str, Any]:
    from torchdev_lint.explain.matching import HOW
    from torchdev_lint.report import json as json_report

    one = match.diagnostic
    related = [
        {
            "filename": os.path.abspath(note.path or one.path),
            "cell": note.cell,
            "row": note.range.start.row,
            "column": note.range.start.column,
            "message": note.message,
        }
        for note in one.related
    ]
    return {**json_report.item(one), "how": HOW[match.how], "related": related, "silenced": silenced}


def _frame_as_json(one: Place) -> dict[str, Any]:
    return {
        "filename": os.path.abspath(one.path),
        "cell": one.cell,
        "row": one.row,
        "function": one.frame.function or None,
        "certain": one.certain,
    }

"""Write the tables of the precision study from its data, and say what they come to.

    python benchmarks/precision/render.py

`study.jsonl` holds the findings, one a line: `repo`, `commit`, `file`, `line`, `code`, `verdict` (`true`, `false` or
`undecidable`), `why`, whether it was among those that were `drawn`, and whether it was told in the `first` run and in
the `last`, which the linter's changes of the time between told apart. `study-repositories.jsonl` holds what was read:
`repo`, `commit`, `files`, `lines`.

Everything in docs/precision-findings.md from the heading of the findings on is replaced; the figures for
docs/precision.md are printed. Data that do not fit together end with an error, and nothing is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "precision-findings.md"
VERDICTS = ("true", "false", "undecidable")


def main() -> int:
    """Write the page, print the figures; 2 when the data do not fit together."""
    parser = argparse.ArgumentParser(description="Write the tables of the precision study.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail if the page is not up to date"
    )
    given = parser.parse_args()
    findings = read(HERE / "study.jsonl")
    repositories = read(HERE / "study-repositories.jsonl")
    wrong = trouble(findings, repositories)
    if wrong:
        print(f"study.jsonl: {wrong}", file=sys.stderr)
        return 2
    page = PAGE.read_text(encoding="utf-8")
    above, _, _ = page.partition("\n## The ")
    written = f"{above}\n{tables(findings, repositories)}"
    if given.check:
        return int(written != page)
    PAGE.write_text(written, encoding="utf-8")
    print(figures(findings, repositories))
    return 0


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def trouble(findings: Sequence[dict[str, Any]], repositories: Sequence[dict[str, Any]]) -> str:
    """What does not fit together in the data; empty if nothing."""
    known = {(one["repo"], one["commit"]) for one in repositories}
    for one in findings:
        place = f"{one['repo']} {one['file']}:{one['line']}"
        if (one["repo"], one["commit"]) not in known:
            return f"{place}: the repository is not in study-repositories.jsonl at this commit"
        if one["verdict"] not in VERDICTS:
            return f"{place}: verdict {one['verdict']!r} is none of {', '.join(VERDICTS)}"
        if not (one["first"] or one["last"]):
            return f"{place}: told in no run"
    return ""


def tables(findings: Sequence[dict[str, Any]], repositories: Sequence[dict[str, Any]]) -> str:
    """The findings and the repositories, as Markdown."""
    first = Counter(one["repo"] for one in findings if one["first"])
    last = Counter(one["repo"] for one in findings if one["last"])
    lines = [
        f"## The {len(findings)} findings",
        "",
        "Marked *not drawn*: judged like the others, but not among the 200 of the draw. *Cured*: told in the first run",
        "and not in the last; *new*: the other way round.",
        "",
        "| repository@commit | place | code | verdict | why |",
        "|---|---|---|---|---|",
    ]
    for one in findings:
        marks = [
            text
            for text, holds in (
                ("not drawn", not one["drawn"]),
                ("cured", not one["last"]),
                ("new", not one["first"]),
            )
            if holds
        ]
        note = f" *({', '.join(marks)})*" if marks else ""
        lines.append(
            f"| {one['repo']}@{one['commit'][:7]} | {one['file']}:{one['line']} | {one['code']} | {one['verdict']} "
            f"| {one['why']}{note} |"
        )
    lines += [
        "",
        "## Repositories",
        "",
        "Each was read in whole. Findings of the first run and of the last.",
        "",
        "| repository@commit | files | lines | findings | at the end |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {one['repo']}@{one['commit'][:7]} | {one['files']} | {one['lines']} | {first[one['repo']]} | {last[one['repo']]} |"
        for one in sorted(repositories, key=lambda one: -int(one["lines"]))
    ]
    return "\n".join(lines) + "\n"


def figures(findings: Sequence[dict[str, Any]], repositories: Sequence[dict[str, Any]]) -> str:
    """What the findings come to, all and by code, as Markdown."""
    lines = sum(int(one["lines"]) for one in repositories)
    files = sum(int(one["files"]) for one in repositories)
    rows = [
        f"{len(repositories)} repositories, {files} files, {lines} lines",
        "",
        "| | findings | true | false | undecidable | true of all | of the decided | false in 20,000 lines | with the undecidable |",
        "|---|---|---|---|---|---|---|---|---|",
        row("first run, drawn", (one for one in findings if one["first"] and one["drawn"]), 0),
        row("first run, all", (one for one in findings if one["first"]), lines),
        row("at the end, all", (one for one in findings if one["last"]), lines),
        "",
        "| code | drawn | true | false | undecidable | at the end | true | false | undecidable |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for code in sorted({one["code"] for one in findings}):
        drawn = counted(one for one in findings if one["code"] == code and one["first"] and one["drawn"])
        last = counted(one for one in findings if one["code"] == code and one["last"])
        rows.append(f"| {code} | {' | '.join(map(str, drawn))} | {' | '.join(map(str, last))} |")
    return "\n".join(rows)


def counted(findings: Iterable[dict[str, Any]]) -> tuple[int, int, int, int]:
    """How many there are, and how many are true, false, undecidable."""
    by = Counter(str(one["verdict"]) for one in findings)
    return by.total(), by["true"], by["false"], by["undecidable"]


def row(name: str, findings: Iterable[dict[str, Any]], lines: int) -> str:
    """One row of the figures; without lines, nothing is said of false alarms in so many lines."""
    number, true, false, open_ = counted(findings)
    rate = f"{false * 20000 / lines:.2f} | {(false + open_) * 20000 / lines:.2f}" if lines else " | "
    shares = f"{true / number:.1%} | {true / (true + false):.1%}" if true else "0 % | 0 %"
    return f"| {name} | {number} | {true} | {false} | {open_} | {shares} | {rate} |"


if __name__ == "__main__":
    sys.exit(main())

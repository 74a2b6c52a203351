"""What the text of a file says beside each judged finding: which signs tell true findings from false ones, in every batch.

    python benchmarks/precision/signs.py CHECKOUTS fourteenth fifteenth > signs.md

CHECKOUTS holds one directory for each repository, OWNER+NAME, at the commit of the batch. A finding whose file is missing is left out,
and counted. For each rule and sign: verdicts (true/false/undecidable) with and without the sign, the share of true ones among all, the
same with every repository counting once (findings of one repository are alike), and in how many batches the side that is better over
all is the better one. Signs are read from the text: no claim that they cause anything.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchdev_lint.flow.nn_modules.loading_evidence import only_defines

HERE = Path(__file__).parent
OPTION = re.compile(r"""add_argument\(\s*['"]-{1,2}(?:device|no.?cuda|cuda|cpu|use.?cuda|gpu)""")
SIGNS: dict[str, Callable[[str], bool]] = {
    "asks `is_available()`": lambda text: "is_available()" in text,
    'asks, an option, or names `"cpu"`': lambda text: (
        "is_available()" in text or bool(OPTION.search(text) or re.search(r"""['"]cpu['"]""", text))
    ),
    "`.cuda()`": lambda text: ".cuda()" in text,
    "`torch.save`": lambda text: "torch.save(" in text,
    "only defines networks": only_defines,
}


def main() -> int:
    """Print one table in Markdown; what is missing goes to standard error."""
    parser = argparse.ArgumentParser(description="Signs beside judged findings.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("batches", nargs="+")
    given = parser.parse_args()
    if not given.checkouts.is_dir():
        parser.error(f"{given.checkouts}: no such directory")
    rows, missing = _read(given.checkouts, given.batches)
    print(f"{len(rows)} findings, {missing} left out: no such file", file=sys.stderr)
    print(
        "| rule | sign in the file | with: T/F/U | true | by repository | without: T/F/U | true | by repository | batches |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for code in sorted({row["code"] for row in rows}):
        of_rule = [row for row in rows if row["code"] == code]
        for sign, holds in SIGNS.items():
            sides = [[row for row in of_rule if holds(row["text"]) is side] for side in (True, False)]
            if min(map(len, sides)) >= 5:
                print(f"| {code} | {sign} | " + " | ".join(map(_figures, sides)) + f" | {_batches(*sides)} |")
    return 0


def _read(checkouts: Path, batches: list[str]) -> tuple[list[dict[str, Any]], int]:
    rows, missing = [], 0
    for batch in batches:
        for line in (HERE / f"{batch}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line) | {"batch": batch}
            path = checkouts / row["repo"].replace("/", "+") / row["file"]
            if path.is_file():
                rows.append(row | {"text": _text(path)})
            else:
                missing += 1
    return rows, missing


def _text(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text).get("cells", [])
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def _true(rows: list[dict[str, Any]]) -> float:
    return sum(row["verdict"] == "true" for row in rows) / max(1, len(rows))


def _figures(rows: list[dict[str, Any]]) -> str:
    verdicts = Counter(row["verdict"] for row in rows)
    repositories = defaultdict(list)
    for row in rows:
        repositories[row["repo"]].append(row)
    by_repository = sum(map(_true, repositories.values())) / len(repositories)
    counts = "/".join(str(verdicts[verdict]) for verdict in ("true", "false", "undecidable"))
    return f"{counts} | {_true(rows):.0%} | {by_repository:.0%} of {len(repositories)}"


def _batches(with_it: list[dict[str, Any]], without: list[dict[str, Any]]) -> str:
    better, all_of_them = 0, 0
    expected = _true(with_it) > _true(without)
    for batch in sorted({row["batch"] for row in (*with_it, *without)}):
        sides = [[row for row in side if row["batch"] == batch] for side in (with_it, without)]
        if all(sides):
            all_of_them += 1
            better += (_true(sides[0]) > _true(sides[1])) is expected
    return f"{better} of {all_of_them}"


if __name__ == "__main__":
    sys.exit(main())

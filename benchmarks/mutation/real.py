"""Mutants of public code: what the linter notices when a file of a real repository is broken in one place.

    python benchmarks/mutation/real.py draw CHECKOUTS --seed 1 --repositories 100 > real.jsonl
    python benchmarks/mutation/real.py show CHECKOUTS real.jsonl [--half read] [--found no]
    python benchmarks/mutation/real.py again CHECKOUTS real.jsonl [--half read]
    python benchmarks/mutation/real.py table real.jsonl

CHECKOUTS holds one directory for each repository, called OWNER+NAME: a git checkout, or with the commit's hash in a file `.commit`.
Of each repository one file is drawn that is no test, handles devices, and in which the linter (default rules, no configuration, the
repository's other files beside it) finds nothing, and of each file up to two mutants (mutator.py) of different operators. They
cannot be executed, so whether a mutant is a mistake is for a reader to say: `verdict` (`real`, `harmless` or `undecidable`)
and `reason` are written into the file by hand, and `again` keeps them. The file holds no code: what it names is found again in the
checkouts. Half of the repositories, by the seed, are to be `read`, the others are `held out`: nothing is taught for their sake.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import libcst as cst
import mutator
from mutator import Mutant
from report import share, table

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.settings import Settings
from torchdev_lint.engine.sources import DiskSources

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "real.jsonl"

OPERATORS = (
    "tensor-to-dropped",
    "follow-dropped",
    "result-discarded",
    "module-to-dropped",
    "module-move-deleted",
    "factory-device-dropped",
    "factory-follow-dropped",
    "buffer-to-attribute",
    "modulelist-to-list",
    "map-location-dropped",
    "cpu-before-numpy-dropped",
)
"""The mistakes that are looked for in histories of repositories, too; the study of programs has more."""

HANDLES = re.compile(r"\.to\(|\.cuda\(|device=|register_buffer|\.cpu\(\)|map_location")
APART = re.compile(
    r"(^|/)(tests?|testing|docs?|third_party|vendor)/|(^|/)(test_[^/]*|[^/]*_test|conftest|setup)\.py$"
)
LINES = range(30, 1500)
"""How long a file may be: longer ones take too long."""
SECONDS = 60
TRIES = 12
"""Files of a repository that are looked at before it is given up."""
VERDICTS = ("real", "harmless", "undecidable")


class TooLongError(Exception):
    """A check that was ended."""


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TooLongError inside when the time is over."""

    def ring(signum: int, frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Repository:
    """A checkout, and the linter set up for it: default rules, without its configuration."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.name = path.name.replace("+", "/", 1)
        self._config = Settings(fixed=Config(root=str(self.path))).for_directory(str(self.path))
        self._sources = DiskSources()

    def check(self, text: str, path: str) -> list[Diagnostic]:
        """What is found in a text that stands in the place of one of its files; raises TooLongError."""
        with at_most(SECONDS):
            return findings(text, str(self.path / path), self._config, sources=self._sources)

    def text(self, path: str) -> str:
        """A file as the operators take it; raises UnicodeError."""
        return (self.path / path).read_bytes().decode("utf-8").replace("\r\n", "\n")

    @property
    def commit(self) -> str:
        """The commit that is checked out; empty when nothing says which."""
        noted = self.path / ".commit"
        if noted.exists():
            return noted.read_text(encoding="ascii").strip()[:10]
        done = subprocess.run(
            ["git", "-C", str(self.path), "rev-parse", "--short=10", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()

    def candidates(self) -> list[str]:
        """Its files that handle devices and are no tests."""
        found = []
        for path in sorted(self.path.rglob("*.py")):
            name = path.relative_to(self.path).as_posix()
            if APART.search(name) or not path.is_file():
                continue
            try:
                text = self.text(name)
            except UnicodeError:
                continue
            if "import torch" in text and HANDLES.search(text) and text.count("\n") in LINES:
                found.append(name)
        return found


def draw_of(repository: Repository, chance: random.Random, number: int) -> list[dict[str, Any]]:
    """The mutants of one file of a repository, linted; none if there is no such file."""
    candidates = repository.candidates()
    chance.shuffle(candidates)
    for path in candidates[:TRIES]:
        text = repository.text(path)
        try:
            found = mutator.mutants(text, OPERATORS)
            if not found or repository.check(text, path):
                continue
            return [record(repository, path, one) for one in chosen(found, chance, number)]
        except (mutator.MutationError, TooLongError, cst.ParserSyntaxError, RecursionError) as error:
            print(f"{repository.name} {path}: {type(error).__name__}: {error}", file=sys.stderr)
    return []


def chosen(found: Sequence[Mutant], chance: random.Random, number: int) -> list[Mutant]:
    """One mutant each of operators drawn: rare mistakes are as likely as those that can be made everywhere."""
    by_operator: dict[str, list[Mutant]] = {}
    for one in found:
        by_operator.setdefault(one.operator, []).append(one)
    operators = chance.sample(sorted(by_operator), min(number, len(by_operator)))
    return [chance.choice(by_operator[name]) for name in operators]


def record(repository: Repository, path: str, mutant: Mutant) -> dict[str, Any]:
    """What is kept of a mutant."""
    found = repository.check(mutant.source, path)
    return {
        "repository": repository.name,
        "commit": repository.commit,
        "path": path,
        "row": mutant.row,
        "column": mutant.column,
        "operator": mutant.operator,
        "found": codes(found),
    }


def codes(found: Sequence[Diagnostic]) -> list[str]:
    """The rules and rows; the file itself is silent, so that all of them are new."""
    return [f"{one.range.start.row}:{one.code}" for one in found]


def draw(checkouts: Path, seed: int, repositories: int, number: int) -> Iterator[dict[str, Any]]:
    """Mutants of repositories in the order of the seed; every other repository is held out."""
    paths = sorted(path for path in checkouts.iterdir() if path.is_dir())
    random.Random(seed).shuffle(paths)
    used = 0
    for path in paths:
        if used == repositories:
            return
        found = draw_of(Repository(path), random.Random(f"{seed} {path.name}"), number)
        print(f"{path.name}: {len(found)}", file=sys.stderr, flush=True)
        for one in found:
            yield {**one, "half": ("read", "held out")[used % 2]}
        used += bool(found)


def mutant_of(repository: Repository, one: dict[str, Any]) -> Mutant:
    """The mutant that a record names; raises LookupError when the checkout is another."""
    for mutant in mutator.mutants(repository.text(one["path"]), [one["operator"]]):
        if (mutant.row, mutant.column) == (one["row"], one["column"]):
            return mutant
    raise LookupError(f"{one['repository']} {one['path']}:{one['row']}: no such mutant in this checkout")


def again(checkouts: Path, records: Sequence[dict[str, Any]]) -> None:
    """Lint what is recorded once more; what was found first stays in `found`, what is now goes to `now`."""
    repository: Repository | None = None
    for one in records:
        path = checkouts / one["repository"].replace("/", "+", 1)
        if repository is None or repository.path != path.resolve():
            repository = Repository(path)
        one["now"] = codes(repository.check(mutant_of(repository, one).source, one["path"]))


def show(checkouts: Path, records: Sequence[dict[str, Any]], around: int) -> None:
    """Print mutants for a reader, the row of the mistake with its original."""
    for number, one in records:
        repository = Repository(checkouts / one["repository"].replace("/", "+", 1))
        mutant = mutant_of(repository, one)
        before, after = repository.text(one["path"]).split("\n"), mutant.source.split("\n")
        print(f"=== {number} {repository.path / one['path']}:{one['row']} {one['operator']} {one['found']}")
        first, last = max(0, one["row"] - 1 - around), min(len(after), one["row"] + around)
        for i in range(first, last):
            if before[i] != after[i]:
                print(f"{i + 1:5}- {before[i]}")
            print(f"{i + 1:5}{' ' if before[i] == after[i] else '+'} {after[i]}")


def render(records: Sequence[dict[str, Any]]) -> str:
    """Recall by operator, and why the others are missed, as Markdown."""
    columns = [(half, when) for half in ("read", "held out") for when in ("found", "now")]

    def cell(name: str | None, half: str, when: str) -> str:
        real = [
            one
            for one in records
            if one["half"] == half and one.get("verdict") == "real" and name in (None, one["operator"])
        ]
        return share(sum(bool(one.get(when)) for one in real), len(real))

    rows: list[list[object]] = [
        [f"`{name}`" if name else "**all**", *(cell(name, *column) for column in columns)]
        for name in (*OPERATORS, None)
    ]
    by_operator = table(
        ["operator", "read, first", "read, after", "held out, first", "held out, after"], rows
    )
    halves = ("read", "held out")
    verdicts = [
        [
            verdict,
            *(
                sum(one["half"] == half and one.get("verdict") == verdict for one in records)
                for half in halves
            ),
        ]
        for verdict in VERDICTS
    ]
    missed = Counter(
        (one["reason"], one["half"])
        for one in records
        if one.get("verdict") == "real" and not one.get("now") and one.get("reason")
    )
    reasons = Counter[str]()
    for (reason, _), count in missed.items():
        reasons[reason] += count
    why = [
        [reason, missed[reason, "read"], missed[reason, "held out"]] for reason, _ in reasons.most_common()
    ]
    return "\n\n".join(
        [
            by_operator,
            table(["mutants judged", *halves], verdicts),
            table(["why it is missed (after)", *halves], why),
        ]
    )


def section(records: Sequence[dict[str, Any]]) -> str:
    """The part of the report that is about real code."""
    real = [one for one in records if one["verdict"] == "real"]
    found = [one for one in records if one["found"]]
    false = [one for one in found if one["verdict"] == "harmless"]
    return TEXT.format(
        mutants=len(records),
        repositories=len({one["repository"] for one in records}),
        found=len(found),
        false=len(false),
        tables=render(records),
        **{
            f"{half}_{when}".replace(" ", "_"): share(
                sum(bool(one[key]) for one in real if one["half"] == half),
                sum(one["half"] == half for one in real),
            )
            for half in ("read", "held out")
            for when, key in (("first", "found"), ("after", "now"))
        },
    )


TEXT = """\
## On real code

The programs of this study were written for it. `real.py` breaks public code instead: of {repositories} repositories, in the order of a
seed, one file each is drawn that handles devices, is no test, and in which the linter finds nothing with its default rules and the
repository's other files beside it. Each is broken in one place, and in another one by another operator (all operators of a file are as
likely as each other): {mutants} mutants. Most of the repositories had been linted before to look for false alarms, and several are in the
lists of [mined bugs](realbugs.md); the mutants had never been seen.

Such code cannot be executed here, so every mutant was judged by one reader from its surroundings and, where that helps, from other files
of the repository: *real* (on a machine with an accelerator it raises, or leaves what is asked for to be on the accelerator where it is),
*harmless* (it is there already; only the dtype was changed; an index may be on the CPU; a module moves in place; another error that is
not about devices), or *undecidable*. A mutant counts as found if there is any finding at all, as the file had none. Those that were found
were only looked at in brief. Of {found} that were found first, {false} are harmless: a load of what the same run has saved, and an index
whose copy is thrown away.

Every other repository was held out: its missed mutants were read only when everything had been measured. First is the linter at 43d6a25,
after is that with what was taught for the sake of the half that was read. **First: {read_first} of the real mistakes found in the half
that was read, {held_out_first} in the half held out. After: {read_after} and {held_out_after}.** So about half of such mistakes in real
code is found, where of the study's own programs nearly all are; and what was taught (parts of a batch beside others that are moved,
arguments read beside others that are brought to the CPU, tensors returned beside others that are placed, buffers written in place)
carries over to the other half in one case of 52: as with mined bugs, what is missed is of many kinds.

{tables}

To repeat it, with checkouts in directories called OWNER+NAME (`again` writes what is found now, `show` prints mutants with their
surroundings):

    python benchmarks/mutation/real.py draw CHECKOUTS --seed 11 --repositories 100 > real.jsonl
    python benchmarks/mutation/real.py again CHECKOUTS benchmarks/mutation/results/real.jsonl
    python benchmarks/mutation/real.py table benchmarks/mutation/results/real.jsonl

The results name repositories, commits, files and rows, with the verdicts; no code is stored.
"""


def load(path: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def save(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write the records."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="draw and lint; prints JSON lines")
    drawing.add_argument("checkouts", type=Path)
    drawing.add_argument("--seed", type=int, default=1)
    drawing.add_argument("--repositories", type=int, default=100)
    drawing.add_argument("--mutants", type=int, default=2, help="of a file, at most")
    for name, text in (("show", "print mutants for a reader"), ("again", "lint them once more, in the file")):
        one = commands.add_parser(name, help=text)
        one.add_argument("checkouts", type=Path)
        one.add_argument("results", type=Path)
        one.add_argument("--half", choices=("read", "held out"))
        if name == "show":
            one.add_argument("--found", choices=("yes", "no"))
            one.add_argument("--around", type=int, default=12, metavar="ROWS")
    commands.add_parser("table", help="print the tables").add_argument("results", type=Path)
    given = parser.parse_args(argv)
    if given.command != "table" and not given.checkouts.is_dir():
        parser.error(f"{given.checkouts}: no such directory")
    if given.command == "draw":
        for drawn in draw(given.checkouts, given.seed, given.repositories, given.mutants):
            print(json.dumps(drawn), flush=True)
        return 0
    records = load(given.results)
    if given.command == "table":
        print(render(records))
        return 0
    wanted = [pair for pair in enumerate(records) if given.half in (None, pair[1]["half"])]
    if given.command == "again":
        again(given.checkouts, [one for _, one in wanted])
        save(given.results, records)
        return 0
    found = {"yes": True, "no": False, None: None}[given.found]
    show(
        given.checkouts,
        [pair for pair in wanted if found is None or bool(pair[1]["found"]) == found],
        given.around,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

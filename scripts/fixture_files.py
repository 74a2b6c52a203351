"""The fixtures, `tests/fixtures/<CODE>/<name>_{bad,good}.py`, and what is written on their lines.

`# error: TDV001, TDV002`   these are reported here, once each
`# raises`                  the innermost frame of the program's own file when it is run and fails

A bad program stands beside its repaired self, `<name>_bad.fixed`. A file called `_support_*` is no fixture but a
module that fixtures import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"

_ERROR = re.compile(r"# error: (TDV\d{3}(?:, TDV\d{3})*)(?=[ \t]*(?:#|$))", re.MULTILINE)
_RAISES = re.compile(r"# raises\s*$")


@dataclass(frozen=True)
class FixtureFile:
    """One program."""

    path: Path

    @property
    def rule(self) -> str:
        """The code of the rule whose folder it is in."""
        return self.path.parent.name

    @property
    def bad(self) -> bool:
        """Whether something is to be found in it."""
        return self.path.stem.endswith("_bad")

    @property
    def id(self) -> str:
        """A short name, unique among all fixtures."""
        return f"{self.rule}/{self.path.stem}"

    @property
    def fixed(self) -> Path:
        """Where a bad program's repaired self is stored."""
        return self.path.with_suffix(".fixed")

    @cached_property
    def data(self) -> bytes:
        """The file's content."""
        return self.path.read_bytes()

    @property
    def text(self) -> str:
        """The file's content; every fixture is UTF-8 with plain newlines."""
        return self.data.decode("utf-8")

    @property
    def repaired(self) -> bytes:
        """What the tool is to make of it: the stored repaired program, a good one's own content."""
        return self.fixed.read_bytes() if self.bad else self.data

    def expected(self) -> list[tuple[int, str]]:
        """The (row, code) of every finding, sorted."""
        return sorted(
            (row, code)
            for row, line in enumerate(self.text.splitlines(), 1)
            for match in [_ERROR.search(line)]
            if match
            for code in match[1].split(", ")
        )

    def codes(self) -> list[str]:
        """The codes of the findings, each once."""
        return sorted({code for _, code in self.expected()})

    def raises(self) -> list[int]:
        """The rows marked `# raises`."""
        return [row for row, line in enumerate(self.text.splitlines(), 1) if _RAISES.search(line)]

    def with_comments(self, comment: str) -> str:
        """The text with `comment` for every `# error: ...`, where `{codes}` stands for its codes."""
        return _ERROR.sub(lambda match: comment.format(codes=match[1]), self.text)


def rule_folders() -> list[Path]:
    """The folders of `FIXTURES`, one per rule."""
    return sorted(path for path in FIXTURES.iterdir() if path.is_dir() and path.name != "__pycache__")


def support_files() -> list[Path]:
    """The modules that fixtures import."""
    return sorted(FIXTURES.glob("*/_support_*.py"))


def fixture_files() -> list[FixtureFile]:
    """Every fixture, sorted by rule and name."""
    return list(_fixture_files())


def _fixture_files() -> Iterator[FixtureFile]:
    support = set(support_files())
    for folder in rule_folders():
        for path in sorted(folder.glob("*.py")):
            if path not in support:
                yield FixtureFile(path)

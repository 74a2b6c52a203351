"""Every fixture, every way: the command line, flake8, suppressed, fixed, fixed again, in other encodings.

The two real processes run once over all variants; what needs only one file runs in this process.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from fixture_files import FIXTURES, FixtureFile, fixture_files, rule_folders, support_files

from torchdev_lint.cli import main
from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.file_check import check_bytes
from torchdev_lint.rules.registry import all_rules

ALL_FIXTURES = fixture_files()
BAD = [fixture for fixture in ALL_FIXTURES if fixture.bad]
GOOD = [fixture for fixture in ALL_FIXTURES if not fixture.bad]

every_fixture = pytest.mark.parametrize("fixture", ALL_FIXTURES, ids=lambda fixture: fixture.id)
every_bad_fixture = pytest.mark.parametrize("fixture", BAD, ids=lambda fixture: fixture.id)
every_good_fixture = pytest.mark.parametrize("fixture", GOOD, ids=lambda fixture: fixture.id)

VARIANTS: dict[str, Callable[[FixtureFile], str]] = {
    "plain": lambda fixture: fixture.text,
    "noqa": lambda fixture: fixture.with_comments("# noqa: {codes}"),
    "blanket-noqa": lambda fixture: fixture.with_comments("# noqa"),
    "own-comment": lambda fixture: fixture.with_comments("# torchdev: ignore[{codes}]"),
    "other-code": lambda fixture: fixture.with_comments("# noqa: E501, TDV099"),
    "file-noqa": lambda fixture: "# flake8: noqa: TDV\n" + fixture.text,
}
SILENCED = ("noqa", "blanket-noqa", "own-comment", "file-noqa")

_LINE = re.compile(
    r"(?P<variant>[\w-]+)/(?P<id>TDV\d{3}/\w+)\.py:(?P<row>\d+):(?P<column>\d+): (?P<code>TDV\d{3}) (?P<text>.+)"
)


class Reported(NamedTuple):
    """One line of a report."""

    row: int
    column: int
    code: str
    text: str


Report = dict[tuple[str, str], list[Reported]]
"""What was reported of a fixture in a variant, by variant and fixture."""


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every fixture as it is, and every bad one in every variant."""
    root = tmp_path_factory.mktemp("variants")
    for name, make in VARIANTS.items():
        for fixture in ALL_FIXTURES if name == "plain" else BAD:
            target = root / name / fixture.path.relative_to(FIXTURES)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(make(fixture).encode("utf-8"))
    return root


def report_of(command: list[str], variants: Path) -> Report:
    """Run `command`, which must find something and have nothing to complain of, over all variants."""
    result = subprocess.run(
        [sys.executable, "-m", *command, *VARIANTS],
        cwd=variants,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (result.returncode, result.stderr) == (1, "")
    report: Report = defaultdict(list)
    for line in result.stdout.splitlines():
        match = _LINE.fullmatch(line.replace("\\", "/"))
        assert match is not None, line
        text = match["text"].removeprefix("[*] ")
        report[match["variant"], match["id"]].append(
            Reported(int(match["row"]), int(match["column"]), match["code"], text)
        )
    return {key: sorted(lines) for key, lines in report.items()}


@pytest.fixture(scope="module")
def command_line(variants: Path) -> Report:
    flags = ["--isolated", "--quiet", "--select=ALL", "--output-format=concise"]
    return report_of(["torchdev_lint", *flags], variants)


@pytest.fixture(scope="module")
def flake8(variants: Path) -> Report:
    pytest.importorskip("flake8")
    return report_of(["flake8", "--isolated", "--select=TDV", "--jobs=1"], variants)


@every_fixture
def test_the_command_line_finds_what_is_expected(command_line: Report, fixture: FixtureFile) -> None:
    found = command_line.get(("plain", fixture.id), [])
    assert [(one.row, one.code) for one in found] == fixture.expected()


@every_fixture
def test_flake8_finds_the_same_at_the_same_places(
    command_line: Report, flake8: Report, fixture: FixtureFile
) -> None:
    for variant in VARIANTS:
        assert flake8.get((variant, fixture.id)) == command_line.get((variant, fixture.id)), variant


@every_bad_fixture
@pytest.mark.parametrize("variant", SILENCED)
def test_a_suppression_silences(command_line: Report, fixture: FixtureFile, variant: str) -> None:
    assert (variant, fixture.id) not in command_line


@every_bad_fixture
def test_a_suppression_of_another_code_silences_nothing(command_line: Report, fixture: FixtureFile) -> None:
    assert command_line["other-code", fixture.id] == command_line["plain", fixture.id]


@pytest.mark.parametrize(
    ("fixture", "code"),
    [(one, code) for one in BAD if len(one.codes()) > 1 for code in one.codes()],
    ids=lambda value: value if isinstance(value, str) else value.id,
)
def test_a_suppression_of_one_of_two_codes_silences_one(fixture: FixtureFile, code: str) -> None:
    data = fixture.with_comments(f"# noqa: {code}").encode()
    found = check_bytes(data, "a.py", Config(select=("ALL",))).diagnostics
    assert [(one.range.start.row, one.code) for one in found] == [
        expected for expected in fixture.expected() if expected[1] != code
    ]


def fix(path: Path) -> int:
    """Fix `path` with the command line, in this process."""
    flags = ["--isolated", "--quiet", "--select=ALL", "--fix", "--unsafe-fixes"]
    return main([*flags, "--output-format=concise", str(path)])


@every_bad_fixture
def test_fixing_gives_the_stored_program_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fixture: FixtureFile
) -> None:
    path = tmp_path / fixture.path.name
    shutil.copy(fixture.path, path)
    assert fix(path) == 0
    assert path.read_bytes() == fixture.repaired
    assert fix(path) == 0
    assert path.read_bytes() == fixture.repaired
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


@every_good_fixture
def test_fixing_leaves_a_good_program_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fixture: FixtureFile
) -> None:
    path = tmp_path / fixture.path.name
    shutil.copy(fixture.path, path)
    before = path.stat()
    assert fix(path) == 0
    assert path.read_bytes() == fixture.data
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "windows newlines below a byte order mark": lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
    "latin-1": lambda data: b"# -*- coding: latin-1 -*-\n# caf\xe9 \xa0\n" + data,
    "tabs": lambda data: re.sub(rb"(?m)^(?:    )+", lambda match: b"\t" * (len(match[0]) // 4), data),
    "no newline at the end": lambda data: data.rstrip(b"\n"),
}
"""Ways to write a program down that its fix must keep."""

EVERYTHING = frozenset({Applicability.SAFE, Applicability.UNSAFE})


@every_bad_fixture
@pytest.mark.parametrize("name", ENCODINGS)
def test_fixing_changes_no_byte_elsewhere(fixture: FixtureFile, name: str) -> None:
    encode = ENCODINGS[name]
    result = check_bytes(encode(fixture.data), "a.py", Config(select=("ALL",)), EVERYTHING)
    assert (result.errors, result.diagnostics) == ((), ())
    assert result.data == encode(fixture.repaired)


def test_every_rule_has_a_bad_and_a_good_fixture() -> None:
    codes = {rule.code for rule in all_rules()}
    assert {folder.name for folder in rule_folders()} == codes
    assert {fixture.rule for fixture in BAD} == codes
    assert {fixture.rule for fixture in GOOD} == codes


def test_nothing_lies_about() -> None:
    known = {fixture.path for fixture in ALL_FIXTURES} | {fixture.fixed for fixture in BAD}
    known |= set(support_files())
    present = {path for path in FIXTURES.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert present == known


@every_fixture
def test_a_fixture_is_well_formed(fixture: FixtureFile) -> None:
    assert fixture.path.stem.endswith(("_bad", "_good"))
    # Errors and marks that the patterns do not know would go unnoticed.
    assert len(re.findall("error:", fixture.text)) == len({row for row, _ in fixture.expected()})
    assert len(re.findall("# raises", fixture.text)) == len(fixture.raises())
    if fixture.bad:
        assert fixture.rule in fixture.codes()
        assert len(fixture.raises()) == 1
        assert fixture.repaired != fixture.data
    else:
        assert not fixture.expected()
        assert not fixture.raises()
    for source in (fixture.data, fixture.repaired):
        tree = ast.parse(source, feature_version=(3, 10))
        assert ast.get_docstring(tree)

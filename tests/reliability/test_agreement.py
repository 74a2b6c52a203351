"""The faces agree: every format and flake8 tell of the same findings, and `--diff` shows what `--fix` writes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from torchdev_lint.cli import main

pytestmark = pytest.mark.untraced

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*_bad.py"))[::5]
CHECK = ["check", "--isolated", "--no-cache", "--exit-zero", "--quiet", "--jobs=1"]

Place = tuple[str, int, int, str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs with findings, some with other line ends and without a last one."""
    monkeypatch.chdir(tmp_path)
    for number, path in enumerate(PROGRAMS):
        data = path.read_bytes()
        match number % 4:
            case 1:
                data = data.replace(b"\n", b"\r\n")
            case 2:
                data = data.rstrip(b"\n")
            case 3:
                data = b"\xef\xbb\xbf" + data
        (tmp_path / path.name).write_bytes(data)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main([*CHECK, *arguments, "."]) == 0
    return capsys.readouterr().out


def in_lines(text: str, pattern: str) -> Counter[Place]:
    """The places in lines of text, by named groups."""
    found = [re.match(pattern, line) for line in text.splitlines()]
    return Counter(
        (match["path"].removeprefix("./"), int(match["row"]), int(match["column"]), match["code"])
        for match in found
        if match
    )


def test_every_format_tells_of_the_same(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = in_lines(
        told(capsys, "--output-format=concise"),
        r"(?P<path>[^:]+):(?P<row>\d+):(?P<column>\d+): (?P<code>TDV\d+)",
    )
    assert sum(plain.values()) > len(PROGRAMS) // 2  # of fewer there would be little to agree on

    def of_dicts(found: list[dict[str, object]]) -> Counter[Place]:
        places = []
        for one in found:
            start = one["location"]
            assert isinstance(start, dict)
            places.append((Path(str(one["filename"])).name, start["row"], start["column"], str(one["code"])))
        return Counter(places)

    assert of_dicts(json.loads(told(capsys, "--output-format=json"))) == plain
    lines = told(capsys, "--output-format=json-lines").splitlines()
    assert of_dicts([json.loads(line) for line in lines]) == plain
    github = r"::error .*file=(?P<path>[^,]+),line=(?P<row>\d+),col=(?P<column>\d+).*::.*(?P<code>TDV\d+)"
    without_directory = told(capsys, "--output-format=github").replace(f"{project}/", "")
    assert in_lines(without_directory, github) == plain
    results = json.loads(told(capsys, "--output-format=sarif"))["runs"][0]["results"]
    physical = [(one["locations"][0]["physicalLocation"], one["ruleId"]) for one in results]
    assert (
        Counter(
            (
                where["artifactLocation"]["uri"].rpartition("/")[2],
                where["region"]["startLine"],
                where["region"]["startColumn"],
                code,
            )
            for where, code in physical
        )
        == plain
    )


def test_flake8_tells_of_the_same(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern = r"(?P<path>[^:]+):(?P<row>\d+):(?P<column>\d+): (?P<code>TDV\d+)"
    plain = in_lines(told(capsys, "--output-format=concise"), pattern)
    command = [sys.executable, "-m", "flake8", "--isolated", "--jobs=1", "--select=TDV0", "."]
    flake8 = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert flake8.stderr == ""
    assert in_lines(flake8.stdout, pattern) == plain


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program that applies diffs is not installed")
def test_a_diff_is_what_fixing_writes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in PROGRAMS[:5]:
        source = path.read_text(encoding="utf-8").splitlines(keepends=True)
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (project / path.name).with_suffix(".ipynb").write_text(json.dumps(book, indent=1))
    before = {path.name: path.read_bytes() for path in project.iterdir()}
    assert main([*CHECK, "--diff", "--unsafe-fixes", "."]) == 0
    diff = capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in project.iterdir()} == before
    assert main([*CHECK, "--fix", "--unsafe-fixes", "."]) == 0
    after = {path.name: path.read_bytes() for path in project.iterdir()}
    changed = {name for name in before if after[name] != before[name]}
    assert len(changed) > len(PROGRAMS) / 2
    for name in changed:
        if not name.endswith(".ipynb"):
            (project / name).write_bytes(before[name])
    parts = re.split(r"^(?=--- )", diff, flags=re.MULTILINE)
    texts = "".join(part for part in parts if ".ipynb" not in part.partition("\n")[0])
    patched = subprocess.run(
        ["patch", "--binary", "-p0", "--batch", "--no-backup-if-mismatch"],
        input=texts.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert patched.returncode == 0, patched.stdout
    assert {path.name: path.read_bytes() for path in project.iterdir()} == after
    assert any(name.endswith(".ipynb") for name in changed)
    told_of = {re.split(r"[:\s]", part[4:])[0] for part in parts if part.startswith("--- ")}
    assert told_of == changed

"""`torchdev-ruff` beside the real Ruff: the same command line, the same shapes, both tools' findings."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from ruff_reference import RUFF

from torchdev_lint.ruff_api_shim import main
from torchdev_lint.shim import findings
from torchdev_lint.shim.flags import LINTERS, Command, UnknownFlagError, UsageError, for_ruff, for_us, parse
from torchdev_lint.shim.program import Settings, find_ruff


@dataclass
class Outcome:
    """What a run came to."""

    code: int
    out: str
    err: str


Shim = Callable[..., Outcome]

needs_ruff = pytest.mark.skipif(RUFF is None, reason="ruff is not installed")

TIMES = "\N{MULTIPLICATION SIGN}"
FORMATS = "full concise grouped json json-lines sarif github gitlab junit pylint azure rdjson".split()

THEIRS = 'import os\n\nx = "é😀"; import re\nif x == None:\n    pass\n'
"""Findings of Ruff only, with a safe and an unsafe fix, and a column after wide characters."""
MIXED = "import os\nimport torch\nif torch == None:\n    SAFE\n"
"""Findings of both."""


@pytest.fixture
def shim(
    project: Path, stand_in: object, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shim:
    """Runs `torchdev-ruff` in this process, on top of the stand-in for the inference."""
    for name in ("RUFF_OUTPUT_FORMAT", "RUFF_OUTPUT_FILE", "TORCHDEV_RUFF"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, stdin: str | None = None) -> Outcome:
        capfd.readouterr()
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            code = main(arguments)
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def ruff(project: Path, capfd: pytest.CaptureFixture[str]) -> Shim:
    """Runs the real Ruff."""

    def run(*arguments: str, stdin: str | None = None) -> Outcome:
        result = subprocess.run(
            [str(RUFF), *arguments], input=(stdin or "").encode(), capture_output=True, check=False
        )
        return Outcome(result.returncode, result.stdout.decode(), result.stderr.decode())

    return run


SELECT = ("--isolated", "--no-cache", "--select=F401,E711,E702,TDV")
ONLY_THEIRS = ("--isolated", "--no-cache", "--select=F401,E711,E702")


@needs_ruff
@pytest.mark.parametrize("name", FORMATS)
def test_with_nothing_to_add_ruff_s_words_are_not_touched(
    shim: Shim, ruff: Shim, project: Path, name: str
) -> None:
    (project / "a.py").write_text(THEIRS)
    expected = ruff("check", *ONLY_THEIRS, f"--output-format={name}")
    assert shim("check", *SELECT, f"--output-format={name}") == expected
    stdin = ("--stdin-filename=b.py", "-")
    expected = ruff("check", *ONLY_THEIRS, f"--output-format={name}", *stdin, stdin=THEIRS)
    assert shim("check", *SELECT, f"--output-format={name}", *stdin, stdin=THEIRS) == expected


def both(shim: Shim, ruff: Shim, project: Path, name: str) -> tuple[Outcome, Outcome]:
    """The report of both on two files, and Ruff's alone."""
    (project / "a.py").write_text(THEIRS)
    (project / "b.py").write_text(MIXED)
    return (
        shim("check", *SELECT, f"--output-format={name}"),
        ruff("check", *ONLY_THEIRS, f"--output-format={name}"),
    )


@needs_ruff
def test_json_is_merged_item_by_item(shim: Shim, ruff: Shim, project: Path) -> None:
    merged, alone = both(shim, ruff, project, "json")
    items, theirs = json.loads(merged.out), json.loads(alone.out)
    assert [item for item in items if item["code"] != "TDV001"] == theirs
    (ours,) = (item for item in items if item["code"] == "TDV001")
    assert _shape(ours) == _shape(next(item for item in theirs if item["fix"]))
    order = [(item["filename"], item["location"]["row"], item["location"]["column"]) for item in items]
    assert order == sorted(order)
    assert items.index(ours) > 0
    assert merged.code == alone.code == 1
    # The text, too, is as Ruff's: sorted keys, two spaces, no newline at the end.
    assert merged.out == json.dumps(items, indent=2, sort_keys=True, ensure_ascii=False)


def _shape(value: Any) -> Any:
    """Keys and types of JSON, all the way down."""
    if isinstance(value, dict):
        return {key: "text or null" if key == "url" else _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(item) for item in value[:1]]
    return type(value).__name__


@needs_ruff
@pytest.mark.parametrize("name", ["json-lines", "concise", "github", "pylint", "azure"])
def test_formats_by_line_have_all_of_ruff_s_lines_and_ours(
    shim: Shim, ruff: Shim, project: Path, name: str
) -> None:
    merged, alone = both(shim, ruff, project, name)
    ours = [line for line in merged.out.splitlines() if "TDV001" in line]
    assert len(ours) == 1
    left = [line for line in merged.out.splitlines() if line not in ours]
    end = -2 if name == "concise" else None  # the summary counts both
    assert left[:end] == [line for line in alone.out.splitlines() if line][:end]


@needs_ruff
def test_full_and_grouped_have_ruff_s_findings(shim: Shim, ruff: Shim, project: Path) -> None:
    merged, alone = both(shim, ruff, project, "full")
    blocks = merged.out.split("\n\n")
    assert [block for block in blocks if not block.startswith("TDV001")][:-1] == alone.out.split("\n\n")[:-1]
    assert sum(block.startswith("TDV001") for block in blocks) == 1
    merged, alone = both(shim, ruff, project, "grouped")
    squeezed = [re.sub(" +", " ", line) for line in merged.out.splitlines() if "TDV001" not in line]
    assert squeezed[:-2] == [re.sub(" +", " ", line) for line in alone.out.splitlines()][:-2]


@needs_ruff
@pytest.mark.parametrize("flags", [[], ["--unsafe-fixes"], ["--color=always"]])
def test_what_ruff_s_json_lacks_is_shown_in_full(
    shim: Shim, ruff: Shim, project: Path, flags: list[str]
) -> None:
    redefined = "import torch\ndef f():\n    pass\ndef f():\n    SAFE\ntorch\n"
    (project / "a.py").write_text(redefined)
    merged = shim("check", "--isolated", "--no-cache", "--select=F811,TDV", *flags).out
    alone = ruff("check", "--isolated", "--no-cache", "--select=F811", *flags).out
    drawing = alone[: alone.index("Found 1 error")]
    assert "previous definition of `f` here" in drawing
    assert merged.startswith(drawing)
    assert "Found 2 errors." in merged


@needs_ruff
def test_sarif_has_a_run_for_each_tool(shim: Shim, ruff: Shim, project: Path) -> None:
    merged, alone = (json.loads(one.out) for one in both(shim, ruff, project, "sarif"))
    theirs, ours = merged["runs"]
    (expected,) = alone["runs"]
    assert theirs["tool"]["driver"]["name"] == "ruff"
    assert theirs["tool"]["driver"]["version"] == expected["tool"]["driver"]["version"]
    for key in ("ruleId", "level", "message"):
        assert [one[key] for one in theirs["results"]] == [one[key] for one in expected["results"]]
    regions = [
        [one["locations"][0]["physicalLocation"]["region"] for one in run["results"]]
        for run in (theirs, expected)
    ]
    assert regions[0] == regions[1]
    rules = [
        {rule["id"]: rule["helpUri"] for rule in run["tool"]["driver"]["rules"]} for run in (theirs, expected)
    ]
    assert rules[0] == rules[1]
    assert [one["ruleId"] for one in ours["results"]] == ["TDV001"]
    assert ours["tool"]["driver"]["name"] == "torchdev-lint"


@needs_ruff
def test_gitlab(shim: Shim, ruff: Shim, project: Path) -> None:
    merged, alone = (json.loads(one.out) for one in both(shim, ruff, project, "gitlab"))
    assert {item["check_name"] for item in merged} == {"F401", "E702", "E711", "TDV001"}
    # Fingerprints included: whether we have something to add must not make Ruff's findings new ones.
    assert [item for item in merged if item["check_name"] != "TDV001"] == alone
    assert len({item["fingerprint"] for item in merged}) == len(merged)


@needs_ruff
def test_junit(shim: Shim, ruff: Shim, project: Path) -> None:
    merged, alone = (ElementTree.fromstring(one.out) for one in both(shim, ruff, project, "junit"))

    def cases(root: ElementTree.Element) -> list[Any]:
        return [
            (case.attrib, failure.attrib, failure.text)
            for case in root.iter("testcase")
            for failure in case.iter("failure")
        ]

    assert [case for case in cases(merged) if "TDV001" not in case[0]["name"]] == cases(alone)
    (ours,) = (case for case in cases(merged) if "TDV001" in case[0]["name"])
    assert ours[0]["name"] == "org.torchdev-lint.TDV001"


@needs_ruff
def test_rdjson(shim: Shim, ruff: Shim, project: Path) -> None:
    merged, alone = (json.loads(one.out)["diagnostics"] for one in both(shim, ruff, project, "rdjson"))
    # Ours counts columns in bytes, as the format's specification has it; Ruff does not.
    plain = [
        one for one in merged if one["code"]["value"] != "TDV001" and one["location"]["path"].endswith("b.py")
    ]
    expected = [one for one in alone if one["location"]["path"].endswith("b.py")]
    assert [one.pop("source") for one in plain] == [{"name": "ruff"}] * len(expected)
    assert plain == expected


@needs_ruff
def test_notebooks(shim: Shim, ruff: Shim, project: Path) -> None:
    cells = [("markdown", "# title"), ("code", "import torch\nimport os"), ("code", "torch\nSAFE")]
    notebook = {
        "cells": [
            {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
            | ({"execution_count": None, "outputs": []} if kind == "code" else {})
            for kind, text in cells
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 2,
    }
    (project / "n.ipynb").write_text(json.dumps(notebook, indent=1))
    items = json.loads(shim("check", *SELECT, "--output-format=json").out)
    assert [(item["code"], item["cell"], item["location"]["row"]) for item in items] == [
        ("F401", 2, 2),
        ("TDV001", 3, 2),
    ]
    assert [items[0]] == json.loads(ruff("check", *ONLY_THEIRS, "--output-format=json").out)
    out = shim("check", *SELECT, "--output-format=concise").out
    assert out.startswith("n.ipynb:cell 2:2:8: F401 [*] ")
    assert "F401" in shim("check", *SELECT).out.partition("TDV001")[0]


@needs_ruff
def test_a_notebook_may_come_as_one_text(shim: Shim) -> None:
    flags = ("--extension=ipynb:python", "--stdin-filename=n.ipynb", "--output-format=json")
    (item,) = json.loads(shim("check", *SELECT, *flags, "-", stdin="import torch\ntorch\nSAFE\n").out)
    assert (item["code"], item["cell"], item["location"]["row"]) == ("TDV001", None, 3)
    assert item["filename"].endswith("n.ipynb")


@needs_ruff
def test_a_file_that_does_not_parse_is_reported_once_by_ruff(shim: Shim, project: Path) -> None:
    (project / "a.py").write_text("import torch\ndef f(:\n")
    (project / "b.py").write_text("import torch\ntorch\nSAFE\n")
    outcome = shim("check", *SELECT, "--output-format=concise")
    assert "a.py:2:7: invalid-syntax: Expected a parameter" in outcome.out
    assert "TDV999" not in outcome.out
    assert outcome.code == 1


@needs_ruff
def test_comments_of_ours_stay_alive(shim: Shim, project: Path) -> None:
    source = "import torch  # noqa: F401, TDV001\nx = 1  # noqa: TDV004, F401, V1\n"
    (project / "a.py").write_text(source)
    (project / "ruff.toml").write_text('[lint]\nselect = ["F", "RUF100", "RUF102"]\nexternal = ["V"]\n')
    outcome = shim("check", "--fix", "a.py", "--no-cache")
    assert (project / "a.py").read_text() == source.replace("TDV004, F401, V1", "TDV004, V1")
    assert outcome.code == 0


def test_external_is_only_added_to() -> None:
    assert Settings(("V",)).keep_ours() == ["--config", 'lint.external = ["V", "TDV"]']
    assert Settings(("TDV",)).keep_ours() == []


# -- fixes


@needs_ruff
def test_fix_applies_ours_and_theirs(shim: Shim, project: Path) -> None:
    (project / "a.py").write_text(MIXED)
    (project / "b.py").write_text("import os\n")
    outcome = shim("check", *SELECT, "--fix", "--show-fixes", "--output-format=concise")
    assert (project / "a.py").read_text() == MIXED.replace("import os\n", "").replace("SAFE", "ok")
    assert (project / "b.py").read_text() == ""
    assert (
        f"- a.py:\n    1 {TIMES} F401 (unused-import)\n    1 {TIMES} TDV001 (model-input-on-other-device)\n"
        in outcome.out
    )
    # What is left has the places of the fixed file.
    assert outcome.out.startswith("a.py:2:13: E711 ")
    assert "Found 4 errors (3 fixed, 1 remaining)." in outcome.out
    assert outcome.code == 1


@needs_ruff
@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ([], 0),
        (["--exit-non-zero-on-fix"], 1),
        (["--unsafe-fixes"], 0),
        (["--no-fix"], 1),
        (["--no-fix", "--exit-zero"], 0),
    ],
)
def test_exit_codes_of_fix(shim: Shim, project: Path, flags: list[str], code: int) -> None:
    (project / "a.py").write_text("import os\nimport torch\ntorch\nSAFE\n")
    assert shim("check", *SELECT, "--fix", *flags).code == code


@needs_ruff
def test_fix_only_reports_nothing(shim: Shim, project: Path) -> None:
    (project / "a.py").write_text(MIXED)
    outcome = shim("check", *SELECT, "--fix-only", "--output-format=json")
    assert (outcome.code, json.loads(outcome.out)) == (0, [])
    assert "ok" in (project / "a.py").read_text()


@needs_ruff
def test_stdin_with_fix_prints_the_fixed_source_and_the_rest_on_stderr(shim: Shim) -> None:
    flags = ("--fix", "--output-format=json", "--stdin-filename=a.py")
    outcome = shim("check", *SELECT, *flags, "-", stdin=MIXED)
    assert outcome.out == MIXED.replace("import os\n", "").replace("SAFE", "ok")
    (left,) = json.loads(outcome.err)
    assert (left["code"], left["location"]["row"], outcome.code) == ("E711", 2, 1)


@needs_ruff
@pytest.mark.parametrize("stdin", [False, True])
def test_diff_shows_both_and_changes_nothing(shim: Shim, project: Path, stdin: bool) -> None:
    (project / "a.py").write_text(MIXED)
    (project / "b.py").write_text("import os\n")
    (project / "c.py").write_text("import os\nprint(os)\n")
    more = ["--stdin-filename=a.py"] if stdin else []
    outcome = shim("check", *SELECT, "--diff", *more, stdin=MIXED)
    assert outcome.code == 1
    assert outcome.out.startswith(
        "--- a.py\n+++ a.py\n@@ -1,4 +1,3 @@\n-import os\n import torch\n if torch == None:\n-    SAFE\n+    ok\n"
    )
    assert ("--- b.py" in outcome.out) is not stdin
    assert outcome.err.startswith(f"Would fix {2 if stdin else 3} errors")
    assert (project / "a.py").read_text() == MIXED
    assert shim("check", *SELECT, "--diff", "c.py").code == 0


@needs_ruff
def test_add_noqa_writes_the_comments_of_both(shim: Shim, project: Path) -> None:
    (project / "a.py").write_text("import torch\nx = SAFE; import os\n")
    outcome = shim("check", *SELECT, "--add-noqa")
    assert outcome.code == 0
    text = (project / "a.py").read_text()
    assert re.search(r"x = SAFE; import os  # noqa: .*TDV001", text)
    assert re.search(r"x = SAFE; import os  # noqa: .*F401", text)
    assert shim("check", *SELECT).code == 0


@needs_ruff
def test_fixed_lines_are_tidied_on_request_and_no_others(shim: Shim, project: Path) -> None:
    before = "import torch\nx = [ 1,2 ]\ny = [ SAFE ,1 ]\ntorch\n"
    for flags, expected in (([], "y = [ ok ,1 ]"), (["--tidy-fixes"], "y = [ok, 1]")):
        (project / "a.py").write_text(before)
        shim("check", *SELECT, "--fix", *flags)
        assert (project / "a.py").read_text() == before.replace("y = [ SAFE ,1 ]", expected)
        out = shim("check", *SELECT, "--fix", *flags, "--stdin-filename=a.py", "-", stdin=before).out
        assert out == before.replace("y = [ SAFE ,1 ]", expected)


@needs_ruff
def test_statistics_count_both(shim: Shim, project: Path) -> None:
    (project / "a.py").write_text(MIXED)
    out = shim("check", *SELECT, "--statistics").out
    assert {line.split("\t")[1] for line in out.splitlines() if "\t" in line} == {"F401", "E711", "TDV001"}
    rows = json.loads(shim("check", *SELECT, "--statistics", "--output-format=json").out)
    assert set(rows[0]) == {"code", "name", "count", "fixable", "fixable_count"}


# -- the command line


@pytest.mark.parametrize(
    ("select", "ours", "theirs"),
    [
        ([], True, True),
        (["--select=F401"], False, True),
        (["--select", "TDV001"], True, False),
        (["--select=ALL"], True, True),
        (["--select=F401", "--extend-select=TDV001"], True, True),
        (["--select=TDV", "--extend-select=F401"], True, True),
        (["--ignore=TDV001"], False, True),
        (["--ignore=F401"], True, False),
        (["--extend-ignore=F401,TDV001"], False, False),
        (["--per-file-ignores=a.py:TDV001"], False, True),
        (["--per-file-ignores", "a.py:F401,a.py:TDV001"], False, False),
        (["--per-file-ignores=a.py:ALL"], False, False),
    ],
)
@needs_ruff
def test_selectors_reach_whom_they_concern(
    shim: Shim, project: Path, select: list[str], ours: bool, theirs: bool
) -> None:
    (project / "a.py").write_text("import os\nimport torch\ntorch\nSAFE\n")
    items = json.loads(shim("check", "--isolated", "--no-cache", *select, "--output-format=json", "a.py").out)
    codes = {item["code"] for item in items} & {"F401", "TDV001"}
    assert codes == {code for code, on in (("TDV001", ours), ("F401", theirs)) if on}


@needs_ruff
def test_every_flag_of_ruff_is_taken(shim: Shim, ruff: Shim, project: Path) -> None:
    (project / "a.py").write_text(MIXED)
    listed = ruff("check", "--help").out
    found = re.findall(r"^ +(?:-(\w), )?--([\w-]+)(?:\[?=?)?( ?<)?", listed, re.MULTILINE)
    assert len(found) > 40
    values = {
        "target-version": "py310",
        "extension": "ipy:ipynb",
        "output-format": "concise",
        "color": "never",
        "config": "line-length = 100",
        "per-file-ignores": "x.py:F401",
        "extend-per-file-ignores": "x.py:F401",
        "stdin-filename": "a.py",
        "cache-dir": "cache",
    }
    for short, name, value in found:
        if name in ("help", "watch", "add-noqa", "add-ignore", "version"):
            continue
        arguments = [f"--{name}", values.get(name, "F401")] if value else [f"--{name}"]
        parse(arguments)
        if short:
            parse([f"-{short}", *arguments[1:]])
        outcome = shim("check", *arguments, stdin=MIXED)
        assert outcome.code in (0, 1), (arguments, outcome)
        (project / "a.py").write_text(MIXED)


def test_the_flags_of_python_lsp_ruff_are_taken_apart() -> None:
    command = parse(
        "--quiet --exit-zero --output-format=json --extension=ipynb:python --no-fix --force-exclude --stdin-filename=/x/z.py "
        "--line-length=88 --preview --unfixable=F401,TDV001 --select=E,TDV --extend-ignore=E501 --target-version=py310 -- -".split()
    )
    assert command.reads_stdin
    assert not command.fixes
    assert "--unfixable=F401" in for_ruff(command)
    ours = for_us(command)
    assert "--unfixable=TDV001" in ours
    assert "--select=TDV" in ours
    assert ours[-2:] == ["--", "-"]
    assert not any("line-length" in one or "target" in one for one in ours)


def test_clusters_and_values_of_short_flags() -> None:
    command = parse(["-qne", "-oout.txt", "a.py", "-o", "other", "--", "-n"])
    assert [flag.text() for flag in command.flags] == [
        "--quiet",
        "--no-cache",
        "--exit-zero",
        "--output-file=out.txt",
        "--output-file=other",
    ]
    assert command.paths == ("a.py", "-n")
    assert Command((), ()).value("color") is None


@pytest.mark.parametrize("arguments", [["--output-format"], ["--fix=1"], ["--diff", "--show-fixes"], ["-o"]])
def test_bad_usage(arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(arguments)
    assert main(["check", *arguments]) == 2


def test_unknown_flags_exit_with_2(shim: Shim, ruff: Shim) -> None:
    with pytest.raises(UnknownFlagError):
        parse(["--nope"])
    for flags in (["--nope"], ["--without-ruff", "--nope"], ["-Z"]):
        outcome = shim("check", *flags)
        assert (outcome.code, outcome.out) == (2, "")
        assert f"unexpected argument '{flags[-1]}' found" in outcome.err


@needs_ruff
def test_what_ruff_rejects_ends_with_2_and_its_own_words(shim: Shim, project: Path) -> None:
    (project / "a.py").write_text(MIXED)
    for flags in (["--select=ZZZ"], ["--output-format=nope"], ["--config", "nope = 1"]):
        outcome = shim("check", *flags)
        assert (outcome.code, outcome.out) == (2, ""), flags
        assert len(re.findall(r"^(error:|ruff failed)", outcome.err, re.MULTILINE)) == 1
    (project / "ruff.toml").write_text("nope = 1\n")
    assert shim("check").code == 2
    outcome = shim("check", "--fix")
    assert (outcome.code, (project / "a.py").read_text()) == (2, MIXED)


@needs_ruff
def test_ruff_s_configuration_counts(shim: Shim, project: Path) -> None:
    (project / "a.py").write_text("import os\nimport torch\ntorch\nSAFE\n")
    (project / "ruff.toml").write_text('fix = true\noutput-format = "json"\nlint.select = ["F401"]\n')
    outcome = shim("check", "--no-cache")
    assert (outcome.code, json.loads(outcome.out)) == (0, [])
    assert (project / "a.py").read_text() == "import torch\ntorch\nok\n"
    (project / "a.py").write_text("import torch\ntorch\nSAFE\n")
    assert len(json.loads(shim("check", "--no-cache", "--no-fix").out)) == 1


@needs_ruff
def test_output_goes_where_it_is_told(shim: Shim, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.py").write_text(MIXED)
    assert shim("check", *SELECT, "--output-format=json", "-o", "out/report.json").out == ""
    assert len(json.loads((project / "out/report.json").read_text())) == 3
    monkeypatch.setenv("RUFF_OUTPUT_FORMAT", "json")
    monkeypatch.setenv("RUFF_OUTPUT_FILE", "env.json")
    assert shim("check", *SELECT).out == ""
    assert len(json.loads((project / "env.json").read_text())) == 3


LOADED = """
import sys
from torchdev_lint.ruff_api_shim import main
code = main(sys.argv[1:])
sys.stderr.write(repr((code, sorted({"torchdev_lint.rules.registry", "torchdev_lint.cli_check", "libcst"} & set(sys.modules)))))
"""


@needs_ruff
def test_a_text_that_cannot_concern_us_loads_next_to_nothing(project: Path) -> None:
    def loaded(source: str, *flags: str) -> str:
        command = [sys.executable, "-c", LOADED, "check", "--isolated", "--stdin-filename=a.py", *flags, "-"]
        return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stderr

    assert loaded(THEIRS) == "(1, [])"
    assert loaded("x = 1\n") == "(0, [])"
    for source, flags in (
        ("import torch\n", ()),
        ("x = 1  # noqa: TDV001\n", ()),
        ("x\n", ("--select=TDV",)),
    ):
        assert "cli_check" in loaded(source, *flags)


@needs_ruff
@pytest.mark.parametrize("setting", ['tensor-constructors = ["SAFE"]', "tensor-constructors = 3"])
def test_our_configuration_may_widen_what_concerns_us(shim: Shim, project: Path, setting: str) -> None:
    flags = ("--select=TDV,F", "--output-format=concise", "--stdin-filename=pkg/a.py")
    assert shim("check", *flags, "-", stdin="SAFE = 1\n").code == 0
    (project / "torchdev-lint.toml").write_text(setting + "\n")
    outcome = shim("check", *flags, "-", stdin="SAFE = 1\n")
    assert ("TDV001" in outcome.out, "must be" in outcome.err) in ((True, False), (False, True))


@needs_ruff
def test_quiet_and_silent(shim: Shim, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.py").write_text(MIXED)
    assert "Found" not in shim("check", *SELECT, "-q", "--output-format=concise").out
    streams = sys.stdout, sys.stderr
    outcome = shim("check", *SELECT, "-s")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "")
    assert (sys.stdout, sys.stderr) == streams


@needs_ruff
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_ruff_s_configuration_is_understood(shim: Shim, project: Path, name: str) -> None:
    (project / "a.py").write_text(MIXED)
    (project / "ruff.toml").write_text(f'output-format = "{name}"\n')
    expected = shim("check", "--no-cache", f"--output-format={name}")
    assert shim("check", "--no-cache") == expected
    assert "TDV001" in expected.out


def test_a_bad_value_in_the_environment_is_an_error(shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUFF_OUTPUT_FORMAT", "xml")
    outcome = shim("check")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(
        "error: invalid value 'xml' for '--output-format'\n  [possible values: concise, "
    )


# -- other commands


@needs_ruff
def test_other_commands_are_ruff_s(shim: Shim, ruff: Shim, project: Path) -> None:
    (project / "a.py").write_text("x = [ 1 ]\n")
    for arguments in (
        ["format", "--diff", "a.py"],
        ["config", "lint.select"],
        ["analyze", "graph"],
        ["nonsense"],
        ["--isolated", "format", "--check"],
        ["clean"],
        ["rule", "F401"],
        ["rule", "ZZZ"],
        ["check", "--show-settings", "a.py"],
    ):
        mine, real = shim(*arguments), ruff(*arguments)
        assert (mine.code, mine.out) == (real.code, real.out), arguments


@needs_ruff
def test_version_begins_as_ruff_s(shim: Shim, ruff: Shim) -> None:
    real = ruff("--version").out.strip()
    assert shim("--version").out.startswith(f"{real} (torchdev-lint ")
    assert shim("version").out.startswith(f"{real} (torchdev-lint ")
    theirs = json.loads(ruff("version", "--output-format=json").out)
    ours = json.loads(shim("version", "--output-format", "json").out)
    assert theirs.items() <= ours.items()


@needs_ruff
def test_linter_lists_both(shim: Shim, ruff: Shim) -> None:
    ours, theirs = shim("linter").out.splitlines(), ruff("linter").out.splitlines()
    assert [line for line in ours if line != " TDV torchdev-lint"] == theirs
    listed = json.loads(shim("linter", "--output-format=json").out)
    assert {"prefix": "TDV", "name": "torchdev-lint"} in listed
    assert len(listed) == len(theirs) + 1
    known = {prefix for line in theirs for prefix in line.split()[0].split("/")}
    assert known == set(LINTERS), "the list of Ruff's prefixes is that of another version"


@needs_ruff
def test_rules_of_both(shim: Shim, ruff: Shim) -> None:
    theirs = json.loads(ruff("rule", "F401", "--output-format=json").out)
    ours = json.loads(shim("rule", "TDV001", "--output-format=json").out)
    assert set(theirs) <= set(ours)
    everything = json.loads(shim("rule", "--all", "--output-format", "json").out)
    assert {"F401", "TDV001"} <= {rule["code"] for rule in everything}
    text = shim("rule", "--all").out
    assert "# unused-import (F401)" in text
    assert "# model-input-on-other-device (TDV001)" in text


def test_help(shim: Shim) -> None:
    assert "--without-ruff" in shim("--help").out
    assert shim("check", "--help").code == 0
    outcome = shim()
    assert (outcome.code, outcome.out) == (2, "")


# -- with no Ruff


@pytest.fixture
def alone(shim: Shim, monkeypatch: pytest.MonkeyPatch) -> Shim:
    """`torchdev-ruff` where no Ruff is installed."""
    monkeypatch.setenv("TORCHDEV_RUFF", "1")
    return shim


def test_without_ruff_ours_are_reported_in_its_manner(alone: Shim, project: Path) -> None:
    (project / "a.py").write_text(MIXED)
    outcome = alone("check", "--output-format=json", "--line-length=88", "--preview", "--extend-ignore=E501")
    assert [item["code"] for item in json.loads(outcome.out)] == ["TDV001"]
    assert outcome.code == 1
    assert alone("check", "--select=F401,TDV001").code == 1
    assert alone("check", "--select=F401").out == "All checks passed!\n"
    outcome = alone("check", "--select=ZZZ")
    assert (outcome.code, outcome.out) == (2, "")
    assert "unknown rule selector: `ZZZ`" in outcome.err
    out = alone("check", "--fix", "-", stdin="import torch\nSAFE\n").out
    assert out == "import torch\nok\n"
    assert alone("check", "--diff").code == 1


def test_without_ruff_a_missing_file_is_e902_as_in_ruff(alone: Shim, ruff: Shim) -> None:
    (item,) = json.loads(alone("check", "none.py", "--output-format=json").out)
    assert (item["code"], item["name"]) == ("E902", "io-error")
    if RUFF is not None:
        (real,) = json.loads(
            ruff("check", "--isolated", "--select=E902", "none.py", "--output-format=json").out
        )
        assert {**item, "url": None} == {**real, "url": None}


def test_without_ruff_only_ruff_can_format(alone: Shim) -> None:
    for command in (["format", "."], ["server"], ["check", "--show-settings"], ["--nope"]):
        outcome = alone(*command)
        assert (outcome.code, outcome.out) == (2, "")
        assert "pip install ruff" in outcome.err
    assert "no Ruff installed" in alone("version").out
    assert alone("linter").out == " TDV torchdev-lint\n"
    assert alone("rule", "TDV001").code == 0


def test_what_only_ruff_does_is_done_by_the_ruff_that_was_named(shim: Shim, project: Path) -> None:
    named = project / "other-ruff"
    named.write_text('#!/bin/sh\necho "$@"\n')
    named.chmod(0o755)
    for flag in ("--watch", "--show-settings", "--add-ignore"):
        outcome = shim("check", flag, "--select=F401,TDV001", f"--with-ruff={named}", "a.py")
        assert (outcome.code, outcome.out) == (0, f"check {flag} --select=F401 -- a.py\n")
        assert ("`torchdev-lint --watch` shows ours" in outcome.err) is (flag == "--watch")
        assert shim("check", flag, "--without-ruff").code == 2


def test_without_ruff_on_request(shim: Shim, project: Path) -> None:
    (project / "a.py").write_text(MIXED)
    (item,) = json.loads(shim("check", "--without-ruff", "--output-format=json").out)
    assert item["code"] == "TDV001"
    assert shim("check", "--with-ruff=none").code == 2


def test_it_never_takes_itself_for_ruff(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project / "bin"
    folder.mkdir()
    fake = folder / "ruff"
    fake.write_text(f"#!{sys.executable}\nfrom torchdev_lint.ruff_api_shim import main\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    assert find_ruff() is None
    real = project / "real"
    real.mkdir()
    (real / "ruff").write_text("#!/bin/sh\nexit 0\n")
    (real / "ruff").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{real}")
    assert find_ruff() == str(real / "ruff")


def test_what_ruff_says_it_fixed() -> None:
    rows = ["Fixed 4 errors:", "- a.py:", "    2 {} F401 (unused-import)", "    1 {} E711 (none-comparison)"]
    rows += ["- b.py:", "    1 {} F401 (unused-import)", ""]
    text = "\n".join(rows).replace("{}", TIMES)
    assert findings.fixed_by_path(text) == {
        "a.py": {("F401", "unused-import"): 2, ("E711", "none-comparison"): 1},
        "b.py": {("F401", "unused-import"): 1},
    }
    assert findings.fixed("") == {}

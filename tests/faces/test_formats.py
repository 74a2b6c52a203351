"""The output formats through the command line: with fixes, into files, for notebooks, and what readers make of them."""

import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixture_files import FixtureFile, fixture_files
from notebook_files import code_cell, notebook, of_program

from torchdev_lint.cli import main
from torchdev_lint.config import OUTPUT_FORMATS
from torchdev_lint.report.formats import TEXT

Cli = Callable[..., Any]

HEAD = "import torch\n"
TIMES = "\N{MULTIPLICATION SIGN}"
PROGRAMS = [name for name in OUTPUT_FORMATS if name not in TEXT]
every_format = pytest.mark.parametrize("name", OUTPUT_FORMATS)

BAD = [fixture for fixture in fixture_files() if fixture.bad]
FIXED_AT_ONCE = [
    fixture for fixture in BAD if len(fixture.expected()) == 1 and fixture.repaired != fixture.data
][::12]
ONE_OF_EACH = list({fixture.rule: fixture for fixture in BAD}.values())


@every_format
def test_every_format_names_what_is_left_after_fixes(cli: Cli, project: Path, name: str) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE\ny = RISKY\n")
    assert cli("--output-format", name).code == 1
    outcome = cli("--fix", "--output-format", name)
    assert (outcome.code, outcome.err) == (1, "")
    assert "TDV002" in outcome.out
    assert "TDV001" not in outcome.out
    assert (project / "a.py").read_text() == f"{HEAD}x = ok\ny = RISKY\n"
    assert cli("--fix", "--unsafe-fixes", "--output-format", name).code == 0


@every_format
def test_every_format_goes_into_a_file(cli: Cli, project: Path, name: str) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE  # é\n")
    shown = cli("--output-format", name)
    written = cli("--output-format", name, "-o", "new/report.txt")
    assert (written.code, written.out, written.err) == (1, "", "")
    assert Path("new/report.txt").read_text(encoding="utf-8") == shown.out


@every_format
def test_every_format_can_be_configured(cli: Cli, project: Path, name: str) -> None:
    (project / "pyproject.toml").write_text(f'[tool.torchdev-lint]\noutput-format = "{name}"\n')
    (project / "a.py").write_text(f"{HEAD}x = SAFE\n")
    assert cli().out == cli("--output-format", name).out


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "json"])
def test_there_are_statistics_in_few_formats(cli: Cli, project: Path, name: str) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE\n")
    outcome = cli("--statistics", "--output-format", name)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"torchdev-lint: error: --statistics: there are none as {name!r}; use full, concise or json\n"
    )


def test_an_output_file_that_cannot_be_written(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(text := f"{HEAD}x = SAFE\n")
    (project / "taken").mkdir()
    outcome = cli("--fix", "--output-file", "taken")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "torchdev-lint: error: --output-file: taken: cannot be written: Is a directory\n"
    assert (project / "a.py").read_text() == text


def test_the_fixes_are_listed_when_asked_for(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE\ny = SAFE\nz = RISKY\n")
    (project / "b.py").write_text(f"{HEAD}x = SAFE\n")
    outcome = cli("--fix", "--unsafe-fixes", "--show-fixes")
    assert outcome.out == (
        "\nFixed 4 errors:\n"
        "- a.py:\n"
        f"    2 {TIMES} TDV001 (model-input-on-other-device)\n"
        f"    1 {TIMES} TDV002 (hardcoded-device-index)\n"
        "- b.py:\n"
        f"    1 {TIMES} TDV001 (model-input-on-other-device)\n"
        "\n"
        "Found 4 errors (4 fixed, 0 remaining).\n"
    )
    assert cli("--fix", "--show-fixes").out == "All checks passed!\n"


HOSTILE = "x = 'é😀'; y = SAFE  # ]]> & < \" % : ,\n"
NAME = "a b,c%d&é.py"


def test_names_and_characters_with_a_meaning_are_escaped(cli: Cli, project: Path) -> None:
    (project / NAME).write_text(f"{HEAD}{HOSTILE}")
    suite = ET.fromstring(cli("--output-format=junit").out)[0]
    assert suite.attrib["name"] == str(project / NAME)
    assert f"file={project}/a b%2Cc%25d&é.py,line=2,col=15" in cli("--output-format=github").out
    assert f"sourcepath={project}/a b,c%AZP25d&é.py;" in cli("--output-format=azure").out
    log = json.loads(cli("--output-format=sarif").out)
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b%2Cc%25d%26%C3%A9.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startColumn"] == 15
    found = json.loads(cli("--output-format=rdjson").out)["diagnostics"][0]
    assert found["location"]["range"]["start"] == {"line": 2, "column": 19}
    assert found["suggestions"][0]["range"]["start"] == {"line": 2, "column": 19}


def test_places_in_notebooks_are_those_of_the_file(cli: Cli, project: Path) -> None:
    path = project / "n.ipynb"
    path.write_text(text := notebook([code_cell("import torch"), code_cell('"a"; x = SAFE')]))
    rows = text.split("\n")
    row = next(number for number, line in enumerate(rows, 1) if "SAFE" in line)
    column = rows[row - 1].index("SAFE") + 1
    assert f"line={row},col={column},endLine={row},endColumn={column + 4}::n.ipynb:cell 2:1:10:" in (
        cli("--output-format=github").out
    )
    assert f"n.ipynb:{row}: [TDV001]" in cli("--output-format=pylint").out
    assert f"linenumber={row};columnnumber={column};" in cli("--output-format=azure").out
    (found,) = json.loads(cli("--output-format=gitlab").out)
    assert found["location"]["positions"]["begin"] == {"line": row, "column": column}
    assert "cell 2, line 1, col 10," in cli("--output-format=junit").out
    (result,) = json.loads(cli("--output-format=sarif").out)["runs"][0]["results"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["region"]["startLine"] == row
    assert place["logicalLocations"] == [{"name": "cell 2", "fullyQualifiedName": "n.ipynb:cell 2:1:10"}]
    (suggestion,) = json.loads(cli("--output-format=rdjson").out)["diagnostics"][0]["suggestions"]
    assert suggestion["text"] == "ok"
    assert suggestion["range"]["start"] == {"line": row, "column": column}


def test_gitlab_paths_are_those_of_the_project(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub").mkdir()
    (project / "sub/a.py").write_text(f"{HEAD}x = SAFE\n")
    monkeypatch.setenv("CI_PROJECT_DIR", str(project))
    monkeypatch.chdir(project / "sub")
    (found,) = json.loads(cli("--output-format=gitlab").out)
    assert found["location"]["path"] == "sub/a.py"


def test_files_elsewhere_have_absolute_addresses(cli: Cli, project: Path) -> None:
    (project / "sub").mkdir()
    (project / "a.py").write_text(f"{HEAD}x = SAFE\n")
    os.chdir(project / "sub")
    (result,) = json.loads(cli("--output-format=sarif", "../a.py").out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": f"file://{project}/a.py"}


def fingerprints(cli: Cli) -> list[str]:
    results = json.loads(cli("--output-format=sarif").out)["runs"][0]["results"]
    return [result["partialFingerprints"]["torchdevLint/v1"] for result in results]


def test_fingerprints_survive_moved_and_indented_lines(cli: Cli, project: Path) -> None:
    path = project / "a.py"
    path.write_text(f"{HEAD}x = SAFE\ny = SAFE\ny = SAFE\n")
    before = fingerprints(cli)
    assert len(set(before)) == 3
    path.write_text(f"{HEAD}\n\nif x:\n    x = SAFE\n    y = SAFE\nz = 1\ny  =  SAFE\n")
    assert fingerprints(cli) == before
    path.write_text(f"{HEAD}x = SAFE, 1\ny = SAFE\n")
    assert [mark in before for mark in fingerprints(cli)] == [False, True]


@pytest.fixture
def real(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Every rule's findings, in programs and notebooks, with the real inference."""
    for fixture in ONE_OF_EACH:
        name = f"{fixture.rule}é"
        (project / f"{name}.py").write_bytes(fixture.data)
        (project / f"{name}.ipynb").write_text(of_program(fixture.text)[0])
    (project / "broken.py").write_text("import torch\nx = (\n")

    def run(*arguments: str) -> str:
        capsys.readouterr()
        main(["--select=ALL", *arguments])
        return capsys.readouterr().out

    return run


def test_sarif_is_what_others_expect(real: Callable[..., str]) -> None:
    log = json.loads(real("--output-format=sarif"))
    (run,) = log["runs"]
    results = run["results"]
    assert {fixture.rule for fixture in ONE_OF_EACH} | {"TDV999"} == {one["ruleId"] for one in results}
    assert len({one["partialFingerprints"]["torchdevLint/v1"] for one in results}) == len(results)
    told = [one for one in results if "relatedLocations" in one]
    assert told
    for one in told:
        steps = one["codeFlows"][0]["threadFlows"][0]["locations"]
        assert len(steps) == len(one["relatedLocations"]) + 1
        assert steps[-1]["location"]["physicalLocation"] == one["locations"][0]["physicalLocation"]
    schema = os.environ.get("SARIF_SCHEMA")
    if schema:
        jsonschema = pytest.importorskip("jsonschema")
        jsonschema.validate(log, json.loads(Path(schema).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["a.py", "n.ipynb"])
@pytest.mark.parametrize("fixture", FIXED_AT_ONCE, ids=lambda fixture: fixture.id)
def test_sarif_fixes_are_those_of_fix(
    project: Path, fixture: FixtureFile, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Applied to the file as the standard says, they give what `--fix` gives."""
    path = project / name
    path.write_text(text := of_program(fixture.text)[0] if name == "n.ipynb" else fixture.text)
    main(["--select=ALL", "--output-format=sarif", name])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"] == {"uri": name, "uriBaseId": "%SRCROOT%"}
    lines = text.split("\n")
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        start, end = (
            sum(len(line) + 1 for line in lines[: region[f"{which}Line"] - 1]) + region[f"{which}Column"] - 1
            for which in ("start", "end")
        )
        text = text[:start] + replacement.get("insertedContent", {"text": ""})["text"] + text[end:]
    assert main(["--select=ALL", "--fix", "--unsafe-fixes", name]) == 0
    assert path.read_text() == text


def test_the_model_of_sarif(real: Callable[..., str]) -> None:
    sarif_pydantic = pytest.importorskip("sarif_pydantic")
    log = sarif_pydantic.Sarif.model_validate_json(real("--output-format=sarif"))
    assert len(log.runs[0].results) > 5


def test_junit_is_read(real: Callable[..., str]) -> None:
    junitparser = pytest.importorskip("junitparser")
    report = junitparser.JUnitXml.fromstring(real("--output-format=junit").encode())
    cases = [case for suite in report for case in suite]
    assert report.failures == len(cases) > 5
    assert all(case.result[0].message for case in cases)


@pytest.mark.parametrize("fixture", ONE_OF_EACH, ids=lambda fixture: fixture.id)
def test_suggestions_of_notebooks_fix_the_file(
    project: Path, fixture: FixtureFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader who knows nothing of notebooks applies them to the text of the file, and it stays a notebook."""
    path = project / "n.ipynb"
    path.write_text(text := of_program(fixture.text)[0])
    main(["--select=ALL", "--output-format=rdjson", "n.ipynb"])
    for found in json.loads(capsys.readouterr().out)["diagnostics"]:
        for suggestion in found.get("suggestions", ()):
            fixed = _applied(text.encode(), suggestion).decode()
            assert len(json.loads(fixed)["cells"]) == len(json.loads(text)["cells"])
            assert fixed != text


def _applied(data: bytes, suggestion: dict[str, Any]) -> bytes:
    lines = data.split(b"\n")

    def offset(position: dict[str, int]) -> int:
        return sum(len(line) + 1 for line in lines[: position["line"] - 1]) + position["column"] - 1

    start, end = (offset(suggestion["range"][key]) for key in ("start", "end"))
    return data[:start] + suggestion["text"].encode() + data[end:]


def test_answers_to_reveal_device_are_no_errors(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.py").write_text(f"{HEAD}x = torch.ones(2)\nreveal_device(x)\n")

    def report(name: str) -> str:
        assert main(["--output-format", name]) == 0
        return capsys.readouterr().out

    if "TDV000" not in report("concise"):
        pytest.skip("reveal_device is answered otherwise")
    assert report("github").startswith("::notice ")
    assert report("azure").startswith("##vso[task.logissue type=warning;")
    assert json.loads(report("gitlab"))[0]["severity"] == "info"
    assert json.loads(report("sarif"))["runs"][0]["results"][0]["level"] == "note"
    assert json.loads(report("rdjson"))["diagnostics"][0]["severity"] == "INFO"
    assert re.search('failures="0"', report("junit"))

"""The `full` and `concise` looks, compared with Ruff's own output for the same diagnostics."""

from pathlib import Path

import pytest
from notebook_files import code_cell, notebook, prose_cell
from ruff_reference import RUFF, diagnostics_of, ruff

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.report import concise, full, statistics, summary
from torchdev_lint.report import json as json_report
from torchdev_lint.report.sources import Sources
from torchdev_lint.report.style import plain
from torchdev_lint.source.notebook import Notebook

pytestmark = pytest.mark.skipif(RUFF is None, reason="Ruff is not installed")

SOURCES = {
    "plain": "import os\nx = 1\nif x == None:\n    pass\n",
    "first and last line": "x == None\n",
    "no newline at the end": "x = 1\n\n\nx == None",
    "tabs": "if x:\n\tif y:\n\t\ta\t= x == None\n",
    "wide characters": 's = "漢字é"; s == None\n',
    "combining characters": 's = "e\u0301"; s == None\n',
    "blank lines around": "a = 1\n\n\nx == None\n\n\nb = 1\n",
    "many lines": "a = 1\n" * 98 + "x == None\n" + "b = 2\n" * 3,
    "several": "x == None\ny == None\n" + "z = 1\n" * 20 + "z == None\n",
    "windows newlines": "a = 1\r\nx == None\r\nb = 1\r\n",
    "a span over rows": 'a = 1\nb is """\n\n  """\nc = 1\n',
    "a span over rows from inside a line": 'if 漢 and\\\n    b is """\n  """:\n    pass\n',
    "a span over rows below tabs": 'if b is """\n\t""":\n\tpass\n',
    "a fix over several lines": "import os\nimport sys\nx = [\n  os == None\n]\n",
}


@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_text_is_ruff_s_to_the_letter(source: str, unsafe: bool) -> None:
    found = diagnostics_of(source)
    assert found
    fixable = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    flags = ["--unsafe-fixes"] if unsafe else []
    closing = summary.closing_lines(found, 0, unsafe=unsafe)
    assert plain(full.render(found, fixable, Sources({"a.py": source}))) + closing == ruff(source, *flags)
    assert plain(concise.render(found, fixable)) + closing == ruff(source, "--output-format=concise", *flags)
    assert statistics.render(found, fixable) + closing == ruff(source, "--statistics", *flags)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_json_is_ruff_s_but_for_the_address(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    theirs = ruff(source, "--output-format=json")
    lines = ['    "url": null' if line.startswith('    "url": ') else line for line in theirs.split("\n")]
    assert json_report.render(diagnostics_of(source)) == "\n".join(lines)


def test_nothing_found() -> None:
    assert summary.closing_lines([], 0, unsafe=False) == ruff("x = 1\n")
    assert json_report.render([]) == ruff("x = 1\n", "--output-format=json")


CELLS = [
    ["%matplotlib inline\n", "import os"],
    ["x == None\n", "y == None"],
    [""],
    ["%%time\n", "if x:\n", "    a = y == None\n", "\n", "b = 1\n"],
]


@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_notebooks_look_as_in_ruff(unsafe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = notebook([prose_cell("x"), *(code_cell("".join(cell)) for cell in CELLS)])
    book = Notebook.from_bytes(text.encode(), "a.ipynb")
    theirs = ruff(text, "--output-format=json", name="a.ipynb")
    found = diagnostics_of(text, "a.ipynb")
    assert len(found) == 4
    fixable = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    flags = ["--unsafe-fixes"] if unsafe else []
    closing = summary.closing_lines(found, 0, unsafe=unsafe)
    sources = Sources({}, {"a.ipynb": book})
    assert plain(full.render(found, fixable, sources)) + closing == ruff(text, *flags, name="a.ipynb")
    assert plain(concise.render(found, fixable)) + closing == ruff(
        text, *flags, "--output-format=concise", name="a.ipynb"
    )
    lines = ['    "url": null' if line.startswith('    "url": ') else line for line in theirs.split("\n")]
    assert json_report.render(found) == "\n".join(lines)

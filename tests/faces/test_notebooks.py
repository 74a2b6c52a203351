"""Notebooks through the command line: places, fixes, diffs, suppressions, and what is wrong with a file."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from fixture_files import FixtureFile, fixture_files
from notebook_files import code_cell, notebook, of_program, program_of, prose_cell

from torchdev_lint.cli import main
from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine import check
from torchdev_lint.engine.file_check import check_bytes

Cli = Callable[..., Any]

CELLS = [
    prose_cell("# Title"),
    code_cell("%matplotlib inline\nimport torch"),
    code_cell("!nvidia-smi (\nx = SAFE  # é"),
    prose_cell("x = SAFE"),
    code_cell("%%bash\necho SAFE"),
    code_cell("y = RISKY"),
]
TEXT = notebook(CELLS)


@pytest.fixture
def book(project: Path) -> Path:
    path = project / "n.ipynb"
    path.write_text(TEXT)
    return path


def stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


def test_notebooks_are_found_and_findings_placed_in_cells(cli: Cli, book: Path) -> None:
    assert cli("--output-format=concise").out.splitlines() == [
        "n.ipynb:cell 3:2:5: TDV001 [*] `SAFE` is no good",
        "n.ipynb:cell 6:1:5: TDV002 `RISKY` is no good",
        "Found 2 errors.",
        "[*] 1 fixable with `--fix` (1 unsafe fix available with `--fix --unsafe-fixes`).",
    ]


def test_full_names_the_cells(
    cli: Cli, book: Path, monkeypatch: pytest.MonkeyPatch, stand_in: Callable[..., list[Diagnostic]]
) -> None:
    def in_the_first_row_of_code(text: str, path: str, config: Config, *more: object) -> list[Diagnostic]:
        row = text.split("\n").index("import torch") + 1
        return [_with_related_row(one, row) for one in stand_in(text, path, config)]

    monkeypatch.setattr(check, "check_source", in_the_first_row_of_code)
    assert cli("--select=TDV001").out == (
        "TDV001 [*] `SAFE` is no good\n"
        " --> n.ipynb:cell 3:2:5\n"
        "  |\n"
        "1 | !nvidia-smi (\n"
        "2 | x = SAFE  # é\n"
        "  |     ^^^^\n"
        "note: torch comes from here\n"
        " --> n.ipynb:cell 2:2:1\n"
        "  |\n"
        "2 | import torch\n"
        "  | ^^^^^^\n"
        "help: Say `ok`\n"
        " ::: cell 3\n"
        "  |\n"
        "1 | !nvidia-smi (\n"
        "  - x = SAFE  # é\n"
        "2 + x = ok  # é\n"
        "  |\n"
        "\n"
        "Found 1 error.\n"
        "[*] 1 fixable with `--fix`.\n"
    )


def _with_related_row(one: Diagnostic, row: int) -> Diagnostic:
    related = one.related[0]
    start, end = related.range.start, related.range.end
    moved = replace(
        related, range=replace(related.range, start=replace(start, row=row), end=replace(end, row=row))
    )
    return replace(one, related=(moved,))


def test_json_has_cells_and_rows_in_them(cli: Cli, book: Path) -> None:
    first, second = json.loads(cli("--output-format=json").out)
    assert (first["cell"], first["location"], first["noqa_row"]) == (3, {"column": 5, "row": 2}, 2)
    assert first["end_location"] == {"column": 9, "row": 2}
    assert first["filename"] == str(book)
    edit = {"content": "ok", "end_location": {"column": 9, "row": 2}, "location": {"column": 5, "row": 2}}
    assert first["fix"]["edits"] == [edit]
    assert (second["cell"], second["location"]["row"]) == (6, 1)


def test_fix_changes_nothing_but_the_line(cli: Cli, book: Path) -> None:
    outcome = cli("--fix", "--unsafe-fixes")
    assert (outcome.code, outcome.out) == (0, "Found 2 errors (2 fixed, 0 remaining).\n")
    assert book.read_text() == TEXT.replace("x = SAFE  #", "x = ok  #").replace("y = RISKY", "y = ok")
    nbformat.validate(nbformat.read(book, as_version=4))
    assert cli("--fix").out == "All checks passed!\n"


def test_a_fix_may_add_lines(cli: Cli, project: Path) -> None:
    path = project / "n.ipynb"
    path.write_text(notebook([code_cell("import torch\nx = LINES\ny"), code_cell("z = SAFE")]))
    assert cli("--fix").code == 0
    assert path.read_text() == notebook([code_cell("import torch\nx = [\n    1,\n]\ny"), code_cell("z = ok")])


def test_a_fix_that_breaks_a_cell_leaves_the_file(cli: Cli, project: Path) -> None:
    path = project / "n.ipynb"
    path.write_text(text := notebook([code_cell("import torch\nx = BROKEN"), code_cell("))")]))
    assert cli("--fix").code == 2
    assert path.read_text() == text


def test_diff_goes_by_cells(cli: Cli, book: Path) -> None:
    outcome = cli("--diff")
    assert outcome.code == 1
    assert outcome.out == (
        "--- n.ipynb:cell 3\n"
        "+++ n.ipynb:cell 3\n"
        "@@ -1,2 +1,2 @@\n"
        " !nvidia-smi (\n"
        "-x = SAFE  # é\n"
        "\\ No newline at end of file\n"
        "+x = ok  # é\n"
        "\\ No newline at end of file\n"
    )
    assert book.read_text() == TEXT


def test_standard_input(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, TEXT)
    assert (
        "sub/n.ipynb:cell 3:2:5: TDV001"
        in cli("--stdin-filename=sub/n.ipynb", "--output-format=concise", "-").out
    )
    stdin(monkeypatch, TEXT)
    outcome = cli("--stdin-filename=n.ipynb", "--fix", "-")
    assert outcome.out == TEXT.replace("x = SAFE  #", "x = ok  #")
    assert outcome.err.endswith("unsafe fix available with `--fix --unsafe-fixes`.\n")


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["import torch", "x = SAFE  # noqa"], []),
        (["import torch", "x = SAFE  # noqa: TDV001", "y = SAFE"], [3]),
        (["import torch  # noqa", "x = SAFE"], [2]),
        (["import torch", "# torchdev: ignore[TDV001]\nx = SAFE"], []),
        (["import torch\n# torchdev: ignore[TDV001]", "x = SAFE"], [2]),
        (["import torch", "x = SAFE", "# torchdev: file-ignore[TDV001]"], []),
        (["# flake8: noqa", "torch.x = SAFE"], []),
        (["%time x = SAFE", "import torch"], [1]),
        (["  import torch\n  x = SAFE"], [1]),
    ],
)
def test_suppressions(cli: Cli, project: Path, cells: list[str], found: list[int]) -> None:
    (project / "n.ipynb").write_text(notebook([code_cell(cell) for cell in cells]))
    assert [one["cell"] for one in json.loads(cli("--output-format=json").out)] == found


def test_a_broken_comment_is_named_by_its_cell(cli: Cli, project: Path) -> None:
    (project / "n.ipynb").write_text(
        notebook([code_cell("import torch"), code_cell("\n# torchdev: nonsense")])
    )
    assert cli().err.startswith("warning: n.ipynb: cell 2:2: expected `ignore[CODE]`")


def test_excluded_notebooks_are_left_alone(cli: Cli, book: Path) -> None:
    assert cli("--extend-exclude=*.ipynb").out == "All checks passed!\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("torch", "not a notebook: not valid JSON: expected '{': line 1 column 1"),
        ('{"torch": 1}', "not a notebook: it has no `nbformat`"),
        ('{"nbformat": 4, "torch": 1}', "not a notebook: it has no list of `cells`"),
        (
            '{"nbformat": 3, "torch": 1}',
            "notebook format 3 is not read, only 4: convert it with `jupyter nbconvert --to notebook --inplace`",
        ),
    ],
)
def test_a_broken_notebook_is_reported_and_left_alone(cli: Cli, project: Path, text: str, line: str) -> None:
    path = project / "n.ipynb"
    path.write_text(text)
    outcome = cli("--fix", "--output-format=concise")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines()[0] == f"n.ipynb:1:1: TDV999 {line}"
    assert path.read_text() == text
    assert cli("--ignore=TDV999").code == 0


def test_a_notebook_in_another_language_is_not_checked(cli: Cli, project: Path) -> None:
    metadata = {"language_info": {"name": "julia"}}
    (project / "n.ipynb").write_text(notebook([code_cell("torch = SAFE")], metadata=metadata))
    outcome = cli()
    assert (outcome.code, outcome.out) == (0, "All checks passed!\n")
    assert outcome.err == "warning: n.ipynb: not checked: a notebook in julia\n"


# With the real inference from here on.

RULES = Config(select=("ALL",), ignore=("TDV101",))
BAD = [fixture for fixture in fixture_files() if fixture.bad]
FIXES = frozenset({Applicability.SAFE, Applicability.UNSAFE})


def found_in(text: str, allowed: frozenset[Applicability] = frozenset(), rules: Config = RULES) -> Any:
    return check_bytes(text.encode(), "n.ipynb", rules, allowed)


@pytest.mark.parametrize("fixture", BAD, ids=lambda fixture: fixture.id)
def test_a_fixture_as_a_notebook(fixture: FixtureFile) -> None:
    text, rows = of_program(fixture.text)
    rules = Config(select=("ALL",)) if fixture.rule == "TDV101" else RULES
    result = found_in(text, FIXES, rules)
    assert result.errors == ()
    before = found_in(text, rules=rules)
    assert sorted((one.cell, one.range.start.row, one.code) for one in before.diagnostics) == sorted(
        (*rows[row], code) for row, code in fixture.expected()
    )
    assert program_of(result.data.decode()) == fixture.repaired.decode()
    nbformat.validate(nbformat.reads(result.data.decode(), as_version=4))


def test_half_written_cells_do_not_silence_the_others() -> None:
    cells = [
        code_cell("import torch\nmodel = torch.nn.Linear(2, 2).cuda()\nx = torch.ones(2)"),
        code_cell("loss = \n"),
        code_cell("model(x)"),
        code_cell("x = x.to(\n"),
        code_cell("model(x)"),
        code_cell("def f(:\n    pass"),
    ]
    result = found_in(notebook(cells), FIXES)
    found = [(one.cell, one.code, one.range.start.row) for one in found_in(notebook(cells)).diagnostics]
    assert sorted(found) == [(2, "TDV999", 1), (3, "TDV001", 1), (4, "TDV999", 1), (6, "TDV999", 1)]
    cells[2] = code_cell("model(x.to('cuda'))")
    assert json.loads(result.data)["cells"][3:] == cells[3:]
    assert sorted(one.code for one in result.diagnostics) == ["TDV999"] * 3


@pytest.mark.parametrize(
    "moved", ["model.cuda()", "%time model.cuda()", "%%time\nmodel.cuda()", "%%capture\nmodel.cuda()"]
)
def test_what_a_magic_executes_counts(moved: str) -> None:
    cells = ["import torch\nmodel = torch.nn.Linear(2, 2)", moved, "model(torch.ones(2))"]
    result = found_in(notebook([code_cell(cell) for cell in cells]))
    assert [(one.cell, one.code) for one in result.diagnostics] == [(3, "TDV001")]


@pytest.mark.parametrize("moved", ["%%profile\nx = x.cuda()", "x = %to_gpu x", "%%bash\necho", "x, = !ls"])
def test_what_a_magic_may_have_changed_is_unknown(moved: str) -> None:
    cells = ["import torch\nmodel = torch.nn.Linear(2, 2).cuda()\nx = torch.ones(2)", moved, "model(x)"]
    result = found_in(notebook([code_cell(cell) for cell in cells]))
    assert len(result.diagnostics) == ("bash" in moved)


def test_scripts_with_cell_marks_are_plain_files(project: Path, capsys: Any) -> None:
    Path("a.py").write_text(
        "# %%\nimport torch\nmodel = torch.nn.Linear(2, 2).cuda()\n# %% [markdown]\n# text\n# %%\nmodel(torch.ones(2))\n"
    )
    assert main(["--output-format=concise"]) == 1
    assert capsys.readouterr().out.startswith("a.py:7:7: TDV001")


def test_files_without_torch_load_no_notebook_reader(project: Path) -> None:
    (project / "a.py").write_text("import os\n")
    (project / "n.ipynb").write_text(notebook([code_cell("import os")]))
    probe = "import sys; from torchdev_lint.cli import main; main([]); print([n for n in sys.modules if 'notebook' in n])"
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert result.stdout == "All checks passed!\n[]\n"


TRAINING = """\
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(2, 2).to(device)
loss = net(torch.ones(1, 2, device=device)).sum()
loss.backward()
"""
SAVING = 'torch.save(net.state_dict(), "net.pt")\n'
OTHERS = 'from helpers import trainer\ntrainer.save(folder="out/", name="net.pt")\n'
LOADING = 'net.load_state_dict(torch.load("net.pt"))\n'


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        ([TRAINING + SAVING, LOADING], []),
        ([TRAINING + SAVING, LOADING.replace("net.pt", "best_net.pt")], ["TDV009"]),
        ([TRAINING + SAVING + OTHERS, LOADING.replace("net.pt", "out/net.pt")], []),
        ([TRAINING + SAVING + OTHERS, LOADING.replace("net.pt", "out/best_net.pt")], ["TDV009"]),
        ([TRAINING, SAVING + LOADING], []),
        ([TRAINING, SAVING, "    # indented as a whole\n    " + LOADING], []),
        ([TRAINING, "for step in range(3):\n    loss.backward()\n" + LOADING], []),
        ([TRAINING, "for step in range(3):\n    loss.backward()\n", LOADING], ["TDV009"]),
    ],
    ids=[
        "two cells",
        "two files",
        "a folder and a name",
        "a folder and another name",
        "one cell",
        "an indented cell",
        "a loop before it",
        "a loop in another cell",
    ],
)
def test_what_cells_have_saved(project: Path, cells: list[str], codes: list[str]) -> None:
    path = project / "train.ipynb"
    path.write_text(notebook([code_cell(cell) for cell in cells]))
    text = subprocess.run(
        [sys.executable, "-m", "torchdev_lint", "train.ipynb", "--output-format=json", "--no-cache"],
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    assert [one["code"] for one in json.loads(text)] == codes

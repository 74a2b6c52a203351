"""`reveal_device(x)` in code, and `torchdev-lint infer`: looking at what was inferred."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchdev_lint.cli import main
from torchdev_lint.cli_infer import sections
from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

Cli = Callable[..., Any]

PROGRAM = """\
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.mean = torch.zeros(2)


def put(x, use_cuda):
    if use_cuda:
        x = x.cuda()
    return x


net = Net().to(device)
y = put(torch.ones(2), False)
"""


def revealed(code: str) -> list[str]:
    """What `reveal_device` shows, without the expression."""
    text = "import torch\nfrom torch import nn\n" + code
    found = check_source(text, "a.py", Config())
    return [one.message.partition("` is ")[2] for one in found if one.code == "TDV000"]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("x = torch.zeros(2)", "a tensor on the CPU"),
        ("x = torch.tensor(2.0)", "a 0-dim tensor on the CPU"),
        ("x = nn.Parameter(torch.zeros(2)).cuda()", "a tensor on `cuda`"),
        ("x = nn.Linear(2, 2).to('cuda:1')", "a module `Linear` on `cuda:1`"),
        ("x = torch.device('cuda', 0)", "the device `cuda:0`"),
        ("x = [torch.zeros(2), 3]", "(a tensor on the CPU, 3)"),
        ("x = {'a': torch.zeros(2)}", "{'a': a tensor on the CPU}"),
        ("x = something()", "unknown (`x`)"),
        ("x = torch.cuda.is_available()", "whether torch.cuda.is_available()"),
        (
            "x = torch.zeros(2, device='cuda' if torch.cuda.is_available() else 'cpu')",
            "a tensor on `cuda` if torch.cuda.is_available() else the CPU",
        ),
        ("x = 'cpu'\nif not flag:\n    x = None", "(None) if not flag else ('cpu')"),
    ],
)
def test_a_value_is_revealed(code: str, shown: str) -> None:
    assert revealed(f"{code}\nreveal_device(x)") == [shown]


def test_an_imported_name_reveals_too_and_its_value_is_the_argument() -> None:
    code = "from torchdev_lint import reveal_device as reveal_device\ny = reveal_device(torch.zeros(2)).cuda()\nreveal_device(y)"
    assert revealed(code) == ["a tensor on the CPU", "a tensor on `cuda`"]


def test_a_function_of_that_name_is_called() -> None:
    assert revealed("def reveal_device(x):\n    return x\nreveal_device(torch.zeros(2))") == []


def test_each_way_that_leads_there_is_told_apart() -> None:
    code = "def f(x):\n    reveal_device(x)\nf(torch.zeros(2))\nf(torch.zeros(2))\nf(torch.zeros(2).cuda())"
    assert sorted(revealed(code)) == [
        "a tensor on `cuda` (in a call of `f`)",
        "a tensor on the CPU (in a call of `f`)",
        "unknown (`x`)",
    ]


def test_a_note_is_no_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def cli(*arguments: str) -> tuple[int, str]:
        return main(["--output-format=concise", *arguments]), capsys.readouterr().out

    file = tmp_path / "a.py"
    file.write_text("import torch\nreveal_device(torch.zeros(2))\n")
    assert cli("--fix", "--unsafe-fixes", str(file)) == (
        0,
        f"{file}:2:1: TDV000 `torch.zeros(2)` is a tensor on the CPU\nAll checks passed!\n",
    )
    assert "TDV000" in cli("--select", "TDV001", str(file))[1]
    assert "TDV000" not in cli("--ignore", "TDV000", str(file))[1]


def test_infer_tells_of_the_module_and_of_each_function(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(PROGRAM)
    outcome = cli("infer", str(file))
    assert outcome.code == 0
    module, function = outcome.out.split("`put` read alone (line 14):")
    assert (
        "  net        a module `Net` on `cuda` if torch.cuda.is_available() else the CPU, moved on line 20"
        in module
    )
    assert "  net.mean   a tensor on the CPU, made on line 11" in module
    assert "(moves with it)" in module
    assert "returns" not in module
    assert "  returns" in function
    assert "use_cuda" in function


def test_infer_tells_of_a_line_once_for_each_way_that_leads_there() -> None:
    found = {section.title: dict(section.rows) for section in sections(PROGRAM, 16)}
    assert found == {
        "after line 16, `put` read alone (line 14)": {
            "x": "something (`x`) on `cuda`, moved on line 16",
            "use_cuda": "unknown (`use_cuda`)",
            "given that": "use_cuda",
        }
    }
    (called, alone) = sections(PROGRAM, 17)
    assert called.title == "after line 17, `put` called from line 21"
    assert dict(called.rows)["x"] == "a tensor on the CPU, made on line 21"
    assert alone.title == "after line 17, `put` read alone (line 14)"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("missing.py", None, "cannot be read"),
        ("a.py", "def f(:", "a.py:1: Syntax error"),
        ("a.py:3", "x = 1\n", "a.py: there is no statement on line 3 (of 1)"),
    ],
)
def test_infer_says_what_is_wrong(
    cli: Cli, tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / name.partition(":")[0]).write_text(text)
    outcome = cli("infer", str(tmp_path / name))
    assert outcome.code == 2
    assert message in outcome.err


def test_what_the_inference_notes_for_itself_is_not_listed() -> None:
    code = """\
import torch
net = torch.nn.Linear(2, 2)
layers = torch.nn.ModuleList()
opt = torch.optim.Adam(net.parameters())
opt.step()
cache = something()
cache[1] = torch.ones(2)
cache["k"] = torch.ones(2)
cache[key] = torch.ones(2)
for made in nets():
    layers[made.name] = torch.nn.Linear(2, 2)
"""
    [section] = sections(code)
    names = [name for name, _ in section.rows]
    assert [name for name in names if name.startswith("opt")] == ["opt"]
    assert [name for name in names if name.startswith("cache")] == ["cache", "cache[key]"]
    assert [name for name in names if name.startswith("layers")] == ["layers", "layers[...]"]


def _notebook(*cells: str) -> str:
    kinds = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# A title"]},
        *(
            {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": [cell]}
            for cell in cells
        ),
    ]
    return json.dumps({"cells": kinds, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


CELLS = ("%matplotlib inline\nimport torch\nx = torch.ones(3)", "y = x.cuda()\n\ndef f(z):\n    return z + y")


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (
            "",
            "the module:\n  x  a tensor on the CPU, made on line 3 of cell 2\n"
            "  y  a tensor on `cuda`, moved on line 1 of cell 3\n"
            "`f` read alone (line 3 of cell 3):\n",
        ),
        (":2:3", "after line 3 of cell 2, the module:\n  x  a tensor on the CPU, made on line 3 of cell 2\n"),
        (":3:4", "after line 4 of cell 3, `f` read alone (line 3 of cell 3):\n"),
    ],
)
def test_infer_reads_the_cells_of_a_notebook(tmp_path: Path, cli: Cli, place: str, shown: str) -> None:
    """As what is checked: one program, whose places are those in its cells."""
    (tmp_path / "run.ipynb").write_text(_notebook(*CELLS), encoding="utf-8")
    assert cli("infer", f"{tmp_path / 'run.ipynb'}{place}").out.startswith(shown)


@pytest.mark.parametrize(
    ("place", "cause"),
    [
        (":1:1", "cell 1 holds no code"),
        (":9:1", "cell 9 holds no code"),
        (":2:4", "there is no line 4 in cell 2 (of 3)"),
        (":3:2", "there is no statement on line 2 of cell 3"),
        (":2", "a notebook has cells: {path}:CELL:LINE"),
    ],
)
def test_infer_says_what_is_wrong_with_a_place_in_a_notebook(
    tmp_path: Path, cli: Cli, place: str, cause: str
) -> None:
    """In one line that names the file."""
    path = tmp_path / "run.ipynb"
    path.write_text(_notebook(*CELLS), encoding="utf-8")
    outcome = cli("infer", f"{path}{place}")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"torchdev-lint: error: {path}: {cause.format(path=path)}\n"


def test_infer_says_that_a_notebook_is_none(tmp_path: Path, cli: Cli) -> None:
    """What is no JSON, or has no cells."""
    path = tmp_path / "run.ipynb"
    path.write_text("x = 1\n", encoding="utf-8")
    outcome = cli("infer", str(path))
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert f"{path}: not a notebook" in outcome.err

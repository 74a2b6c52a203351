"""`torchdev-lint explain`: from a pasted error to the line, the devices, the origin and the fix."""

import io
import json
import sys
from pathlib import Path

import pytest
from notebook_files import of_program

from torchdev_lint.cli import main

PROGRAM = """\
import torch
from torch import nn


def run(model, device):
    x = torch.ones(2, 3)
    return model(x)


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(3, 1).to(device)
    print(run(model, device))


main()
"""
ERROR = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def traceback(path: str, *frames: tuple[int, str, str], error: str = ERROR) -> str:
    shown = "".join(f'  File "{path}", line {row}, in {name}\n    {code}\n' for row, name, code in frames)
    return f"Traceback (most recent call last):\n{shown}{error}\n"


WAY = ((16, "<module>", "main()"), (13, "main", "print(run(model, device))"), (7, "run", "return model(x)"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path):
    def run(text: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        capsys.readouterr()
        code = main(["explain", *arguments])
        return code, *capsys.readouterr()

    return run


def test_the_finding_with_its_story_and_fix(explain, folder: Path) -> None:
    code, out, err = explain(traceback(str(folder / "train.py"), *WAY))
    assert (code, err) == (0, "")
    assert out.startswith(ERROR)
    assert "Devices: cuda:0, cpu." in out
    assert " --> train.py:7\n" in out
    assert "called from train.py:13 in main\n  called from train.py:16 in <module>\n" in out
    assert "TDV017" in out
    assert "note: " in out
    assert "\n6 +     x = torch.ones(2, 3, device=device)\n" in out


def test_from_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.txt").write_text(traceback("train.py", *WAY))
    assert main(["explain", "log.txt"]) == 0
    assert "train.py:7" in capsys.readouterr().out


def test_as_json(explain, folder: Path) -> None:
    code, out, _ = explain(traceback("/elsewhere/train.py", *WAY), "--output-format=json")
    answer = json.loads(out)
    assert code == 0
    assert answer["about_devices"] is True
    assert answer["kind"] == "mix"
    assert [one["device"] for one in answer["devices"]] == ["cuda:0", "cpu"]
    assert [frame["row"] for frame in answer["frames"]] == [16, 13, 7]
    assert answer["findings"][0]["filename"] == str(folder / "train.py")
    assert answer["findings"][0]["fix"]["edits"]
    assert any("declared" in note["message"] for note in answer["findings"][0]["related"])
    assert answer["findings"][0]["silenced"] is False


def test_a_suppressed_finding_explains_too(explain, folder: Path) -> None:
    text = PROGRAM.replace("model(x)", "model(x)  # noqa").replace("(2, 3)", "(2, 3)  # noqa")
    (folder / "train.py").write_text(text)
    way = (*WAY[:2], (7, "run", "return model(x)  # noqa"))
    code, out, _ = explain(traceback("train.py", *way))
    assert code == 0
    assert "a plain run does not report this" in out


def test_a_file_that_has_changed(explain, folder: Path) -> None:
    (folder / "train.py").write_text("# a new line\n\n" + PROGRAM)
    code, out, _ = explain(traceback("train.py", *WAY))
    assert code == 0
    assert " --> train.py:9\n" in out


def test_another_file_of_that_name_is_not_taken_for_it(explain, folder: Path) -> None:
    (folder / "train.py").write_text("print('something else')\n" * 20)
    code, out, _ = explain(traceback("/elsewhere/train.py", *WAY))
    assert code == 1
    assert "which is not here" in out
    assert "--source PATH" in out


def test_a_file_that_the_user_names(explain, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "train.py").rename(folder / "sub/train.py")
    code, out, _ = explain(traceback("/elsewhere/train.py", *WAY), "--source", "sub/train.py")
    assert code == 0
    assert "sub/train.py:7" in out


def test_no_finding_is_said_honestly(explain, folder: Path) -> None:
    text = "import torch\nimport mylib\n\na = torch.ones(3)\nb = mylib.make()\nprint(a + b)\n"
    (folder / "sums.py").write_text(text)
    code, out, _ = explain(traceback("sums.py", (6, "<module>", "print(a + b)")))
    assert code == 1
    assert "torchdev-lint finds nothing on this way" in out
    assert "  a: a tensor on the CPU, made on line 4\n" in out
    assert "help: look at each operand of the line" in out


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        ("RuntimeError: CUDA error: device-side assert triggered", 1, "out of range"),
        ("KeyError: 'loss'", 1, "not one of PyTorch's device errors"),
    ],
)
def test_other_errors(explain, error: str, code: int, said: str) -> None:
    result, out, _ = explain(traceback("train.py", *WAY, error=error))
    assert result == code
    assert said in out
    assert "TDV" not in out


def test_a_message_alone(explain) -> None:
    code, out, _ = explain(ERROR)
    assert code == 1
    assert "has no traceback" in out
    assert "What it means: an operation was given tensors" in out


def test_a_finding_of_another_kind_is_no_explanation(explain, folder: Path) -> None:
    """A checkpoint's error is not explained by an operand on the CPU on the same line."""
    error = "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."
    code, out, _ = explain(traceback("train.py", *WAY, error=error))
    assert code == 1
    assert "TDV" not in out
    assert "map_location" in out


def test_a_notebook_s_cell(explain, folder: Path) -> None:
    (folder / "note.ipynb").write_text(of_program(PROGRAM)[0])
    (folder / "train.py").unlink()
    nbformat = pytest.importorskip("nbformat")

    cells = [
        cell.source for cell in nbformat.read(folder / "note.ipynb", 4).cells if cell.cell_type == "code"
    ]
    number, source = next((n, s) for n, s in enumerate(cells, 1) if "return model(x)" in s)
    row = source.split("\n").index("    return model(x)") + 1
    text = (
        f"RuntimeError                              Traceback (most recent call last)\nCell In[{number}], line {row}, in run(m)\n"
        f"----> {row}     return model(x)\n\n{ERROR}\n"
    )
    code, out, _ = explain(text)
    assert code == 0
    assert out.count("note.ipynb:cell ") >= 3
    assert "x = torch.ones(2, 3)\n" in out


def test_nothing_to_read(explain, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("\n")[0] == 2
    code, _, err = explain("", "missing.txt")
    assert code == 2
    assert "missing.txt: cannot be read: No such file" in err
    assert explain("", "TDV001")[2].endswith("; `torchdev-lint rule TDV001` explains a rule\n")
    assert explain("", ERROR)[2].endswith("; the error itself goes to standard input\n")
    code, _, err = explain(ERROR, "--source", "gone.py")
    assert code == 2
    assert "--source: gone.py: no such file" in err


def test_bytes_that_are_no_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.bin").write_bytes(b"\xff\xfe\x00" + traceback("train.py", *WAY).encode())
    assert main(["explain", "log.bin"]) == 0

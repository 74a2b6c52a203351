"""`torchdev-lint verify` and `torchdev-lint doctor`, as processes and in process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchdev_lint.cli import main

pytest.importorskip("torch", reason="verify runs programs: it needs torch")

BAD = """import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 1).to(device)
x = torch.ones(2, 3)
print(net(x).shape)
"""
GOOD = BAD.replace("torch.ones(2, 3)", "torch.ones(2, 3, device=device)")
MISSED = """import sys
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
where = vars(torch)["zeros"]
print(where(2) + torch.ones(2, device=device))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    return tmp_path


def verify(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["verify", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_claims_come_true(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = verify(capsys, "--fix", str(folder))
    lines = [line.split() for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0][:3] == ["program", "static", "runtime"]
    bad, good = (next(line for line in lines if line[0].endswith(name)) for name in ("bad.py", "good.py"))
    assert bad[1:6] == ["TDV001", "device-error,", "fixed:", "passed", "yes"]
    assert good[1:4] == ["clean", "passed", "yes"]
    assert (folder / "bad.py").read_text() == BAD, "the program itself is not fixed"
    assert {path.name for path in folder.iterdir()} == {"bad.py", "good.py"}


def test_a_miss_is_a_disagreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "missed.py").write_text(MISSED)
    code, out, _ = verify(capsys, str(tmp_path / "missed.py"))
    assert code == 1
    assert "NO" in out.splitlines()[1].split()


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = verify(capsys, "--output-format", "json", str(folder / "bad.py"))
    [one] = json.loads(out)
    assert code == 0
    assert {"program", "backend", "static", "runtime", "agree"} <= set(one)
    assert {"verdict", "type", "message", "filename", "row", "frames", "seconds"} <= set(one["runtime"])
    assert one["agree"] is True
    assert one["backend"] == "simulated"
    assert one["runtime"]["verdict"] == "device-error"
    assert one["runtime"]["row"] == 7
    assert [finding["code"] for finding in one["static"]] == ["TDV001"]
    assert set(one["static"][0]) >= {"code", "location", "end_location", "filename", "fix", "message"}


def test_on_the_cpu_nothing_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = verify(capsys, "--backend", "cpu", str(folder / "bad.py"))
    assert code == 0, "TDV001 does not claim to fail on the CPU"
    assert "passed" in out


def test_arguments_reach_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.py").write_text(
        "import sys\nimport torch\nassert sys.argv[1:] == ['--fast', '3'], sys.argv\n"
    )
    code, out, _ = verify(capsys, str(tmp_path / "program.py"), "--", "--fast", "3")
    assert code == 0
    assert "passed" in out


def test_what_says_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.py").write_text("import torch\nraise SystemExit('no data')\n")
    code, out, err = verify(capsys, str(tmp_path / "program.py"))
    assert code == 0
    assert "unknown" in out
    assert "program.py" in err


def test_a_backend_that_is_not_there_is_no_agreement(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    code, out, err = verify(capsys, "--backend", "cuda", str(folder / "good.py"))
    assert code == 2
    assert "unavailable" in out
    assert err.startswith(f"error: {folder / 'good.py'}: ")


def test_a_missing_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = verify(capsys, str(tmp_path / "none.py"))
    assert (code, out) == (2, "")
    assert "none.py" in err


def test_help_says_that_it_executes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["verify", "--help"])
    assert stop.value.code == 0
    assert "EXECUTE" in capsys.readouterr().out


def test_doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.py").write_text('import torch\nx = torch.zeros(1, device="cuda:77")\n')
    assert main(["doctor", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "torch" in out
    assert "simulator:" in out
    assert f"{tmp_path / 'program.py'}:2: cuda:77" in out


def test_doctor_as_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--output-format", "json", str(tmp_path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["lacking"] == []
    assert data["python"] == sys.version.split()[0]


def test_a_program_never_leaves_its_process(folder: Path) -> None:
    """Nothing of the program runs in the linter's own process."""
    (folder / "marks.py").write_text("import torch\nimport os\nos.environ['MARK'] = '1'\n")
    done = subprocess.run(
        [sys.executable, "-m", "torchdev_lint", "verify", str(folder / "marks.py")],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "MARK" not in os.environ

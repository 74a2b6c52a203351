"""What the lint claims is compared with what happens."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from torchdev_lint.harness import Frame, Kind, Verdict, verify
from torchdev_lint.harness.verify import Claim, Verification

pytest.importorskip("torch", reason="the runtime half needs torch")

BAD = """\
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(2, 2).to(device)
model(torch.ones(2))
"""
GOOD = BAD.replace("torch.ones(2)", "torch.ones(2).to(device)")


def lint(path: Path) -> list[Claim]:
    """A lint that knows one mistake."""
    rows = [
        row for row, line in enumerate(path.read_text().splitlines(), 1) if line == "model(torch.ones(2))"
    ]
    return [Claim("TDV001", (row,), ("simulated", "cuda"), {"code": "TDV001"}) for row in rows]


def fix(path: Path) -> None:
    path.write_text(path.read_text().replace("torch.ones(2))", "torch.ones(2).to(device))"))


def test_agreement_on_a_bad_and_a_good_program(tmp_path):
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text(BAD)
    good.write_text(GOOD)
    first, second = verify.verify([bad, good], lint, fix=fix)
    assert (first.agree, first.same_line, first.fixed.kind) == (True, True, Kind.PASSED)
    assert (second.agree, second.same_line, second.fixed) == (True, None, None)
    assert verify.exit_status([first, second]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.py", "good.py"]
    assert bad.read_text() == BAD
    assert first.to_json()["static"] == [{"code": "TDV001"}]
    runtime = first.to_json()["runtime"]
    assert (runtime["verdict"], runtime["row"], runtime["filename"]) == ("device-error", 4, str(bad))


def test_a_missed_alarm_is_a_disagreement(tmp_path):
    program = tmp_path / "bad.py"
    program.write_text(dedent(BAD))
    (verification,) = verify.verify([program], lambda path: [])
    assert (verification.agree, verify.exit_status([verification])) == (False, 1)


def make(kind: Kind, *claims: Claim, backend: str = "simulated", fixed: Kind | None = None) -> Verification:
    frames = (Frame("/p.py", 9, "f"), Frame("/p.py", 4, "g")) if kind is Kind.DEVICE_ERROR else ()
    after = None if fixed is None else Verdict(fixed, backend)
    return Verification("/p.py", backend, claims, Verdict(kind, backend, "RuntimeError", "m", frames), after)


CLAIM = Claim("TDV001", (4,), ("simulated", "cuda"))
ELSEWHERE = Claim("TDV001", (2,), ("simulated", "cuda"))
CPU_ONLY = Claim("TDV002", (1,), ("cpu",))


@pytest.mark.parametrize(
    ("verification", "agree", "same_line"),
    [
        (make(Kind.DEVICE_ERROR, CLAIM), True, True),
        (make(Kind.DEVICE_ERROR, ELSEWHERE), True, False),
        (make(Kind.DEVICE_ERROR), False, None),
        (make(Kind.PASSED), True, None),
        (make(Kind.PASSED, CLAIM), False, None),
        (make(Kind.PASSED, CPU_ONLY), True, None),
        (make(Kind.DEVICE_ERROR, CPU_ONLY, backend="cpu"), True, False),
        (make(Kind.PASSED, CLAIM, backend="cpu"), True, None),
        (make(Kind.DEVICE_ERROR, CLAIM, fixed=Kind.PASSED), True, True),
        (make(Kind.DEVICE_ERROR, CLAIM, fixed=Kind.DEVICE_ERROR), False, True),
        (make(Kind.TIMEOUT, CLAIM), None, None),
        (make(Kind.OTHER_ERROR), None, None),
        (make(Kind.UNAVAILABLE, CLAIM), None, None),
    ],
)
def test_when_they_agree(verification, agree, same_line):
    assert (verification.agree, verification.same_line) == (agree, same_line)
    assert verify.exit_status([verification]) == (1 if agree is False else 0)


def test_the_table():
    text = verify.table([make(Kind.DEVICE_ERROR, CLAIM), make(Kind.PASSED, CLAIM), make(Kind.TIMEOUT)])
    header, first, second, third = text.splitlines()
    assert header.split() == ["program", "static", "runtime", "agreement", "line"]
    assert first.split()[1:] == ["TDV001", "device-error", "yes", "4"]
    assert second.split()[1:] == ["TDV001", "passed", "NO"]
    assert third.split()[1:] == ["clean", "timeout", "unknown"]


def test_a_missing_program_is_not_linted(tmp_path):
    def never(path: Path) -> list[Claim]:
        raise AssertionError("linted")

    (verification,) = verify.verify([tmp_path / "absent.py"], never, backend="cpu")
    assert (verification.runtime.error_type, verification.agree) == ("FileNotFoundError", None)

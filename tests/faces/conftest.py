"""A stand-in for the inference, so that the faces can be driven into every corner."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from torchdev_lint.cli import main
from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range, Related
from torchdev_lint.engine import check
from torchdev_lint.source.lines import LineIndex

WORDS = {
    "SAFE": ("TDV001", Applicability.SAFE, "ok"),
    "RISKY": ("TDV002", Applicability.UNSAFE, "ok"),
    "SHOWN": ("TDV002", Applicability.DISPLAY_ONLY, "ok"),
    "PLAIN": ("TDV001", None, ""),
    "BROKEN": ("TDV001", Applicability.SAFE, "(("),
    "ACCENT": ("TDV001", Applicability.SAFE, "'\u20ac'"),
    "LINES": ("TDV001", Applicability.SAFE, "[\n    1,\n]"),
}
"""What the stand-in reports: a word, and the code, applicability and content of its fix."""

NAMES = {
    "TDV001": "model-input-on-other-device",
    "TDV002": "hardcoded-device-index",
    "TDV999": "syntax-error",
}


def fake_check(text: str, path: str, config: Config, *more: object) -> list[Diagnostic]:
    """Report the `WORDS` in `text`; `CRASH` is a bug of the linter."""
    lines = LineIndex(text)
    try:
        ast.parse(text)
    except SyntaxError as error:
        place = Position(error.lineno or 1, error.offset or 1)
        return [Diagnostic(path, "TDV999", NAMES["TDV999"], f"not Python: {error.msg}", Range(place, place))]
    if "CRASH" in text:
        raise RuntimeError("a bug\nof ours")
    found = []
    for match in re.finditer(r"\b(" + "|".join(WORDS) + r")\b", text):
        code, applicability, content = WORDS[match.group()]
        if not config.selects(code, path):
            continue
        place = Range(lines.position(match.start()), lines.position(match.end()))
        fix = Fix((Edit(place, content),), applicability, f"Say `{content}`") if applicability else None
        related = (Related(Range(Position(1, 1), Position(1, 7)), "torch comes from here"),)
        found.append(
            Diagnostic(path, code, NAMES[code], f"`{match.group()}` is no good", place, related, fix)
        )
    return found


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes many seconds; runs by default")


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, Config], list[Diagnostic]]:
    """Puts `fake_check` in place of the inference."""
    monkeypatch.setattr(check, "check_source", fake_check)
    return fake_check


@dataclass
class Outcome:
    """What a run of the command line came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to run in, without colours."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def cli(project: Path, stand_in: object, capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs the command line in `project` with the stand-in in place of the inference."""

    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        try:
            code = main(arguments)
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run

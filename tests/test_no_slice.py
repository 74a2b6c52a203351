"""Long files are parsed in pieces, or as a whole with `--no-slice`: what is found is the same."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from fixture_files import FIXTURES, ROOT

from torchdev_lint.cli import main
from torchdev_lint.config import Config
from torchdev_lint.engine import parsing, pieces
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.parsing import cutting
from torchdev_lint.engine.pieces import PAYS

pytestmark = pytest.mark.untraced

TEXTS = [*sorted(FIXTURES.rglob("*.py")), *sorted((ROOT / "tests" / "programs").glob("*.py"))]
FUNCTION = "\n\ndef function_{}(x):\n    return x + torch.ones(2, device='cuda')\n"
LONG = "import torch\n" + "".join(map(FUNCTION.format, range(PAYS // len(FUNCTION) + 1)))
NOT_TO_BE_CUT = f'import torch\n\nTEXT = """{"word " * PAYS}"""\n'


@pytest.mark.parametrize("part", range(4))
def test_findings_in_programs_are_the_same(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program that can be cut at all, cut wherever it can be."""
    for module in (pieces, parsing):
        monkeypatch.setattr(module, "PAYS", 0)
    monkeypatch.setattr(pieces, "PIECE", 0)
    config = Config(select=("ALL",))
    cut = found = 0
    for path in TEXTS[part::4]:
        text = path.read_text(encoding="utf-8")
        with cutting(allowed=True) as how:
            in_pieces = check_source(text, str(path), config)
        if any(how.long.values()):
            with cutting(allowed=False) as how:
                assert check_source(text, str(path), config) == in_pieces
            assert not any(how.long.values())
            cut += 1
            found += len(in_pieces)
    assert cut > len(TEXTS) / 4 * 0.6
    assert found > 20


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "long.py").write_text(LONG)
    (tmp_path / "uncut.py").write_text(NOT_TO_BE_CUT)
    (tmp_path / "short.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("jobs", ["--jobs=1", "--jobs=2"])
def test_how_long_files_were_parsed_is_told(
    jobs: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--isolated", "-v", jobs, "--output-format=concise"]
    assert main([*arguments, "--no-cache"]) == 0
    assert "parsed: 2 long files, 1 in pieces, 1 as a whole: uncut.py\n" in capsys.readouterr().err
    assert main([*arguments, "--no-slice"]) == 0
    assert "parsed: 2 long files, as a whole (--no-slice)\n" in capsys.readouterr().err
    assert not (project / ".torchdev_lint_cache").exists()


def test_nothing_is_parsed_in_pieces_where_that_is_not_wanted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse_in_pieces(_: str) -> None:
        raise AssertionError

    monkeypatch.setattr(parsing, "parse_in_pieces", parse_in_pieces)
    assert main(["--isolated", "--no-slice", "--jobs=1"]) == 0
    assert main(["--isolated", "--no-cache", "--jobs=1"]) == 2  # an internal error


def test_standard_input(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, told in (([], "1 in pieces, 0 as a whole"), (["--no-slice"], "as a whole (--no-slice)")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LONG.encode())))
        assert main(["--isolated", "-v", "-", *more]) == 0
        assert f"parsed: 1 long file, {told}\n" in capsys.readouterr().err

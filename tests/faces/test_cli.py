"""The command line: what it prints where, what it writes, and its exit codes."""

import io
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchdev_lint import __version__
from torchdev_lint.cli import main
from torchdev_lint.engine import check

Cli = Callable[..., Any]

HEAD = "import torch\n"


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def test_a_clean_run(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(HEAD)
    outcome = cli()
    assert (outcome.code, outcome.out, outcome.err) == (0, "All checks passed!\n", "")


def test_findings_go_to_stdout_and_give_1(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE\ny = RISKY; z = PLAIN\n")
    outcome = cli("--output-format", "concise")
    assert outcome.code == 1
    assert outcome.err == ""
    assert outcome.out == (
        "a.py:2:5: TDV001 [*] `SAFE` is no good\n"
        "a.py:3:5: TDV002 `RISKY` is no good\n"
        "a.py:3:16: TDV001 `PLAIN` is no good\n"
        "Found 3 errors.\n"
        "[*] 1 fixable with `--fix` (1 unsafe fix available with `--fix --unsafe-fixes`).\n"
    )


def test_full_is_the_default_and_shows_source_origins_and_fix(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}\nx = RISKY\n")
    assert cli().out == (
        "TDV002 `RISKY` is no good\n"
        " --> a.py:3:5\n"
        "  |\n"
        "1 | import torch\n"
        "2 |\n"
        "3 | x = RISKY\n"
        "  |     ^^^^^\n"
        "note: torch comes from here\n"
        " --> a.py:1:1\n"
        "  |\n"
        "1 | import torch\n"
        "  | ^^^^^^\n"
        "help: Say `ok`\n"
        "  |\n"
        "2 |\n"
        "  - x = RISKY\n"
        "3 + x = ok\n"
        "  |\n"
        "note: This is an unsafe fix and may change runtime behavior\n"
        "\n"
        "Found 1 error.\n"
        "1 unsafe fix available with `--fix --unsafe-fixes`.\n"
    )


def test_fix_rewrites_the_file(cli: Cli, project: Path) -> None:
    (project / "src").mkdir()
    file = project / "src/a.py"
    file.write_bytes(b"\xef\xbb\xbfimport torch\r\nx = SAFE  # comment\r\ny = LINES\r\n")
    file.chmod(0o755)
    outcome = cli("--fix", "src/")
    assert (outcome.code, outcome.out) == (0, "Found 2 errors (2 fixed, 0 remaining).\n")
    assert file.read_bytes() == (b"\xef\xbb\xbfimport torch\r\nx = ok  # comment\r\ny = [\r\n    1,\r\n]\r\n")
    assert file.stat().st_mode & 0o777 == 0o755
    assert cli("--fix", "src/").out == "All checks passed!\n"


def test_unsafe_fixes_have_to_be_asked_for(cli: Cli, project: Path) -> None:
    file = project / "a.py"
    file.write_text(f"{HEAD}x = SAFE\ny = RISKY\nz = SHOWN\n")
    outcome = cli("--fix", "--output-format=concise")
    assert outcome.code == 1
    assert outcome.out.endswith(
        "Found 3 errors (1 fixed, 2 remaining).\n1 unsafe fix available with `--fix --unsafe-fixes`.\n"
    )
    assert file.read_text() == f"{HEAD}x = ok\ny = RISKY\nz = SHOWN\n"
    assert cli("--fix", "--unsafe-fixes").code == 1
    assert file.read_text() == f"{HEAD}x = ok\ny = ok\nz = SHOWN\n"


def test_the_configuration_may_allow_unsafe_fixes_and_the_flag_forbid_them(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.torchdev-lint]\nunsafe-fixes = true\n")
    file = project / "a.py"
    file.write_text(f"{HEAD}y = RISKY\n")
    assert cli("--fix", "--no-unsafe-fixes").code == 1
    assert "[*] `RISKY`" in cli("--output-format=concise").out
    assert cli("--fix").code == 0
    assert file.read_text() == f"{HEAD}y = ok\n"


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (["--fix", "--exit-non-zero-on-fix"], 1),
        (["--exit-zero"], 0),
        (["--fix", "--exit-non-zero-on-fix", "--exit-zero"], 0),
        (["--fix", "--no-fix"], 1),
    ],
)
def test_exit_codes(cli: Cli, project: Path, flags: list[str], code: int) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE\n")
    assert cli(*flags).code == code


def test_diff_is_a_patch_and_changes_nothing(cli: Cli, project: Path) -> None:
    file = project / "a.py"
    before = f"{HEAD}x = SAFE\n\x0cy = RISKY\nz = SAFE"
    file.write_text(before)
    outcome = cli("--diff")
    assert outcome.code == 1
    assert outcome.err == "Would fix 2 errors (1 additional fix available with `--unsafe-fixes`).\n"
    assert file.read_text() == before
    patch = subprocess.run(["git", "apply", "-p0"], input=outcome.out, text=True, cwd=project, check=False)
    assert patch.returncode == 0
    assert file.read_text() == f"{HEAD}x = ok\n\x0cy = RISKY\nz = ok"
    assert cli("--diff").code == 0


def test_diff_keeps_windows_newlines(
    project: Path, stand_in: object, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (project / "a.py").write_bytes(b"import torch\r\nx = SAFE\r\n")
    assert main(["--diff"]) == 1
    assert b"-x = SAFE\r\n+x = ok\r\n" in capfdbinary.readouterr().out


def test_diff_of_what_cannot_be_read_is_told(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}y = ((\n")
    (project / "b.py").write_text(f"{HEAD}z = 1\n")
    outcome = cli("--diff")
    assert (outcome.code, outcome.out) == (1, "")
    first, second = outcome.err.splitlines()
    assert first == "No errors would be fixed."
    assert second.startswith("error: a.py:2: ")
    assert cli("--diff", "--exit-zero").code == 0


def test_diff_without_anything_to_change(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}y = RISKY\n")
    outcome = cli("--diff")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "No errors would be fixed (1 fix available with `--unsafe-fixes`).\n"


def test_json_is_ruff_s(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}s = 'é😀'; x = RISKY\n", encoding="utf-8")
    outcome = cli("--output-format", "json")
    assert outcome.code == 1
    assert json.loads(outcome.out) == [
        {
            "cell": None,
            "code": "TDV002",
            "end_location": {"column": 20, "row": 2},
            "filename": str(project / "a.py"),
            "fix": {
                "applicability": "unsafe",
                "edits": [
                    {
                        "content": "ok",
                        "end_location": {"column": 20, "row": 2},
                        "location": {"column": 15, "row": 2},
                    }
                ],
                "message": "Say `ok`",
            },
            "location": {"column": 15, "row": 2},
            "message": "`RISKY` is no good",
            "name": "hardcoded-device-index",
            "noqa_row": 2,
            "severity": "error",
            "url": None,
        }
    ]


def test_json_of_a_clean_run_is_an_empty_array(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(HEAD)
    assert cli("--output-format", "json").out == "[]"


def test_output_format_from_the_configuration(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.torchdev-lint]\noutput-format = "json"\n')
    assert cli(".").out == "[]"
    assert cli("--output-format", "full", ".").out == "All checks passed!\n"


def test_statistics(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}SAFE, PLAIN, RISKY\n")
    assert cli("--statistics", "-q").out == (
        "2\tTDV001\t[-] model-input-on-other-device\n1\tTDV002\t[ ] hardcoded-device-index\n"
    )
    assert json.loads(cli("--statistics", "--output-format=json").out)[0] == {
        "code": "TDV001",
        "name": "model-input-on-other-device",
        "count": 2,
        "fixable": False,
        "fixable_count": 1,
    }


def test_show_files(cli: Cli, project: Path) -> None:
    for name in ("b.py", "a.py", "build/c.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("")
    assert cli("--show-files").out == f"{project / 'a.py'}\n{project / 'b.py'}\n"


@pytest.mark.parametrize(
    ("flags", "codes"),
    [
        (["--select", "TDV001"], ["TDV001"]),
        (["--select=TDV001,TDV002"], ["TDV001", "TDV002"]),
        (["--select", "TDV001", "--select", "TDV002"], ["TDV001", "TDV002"]),
        (["--select", "TDV001", "--extend-select", "TDV002"], ["TDV001", "TDV002"]),
        (["--ignore", "TDV002"], ["TDV001"]),
        (["--select", "ALL", "--ignore", "TDV00"], []),
        (["--per-file-ignores", "a.py:TDV001"], ["TDV002"]),
        (["--config", 'select = ["TDV002"]'], ["TDV002"]),
        (["--isolated", "--config", 'ignore = ["TDV002"]'], ["TDV001"]),
    ],
)
def test_selection(cli: Cli, project: Path, flags: list[str], codes: list[str]) -> None:
    (project / "a.py").write_text(f"{HEAD}PLAIN; RISKY\n")
    found = json.loads(cli("--output-format", "json", *flags).out)
    assert [item["code"] for item in found] == codes


def test_configuration_of_the_nearest_directory_holds(cli: Cli, project: Path) -> None:
    (project / "sub").mkdir()
    (project / "pyproject.toml").write_text('[tool.torchdev-lint]\nselect = ["TDV001"]\n')
    (project / "sub/pyproject.toml").write_text('[tool.torchdev-lint]\nselect = ["TDV002"]\n')
    for name in ("a.py", "sub/a.py"):
        (project / name).write_text(f"{HEAD}PLAIN; RISKY\n")
    assert cli("--output-format=concise", "-q").out == (
        "a.py:2:1: TDV001 `PLAIN` is no good\nsub/a.py:2:8: TDV002 `RISKY` is no good\n"
    )
    assert len(cli("--isolated", "--output-format=concise", "-q").out.splitlines()) == 4
    (project / "lint.toml").write_text('ignore = ["TDV001"]\n')
    assert cli("--config", "lint.toml", "--output-format=concise", "-q").out.count("TDV002") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--select", "ZZZ"], "unknown rule selector 'ZZZ'"),
        (["nothing.py"], "nothing.py: no such file or directory\n"),
        (["chek", "."], "chek: no such file or directory; did you mean the command 'check'?"),
        ([""], "'': no such file or directory"),
        (["--select", ""], "expected codes or their prefixes, or ALL, not ''"),
        (["rule", "zzz"], "unknown rule 'zzz'; `torchdev-lint rule --all` prints all of them"),
        (["--config", "none.toml"], "none.toml: cannot be read"),
        (["--config", "selct = []"], "did you mean 'select'"),
        (["--config", "lint.toml", "--isolated"], "cannot be given together with --isolated"),
        (["--per-file-ignores", "TDV001"], "expected PATTERN:CODE"),
        (["--selct", "TDV001"], "unrecognized arguments: --selct"),
        (["--fi"], "unrecognized arguments: --fi"),
        (["--output-format", "xml"], "invalid choice"),
        (["-", "a.py"], "cannot be given together"),
        (["--stdin-filename", "a.py", "a.py"], "--stdin-filename needs `-`"),
        (["rule"], "give either the code of a rule or --all"),
        (["rule", "TDV01"], "unknown rule 'TDV01'; did you mean"),
    ],
)
def test_bad_usage_is_an_error_of_one_line_and_gives_2(
    cli: Cli, project: Path, arguments: list[str], message: str
) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE\n")
    outcome = cli("--fix", *arguments) if arguments[0] != "rule" else cli(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert message in outcome.err.splitlines(keepends=True)[-1]
    assert "Traceback" not in outcome.err
    assert (project / "a.py").read_text() == f"{HEAD}x = SAFE\n"


def test_a_bad_pyproject_gives_2(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.torchdev-lint]\nselct = []\n")
    (project / "a.py").write_text(HEAD)
    outcome = cli()
    assert outcome.code == 2
    assert outcome.err == (
        f"torchdev-lint: error: {project}/pyproject.toml: "
        "unknown key 'selct' (= []); did you mean 'select'?\n"
    )


def test_files_that_are_no_source_are_findings(cli: Cli, project: Path) -> None:
    (project / "a.py").write_bytes(b"import torch\n\xff\n")
    (project / "b.py").write_text(f"{HEAD}def f(:\n")
    (project / "c.py").write_text(f"{HEAD}SAFE\n")
    outcome = cli("--output-format=concise", "-q", "--fix")
    assert outcome.code == 1
    assert outcome.out.splitlines()[0] == "a.py:1:1: TDV999 not valid utf-8 at byte 13"
    assert outcome.out.splitlines()[1].startswith("b.py:2:7: TDV999 not Python")
    assert (project / "c.py").read_text() == f"{HEAD}ok\n"
    assert cli("a.py").out.startswith("TDV999 not valid utf-8 at byte 13\n --> a.py:1:1\n\nFound")
    assert cli("b.py", "--ignore", "TDV999").out == "All checks passed!\n"
    ignored = cli("a.py", "--ignore", "TDV999")
    assert (ignored.code, ignored.err) == (0, "warning: a.py: not valid utf-8 at byte 13\n")


def test_a_file_that_cannot_be_opened_is_a_finding(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.py").write_text(f"{HEAD}SAFE\n")
    (project / "b.py").write_text(f"{HEAD}SAFE\n")
    real = os.open

    def closed(path: Any, *arguments: Any, **named: Any) -> Any:
        if path == "a.py":
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **named)

    monkeypatch.setattr(os, "open", closed)
    outcome = cli("--output-format=concise", "-q", "a.py", "b.py")
    assert outcome.code == 1
    assert outcome.out == (
        "a.py:1:1: TDV999 cannot be read: Permission denied\nb.py:2:1: TDV001 [*] `SAFE` is no good\n"
    )


def test_a_bug_of_ours_names_the_file_and_the_rest_goes_on(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}CRASH\n")
    (project / "b.py").write_text(f"{HEAD}SAFE\n")
    outcome = cli("--fix", "--output-format=concise")
    assert outcome.code == 2
    assert outcome.err.startswith("error: a.py: internal error: RuntimeError: a bug of ours (at ")
    assert outcome.err.count("\n") == 1
    assert (project / "b.py").read_text() == f"{HEAD}ok\n"


def test_nothing_is_called_passed_that_was_not_checked(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}CRASH\n")
    assert "All checks passed" not in cli().out


def test_a_fix_that_breaks_the_source_is_dropped(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE\ny = BROKEN\n")
    outcome = cli("--fix", "--output-format=concise")
    assert outcome.code == 2
    assert outcome.err == (
        "error: a.py: the fix gives source that does not parse: TDV001 at 3:5; file left untouched\n"
    )
    assert outcome.out.count("TDV001") == 2
    assert (project / "a.py").read_text() == f"{HEAD}x = SAFE\ny = BROKEN\n"


def test_a_fix_that_the_encoding_cannot_spell_is_dropped(cli: Cli, project: Path) -> None:
    before = b"# coding: latin-1\nimport torch\nx = ACCENT  # \xe9\n"
    (project / "a.py").write_bytes(before)
    outcome = cli("--fix")
    assert outcome.code == 2
    assert "error: a.py: not fixed: '€' cannot be written in latin-1" in outcome.err
    assert (project / "a.py").read_bytes() == before


def test_a_file_that_changes_meanwhile_is_left_alone(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "a.py"
    file.write_text(f"{HEAD}x = SAFE\n")
    fake = check.check_source

    def slow(*arguments: Any) -> Any:
        file.write_text("mine\n")
        return fake(*arguments)

    monkeypatch.setattr(check, "check_source", slow)
    outcome = cli("--fix", "--output-format=concise")
    assert outcome.code == 2
    assert outcome.err == "error: a.py: not written: the file was changed while it was checked\n"
    assert file.read_text() == "mine\n"


def test_suppressed_findings_are_neither_reported_nor_fixed(cli: Cli, project: Path) -> None:
    before = f"{HEAD}x = SAFE  # noqa: TDV001\ny = SAFE  # torchdev: ignore[TDV]\n"
    (project / "a.py").write_text(before)
    assert cli("--fix").out == "All checks passed!\n"
    assert (project / "a.py").read_text() == before


def test_an_own_comment_that_says_nothing_is_warned_of(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"{HEAD}x = SAFE  # torchdev: ignore\n")
    outcome = cli("-q")
    assert outcome.code == 1
    assert outcome.err.startswith("warning: a.py: 2: `# torchdev: ignore` needs codes")


def test_stdin(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, f"{HEAD}x = SAFE\n".encode())
    outcome = cli("--output-format=concise", "-q", "-")
    assert (outcome.code, outcome.out) == (1, "-:2:5: TDV001 [*] `SAFE` is no good\n")


def test_stdin_takes_its_name_for_configuration_and_report(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub").mkdir()
    (project / "sub/pyproject.toml").write_text('[tool.torchdev-lint]\nselect = ["TDV001"]\n')
    stdin(monkeypatch, f"{HEAD}PLAIN; RISKY\n".encode())
    outcome = cli("check", "--stdin-filename", "sub/new.py", "--output-format=json", "--", "-")
    (item,) = json.loads(outcome.out)
    assert item["filename"] == str(project / "sub/new.py")


def test_stdin_fixed_goes_to_stdout_and_the_rest_to_stderr(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, b"import torch\nx = SAFE\ny = PLAIN\n")
    outcome = cli("--fix", "-", "--output-format=concise")
    assert outcome.code == 1
    assert outcome.out == "import torch\nx = ok\ny = PLAIN\n"
    assert outcome.err == "-:3:5: TDV001 `PLAIN` is no good\nFound 2 errors (1 fixed, 1 remaining).\n"


@pytest.mark.parametrize("data", [b"x = 1\n", b"import torch\nCRASH\n", b"import torch\n(\n", b"\xfftorch"])
def test_stdin_to_fix_is_never_lost(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    stdin(monkeypatch, data)
    out = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(out, encoding="utf-8"))
    cli("--fix", "-")
    assert out.getvalue() == data


def test_stdin_that_is_excluded_is_passed_through(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, b"import torch\nx = SAFE\n")
    outcome = cli("--fix", "-", "--stdin-filename", "build/a.py", "--force-exclude")
    assert (outcome.code, outcome.out) == (0, "import torch\nx = SAFE\n")


def test_stdin_diff(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"import torch\nx = SAFE\n")
    outcome = cli("--diff", "-")
    assert outcome.code == 1
    assert "-x = SAFE\n+x = ok\n" in outcome.out


def test_excludes_on_the_command_line(cli: Cli, project: Path) -> None:
    for name in ("a.py", "gen/b.py", "build/c.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(f"{HEAD}PLAIN\n")

    def paths(*flags: str) -> list[str]:
        lines = cli("-q", "--output-format=concise", *flags).out.splitlines()
        return sorted({line.split(":")[0] for line in lines})

    assert paths() == ["a.py", "gen/b.py"]
    assert paths("--extend-exclude", "gen/*.py") == ["a.py"]
    assert paths("--exclude", "gen") == ["a.py", "build/c.py"]
    assert paths("build/c.py") == ["build/c.py"]
    assert paths("build/c.py", "--force-exclude") == []


def test_no_files_is_said(cli: Cli, project: Path) -> None:
    outcome = cli()
    assert outcome.code == 0
    assert outcome.err == "warning: no Python files found under the given path(s)\n"


def test_paths_may_stand_between_flags(cli: Cli, project: Path) -> None:
    for name in ("a.py", "b.py"):
        (project / name).write_text(f"{HEAD}PLAIN\n")
    assert cli("a.py", "--no-cache", "b.py", "-q", "--output-format=concise").out.count("\n") == 2


def test_the_command_word_is_optional_and_a_path_of_that_name_reachable(cli: Cli, project: Path) -> None:
    for name in ("check", "rule", "version"):
        (project / name).mkdir()
        (project / name / "a.py").write_text(f"{HEAD}PLAIN\n")
    (project / "b.py").write_text(f"{HEAD}PLAIN\n")
    flags = ("-q", "--output-format=concise")
    assert cli("check", *flags, "b.py").out.startswith("b.py:")
    assert cli("--isolated", "check", *flags, "b.py").out.startswith("b.py:")
    assert cli("check", "check", *flags).out.startswith(f"check{os.sep}a.py:")
    assert cli("./check", *flags).out.startswith(f"check{os.sep}a.py:")
    assert cli("./rule", *flags).out.startswith(f"rule{os.sep}a.py:")


def test_version(cli: Cli) -> None:
    for arguments in (["--version"], ["-V"], ["version"]):
        outcome = cli(*arguments)
        assert (outcome.code, outcome.out) == (0, f"torchdev-lint {__version__}\n")


def test_help_names_every_command(cli: Cli) -> None:
    outcome = cli("--help")
    assert outcome.code == 0
    for word in ("check [PATH ...]", "rule CODE", "version", "--fix", "--unsafe-fixes", "--stdin-filename"):
        assert word in outcome.out


def test_verbose_speaks_on_stderr(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(HEAD)
    outcome = cli("-v")
    assert "checking a.py" in outcome.err
    assert outcome.out == "All checks passed!\n"


@pytest.mark.parametrize(
    ("flags", "environment", "coloured"),
    [
        ([], {}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours(
    cli: Cli,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    environment: dict[str, str],
    coloured: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    (project / "a.py").write_text(f"{HEAD}if 1:\n\tx = [RISKY]  # [bold]not markup[/bold] {'long ' * 60}\n")
    plain = cli("--color", "never", "--output-format=full").out
    out = cli(*flags).out
    assert ("\x1b[" in out) is coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", out) == plain


def test_a_relative_path_upwards(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.py").write_text(f"{HEAD}PLAIN\n")
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    assert cli("..", "-q", "--output-format=concise").out == "../a.py:2:1: TDV001 `PLAIN` is no good\n"

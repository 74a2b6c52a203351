"""flake8 finds what the command line finds, at the same places."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from torchdev_lint.engine import check
from torchdev_lint.flake8_plugin import Plugin

flake8_cli = pytest.importorskip("flake8.main.cli")

Run = Callable[..., Any]

SOURCES = {
    "plain": b"import torch\nx = SAFE\nif x:\n    y = RISKY, PLAIN\n",
    "byte order mark": b"\xef\xbb\xbfSAFE  # torch\nPLAIN\n",
    "windows newlines": b"import torch\r\nx = SAFE\r\n\r\nPLAIN\r\n",
    "lone carriage returns": b"import torch\rx = SAFE\rPLAIN\r",
    "form feed": b"import torch\n\x0cx = SAFE\n\x0c\nPLAIN\n",
    "wide characters": "import torch\nx = 'é😀', SAFE\n".encode(),
    "another encoding": b"# coding: latin-1\nimport torch\nx = '\xe9', SAFE\n",
    "tabs": b"import torch\nif 1:\n\tx = SAFE\n",
    "noqa": b"import torch\nSAFE  # noqa\nSAFE  # noqa: TDV001\nSAFE  # noqa: TDV002\n",
    "noqa with several codes": b"import torch\nSAFE  # noqa: E501,TDV0\nSAFE  # noqa: E501 F401\n",
    "noqa behind a string": b"import torch\nx = SAFE, '''\n\n'''  # noqa: TDV001\nSAFE\n",
    "noqa behind a backslash": b"import torch\nx = SAFE, \\\n  1  # noqa: TDV001\n",
    "noqa inside brackets": b"import torch\nx = (SAFE,\n  PLAIN)  # noqa: TDV001\n",
    "whole file": b"# flake8: noqa\nimport torch\nSAFE\n",
    "our own comments": b"# torch\n# torchdev: ignore[TDV001]\nSAFE\nPLAIN\nRISKY  # torchdev: ignore[TDV]\n",
    "no newline at the end": b"import torch\nSAFE",
    "no torch": b"SAFE\n",
    "empty": b"",
}


@pytest.fixture
def flake8(project: Path, stand_in: object, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs flake8 in this process on top of the stand-in; returns its exit code and lines."""

    def run(*arguments: str) -> tuple[int, list[str]]:
        capfd.readouterr()
        code = flake8_cli.main(["--jobs=1", "--select=TDV", *arguments])
        captured = capfd.readouterr()
        return code, [line.removeprefix("./") for line in (captured.out + captured.err).splitlines()]

    yield run
    Plugin._settings = None
    Plugin._overrides = {}
    Plugin._config_file = ""


def lines_of(outcome: Any) -> list[str]:
    return [line.replace(" [*]", "") for line in outcome.out.splitlines()]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_same_lines_and_columns_as_the_command_line(
    cli: Run, flake8: Run, project: Path, source: bytes
) -> None:
    (project / "a.py").write_bytes(source)
    ours = cli("-q", "--output-format=concise", "a.py")
    code, theirs = flake8("a.py")
    assert theirs == lines_of(ours)
    assert code == ours.code


def test_reads_the_configuration_of_the_file(cli: Run, flake8: Run, project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub/pyproject.toml").write_text('[tool.torchdev-lint]\nignore = ["TDV001"]\n')
    for name in ("a.py", "sub/a.py"):
        (project / name).write_text("import torch\nSAFE, RISKY\n")
    _, theirs = flake8(".")
    assert sorted(theirs) == sorted(lines_of(cli("-q", "--output-format=concise")))
    assert len(theirs) == 3


def test_stdin(flake8: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"import torch\nSAFE\n")))
    code, lines = flake8("-")
    assert (code, lines) == (1, ["stdin:2:1: TDV001 `SAFE` is no good"])


@pytest.mark.parametrize(
    ("flags", "codes"),
    [([], ["TDV001", "TDV002"]), (["--extend-ignore=TDV002"], ["TDV001"]), (["--select=TDV002"], ["TDV002"])],
)
def test_selection_is_flake8_s(flake8: Run, project: Path, flags: list[str], codes: list[str]) -> None:
    (project / "a.py").write_text("import torch\nSAFE, RISKY\n")
    assert [line.split()[1] for line in flake8(*flags, "a.py")[1]] == codes


def test_tensor_constructors_come_from_the_option_or_the_configuration(
    flake8: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        check,
        "check_source",
        lambda text, path, config, *more: seen.append(config.tensor_constructors) or [],
    )
    (project / "pyproject.toml").write_text('[tool.torchdev-lint]\ntensor-constructors = ["encode"]\n')
    (project / "a.py").write_text("encode('no t' 'orch')\n")
    flake8("a.py")
    flake8("--tdv-tensor-constructors=tokens,mylib.encode", "a.py")
    assert seen == [("encode",), ("tokens", "mylib.encode")]


def test_a_syntax_error_is_flake8_s_to_report(flake8: Run, project: Path) -> None:
    (project / "a.py").write_text("import torch\ndef f(:\n")
    code, lines = flake8("--extend-select=E999", "a.py")
    assert code == 1
    assert [line.split()[1] for line in lines] == ["E999"]


def test_a_bug_of_ours_does_not_end_flake8(flake8: Run, project: Path) -> None:
    (project / "a.py").write_text("import torch\nCRASH\n")
    (project / "b.py").write_text("import torch\nSAFE\n")
    code, lines = flake8("a.py", "b.py")
    assert code == 1
    assert lines[0].startswith("a.py:1:1: TDV999 internal error: RuntimeError: a bug of ours")
    assert lines[1] == "b.py:2:1: TDV001 `SAFE` is no good"


def test_a_configuration_error_names_the_file_and_key(flake8: Run, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.torchdev-lint]\nselct = []\n")
    (project / "a.py").write_text("import torch\n")
    code, lines = flake8("a.py")
    assert code == 1
    assert "unknown key 'selct'" in "\n".join(lines)


def test_rules_that_are_off_by_default_join_flake8_s_default_ignores() -> None:
    class Manager:
        ignored: list[str] = []  # noqa: RUF012

        def add_option(self, *names: str, **settings: object) -> None:
            assert all(name.startswith("--tdv-") for name in names)

        def extend_default_ignore(self, codes: list[str]) -> None:
            self.ignored = codes

    manager = Manager()
    Plugin.add_options(manager)
    assert manager.ignored == [
        "TDV101",
        "TDV102",
        "TDV103",
        "TDV104",
        "TDV105",
        "TDV106",
        "TDV107",
        "TDV108",
        "TDV109",
        "TDV110",
    ]


def test_files_without_torch_cost_next_to_nothing(project: Path) -> None:
    script = (
        "import ast, sys\n"
        "from torchdev_lint.flake8_plugin import Plugin\n"
        "assert list(Plugin(ast.parse('x'), 'a.py', ['x\\n']).run()) == []\n"
        "print(sorted({'libcst', 'rich', 'difflib', 'tomllib', 'tomli'} & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_plugin_declares_what_flake8_asks_for() -> None:
    assert (Plugin.name, bool(Plugin.version)) == ("torchdev-lint", True)
    assert list(Plugin(ast.parse(""), "a.py", []).run()) == []


def test_flake8_s_own_options_go_over_the_file(flake8: Run, project: Path) -> None:
    (project / "a.py").write_text("import torch\nSAFE\nRISKY\n")
    (project / "pyproject.toml").write_text('[tool.torchdev-lint]\nselect = ["TDV001"]\n')
    assert [line.split()[1] for line in flake8("a.py")[1]] == ["TDV001"]
    assert [line.split()[1] for line in flake8("--select=E9,TDV002", "a.py")[1]] == ["TDV002"]
    assert [line.split()[1] for line in flake8("--select=TDV0", "a.py")[1]] == ["TDV001", "TDV002"]


def test_the_file_can_be_named(flake8: Run, project: Path) -> None:
    (project / "a.py").write_text("import torch\nSAFE\nRISKY\n")
    (project / "conf").mkdir()
    (project / "conf/lint.toml").write_text('ignore = ["TDV001"]\nper-file-ignores = {"b.py" = ["TDV002"]}\n')
    (project / ".flake8").write_text("[flake8]\ntdv-config = conf/lint.toml\n")
    assert [line.split()[1] for line in flake8("a.py")[1]] == ["TDV002"]
    code, lines = flake8("--tdv-config=none.toml", "a.py")
    assert code == 1
    assert "none.toml: cannot be read" in lines[-1]


@pytest.mark.parametrize(
    ("flag", "field", "expected"),
    [
        ("--tdv-device-sources=pick,mylib.pick", "device_sources", ("pick", "mylib.pick")),
        ("--tdv-src=lib", "src", ("lib",)),
    ],
)
def test_lists_of_the_configuration_can_be_given(
    flake8: Run,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    flag: str,
    field: str,
    expected: tuple[str, ...],
) -> None:
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        check,
        "check_source",
        lambda text, path, config, *more: seen.append(getattr(config, field)) or [],
    )
    (project / "a.py").write_text("import torch\n")
    flake8(flag, "a.py")
    assert [tuple(Path(one).name for one in value) for value in seen] == [
        tuple(Path(one).name for one in expected)
    ]

"""Shell completion, asked of the shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest

from torchdev_lint import cli_completion
from torchdev_lint.cli import main
from torchdev_lint.cli_completion import COMMANDS, SHELLS, commands


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["generate-shell-completion", shell]) == 0
    return capsys.readouterr().out


def shell(name: str, *arguments: str, cwd: Path) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    result = subprocess.run(
        [path, *arguments],
        cwd=cwd,
        text=True,
        capture_output=True,
        timeout=30,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert result.stderr == ""
    return result.stdout


CASES = [
    pytest.param(["ex"], ["explain"], id="a command"),
    pytest.param(["--stat"], ["--statistics"], id="a flag of the default command"),
    pytest.param(["check", "--show-fi"], ["--show-files", "--show-fixes"], id="flags of a command"),
    pytest.param(["check", "--output-format", "j"], ["json", "json-lines", "junit"], id="values"),
    pytest.param(["check", "--output-format", "=", "git"], ["github", "gitlab"], id="values behind ="),
    pytest.param(["rule", "TDV00"], [f"TDV00{n}" for n in range(1, 10)], id="codes"),
    pytest.param(["config", "tensor"], ["tensor-constructors"], id="keys of the configuration"),
    pytest.param(["explain", "--so"], ["--source"], id="a flag of another command"),
    pytest.param(["generate-shell-completion", "f"], ["fish"], id="shells"),
    pytest.param(["check", "trai"], ["train.py"], id="files"),
    pytest.param(["check", "--output-file", "trai"], ["train.py"], id="files of a flag"),
    pytest.param(["check", "--diff-base", "trai"], [], id="neither files nor words"),
]


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash(
    words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").touch()
    listed = " ".join(f"'{word}'" for word in ["torchdev-lint", *words])
    asked = f"COMP_WORDS=({listed}); COMP_CWORD={len(words)}; _torchdev_lint; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    out = shell("bash", "--norc", "-c", f"{script('bash', capsys)}\n{asked}", cwd=tmp_path)
    assert sorted(filter(None, out.split("\n"))) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [case for case in CASES if "=" not in case.values[0] and case.id != "files of a flag"],
)
def test_fish(
    words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").touch()
    asked = f"complete -C '{' '.join(['torchdev-lint', *words])}'"
    out = shell("fish", "--no-config", "-c", f"{script('fish', capsys)}\n{asked}", cwd=tmp_path)
    assert sorted(line.partition("\t")[0] for line in out.splitlines()) == expected


def test_zsh_parses_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "_torchdev-lint").write_text(script("zsh", capsys))
    assert shell("zsh", "-n", str(tmp_path / "_torchdev-lint"), cwd=tmp_path) == ""
    loaded = "autoload -Uz compinit; compinit -u -D; source ./_torchdev-lint; print $_comps[torchdev-lint]"
    assert shell("zsh", "-f", "-c", loaded, cwd=tmp_path) == "_torchdev_lint\n"


def test_every_command_is_there() -> None:
    """A command that `main` knows and the completion does not would be completed as a file."""
    source = Path(cli_completion.__file__).with_name("cli.py").read_text(encoding="utf-8")
    dispatched = {line.split('"')[1] for line in source.splitlines() if 'command == "' in line}
    assert dispatched | {"check"} == set(COMMANDS)


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = capsys.readouterr().out.partition("\ncommands:\n")[2]
    assert {
        line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "
    } == set(COMMANDS)


def test_the_flags_are_those_of_the_parsers() -> None:
    check = next(command for command in commands() if command.name == "check")
    names = {name for flag in check.flags for name in flag.names}
    assert {"--fix", "--no-fix", "-o", "--output-file", "--watch", "--baseline"} <= names
    assert check.files


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["generate-shell-completion", "tcsh"])
    assert exit_.value.code == 2
    assert all(shell in capsys.readouterr().err for shell in SHELLS[:1])

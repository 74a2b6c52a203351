"""The command line and flake8 share what is kept: what one has found, the other need not look for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BAD = "import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\ny = x + torch.ones(2)  # noqa\n"
USES = "import torch\nfrom made import made\n\nx = torch.ones(2, device='cuda') + made()\n"

PROBE = """
import json, sys
from {module} import main
code = main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.write("\\n" + json.dumps([code, "libcst" in sys.modules]))
"""


def probe(module: str, *arguments: str, cwd: Path, given: str = "") -> tuple[int, list[str], bool]:
    """The exit code, the lines, and whether anything was analysed by this very process."""
    result = subprocess.run(
        [sys.executable, "-c", PROBE.format(module=module), *arguments],
        input=given,
        capture_output=True,
        text=True,
        cwd=cwd,
        check=True,
    )
    code, analysed = json.loads(result.stderr.splitlines()[-1])
    return code, [line.removeprefix("./") for line in result.stdout.splitlines()], analysed


def flake8(*arguments: str, cwd: Path, given: str = "") -> tuple[int, list[str], bool]:
    flags = ("--isolated", "--select=TDV", "--extend-ignore=TDV1")
    flags = flags if any(one.startswith(("--jobs", "-j")) for one in arguments) else (*flags, "--jobs=1")
    return probe("flake8.main.cli", *flags, *arguments, cwd=cwd, given=given)


def ours(*arguments: str, cwd: Path) -> tuple[int, list[str], bool]:
    return probe("torchdev_lint.cli", "-q", "--output-format=concise", "--jobs=1", *arguments, cwd=cwd)


@pytest.fixture
def tree(project: Path) -> Path:
    (project / "pyproject.toml").write_text("[tool.torchdev-lint]\n")
    (project / "a.py").write_text(BAD)
    (project / "made.py").write_text("import torch\n\n\ndef made():\n    return torch.ones(2)\n")
    (project / "uses.py").write_text(USES)
    return project


FILES = ("a.py", "made.py", "uses.py")


def test_flake8_takes_what_the_command_line_found(tree: Path) -> None:
    code, expected, analysed = flake8("--tdv-no-cache", *FILES, cwd=tree)
    assert (code, len(expected), analysed) == (1, 2, True)
    assert not (tree / ".torchdev_lint_cache").exists()
    assert ours(*FILES, cwd=tree)[2]
    assert flake8(*FILES, cwd=tree) == (1, expected, False)


def test_the_command_line_takes_what_flake8_found(tree: Path) -> None:
    code, expected, _ = ours("--no-cache", *FILES, cwd=tree)
    assert flake8(*FILES, cwd=tree)[2]
    assert ours(*FILES, cwd=tree) == (code, expected, False)
    # in another directory, too, with other names for the same files
    (tree / "sub").mkdir()
    code, lines, analysed = ours("..", cwd=tree / "sub")
    assert (code, analysed) == (1, False)
    assert lines == ours("..", "--no-cache", cwd=tree / "sub")[1]
    full = ("--output-format=full", "--no-cache")
    assert ours("..", "--output-format=full", cwd=tree / "sub")[1] == ours("..", *full, cwd=tree / "sub")[1]


def test_what_only_flake8_shows_is_kept_as_well(tree: Path) -> None:
    """What `# noqa` hides: flake8 decides of that itself."""
    ours(*FILES, cwd=tree)
    found = flake8("--disable-noqa", *FILES, cwd=tree)
    fresh = flake8("--disable-noqa", "--tdv-no-cache", *FILES, cwd=tree)
    assert (found[1], found[2], fresh[2]) == (fresh[1], False, True)
    assert any(line.startswith("a.py:3:") for line in found[1])


@pytest.mark.parametrize("flag", ["--select=TDV", "--select=TDV1", "--extend-select=TDV101", "--ignore=E501"])
def test_what_is_off_by_default_is_looked_for_once_where_flake8_shows_it(tree: Path, flag: str) -> None:
    ours(*FILES, cwd=tree)
    flags = ("--isolated", flag, "--jobs=1")
    found = probe("flake8.main.cli", *flags, *FILES, cwd=tree)
    assert sum("TDV101" in line for line in found[1]) >= 1
    assert (found[2], probe("flake8.main.cli", *flags, *FILES, cwd=tree)) == (True, (*found[:2], False))


def test_results_of_all_processes_of_flake8_are_kept(project: Path) -> None:
    (project / "pyproject.toml").touch()
    for number in range(8):
        (project / f"a{number}.py").write_text(BAD)
    flake8("--jobs=3", ".", cwd=project)
    code, lines, analysed = ours(".", cwd=project)
    assert (code, len(lines), analysed) == (1, 8, False)


def test_what_changed_is_looked_at_again(tree: Path) -> None:
    ours(*FILES, cwd=tree)
    (tree / "made.py").write_text("import torch\n\n\ndef made():\n    return torch.ones(2, device='cuda')\n")
    _, lines, analysed = flake8(*FILES, cwd=tree)
    assert ([line.partition(":")[0] for line in lines], analysed) == (["a.py"], True)
    assert ours(*FILES, cwd=tree)[1:] == (ours("--no-cache", *FILES, cwd=tree)[1], False)


def test_another_text_under_the_name_of_a_file_is_not_the_file(tree: Path) -> None:
    ours(*FILES, cwd=tree)
    kept = {path.name: path.read_bytes() for path in (tree / ".torchdev_lint_cache").glob("*.json")}
    code, lines, analysed = flake8("--stdin-display-name=a.py", "-", cwd=tree, given="import torch\n")
    assert (code, lines, analysed) == (0, [], True)
    assert {path.name: path.read_bytes() for path in (tree / ".torchdev_lint_cache").glob("*.json")} == kept


def test_flake8_s_own_options_are_another_configuration(tree: Path) -> None:
    (tree / "a.py").write_text(
        "import torch\nfrom somewhere import cpu_tensor\nx = torch.ones(2).cuda() + cpu_tensor()\n"
    )
    ours(*FILES, cwd=tree)
    assert (
        sum("a.py" in line for line in flake8("--tdv-tensor-constructors=cpu_tensor", "a.py", cwd=tree)[1])
        == 1
    )
    assert flake8("a.py", cwd=tree)[1] == []


def test_a_place_that_cannot_be_written_is_no_matter(tree: Path) -> None:
    (tree / ".torchdev_lint_cache").write_text("in the way")
    assert flake8(*FILES, cwd=tree)[:2] == flake8("--tdv-no-cache", *FILES, cwd=tree)[:2]
    assert os.path.isfile(tree / ".torchdev_lint_cache")


def test_a_file_without_torch_costs_flake8_nothing_of_it(tree: Path) -> None:
    (tree / "plain.py").write_text("print(1)\n")
    code = (
        "import sys\nfrom flake8.main.cli import main\ncode = main(sys.argv[1:])\n"
        "print(code, *(name for name in sys.modules if name.startswith('torchdev_lint.engine')))"
    )
    command = [sys.executable, "-c", code, "--isolated", "--select=TDV", "--jobs=1", "plain.py"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tree, check=True)
    # The configuration may name constructors; nothing else is asked.
    assert result.stdout == "0 torchdev_lint.engine torchdev_lint.engine.settings\n"
    assert not (tree / ".torchdev_lint_cache").exists()

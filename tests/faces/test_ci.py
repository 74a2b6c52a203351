"""The action and the snippets of docs/ci.md: that they are what they should be, and that their commands do what is said."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from torchdev_lint.cli_options import parse_check

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
CI = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
BAD = "import torch\nmodel = torch.nn.Linear(2, 1).to('cuda')\nprint(model(torch.ones(2)))\n"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", CI, re.DOTALL | re.MULTILINE)


def commands_in(value: Any) -> Iterator[str]:
    """The commands of a snippet, wherever its CI has them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("run", "script"):
                yield from [inner] if isinstance(inner, str) else inner
            else:
                yield from commands_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from commands_in(inner)


SNIPPETS = [yaml.safe_load(block) for block in blocks("yaml")]
COMMANDS = [command for snippet in SNIPPETS for command in commands_in(snippet)]
COMMANDS += [command for block in blocks("groovy") for command in re.findall(r"sh '([^']+)'", block)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose branch has added a finding since `origin/main`, and a `torchdev-lint` in front of the PATH."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/torchdev-lint"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torchdev_lint "$@"\n')
    script.chmod(0o755)
    folder = tmp_path / "project"
    folder.mkdir()
    for command in (
        "git init -q -b main",
        "git -c user.name=t -c user.email=t@example.invalid commit -q --allow-empty -m first",
        "git update-ref refs/remotes/origin/main HEAD",
    ):
        subprocess.run(shlex.split(command), cwd=folder, check=True)
    (folder / "train.py").write_text(BAD)
    return folder


def run(command: str, project: Path, **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],
        cwd=project,
        env={**os.environ, "PATH": path, **more},
        text=True,
        capture_output=True,
        check=False,
    )


def test_there_is_a_snippet_for_each() -> None:
    assert len(SNIPPETS) == 6
    assert sum("torchdev-lint" in command for command in COMMANDS) == len(COMMANDS) == 11


@pytest.mark.parametrize("command", sorted({one for one in COMMANDS if not one.startswith("pip ")}))
def test_a_command_finds_what_it_should(command: str, project: Path) -> None:
    result = run(command, project)
    options = parse_check(shlex.split(command)[1:])
    assert result.returncode == (0 if options.exit_zero else 1), result.stderr
    written = project / options.output_file if options.output_file else None
    text = result.stdout if written is None else written.read_text()
    assert "TDV001" in text
    assert "train.py" in text
    if written is not None and written.suffix in (".json", ".sarif"):
        json.loads(text)
    if written is not None and written.suffix == ".xml":
        ElementTree.fromstring(text)


def test_what_is_installed() -> None:
    installs = {command for command in COMMANDS if command.startswith("pip ")}
    assert installs == {"pip install torchdev-lint"}


def test_the_files_that_are_uploaded_are_those_that_are_written() -> None:
    scanning = next(snippet for snippet in SNIPPETS if "sarif_file" in json.dumps(snippet, default=str))
    text = json.dumps(scanning, default=str)
    assert text.count("torchdev-lint.sarif") == 2
    gitlab = next(snippet for snippet in SNIPPETS if "torchdev-lint" in snippet)["torchdev-lint"]
    (report,) = gitlab["artifacts"]["reports"].values()
    assert any(report in command for command in gitlab["script"])
    (jenkins,) = blocks("groovy")
    assert jenkins.count("torchdev-lint.log") == jenkins.count("torchdev-lint.xml") == 2


def test_the_hooks_of_the_snippet_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (config,) = (snippet for snippet in SNIPPETS if "repos" in snippet)
    assert {hook["id"] for hook in config["repos"][0]["hooks"]} <= {hook["id"] for hook in hooks}


def test_the_workflow_gives_the_action_inputs_that_it_has() -> None:
    steps = [
        step for snippet in SNIPPETS for job in snippet.get("jobs", {}).values() for step in job["steps"]
    ]
    (own,) = (step for step in steps if step.get("uses", "").startswith("OWNER/"))
    assert set(own["with"]) <= set(ACTION["inputs"])
    described = set(re.findall(r"`([a-z-]+)`", CI.partition("Its inputs")[2].partition("\n\n")[0]))
    assert set(ACTION["inputs"]) <= described


def expanded(value: str, inputs: dict[str, str]) -> str:
    """`value` as GitHub would have it."""

    def expression(match: re.Match[str]) -> str:
        room, _, name = match[1].partition(".")
        if room == "inputs":
            return inputs[name]
        assert match[1] == "github.action_path"
        return str(ROOT)

    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", expression, value)


def steps(given: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    inputs = {name: given.get(name, one["default"]) for name, one in ACTION["inputs"].items()}
    assert ACTION["runs"]["using"] == "composite"
    return [
        (step["run"], {name: expanded(value, inputs) for name, value in step["env"].items()})
        for step in ACTION["runs"]["steps"]
    ]


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """RUNNER_TEMP with the environment as the first step leaves it, made of the interpreter of the tests."""
    for name in ("bin", "Scripts"):
        folder = tmp_path / "runner/torchdev-lint" / name
        folder.mkdir(parents=True)
        (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (folder / "python").chmod(0o755)
    return tmp_path / "runner"


@pytest.mark.parametrize(
    ("inputs", "code", "expected"),
    [
        pytest.param({}, 1, "::error title=torchdev-lint (TDV001)", id="annotations"),
        pytest.param({"args": "--ignore TDV001"}, 0, "", id="flags"),
        pytest.param({"src": "'a dir' train.py", "output-format": "concise"}, 1, "a dir/", id="paths"),
        pytest.param({"output-format": "nonsense"}, 2, "", id="a bad value"),
        pytest.param({"src": "$(touch owned) ; touch owned"}, 2, "", id="nothing is executed"),
    ],
)
def test_the_action_runs(
    inputs: dict[str, str], code: int, expected: str, project: Path, runner: Path
) -> None:
    (project / "a dir").mkdir()
    (project / "a dir/more.py").write_text(BAD)
    command, environment = steps(inputs)[1]
    result = run(command, project, RUNNER_TEMP=str(runner), **environment)
    assert result.returncode == code, result.stdout + result.stderr
    assert expected in result.stdout
    assert not (project / "owned").exists()


def test_the_action_writes_a_file(project: Path, runner: Path) -> None:
    command, environment = steps({"output-format": "sarif", "output-file": "out.sarif"})[1]
    assert run(command, project, RUNNER_TEMP=str(runner), **environment).returncode == 1
    assert json.loads((project / "out.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.slow
def test_the_action_installs_its_own_checkout(project: Path, tmp_path: Path) -> None:
    (install, first), (lint, second) = steps({})
    temporary = {"RUNNER_TEMP": str(tmp_path / "runner")}
    (tmp_path / "runner").mkdir()
    result = run(install, project, **temporary, **first)
    assert result.returncode == 0, result.stderr
    without = {"PYTHONPATH": "", **temporary}
    result = run(lint, project, **without, **second)
    assert result.returncode == 1, result.stderr
    assert "file=" in result.stdout

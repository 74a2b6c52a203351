"""What each way through the command line may import: by names, not by time."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROBE = """
import json, sys
before = set(sys.modules)
from torchdev_lint.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as exit_:
    code = exit_.code
sys.stderr.write("\\n" + json.dumps([code, sorted(set(sys.modules) - before)]))
"""

NEVER = (
    "multiprocessing concurrent.futures asyncio logging subprocess tempfile difflib unittest email http xml pickle hashlib "
    "tomllib socket ssl"
).split()
"""Of the standard library."""

OWN = (
    "cli cli_check cli_flags cli_options cli_output cli_parser cli_settings config config_file config_options diagnostics files globs "
    "engine report fixes source rules.codes stubs torch_api.marks torch_api.versions"
).split()
"""Our own rooms and modules; not the inference, no rule, no server, not the harness."""

KEPT = (
    "cache cache_directory cache_format cache_key caches limits listings program results run searches settings stamps "
    "unchanged workers"
)
"""Of the engine: what reads results that were kept. Nothing that reads, checks or fixes a file."""


def probe(*arguments: str, cwd: Path) -> tuple[int, list[str]]:
    result = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, cwd=cwd, check=True
    )
    code, modules = json.loads(result.stderr.splitlines()[-1])
    return code, modules


def over_budget(modules: list[str], own: list[str], never: list[str]) -> list[str]:
    """Those of `modules` that should not have been imported."""
    found = []
    for name in modules:
        top, _, rest = name.partition(".")
        if top == "torchdev_lint":
            parents = any(one.startswith(f"{rest}.") for one in own)
            if rest and not parents and not any(rest == one or rest.startswith(f"{one}.") for one in own):
                found.append(name)
        elif top not in sys.stdlib_module_names or any(
            name == one or name.startswith(f"{one}.") for one in never
        ):
            found.append(name)
    return found


def test_help(project: Path) -> None:
    code, modules = probe("--help", cwd=project)
    own = [one for one in OWN if one not in ("cli_check", "engine", "fixes", "report", "stubs")]
    own += [f"engine.{one}" for one in "settings limits cache_directory program stamps unchanged".split()]
    assert (code, over_budget(modules, own, NEVER)) == (0, [])


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["-V"]])
def test_version_alone(project: Path, arguments: list[str]) -> None:
    code, modules = probe(*arguments, cwd=project)
    assert (code, over_budget(modules, ["cli"], [*NEVER, "argparse", "dataclasses", "inspect"])) == (0, [])


def test_a_file_without_torch(project: Path) -> None:
    (project / "a.py").write_text("print(1)\n")
    code, modules = probe("a.py", "--no-cache", cwd=project)
    assert (code, over_budget(modules, OWN, NEVER)) == (0, [])
    # what is kept is kept under a digest
    code, modules = probe("a.py", cwd=project)
    assert (code, over_budget(modules, OWN, [one for one in NEVER if one != "hashlib"])) == (0, [])


def test_nothing_changed(project: Path) -> None:
    for name, text in (
        ("a", "import torch\nimport b\n"),
        ("b", "x = 1\n"),
        ("c", "import torch\nx = torch.ones(2).cuda()\n"),
    ):
        path = project / f"{name}.py"
        path.write_text(text)
        os.utime(path, (1, 1))
    (project / "d.py").write_text("import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n")
    os.utime(project, (1, 1))
    flags = ("--output-format=concise", f"--cache-dir={project.parent / 'kept'}")
    code, modules = probe(".", *flags, cwd=project)
    assert code == 1
    assert "libcst" in modules
    os.utime(project / "d.py", (1, 1))
    assert probe(".", *flags, cwd=project)[0] == 1
    code, modules = probe(".", *flags, cwd=project)
    assert (code, over_budget(modules, OWN, NEVER)) == (1, [])


def test_nothing_changed_and_nothing_found(project: Path) -> None:
    (project / "a.py").write_text("import torch\n")
    os.utime(project / "a.py", (1, 1))
    probe(".", f"--cache-dir={project.parent / 'kept'}", cwd=project)
    code, modules = probe(".", f"--cache-dir={project.parent / 'kept'}", cwd=project)
    own = [one for one in OWN if one not in ("engine", "fixes", "report", "source", "stubs")]
    own += [f"engine.{one}" for one in KEPT.split()] + ["report.formats", "report.progress", "report.summary"]
    own += ["source.discovery", "source.gitignore", "source.roots"]
    never = [*NEVER, "zipfile", "traceback", "hashlib"]
    assert (code, over_budget(modules, own, never)) == (0, [])


FLAKE8_PROBE = """
import json, sys
from flake8.main import cli
code = cli.main(sys.argv[1:])
sys.stderr.write("\\n" + json.dumps([code, sorted(name for name in sys.modules if name.startswith("torchdev_lint") or name == "libcst")]))
"""


def probe_flake8(*arguments: str, cwd: Path) -> list[str]:
    result = subprocess.run(
        [sys.executable, "-c", FLAKE8_PROBE, *arguments], capture_output=True, text=True, cwd=cwd, check=True
    )
    modules: list[str] = json.loads(result.stderr.splitlines()[-1])[1]
    return modules


def test_flake8_of_a_file_without_torch(project: Path) -> None:
    pytest.importorskip("flake8")
    (project / "a.py").write_text("print(1)\n")
    own = "flake8_plugin config config_file engine.settings files globs rules.codes source.discovery source.gitignore source.roots"
    modules = probe_flake8("--isolated", "--jobs=1", "--select=TDV", "a.py", cwd=project)
    assert "torchdev_lint.flake8_plugin" in modules
    assert over_budget(modules, own.split(), NEVER) == []


def test_flake8_of_a_file_whose_findings_are_kept(project: Path) -> None:
    pytest.importorskip("flake8")
    (project / "a.py").write_text("import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n")
    os.utime(project / "a.py", (1, 1))
    flags = ("--isolated", "--jobs=1", "--select=TDV", "a.py")
    assert "libcst" in probe_flake8(*flags, cwd=project)
    modules = probe_flake8(*flags, cwd=project)
    assert "torchdev_lint.engine.caches" in modules
    checks = [
        name
        for name in modules
        if name.startswith(("libcst", "torchdev_lint.flow", "torchdev_lint.rules.tdv"))
    ]
    assert checks == []


def test_a_run_that_is_remembered(project: Path) -> None:
    (project / "a.py").write_text("import torch\n")
    probe(".", cwd=project)
    time.sleep(2.1)  # What has just changed, as the directory of results has, may change again unseen.
    for _ in range(2):
        code, modules = probe(".", cwd=project)
    own = "cli engine.unchanged engine.cache_directory engine.program engine.stamps files".split()
    never = [*NEVER, "argparse", "dataclasses", "inspect", "json", "re", "typing"]
    assert (code, over_budget(modules, own, never)) == (0, [])

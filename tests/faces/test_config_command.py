"""`torchdev-lint config`, and that every option does something."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import configuration_document
import pytest

from torchdev_lint.config_options import OPTIONS

Cli = Callable[..., Any]


def test_lists_the_keys(cli: Cli) -> None:
    outcome = cli("config")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [option.name for option in OPTIONS]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_describes_a_key(cli: Cli, option: Any) -> None:
    outcome = cli("config", option.name)
    assert outcome.out.startswith(option.doc)
    assert f"```toml\n{option.example}\n```\n" in outcome.out
    facts = json.loads(cli("config", option.name, "--output-format", "json").out)
    assert facts["value_type"] == option.kind.text
    assert list(facts) == ["doc", "default", "value_type", "scope", "example", "deprecated"]  # as in Ruff


def test_everything_as_json(cli: Cli) -> None:
    assert list(json.loads(cli("config", "--output-format=json").out)) == [option.name for option in OPTIONS]


def test_the_section_may_stand_before_the_key(cli: Cli) -> None:
    assert cli("config", "tool.torchdev-lint.src").out == cli("config", "src").out


def test_an_unknown_key_is_an_error_with_the_near_one(cli: Cli) -> None:
    outcome = cli("config", "selct")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "torchdev-lint: error: config: unknown key 'selct'; did you mean 'select'?\n"
    assert cli("config", "--schema", "src").code == 2


def test_the_schema_is_what_is_stored(cli: Cli) -> None:
    stored = configuration_document.SCHEMA.read_text(encoding="utf-8")
    assert cli("config", "--schema").out == stored, "run scripts/derive.py"
    assert stored == configuration_document.schema_text()


def test_every_option_is_documented() -> None:
    document = configuration_document.CONFIGURATION.read_text(encoding="utf-8")
    assert configuration_document.configuration(document) == document, "run scripts/derive.py"
    assert all(f"### `{option.name}`" in document for option in OPTIONS)


@pytest.mark.parametrize(
    ("setting", "files"),
    [
        ('include = ["*.py"]', ["a.py", "lib/b.py"]),
        ('include = ["lib/*"]', ["lib/b.py", "lib/c.pyw", "lib/n.ipynb"]),
        ('extend-include = ["*.pyw"]', ["a.py", "lib/b.py", "lib/c.pyw", "lib/n.ipynb"]),
        ('exclude = ["lib/n*"]', ["a.py", "lib/b.py"]),
        ("extend-include = []", ["a.py", "lib/b.py", "lib/n.ipynb"]),
    ],
)
def test_which_files_are_visited(cli: Cli, project: Path, setting: str, files: list[str]) -> None:
    (project / "lib").mkdir()
    for name in ("a.py", "lib/b.py", "lib/c.pyw", "lib/n.ipynb", "lib/readme.md"):
        (project / name).touch()
    (project / "torchdev-lint.toml").write_text(setting + "\n")
    listed = [str(Path(line).relative_to(project)) for line in cli("--show-files").out.splitlines()]
    assert [name for name in listed if name != "lib/readme.md"] == files


def test_a_file_given_by_name_is_checked_whatever_is_included(cli: Cli, project: Path) -> None:
    (project / "train").write_text("import torch\nSAFE\n")
    (project / "torchdev-lint.toml").write_text('include = ["*.py"]\n')
    assert cli("train", "--output-format=concise").out.startswith("train:2:1: TDV001")


@pytest.mark.parametrize(
    "flags", [["--unfixable=TDV001"], ["--fixable=TDV002"], ["--config", "unfixable=['TDV0']"]]
)
def test_fixes_that_are_not_wanted_are_neither_shown_nor_applied(
    cli: Cli, project: Path, flags: list[str]
) -> None:
    (project / "a.py").write_text("import torch\nSAFE\n")
    assert json.loads(cli("--output-format=json", *flags).out)[0]["fix"] is None
    assert cli("--fix", *flags).code == 1
    assert "SAFE" in (project / "a.py").read_text()
    (project / "torchdev-lint.toml").write_text("fixable = []\n")
    assert json.loads(cli("--output-format=json").out)[0]["fix"] is None
    assert json.loads(cli("--output-format=json", "--extend-fixable=TDV001").out)[0]["fix"] is not None


def test_ignore_noqa(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text("import torch\nSAFE  # noqa\n")
    assert cli().code == 0
    assert cli("--ignore-noqa").code == 1


def test_extend_per_file_ignores_on_the_command_line(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text("import torch\nSAFE\nRISKY\n")
    (project / "torchdev-lint.toml").write_text('per-file-ignores = {"a.py" = ["TDV001"]}\n')
    assert cli("--extend-per-file-ignores=a.py:TDV002").code == 0
    assert cli("--per-file-ignores=a.py:TDV002").code == 1

"""What is derived is current, and what the documents say is so."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import derive
import pytest
from fixture_files import ROOT

from torchdev_lint import __version__
from torchdev_lint.cli import main
from torchdev_lint.cli_options import parse_check
from torchdev_lint.config import Config
from torchdev_lint.config_file import config_from_table, load_config_file
from torchdev_lint.config_options import OPTIONS
from torchdev_lint.harness import ForkServer, Kind
from torchdev_lint.rules.base import HEADINGS, Rule
from torchdev_lint.rules.registry import all_rules
from torchdev_lint.source.suppression import Suppressions

README = derive.README.read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(language: str, text: str = README) -> list[str]:
    """The fenced blocks of the README, or of another document, in `language`."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def document(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_rules_md_is_current() -> None:
    assert derive.RULES.read_text(encoding="utf-8") == derive.rules_document(), "run scripts/derive.py"


def test_the_readme_is_current() -> None:
    assert derive.readme(README) == README, "run scripts/derive.py"
    assert re.findall(r"<!-- derived: (\w+) -->", README) == list(derive.PARTS)


def test_what_is_out_of_date_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RULES", "README"):
        copy = tmp_path / name
        copy.write_text(
            getattr(derive, name).read_text("utf-8").replace("TDV001", "TDV777"), encoding="utf-8"
        )
        monkeypatch.setattr(derive, name, copy)
    assert derive.main(["--check"]) == 1
    assert derive.main([]) == 0
    assert derive.main(["--check"]) == 0
    assert (tmp_path / "RULES").read_text(encoding="utf-8") == derive.rules_document()


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_is_documented_in_full(rule: type[Rule]) -> None:
    assert tuple(rule.sections()) == HEADINGS
    assert all(rule.sections().values())
    assert rule.documentation().startswith(f"{rule.code}: ")
    assert rule.witness


def test_a_rule_that_is_off_says_so() -> None:
    class Off(all_rules()[0]):  # type: ignore[misc]
        default = False
        fix_applicability = None
        __module__ = all_rules()[0].__module__

    document = derive.rules_document([Off])
    assert "There is no fix. The rule is off unless it is selected." in document
    assert "| none | when selected |" in document


def test_the_first_screen_shows_the_finding_and_its_fix() -> None:
    (output,), (diff,) = blocks("console"), blocks("diff")
    assert "idx=text_to_token_ids(prompt, tokenizer),\n" in output
    assert "\n+        idx=text_to_token_ids(prompt, tokenizer).to(device),\n" in diff
    assert output.count("[*]") == 2
    assert re.search(r"^note: `gpt` is moved to `device`", output, re.MULTILINE)


@pytest.fixture(scope="module")
def simulated() -> Iterator[ForkServer]:
    pytest.importorskip("torch")
    with ForkServer("simulated") as server:
        yield server


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fails_until_it_is_fixed(
    tmp_path: Path, simulated: ForkServer, capsys: pytest.CaptureFixture[str], example: Path
) -> None:
    program = tmp_path / example.name
    shutil.copy(example, program)
    assert main(["--isolated", str(program)]) == 1
    assert simulated.run(program, cwd=tmp_path).kind is Kind.DEVICE_ERROR
    assert main(["--isolated", "--fix", "--unsafe-fixes", str(program)]) == 0
    assert "0 remaining" in capsys.readouterr().out
    assert simulated.run(program, cwd=tmp_path).kind is Kind.PASSED


def test_the_commands_of_the_readme_are_what_ci_runs() -> None:
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    screen = "".join(README.splitlines(keepends=True)[:24])
    commands = blocks("sh", screen)
    assert len(commands) == 2, "both on the first screen"
    for command in commands:
        install = shlex.split(command.split("&&")[1])
        assert install[:2] == [".venv/bin/pip", "install"]
        assert shlex.join(install[2:]) in ci


def test_the_configuration_that_is_shown_is_accepted(tmp_path: Path) -> None:
    (toml,) = (block for block in blocks("toml", document("configuration.md")) if "# rules by code" in block)
    path = tmp_path / "pyproject.toml"
    path.write_text(toml, encoding="utf-8")
    config = load_config_file(str(path), str(tmp_path))
    assert config.tensor_constructors == ("mylib.encode",)
    shown = {key.replace("-", "_") for key in re.findall(r"^([\w-]+) =", toml, re.MULTILINE)}
    assert shown <= {option.field for option in OPTIONS}
    for name in ("respect_gitignore", "force_exclude", "unsafe_fixes", "output_format"):
        assert getattr(config, name) == getattr(Config(), name), "shown as a default"
    assert config_from_table({}, "", Config()) == Config()


def test_the_suppressions_that_are_shown_are_understood() -> None:
    (code,) = blocks("python", document("suppressions.md"))
    found = Suppressions.of(code)
    assert [directive.codes for directive in found.directives] == [
        ("TDV001",), None, ("TDV001",), ("TDV002",), ("TDV",)
    ]  # fmt: skip
    assert [directive.first == 0 for directive in found.directives] == [False, False, False, True, True]
    assert not found.problems


def test_the_flags_of_the_readme_exist() -> None:
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    flags = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", prose)) - {
        "--select",
        "--extend-index-url",
        "--extra-index-url",
    }
    assert len(flags) > 3
    for flag in flags - {"--help", "--config"}:
        parse_check([flag])


def test_links_lead_somewhere() -> None:
    for document in (derive.README, derive.RULES, *(ROOT / "docs").glob("*.md")):
        text = document.read_text(encoding="utf-8")
        anchors = {_anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if "://" in path:
                continue
            assert not path or (document.parent / path).exists(), f"{document.name}: {target}"
            if anchor and not path:
                assert anchor in anchors, f"{document.name}: {target}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_code_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert {rule.code for rule in all_rules()} <= set(re.findall(r"TDV\d{3}", changelog))
    assert re.search(rf"^## (Unreleased|{re.escape(__version__)})", changelog, re.MULTILINE)

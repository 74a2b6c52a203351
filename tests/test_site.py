"""The site, the tutorial and the pictures: what they show is what the tool does."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import derive
import modules_document
import pictures
import pytest
import reference_document
import site_hooks
import tutorial_document
from fixture_files import ROOT

from torchdev_lint.cli import main
from torchdev_lint.harness import ForkServer, Kind

yaml = pytest.importorskip("yaml")

DOCS = ROOT / "docs"
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
TUTORIAL = tutorial_document.TUTORIAL.read_text(encoding="utf-8")
PROGRAMS = [ROOT / "examples/generate_text.py", *sorted((ROOT / "examples/tutorial").glob("*.py"))]


def test_the_navigation_leads_to_pages() -> None:
    listed = list(site_hooks.pages(SITE["nav"]))
    assert len(listed) == len(set(listed))
    assert set(listed) <= {path.name for path in DOCS.glob("*.md")} | set(site_hooks.PAGES)
    assert {"index.md", "tutorial.md", "rules.md", "reference.md"} <= set(listed)
    for name in site_hooks.PAGES:
        assert (ROOT / name).exists()
    for hook in SITE["hooks"]:
        assert (ROOT / hook).exists()


def test_pages_that_the_navigation_forgets_come_last() -> None:
    nav = [{"Home": "index.md"}, {"More or less": [{"A": "a.md"}]}]
    assert site_hooks.completed(nav, ["a.md", "index.md"]) == nav
    assert site_hooks.completed(nav, ["z.md", "a.md", "index.md", "b.md"]) == [
        *nav,
        {"More": ["b.md", "z.md"]},
    ]


def test_links_that_lead_out_of_the_site_are_taken_out() -> None:
    text = "[a](../rules.md#tdv001-x) [b](../src/x.py) [`c`](../examples) [d](formats.md) [e](../README.md) ![p](pictures/x.svg)"
    expected = "[a](rules.md#tdv001-x) b `c` [d](formats.md) [e](index.md) ![p](pictures/x.svg)"
    assert site_hooks.inside(text) == expected


@pytest.mark.parametrize(
    "document", [*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "rules.md"], ids=lambda path: path.name
)
def test_links_to_parts_of_other_pages_lead_somewhere(document: Path) -> None:
    """`test_documents` sees to files, and to parts of the same one."""
    for path, anchor in re.findall(r"\]\(([^)\s#:]+\.md)#([^)\s]+)\)", document.read_text(encoding="utf-8")):
        target = (document.parent / path).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", target, re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}, (
            f"{path}#{anchor}"
        )


def test_the_site_builds(tmp_path: Path) -> None:
    mkdocs = Path(sys.executable).with_name("mkdocs")
    if not mkdocs.exists():
        pytest.skip("mkdocs is not installed")
    result = subprocess.run(
        [mkdocs, "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    built = {path.relative_to(tmp_path / "site").parts[0] for path in (tmp_path / "site").rglob("index.html")}
    assert {"tutorial", "rules", "reference", "index.html"} <= built


def test_what_is_derived_is_current() -> None:
    assert tutorial_document.tutorial(TUTORIAL, derive.tool_output) == TUTORIAL, "run scripts/derive.py"
    current = reference_document.REFERENCE.read_text(encoding="utf-8")
    assert reference_document.reference() == current, "run scripts/derive.py"
    current = modules_document.MODULES.read_text(encoding="utf-8")
    assert modules_document.modules_document() == current, "run scripts/derive.py"


def test_the_map_has_every_module_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = re.findall(r"^\| `(\w+)` \| (.*) \|$", modules_document.modules_document(), re.MULTILINE)
    package = modules_document.PACKAGE
    probes = package / "harness" / "probes"
    there = [
        path.stem for path in package.rglob("*.py") if path.stem != "__init__" and probes not in path.parents
    ]
    assert sorted(name for name, _ in shown) == sorted(there)
    assert [name for name, purpose in shown if not purpose] == []
    monkeypatch.setattr(modules_document, "FLOW", (*modules_document.FLOW, "gone"))
    with pytest.raises(ValueError, match=r"modules_document.py: gone: not in flow/"):
        modules_document.modules_document()


def test_a_derived_part_is_written_anew() -> None:
    stale = TUTORIAL.replace("Found 1 error.", "Found 7 errors.")
    assert stale != TUTORIAL
    assert tutorial_document.tutorial(stale, derive.tool_output) == TUTORIAL


def test_the_tutorial_shows_every_program() -> None:
    for program in PROGRAMS:
        assert f"{program.relative_to(ROOT)} -->" in TUTORIAL
    assert len(PROGRAMS) == 5
    assert TUTORIAL.count("\n## ") == 5 + 1


@pytest.fixture(scope="module")
def simulated() -> Iterator[ForkServer]:
    pytest.importorskip("torch")
    with ForkServer("simulated") as server:
        yield server


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_of_the_tutorial_fails_until_it_is_fixed(
    program: Path, tmp_path: Path, simulated: ForkServer, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / program.name
    shutil.copy(program, copy)
    flags = ["--isolated", "--extend-select", "TDV102"]
    assert main([*flags, str(copy)]) == 1
    assert simulated.run(copy, cwd=tmp_path).kind is Kind.DEVICE_ERROR
    assert main([*flags, "--fix", "--unsafe-fixes", str(copy)]) == 0
    assert "0 remaining" in capsys.readouterr().out
    assert simulated.run(copy, cwd=tmp_path).kind is Kind.PASSED


def shown(picture: str) -> str:
    """The text of a picture."""
    pieces = re.findall(
        r"<text [^>]*>(.*?)</text>", (pictures.PICTURES / picture).read_text(encoding="utf-8")
    )
    return "".join(html.unescape(piece) for piece in pieces).replace("\N{NO-BREAK SPACE}", " ")


def test_the_picture_shows_what_is_printed() -> None:
    text = re.sub(r"\s", "", shown("finding.svg"))
    for line in derive.tool_output(pictures.EXAMPLE).splitlines():
        assert re.sub(r"\s", "", line) in text, "run scripts/pictures.py"


def test_the_picture_of_explain_shows_the_same_finding() -> None:
    text = re.sub(r"\s", "", shown("explain.svg"))
    (finding,) = re.findall(r"^TDV001 \[\*\] .*$", derive.tool_output(pictures.EXAMPLE), re.MULTILINE)
    assert re.sub(r"\s", "", finding) in text, "run scripts/pictures.py"
    assert "Expectedalltensorstobeonthesamedevice" in text


def test_a_picture_fetches_nothing() -> None:
    for path in pictures.PICTURES.glob("*.svg"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text
        assert "<script" not in text
        assert 'xml:space="preserve"' in text, "or viewers take the indentation away"


def test_the_chart_of_times_is_drawn_from_the_results() -> None:
    command = [sys.executable, ROOT / "benchmarks" / "chart.py", "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")

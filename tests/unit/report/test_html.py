"""The HTML report: what is on the page, that it stays inside itself, and that no text of a program becomes markup."""

import base64
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fixture_files import fixture_files
from notebook_files import of_program

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range, Related
from torchdev_lint.engine.file_check import check_bytes
from torchdev_lint.engine.run import RunResult
from torchdev_lint.report.context import Context, RuleText
from torchdev_lint.report.html import render
from torchdev_lint.report.markdown import to_html
from torchdev_lint.report.sources import Sources
from torchdev_lint.report.story import story_of
from torchdev_lint.rules.registry import all_rules

VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Checks that every element is closed, and collects what is asked for."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.words: dict[str, list[str]] = {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.words.setdefault(self.open[-1], []).append(data)

    def classed(self, name: str) -> list[dict[str, str | None]]:
        return [one for _, one in self.attributes if name in (one.get("class") or "").split()]


def place(row: int, start: int, end: int) -> Range:
    return Range(Position(row, start), Position(row, end))


def rule_texts() -> dict[str, RuleText]:
    return {
        rule.code: RuleText(rule.code, rule.name, rule.summary(), rule.documentation(), rule.default)
        for rule in all_rules()
    }


def test_a_clean_run() -> None:
    page = render([], Context())
    Page(page)
    assert "<title>torchdev-lint: 0 findings</title>" in page
    assert "All checks passed." in page
    assert 'id="filters"' not in page


def test_every_fixture_on_one_page() -> None:
    files = []
    for fixture in fixture_files():
        if fixture.bad:
            config = Config(select=("ALL",))
            files.append(check_bytes(fixture.data, f"{fixture.id}.py", config))
            book = of_program(fixture.text)[0].encode()
            files.append(check_bytes(book, f"{fixture.id}.ipynb", config))
    result = RunResult(tuple(files))
    page = render(
        result.diagnostics, Context(Sources(result.sources, result.notebooks), ".", "1.2", rule_texts())
    )
    parsed = Page(page)
    assert len(parsed.classed("finding")) == len(result.diagnostics)
    assert len(parsed.classed("story")) == sum(bool(one.related) for one in result.diagnostics)
    assert {one["data-code"] for one in parsed.classed("chip")} == {one.code for one in result.diagnostics}
    assert {one["id"] for one in parsed.classed("rule")} == {one.code for one in result.diagnostics}
    ids = [attributes["id"] for _, attributes in parsed.attributes if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_nothing_is_loaded_and_only_our_own_script_may_run() -> None:
    page = render([diagnostic()], context())
    parsed = Page(page)
    assert not [
        one for _, one in parsed.attributes for key in ("src", "srcset", "action", "style") if one.get(key)
    ]
    assert all(one["href"].startswith("#") for _, one in parsed.attributes if one.get("href"))  # type: ignore[union-attr]
    assert not re.search(r"url\(|@import|https?:", page)
    policy = next(one["content"] for _, one in parsed.attributes if one.get("http-equiv"))
    assert policy is not None
    for tag in ("style", "script"):
        text = "".join(parsed.words[tag])
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


HOSTILE = "<script>alert(1)</script>&\"'"


def diagnostic(**more: Any) -> Diagnostic:
    related = (
        Related(place(1, 1, 6), "`model` is moved to `device` (cuda) here"),
        Related(place(2, 1, 2), f"the input is made on the CPU here {HOSTILE}"),
        Related(place(3, 1, 2), "`forward` uses the input with the model here"),
    )
    fix = Fix((Edit(place(3, 1, 1), HOSTILE),), Applicability.UNSAFE, f"Say {HOSTILE}")
    facts = {"path": f"{HOSTILE}.py", "message": f"`x` {HOSTILE}", "related": related, "fix": fix, **more}
    return Diagnostic(code="TDV001", name="a-name", range=place(3, 1, 4), **facts)


def context() -> Context:
    return Context(Sources({f"{HOSTILE}.py": f"model\nx {HOSTILE}\n{HOSTILE} \x1b[31m\n"}))


def test_no_text_becomes_markup() -> None:
    page = render([diagnostic()], context())
    Page(page)
    assert page.count("<script>") == 1
    assert "alert(1)" in page
    assert "\x1b" not in page


def test_a_long_place_is_cut() -> None:
    text = "f(\n" + "  1,\n" * 100 + ")\n"
    found = diagnostic(path="a.py", related=(), fix=None, message="long")
    found = Diagnostic("a.py", "TDV001", "n", "long", Range(Position(1, 1), Position(102, 2)))
    page = render([found], Context(Sources({"a.py": text})))
    assert page.count('class="row"') == 13


def test_files_that_cannot_be_read_are_only_named() -> None:
    found = Diagnostic("no/such/file.py", "TDV999", "syntax-error", "cannot be read", place(1, 1, 1))
    page = render([found], Context())
    assert "no/such/file.py:1:1" in page
    assert "<pre" not in page


def test_the_story_ends_where_the_devices_meet() -> None:
    story = story_of(diagnostic())
    assert story is not None
    assert [(step.device, step.on_cpu) for step in story.origins] == [("cuda", False), ("CPU", True)]
    assert story.meeting.reported
    assert [step.message for step in story.then] == ["`forward` uses the input with the model here"]


def test_the_story_of_what_is_reported_where_it_is_made() -> None:
    related = (
        Related(place(1, 1, 2), "the other operand is made on `dev` here"),
        Related(place(2, 1, 2), "they meet here"),
    )
    story = story_of(diagnostic(message="made on the CPU", related=related))
    assert story is not None
    assert [(step.device, step.reported) for step in story.origins] == [("dev", False), ("CPU", True)]
    assert story.meeting.message == "they meet here"
    assert story.then == ()
    assert story_of(diagnostic(related=())) is None


def test_markdown() -> None:
    text = "# Head\n\nOne `a<b`\nline **strong**\n\n* item\n  more\n* other\n\n```python\nx < 1\n\ny\n```\ntail\n"
    assert to_html(text) == (
        "<h4>Head</h4>\n<p>One <code>a&lt;b</code> line <strong>strong</strong></p>\n"
        "<ul><li>item more</li><li>other</li></ul>\n<pre><code>x &lt; 1\n\ny</code></pre>\n<p>tail</p>"
    )
    assert to_html("```\nopen") == "<pre><code>open</code></pre>"


@pytest.mark.parametrize("code", sorted(rule_texts()))
def test_the_documentation_of_rules_is_well_formed(code: str) -> None:
    page = to_html(rule_texts()[code].explanation)
    Page(page)
    assert "```" not in page


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no browser")
def test_the_script_runs_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render([diagnostic(), diagnostic()], context()), encoding="utf-8")
    command = [
        "chromium",
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
    ]
    result = subprocess.run(
        [*command, "--dump-dom", path.as_uri()],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    assert "2 of 2 shown" in result.stdout

"""Every machine-readable format, compared with Ruff's own output for the same diagnostics."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from ruff_reference import RUFF, diagnostics_of, ruff

from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.report import grouped, summary
from torchdev_lint.report.context import Context, RuleText
from torchdev_lint.report.formats import render
from torchdev_lint.report.sources import Sources
from torchdev_lint.report.style import plain

pytestmark = pytest.mark.skipif(RUFF is None, reason="Ruff is not installed")

SOURCES = {
    "nothing": "x = 1\n",
    "one": "import os\n",
    "several": "import os, sys\nx = 1\nif x == None:\n    b = 1 is x\n" + "\n" * 10 + "y == None\n",
    "over rows": 'a = 1\nb is """\n\n  """\nc == None\n',
    "markup": "import a_b as c\nif 'a<b&c>\"' is x: pass\n",
}

every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def context(source: str) -> Context:
    rules = {code: RuleText(code, "a-name", "what", "## What", True) for code in ("E711", "F401", "F632")}
    return Context(Sources({"a.py": source}), ".", "1.0", rules, {Applicability.SAFE})


def ours(name: str, source: str) -> str:
    return render(name, diagnostics_of(source), context(source))


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)


@every_source
@pytest.mark.parametrize("name", ["pylint", "azure"])
def test_the_same(name: str, source: str) -> None:
    assert ours(name, source) == ruff(source, f"--output-format={name}")


@every_source
def test_grouped(source: str) -> None:
    found = diagnostics_of(source)
    closing = summary.closing_lines(found, 0, unsafe=False)
    assert plain(grouped.render(found, {Applicability.SAFE})) + closing == ruff(
        source, "--output-format=grouped"
    )


@every_source
def test_json_lines(source: str) -> None:
    theirs = ruff(source, "--output-format=json-lines")
    assert ours("json-lines", source) == re.sub(r'"url":"[^"]*"', '"url":null', theirs)


@every_source
def test_github(source: str) -> None:
    theirs = ruff(source, "--output-format=github")
    assert ours("github", source) == theirs.replace("title=ruff (", "title=torchdev-lint (")


@every_source
def test_junit(source: str) -> None:
    theirs = ruff(source, "--output-format=junit")
    wanted = theirs.replace("org.ruff", "org.torchdev-lint").replace('"ruff"', '"torchdev-lint"')
    assert ET.canonicalize(ours("junit", source)) == ET.canonicalize(wanted)
    assert ours("junit", source).count("\n") == wanted.count("\n")


@every_source
def test_gitlab(source: str) -> None:
    theirs, mine = json.loads(ruff(source, "--output-format=gitlab")), json.loads(ours("gitlab", source))
    marks = [item.pop("fingerprint") for item in mine]
    assert len(set(marks)) == len(theirs)
    assert all(re.fullmatch("[0-9a-f]{16,}", mark) for mark in marks)
    for item in theirs:
        del item["fingerprint"]
    assert mine == theirs
    assert [list(item) for item in mine] == [list(item) for item in theirs]


@every_source
def test_rdjson(source: str) -> None:
    theirs, mine = ruff(source, "--output-format=rdjson"), ours("rdjson", source)
    wanted = json.loads(theirs)
    for item in wanted["diagnostics"]:
        del item["code"]["url"]
    wanted["source"] = {"name": "torchdev-lint"}
    assert mine == json.dumps(wanted, indent=2)
    assert json.dumps(json.loads(theirs), indent=2) == theirs


@every_source
def test_sarif(source: str) -> None:
    theirs, mine = json.loads(ruff(source, "--output-format=sarif")), json.loads(ours("sarif", source))
    (run,), (wanted,) = mine.pop("runs"), theirs.pop("runs")
    assert mine == theirs
    base = run["originalUriBaseIds"]["%SRCROOT%"]["uri"]
    assert _known(run["results"], wanted["results"], base) == wanted["results"]
    driver, wanted_driver = run["tool"]["driver"], wanted["tool"]["driver"]
    assert {**wanted_driver, "informationUri": 1}.keys() - driver.keys() == {"informationUri"}
    for rule, wanted_rule in zip(driver["rules"], wanted_driver["rules"], strict=True):
        assert rule["id"] == wanted_rule["id"]
        assert wanted_rule.keys() - rule.keys() == {"helpUri"}
        assert rule["properties"].keys() == wanted_rule["properties"].keys()
        assert rule["defaultConfiguration"]["level"] == wanted_rule["defaultConfiguration"]["level"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def _known(mine: Any, theirs: Any, base: str) -> Any:
    """Our value less the keys that Ruff does not have, with absolute addresses."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        if mine.get("uriBaseId"):
            mine = {"uri": base + mine["uri"]}
        return {key: _known(mine.get(key), value, base) for key, value in theirs.items()}
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        return [_known(one, other, base) for one, other in zip(mine, theirs, strict=True)]
    return mine


def test_show_fixes() -> None:
    source = "import os, sys\nx is 1\n"
    path = Path("a.py")
    path.write_text(source)
    import subprocess
    from collections import Counter

    command = [
        str(RUFF),
        "check",
        "--isolated",
        "--no-cache",
        "--select=F401,F632",
        "--fix",
        "--show-fixes",
        "a.py",
    ]
    theirs = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    counts = Counter({("F401", "unused-import"): 2, ("F632", "is-literal"): 1})
    lines = summary.fixed_lines([("a.py", counts), ("b.py", Counter())])
    assert lines + summary.closing_lines([], 3, unsafe=False) == theirs


def test_diagnostics_have_what_is_compared() -> None:
    found: list[Diagnostic] = diagnostics_of(SOURCES["several"])
    assert {one.code for one in found} == {"E711", "F401", "F632"}

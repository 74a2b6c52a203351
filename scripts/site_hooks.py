"""Hooks of mkdocs: rules.md stands at the root of the repository, what else lies outside of docs/ is not part of the site, and pages
that the navigation does not name come last in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("rules.md",)
"""What is shown from the root."""

_OUTSIDE = re.compile(r"\[(?P<text>[^\]]+)\]\(\.\./(?P<path>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def inside(markdown: str) -> str:
    """The text of a page with links that stay on the site: others become plain text."""

    def link(match: re.Match[str]) -> str:
        if match["path"] in PAGES:
            return f"[{match['text']}]({match['path']}{match['anchor'] or ''})"
        return "[{}](index.md)".format(match["text"]) if match["path"] == "README.md" else match["text"]

    return _OUTSIDE.sub(link, markdown)


def pages(entry: Any) -> Iterator[str]:
    """The pages that a part of the navigation names."""
    if isinstance(entry, str):
        yield entry
        return
    for inner in entry.values() if isinstance(entry, dict) else entry:
        yield from pages(inner)


def completed(nav: list[Any], present: Iterable[str]) -> list[Any]:
    """The navigation, with the pages that it does not name at its end."""
    named = set(pages(nav))
    rest = sorted(name for name in present if name not in named)
    return [*nav, {"More": rest}] if rest else nav


def on_config(config: Any) -> Any:
    """Complete the navigation."""
    config["nav"] = completed(config["nav"], (path.name for path in Path(config["docs_dir"]).glob("*.md")))
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that stand at the root."""
    from mkdocs.structure.files import File

    for name in PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Take out links that lead out of the site."""
    return inside(markdown)

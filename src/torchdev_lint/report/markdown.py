"""As much of Markdown as the rules' documentation uses, as HTML."""

from __future__ import annotations

import re
from html import escape

_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")


def to_html(text: str) -> str:
    """`text` as HTML: headings, fenced code, lists and paragraphs; everything else is escaped."""
    blocks: list[str] = []
    pending: list[str] = []
    fence: list[str] | None = None
    for line in [*text.split("\n"), ""]:
        if fence is not None:
            if line.startswith("```"):
                blocks.append(f"<pre><code>{escape(chr(10).join(fence))}</code></pre>")
                fence = None
            else:
                fence.append(line)
        elif line.startswith("```"):
            blocks += _block(pending)
            fence = []
        elif not line.strip() or line.startswith("#") or (_is_item(line) and not _is_item(pending[:1])):
            blocks += _block(pending)
            if line.startswith("#"):
                blocks.append(f"<h4>{inline(line.lstrip('# '))}</h4>")
            elif line.strip():
                pending.append(line)
        else:
            pending.append(line)
    if fence is not None:
        blocks.append(f"<pre><code>{escape(chr(10).join(fence).rstrip())}</code></pre>")
    return "\n".join(blocks)


def inline(text: str) -> str:
    """One paragraph's text: `code` and **strong** words."""
    return _STRONG.sub(r"<strong>\1</strong>", _CODE.sub(r"<code>\1</code>", escape(text, quote=False)))


def _is_item(lines: str | list[str]) -> bool:
    line = lines if isinstance(lines, str) else (lines[0] if lines else "")
    return line.startswith(("* ", "- "))


def _block(pending: list[str]) -> list[str]:
    """What the lines collected so far make, which are forgotten."""
    lines = list(pending)
    pending.clear()
    if not lines:
        return []
    if not _is_item(lines):
        return [f"<p>{inline(' '.join(line.strip() for line in lines))}</p>"]
    items: list[str] = []
    for line in lines:
        if _is_item(line):
            items.append(line[2:].strip())
        else:
            items[-1] += f" {line.strip()}"
    return ["<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>"]

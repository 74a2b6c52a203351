"""What no parser or recursive reader survives: nesting and chains beyond all reason, found before anything is parsed.

LibCST's native parser ends the whole process on a few thousand nested brackets, and needs minutes and gigabytes for a
thousand chained calls; whatever walks such trees runs out of stack. Code that people write stays far below the limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO

MAX_BRACKETS = 150
"""Brackets open at once."""
MAX_CHAIN = 500
"""Operators, trailers, strings and keywords in one unbroken expression: between two commas of the same brackets."""
MAX_BRANCHES = 200
"""Branches of one `if`."""
MAX_INDENTS = 100
"""Indentations within each other; Python's own limit."""
MAX_CHARACTERS = 3_000_000
"""Length of a text."""

# Each alternative starts with a character of its own, so that the engine can skip everything else.
_QUIET = re.compile(
    r"#[^\n]*|\\\n"
    r"|'(?:''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''|[^'\\\n]*(?:\\.[^'\\\n]*)*')"
    r'|"(?:""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|[^"\\\n]*(?:\\.[^"\\\n]*)*")',
    re.DOTALL,
)
_BRACKETS = re.compile(r"[()\[\]{}]")
_OPENERS, _CLOSERS = "([{", ")]}"
_LINK = re.compile(
    r"[()\[\]{},;]|[-+*/%@&|^~<>=!:.]+|'|\b(?:if|else|and|or|not|lambda|await|in|is|from|yield)\b"
)
_FORMATTED = re.compile(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")
"""Ends what stands before the quotation mark of a formatted string."""
_HIDDEN = "\x1f"
"""Stands for a line end within a string."""
_START = re.compile(r"^([ \t]*)(?=[^\s])(elif\b|else\b)?", re.MULTILINE)


def unreasonable(text: str) -> tuple[str, int] | None:
    """What about `text` (line ends are "\\n") is beyond a limit, and in which row (1-based); None when nothing is."""
    if len(text) > MAX_CHARACTERS:
        return f"more than {MAX_CHARACTERS:,} characters", 1
    deep: list[int] = []

    def without_content(match: re.Match[str]) -> str:
        """A string as one quotation mark, a comment as nothing; the rows stay what they are."""
        found = match[0]
        if found[0] == "#":
            return ""
        if len(found) > MAX_BRACKETS and _FORMATTED.search(text[max(match.start() - 3, 0) : match.start()]):
            deepest = _deepest(found)
            if deepest > MAX_BRACKETS:
                deep.append(match.start())
        return ("" if found[0] == "\\" else "'") + _HIDDEN * found.count("\n")

    bare = _QUIET.sub(without_content, text)
    if deep:
        return f"more than {MAX_BRACKETS} brackets open at once", text.count("\n", 0, deep[0]) + 1
    row = 1
    for line in _logical_lines(bare):
        # a limit takes characters to be reached: most lines are too short
        found = _chained(line) if len(line) > MAX_BRACKETS else None
        if found is not None:
            return found, row
        row += line.count("\n") + line.count(_HIDDEN)
    if bare.count("elif") > MAX_BRANCHES:
        return _branches(bare)
    return _indents(bare)


def _deepest(text: str) -> int:
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        depth = depth + 1 if match[0] in _OPENERS else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _logical_lines(bare: str) -> Iterator[str]:
    """The lines of a text without strings and comments; one goes on as long as a bracket is open."""
    kept: list[str] = []
    depth = 0
    for line in StringIO(
        bare, newline="\n"
    ):  # `splitlines` also ends one at a form feed, which Python does not
        kept.append(line)
        depth += sum(map(line.count, _OPENERS)) - sum(map(line.count, _CLOSERS))
        if depth <= 0:
            yield "".join(kept)
            kept.clear()
            depth = 0
    yield "".join(kept)


def _chained(line: str) -> str | None:
    """What is beyond a limit in a logical line."""
    links = [0]
    for match in _LINK.finditer(line):
        link = match[0]
        if link in _CLOSERS:
            if len(links) > 1:
                links.pop()
        elif link in ",;":
            links[-1] = 0
        elif link in _OPENERS:
            links[-1] += 1
            links.append(0)
            if len(links) > MAX_BRACKETS + 1:
                return f"more than {MAX_BRACKETS} brackets open at once"
        else:
            links[-1] += 1 if link.isalpha() else len(link)
        if links[-1] > MAX_CHAIN:
            return f"more than {MAX_CHAIN} operations in one expression"
    return None


def _branches(bare: str) -> tuple[str, int] | None:
    counts: list[tuple[int, int]] = []
    for match in _START.finditer(bare):
        indent = len(match[1])
        while counts and counts[-1][0] > indent:
            counts.pop()
        if match[2] == "elif":
            count = counts.pop()[1] + 1 if counts and counts[-1][0] == indent else 1
            counts.append((indent, count))
            if count > MAX_BRANCHES:
                return f"more than {MAX_BRANCHES} branches of one `if`", _row(bare, match.start())
        elif match[2] is None and counts and counts[-1][0] == indent:
            counts.pop()
    return None


def _indents(bare: str) -> tuple[str, int] | None:
    """Whether blocks lie too deep in each other; a block that deep takes as many columns."""
    if not re.search(rf"^[ \t]{{{MAX_INDENTS}}}", bare, re.MULTILINE):
        return None
    open_blocks: list[int] = []
    for match in _START.finditer(bare):
        indent = len(match[1])
        while open_blocks and open_blocks[-1] >= indent:
            open_blocks.pop()
        open_blocks.append(indent)
        if len(open_blocks) > MAX_INDENTS:
            return f"more than {MAX_INDENTS} blocks in each other", _row(bare, match.start())
    return None


def _row(bare: str, offset: int) -> int:
    return bare.count("\n", 0, offset) + bare.count(_HIDDEN, 0, offset) + 1

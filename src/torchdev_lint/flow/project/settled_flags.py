"""Flags that a program settles itself, so that they decide nothing: `use_gpu = True`, an option that is True whatever is typed.

Whoever changes the line has another program. Read from the text, without executing anything: a name is settled where all that it is ever
given is True, and no function takes it; an option where it stores True and is True by default (argparse, `store_true`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchdev_lint.flow.project.text_facts import remembered_of_text

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.analysis import Analysis

_CONSTANT = re.compile(
    r"(?im)^[ \t]*(\w*(?:cuda|gpu)\w*)[ \t]*(?::[ \t]*bool[ \t]*)?=[ \t]*True[ \t\r]*(?:;|#|$)"
)
_OPTION = re.compile(r"""\badd_argument\(\s*((?:['"]-{1,2}[\w-]+['"]\s*,\s*)+)((?:[^()]|\([^()]*\))*)\)""")
_NAMES = re.compile(r"""['"]-{1,2}([\w-]+)['"]""")


@remembered_of_text
def settled(text: str) -> frozenset[str]:
    """The flags for an accelerator that are True whatever happens: names (`use_gpu`), and options with a dot before them (`.cuda`)."""
    names = {match[1] for match in _CONSTANT.finditer(text)} if "True" in text else set()
    return frozenset(name for name in names if _is_always_true(text, name)) | _options(text)


def settled_in(analysis: Analysis) -> frozenset[str]:
    """The same of the file that is checked."""
    return settled(analysis.written)


def is_among(flag: str, flags: frozenset[str]) -> bool:
    """Whether a flag as a program writes it (`use_gpu`, `args.cuda`) is one of those that are settled."""
    _, dot, last = flag.rpartition(".")
    return f"{dot}{last}" in flags


def without_settled(text: str) -> str:
    """A text less its settled flags, and what they choose against: `"cuda" if use_gpu else "cpu"`."""
    for flag in settled(text):
        name = rf"\w+(?:\.\w+)*{re.escape(flag)}\b" if flag.startswith(".") else rf"\b{flag}\b"
        text = re.sub(rf"\bif\s+{name}\s+else\s+['\"]cpu['\"]", "", text)
        text = re.sub(rf"{name}(?!\()", "_", text)
        if flag.startswith("."):
            text = re.sub(rf"""['"]--{flag[1:].replace("_", "[-_]")}['"]""", "''", text)
    return text


def _is_always_true(text: str, name: str) -> bool:
    other = re.compile(
        rf"(?<![\w.]){name}\s*(?::\s*bool\s*)?=(?!=)(?!\s*True\s*(?:[;#\n]|\Z))|\b(?:def|lambda)\b[^:\n]*\b{name}\b|"
        rf"\b(?:for|as|import|del)\s[^:\n]*\b{name}\b|\b{name}\s*,[^=\n()]*=(?!=)|,\s*{name}\s*=(?!=)"
    )
    return other.search(text) is None


def _options(text: str) -> frozenset[str]:
    if "store_true" not in text:
        return frozenset()
    found: set[str] = set()
    stored: dict[str, int] = {}
    for match in _OPTION.finditer(text):
        long = [name for name in _NAMES.findall(match[1]) if re.search("(?i)cuda|gpu", name)]
        given = re.search(r"""\bdest\s*=\s*['"](\w+)['"]""", match[2])
        names = [given[1]] if given else [name.replace("-", "_") for name in long]
        for name in names:
            stored[name] = stored.get(name, 0) + 1
        if re.search(r"""action\s*=\s*['"]store_true['"]""", match[2]) and re.search(
            r"\bdefault\s*=\s*True\b", match[2]
        ):
            found.update(names)
    return frozenset(
        f".{name}"
        for name in found
        if stored[name] == 1
        and not re.search(rf"\.{name}\s*=(?!=)(?!\s*True\b)|set_defaults\([^)]*\b{name}\b", text)
    )

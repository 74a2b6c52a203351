"""What no parser survives is found before anything is parsed; what people write is let through."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from torchdev_lint.source.nesting import (
    MAX_BRACKETS,
    MAX_BRANCHES,
    MAX_CHAIN,
    MAX_CHARACTERS,
    MAX_INDENTS,
    unreasonable,
)

BRACKETS = f"more than {MAX_BRACKETS} brackets open at once"
CHAIN = f"more than {MAX_CHAIN} operations in one expression"
MANY = MAX_CHAIN + 100

BEYOND = {
    "parentheses": ("(" * 2000 + ")" * 2000, BRACKETS),
    "never closed": ("(" * 2000, BRACKETS),
    "over lines": ("(\n" * 2000 + ")\n" * 2000, BRACKETS),
    "calls in calls": ("f(" * 300 + ")" * 300, BRACKETS),
    "lists": ("[" * 5000 + "]" * 5000, BRACKETS),
    "dicts": ("{1: " * 200 + "1" + "}" * 200, BRACKETS),
    "in an f-string": ('f"{' + "(" * 2000 + ")" * 2000 + '}"', BRACKETS),
    "in a raw template": ('tR"{' + "(" * 2000 + ")" * 2000 + '}"', BRACKETS),
    "a sum": ("a" + " + a" * MANY, CHAIN),
    "a sum over lines": ("(a" + "\n + a" * MANY + ")", CHAIN),
    "continued lines": ("a" + " \\\n + a" * MANY, CHAIN),
    "chained calls": ("a" + ".b()" * MANY, CHAIN),
    "attributes": ("a" + ".b" * MANY, CHAIN),
    "subscripts": ("a" + "[0]" * MANY, CHAIN),
    "strings": ("(" + "'a' " * MANY + ")", CHAIN),
    "negations": ("not " * MANY + "a", CHAIN),
    "signs": ("-" * MANY + "a", CHAIN),
    "lambdas": ("lambda: " * MANY + "a", CHAIN),
    "conditions": ("1 if a else " * MANY + "a", CHAIN),
    "targets": ("a = " * MANY + "1", CHAIN),
}


@pytest.mark.parametrize("name", BEYOND)
def test_beyond_reason(name: str) -> None:
    text, complaint = BEYOND[name]
    assert unreasonable(f"import torch\n'''\n\n'''\nx = {text}\n") == (complaint, 5)


def test_blocks_and_branches() -> None:
    branches = "if a:\n    pass\n" + "elif b:\n    pass\n" * (MAX_BRANCHES + 1)
    assert unreasonable(branches) == (f"more than {MAX_BRANCHES} branches of one `if`", 2 * MAX_BRANCHES + 3)
    blocks = "".join(" " * n + "if a:\n" for n in range(MAX_INDENTS + 1)) + " " * (MAX_INDENTS + 1) + "pass\n"
    assert unreasonable(blocks) == (f"more than {MAX_INDENTS} blocks in each other", MAX_INDENTS + 1)


def test_too_long() -> None:
    assert unreasonable("x = 1\n" * (MAX_CHARACTERS // 6 + 1)) == ("more than 3,000,000 characters", 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = [\n" + "    (1.5, -2, 'a'),\n" * 5000 + "]\n",
        "x = {" + "'a': [1, 2], " * 5000 + "}\n",
        "f(" + "a, " * 5000 + ")\n",
        "a; " * 5000 + "\n",
        "x = 1\n" * 5000,
        ("if a:\n    pass\n" + "elif b:\n    pass\n" * 20) * 50,
        "# " + "(" * 2000,
        "x = '" + "(" * 2000 + "'\n",
        "x = '''\n" + "(\n" * 2000 + "'''\n",
        'x = "it\'s \\" ' + "(" * 500 + '"\n',
        "def f(\n" + "    a=1,\n" * 1000 + "): pass\n",
        "x = (\n" + " " * 150 + "a)\n",
    ],
)
def test_long_is_not_deep(text: str) -> None:
    assert unreasonable(text) is None


def test_an_open_quotation_mark_takes_no_time() -> None:
    # (a nested quantifier would take longer than the universe has)
    assert unreasonable("'" + "abc " * 20_000 + "\n" + '"""' + "abc " * 20_000) is None


def test_the_standard_library_is_reasonable() -> None:
    root = (
        Path(sys.modules["email"].__file__ or "").parent
        if "email" in sys.modules
        else Path(pytest.__file__).parent
    )
    for path in root.rglob("*.py"):
        assert unreasonable(path.read_text("utf-8", "replace")) is None, path

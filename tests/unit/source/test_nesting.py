"""What no parser survives is found before anything is parsed; what people write is let through."""

from __future__ import annotations

import sys
from collections.abc import Callable
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
    "a sum over form feeds": ("a" + " \x0c+ a" * MANY, CHAIN),
    "words at the ends of lines": ("a and\\\n" * MANY + "a", CHAIN),
    "words before comments": ("(" + "a and# b\n" * MANY + "a)", CHAIN),
    "words at the beginnings of lines": ("(a" + "\nor a" * MANY + ")", CHAIN),
    "words of what is never closed": ("(a" + "\nor a" * MANY, CHAIN),
    "words between strings": ("'a'and" * (MAX_CHAIN // 2 + 1) + "'a'", CHAIN),
    "brackets amid a sum": ("a + " * (MANY // 2) + "(b) + " + "a + " * (MANY // 2) + "a", CHAIN),
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


LIMITS: dict[str, tuple[Callable[[int], str], int, str]] = {
    "parentheses": (lambda n: "x = " + "(" * n + ")" * n, MAX_BRACKETS, BRACKETS),
    "in an f-string": (lambda n: 'f"{' + "(" * (n - 1) + ")" * (n - 1) + '}"', MAX_BRACKETS, BRACKETS),
    "closed too often, in an f-string": (
        lambda n: 'f"' + ")" * 9 + "[(])" * 9 + "(" * n + '"',
        MAX_BRACKETS,
        BRACKETS,
    ),
    "half of them closed, in an f-string": (
        lambda n: 'f"' + "(()" * (n - 1) + "(" + '"',
        MAX_BRACKETS,
        BRACKETS,
    ),
    "signs": (lambda n: "-" * n + "a", MAX_CHAIN, CHAIN),
    "words": (lambda n: "not " * n + "a", MAX_CHAIN, CHAIN),
    "subscripts": (lambda n: "a" + "[0]" * n, MAX_CHAIN, CHAIN),
    "in brackets": (lambda n: "(" + "-" * n + "a)", MAX_CHAIN, CHAIN),
    "behind a comma": (lambda n: "f(a, " + "-" * n + "a)", MAX_CHAIN, CHAIN),
    "behind a semicolon": (lambda n: "-a; " + "-" * n + "a", MAX_CHAIN, CHAIN),
}


@pytest.mark.parametrize("name", LIMITS)
def test_the_limit_itself_is_let_through(name: str) -> None:
    write, limit, complaint = LIMITS[name]
    assert unreasonable(write(limit) + "\n") is None
    assert unreasonable(write(limit + 1) + "\n") == (complaint, 1)
    assert unreasonable("\n" + write(limit + 1) + "\n") == (complaint, 2)


ABOVE = {"": 0, "\n": 1, "\\\nx = 1\n": 2, '"""\n\n"""\n': 3}


@pytest.mark.parametrize("above", ABOVE, ids=repr)
def test_blocks_and_branches(above: str) -> None:
    below = 'x = """\n\n\n\n\n"""\n'
    branches = "if a:\n    pass\n" + "elif b:\n    pass\n" * (MAX_BRANCHES + 1)
    assert unreasonable(above + branches + below) == (
        f"more than {MAX_BRANCHES} branches of one `if`",
        2 * MAX_BRANCHES + 3 + ABOVE[above],
    )
    blocks = "".join(" " * n + "if a:\n" for n in range(MAX_INDENTS + 1)) + " " * (MAX_INDENTS + 1) + "pass\n"
    assert unreasonable(above + blocks + below) == (
        f"more than {MAX_INDENTS} blocks in each other",
        MAX_INDENTS + 1 + ABOVE[above],
    )


def test_branches_are_counted_for_each_if() -> None:
    half = "elif b:\n    pass\n" * (MAX_BRANCHES * 3 // 4)
    inner = "".join("    " + line for line in ("if a:\n    pass\n" + half).splitlines(keepends=True))
    one = "if a:\n    pass\n" + half
    for text in (one * 2, (one + "else:\n    pass\n") * 2, "if a:\n" + inner + half, one + "else:\n" + inner):
        assert unreasonable(text) is None
    rows = ("if a:\n" + inner + half + "elif b:\n" + inner + half).count("\n")
    assert unreasonable("if a:\n" + inner + half + "elif b:\n" + inner + half) == (
        f"more than {MAX_BRANCHES} branches of one `if`",
        rows - 1 - 2 * (2 * half.count("elif") - MAX_BRANCHES),
    )


def test_too_long() -> None:
    assert unreasonable("x = 1\n" * (MAX_CHARACTERS // 6 + 1)) == ("more than 3,000,000 characters", 1)
    assert unreasonable("#" * MAX_CHARACTERS) is None


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
        "f(a.b)\n" * 1000,
        "a" + " \\\n + a" * (MAX_CHAIN - 100),
        "(a\n" + "# b\n" * MANY + ")\n",
        "if a:\n" + (" " * 150 + "b\n") * 150,
        "f'" + "{a[0]}" * 300 + "'\n",
        "f('" + "(" * 500 + "')\n",
        "print('" + "(" * 500 + "')\n",
        ")" * 500,
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

"""White space and punctuation that are equal are one node, in processes of our own, and LibCST is as it was."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import libcst as cst
from torchdev_lint.engine import parsing, workers

text = "# about f\\n\\ndef f(a, b=(1, 2)):\\n    return g(a, b)[0] + a.b  # both\\n\\nf(1, 2)\\nf(3, 4)\\n"
kinds = dict(vars(cst))
OWN
tree = parsing.parse_module(text)
spaces, commas = [], []

class Look(cst.CSTVisitor):
    def visit_SimpleWhitespace(self, node):
        spaces.append(node)
    def visit_Comma(self, node):
        commas.append(node)

tree.visit(Look())
assert tree.code == text
assert tree.deep_equals(cst.parse_module(text))
assert all(vars(cst)[name] is kind for name, kind in kinds.items())
assert len({id(name) for name in (tree.body[1], tree.body[2])}) == 2
print(len(spaces) - len({id(one) for one in spaces}) > 40, len(commas) - len({id(one) for one in commas}))
try:
    parsing.parse_module("f(")
except parsing.ParseError:
    print(vars(cst)["Comma"] is cst.Comma and isinstance(commas[0], cst.Comma))
"""


def printed(own: str) -> list[str]:
    """What the program prints in a process of its own."""
    command = [sys.executable, "-c", PROGRAM.replace("OWN", own)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_the_parser_shares_nodes_in_a_process_of_our_own() -> None:
    assert printed("workers.own_process()") == ["True", "4", "True"]


def test_elsewhere_every_node_is_one_of_its_own() -> None:
    assert printed("") == ["False", "0", "True"]

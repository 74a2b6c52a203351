"""A tree whose parts can be exchanged finds out again, and renders again, only what was exchanged."""

from __future__ import annotations

import libcst as cst
import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.memory import Memory
from torchdev_lint.flow.incremental.journal import Journal
from torchdev_lint.flow.incremental.units import Body, Program, exchangeable, functions_of
from torchdev_lint.flow.syntax import positions
from torchdev_lint.flow.syntax.trees import remembered, walk

TEXT = """\
class Net:
    def first(self, x):
        self.a = x
        return x

    def second(self, x):
        return x


def third(x):
    return x
"""


def program() -> tuple[Program, list[cst.FunctionDef], Journal]:
    """The tree, its functions, and who is told that they are looked at."""
    journal = Journal()
    module = exchangeable(cst.parse_module(TEXT), journal)
    return module, [function for function, _ in functions_of(module.body, module)], journal


def exchange(function: cst.FunctionDef) -> None:
    """Give a function another body."""
    block = cst.ensure_type(cst.parse_statement("def _():\n    return y.z\n"), cst.FunctionDef).body
    assert isinstance(function.body, Body)
    assert isinstance(block, cst.IndentedBlock)
    function.body.hold(block)


def test_what_is_found_out_in_a_function_is_remembered_until_it_is_exchanged() -> None:
    asked = []

    @remembered(cst.FunctionDef)
    def names(function: cst.FunctionDef) -> list[str]:
        asked.append(function.name.value)
        return [node.value for node in walk(function.body) if isinstance(node, cst.Name)]

    _, (first, second, _), journal = program()
    assert names(first) == ["self", "a", "x", "x"]
    step = journal.begin()
    assert names(first) == ["self", "a", "x", "x"]
    assert step.looked_at == {first.body}, "who is told what was found out before depends on it as well"
    exchange(first)
    assert names(first) == ["y", "z"]
    assert names(second) == ["x"]
    assert names(first) == ["y", "z"]
    assert asked == ["first", "first", "second"]


def test_what_is_found_out_in_a_module_is_remembered_until_a_part_is_exchanged() -> None:
    asked = []

    @remembered(cst.Module)
    def names(module: cst.Module) -> int:
        asked.append(module)
        return sum(isinstance(node, cst.Attribute) for node in walk(module))

    module, (first, _, third), journal = program()
    assert names(module) == names(module) == 1
    exchange(third)
    assert names(module) == names(module) == 2
    exchange(first)
    step = journal.begin()
    assert names(module) == names(module) == 2
    assert step.looked_at == {module} | {function.body for function, _ in functions_of(module.body, module)}
    module.hold(module.body[:1])
    assert names(module) == 1
    assert len(asked) == 4


@pytest.mark.parametrize("below", [(), (cst.Return,)])
def test_a_walk_gives_what_it_gives_of_a_plain_tree(below: tuple[type[cst.CSTNode], ...]) -> None:
    module, _, _ = program()
    expected = [type(node) for node in walk(cst.parse_module(TEXT), below=below)]
    for _ in range(3):
        found = [type(node) for node in walk(module, below=below)]
        named = [cst.IndentedBlock if kind is Body else kind for kind in found]
        assert [cst.Module if kind is Program else kind for kind in named] == expected


def test_only_what_was_exchanged_is_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = []
    all_of = positions._RecordsAll

    class Counted(all_of):  # type: ignore[misc, valid-type]
        def done(self, state: object) -> object:
            rendered.append("".join(self.tokens))
            return super().done(state)

    monkeypatch.setattr(positions, "_RecordsAll", Counted)
    module, functions, _ = program()
    wanted = [node for node in walk(module) if isinstance(node, cst.Return)]
    found, text = positions.rendered(module, wanted)
    assert text == TEXT
    assert [TEXT[slice(*found[id(node)])] for node in wanted] == ["return x"] * 3
    assert len(rendered) == 5, "a class, its two methods, and a function, whose body is another part"
    exchange(functions[1])
    wanted = [node for node in walk(module) if isinstance(node, cst.Return | cst.FunctionDef)]
    found, text = positions.rendered(module, wanted)
    assert text == module.code == TEXT.replace("x):\n        return x\n\n\n", "x):\n        return y.z\n\n\n")
    plain = cst.parse_module(text)
    twins = [node for node in walk(plain) if isinstance(node, cst.Return | cst.FunctionDef)]
    expected = positions.rendered(plain, twins)[0]
    assert [found[id(node)] for node in wanted] == [expected[id(node)] for node in twins]
    assert [text.strip() for text in rendered[5:]] == ["return y.z", rendered[-1].strip()]


def test_a_text_whose_last_line_has_no_end_is_exchanged_in_parts() -> None:
    memory = Memory()
    text = f"import torch\n{TEXT}\nlast = torch.ones(2).cuda() + torch.ones(2)"
    for edited in (
        text,
        text.replace("self.a = x", "self.a = x + 1"),
        text.replace("return x\n\n    def", "pass\n\n    def"),
    ):
        found = check_source(edited, "x.py", Config(), memory=memory)
        assert found == check_source(edited, "x.py", Config())
        assert found
    assert memory.counts.whole == 1
    # what is behind the last end of a line is exchanged with all the rest
    edited = text + " * 2"
    assert check_source(edited, "x.py", Config(), memory=memory) == check_source(edited, "x.py", Config())
    assert memory.counts.whole == 2

"""Where a process is our own, trees share their white space."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import libcst as cst
import pytest

from torchdev_lint.engine import workers
from torchdev_lint.engine.parsing import ParseError, parse_module

TEXT = "x  = f(1,  2)\n\n\ndef f(a,  b): pass  # of f\n"


@pytest.fixture
def wanted() -> Iterator[None]:
    before, thresholds = workers.OWN[:], gc.get_threshold()
    workers.own_process()
    yield
    workers.OWN[:] = before
    gc.set_threshold(*thresholds)


def spaces(module: cst.Module) -> set[int]:
    """The white space before the first assignment's and after the first argument's sign."""
    line = cst.ensure_type(module.body[0], cst.SimpleStatementLine)
    assign = cst.ensure_type(line.body[0], cst.Assign)
    comma = cst.ensure_type(cst.ensure_type(assign.value, cst.Call).args[0].comma, cst.Comma)
    return {id(assign.targets[0].whitespace_before_equal), id(comma.whitespace_after)}


@pytest.mark.usefixtures("wanted")
def test_the_same_tree_of_fewer_nodes() -> None:
    module = parse_module(TEXT)
    assert len(spaces(module)) == 1
    assert len(spaces(cst.parse_module(TEXT))) == 2
    assert module.deep_equals(cst.parse_module(TEXT))
    assert module.code == TEXT


@pytest.mark.usefixtures("wanted")
def test_the_package_is_left_as_it_was() -> None:
    own = cst.SimpleWhitespace
    with pytest.raises(ParseError):
        parse_module("x = (\n")
    assert cst.SimpleWhitespace is own


@pytest.mark.usefixtures("wanted")
def test_not_where_there_are_other_threads() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert len(spaces(parse_module(TEXT))) == 2
    finally:
        end.set()
        thread.join()


class Node:
    other: Node


def circle() -> weakref.ref[Node]:
    """Garbage that has to be looked for."""
    one = Node()
    one.other = one
    return weakref.ref(one)


def test_garbage_is_let_go_between_files_of_our_own_process() -> None:
    before = gc.get_threshold()
    gc.disable()
    try:
        gc.set_threshold(700, 10, 10)
        garbage = circle()
        workers.let_go()
        assert garbage() is not None
        gc.set_threshold(*workers._RARELY)
        frozen = gc.get_freeze_count()
        workers.let_go()
        assert garbage() is None
        assert gc.get_freeze_count() > frozen
    finally:
        gc.set_threshold(*before)
        gc.enable()
        gc.unfreeze()

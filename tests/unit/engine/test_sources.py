"""What belongs to a project that is searched for callers; which trees are kept."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import libcst as cst
import pytest

from torchdev_lint.engine.listings import listed
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.syntax import trees
from torchdev_lint.flow.syntax.trees import remembered


@pytest.mark.parametrize("other", ["venv", "env", "node_modules", "site-packages", ".tox"])
def test_what_others_have_written_is_not_listed(tmp_path: Path, other: str) -> None:
    for name in ("a.py", "package/b.py", f"{other}/c.py", f"package/{other}/d.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    below = listed(str(tmp_path))
    assert below is not None
    assert list(below.files) == [str(tmp_path / "a.py"), str(tmp_path / "package" / "b.py")]


@remembered(cst.Module)
def statements(module: cst.Module) -> int:
    return len(module.body)


@remembered(cst.FunctionDef)
def lines(function: cst.FunctionDef) -> int:
    return len(function.body.body)


def alive(name: str) -> list[cst.FunctionDef]:
    """The functions of that name that something still holds."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is cst.FunctionDef and one.name.value == name]


def ask(tree: cst.Module | None) -> None:
    """Have something remembered of a module and its function."""
    assert tree is not None
    function = tree.body[0]
    assert isinstance(function, cst.FunctionDef)
    assert (statements(tree), lines(function)) == (1, 2)


def test_a_tree_that_is_let_go_is_held_by_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchdev_lint.engine.sources.MAX_KEPT", 1)
    paths = {}
    for name in ("tree_let_go", "tree_kept"):
        paths[name] = tmp_path / f"{name}.py"
        paths[name].write_text(f"def {name}():\n    x = 1\n    return x\n")
    sources = DiskSources()
    ask(sources.tree(str(paths["tree_let_go"])))
    assert len(alive("tree_let_go")) == 1
    ask(sources.tree(str(paths["tree_kept"])))
    assert not alive("tree_let_go")
    assert len(alive("tree_kept")) == 1


def test_the_pictures_of_a_notebook_take_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchdev_lint.engine.sources.MAX_KEPT", 1_000)
    (tmp_path / "tree_beside.py").write_text("def tree_beside():\n    x = 1\n    return x\n")
    output = {"output_type": "display_data", "data": {"image/png": 100_000 * "A"}, "metadata": {}}
    cell = {"cell_type": "code", "source": "x = 1", "outputs": [output], "metadata": {}}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "show.ipynb").write_text(json.dumps(notebook))
    sources = DiskSources()
    ask(sources.tree(str(tmp_path / "tree_beside.py")))
    assert sources.tree(str(tmp_path / "show.ipynb")) is not None
    assert len(alive("tree_beside")) == 1


def test_what_is_asked_of_a_tree_that_was_let_go_is_forgotten_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchdev_lint.engine.sources.MAX_KEPT", 1)
    for name in ("tree_first", "tree_second"):
        (tmp_path / f"{name}.py").write_text(f"def {name}():\n    x = 1\n    return x\n")
    sources = DiskSources()
    tree = sources.tree(str(tmp_path / "tree_first.py"))
    sources.tree(str(tmp_path / "tree_second.py"))
    ask(tree)  # whoever is at work with it still has it
    del tree
    assert len(alive("tree_first")) == 1
    sources.checked()
    assert not alive("tree_first")


def test_only_so_much_is_remembered() -> None:
    functions = [
        cst.ensure_type(cst.parse_statement("def many():\n    pass\n"), cst.FunctionDef) for _ in range(600)
    ]
    for function in functions:
        assert lines(function) == 1
        assert lines(functions[0]) == 1  # what is asked for again and again stays
    kept = [entry for memory in trees._memories for entry in memory.values() if entry[0] in functions]
    assert len(kept) == 512
    assert any(entry[0] is functions[0] for entry in kept)
    trees.forget({id(function) for function in functions})

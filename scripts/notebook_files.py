"""Notebooks made of plain programs, for tests: a cell for each paragraph of top-level statements."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from typing import Any


def paragraphs(text: str) -> list[tuple[int, str]]:
    """The program `text` cut before top-level statements that a blank line stands before: first rows and texts."""
    lines = text.split("\n")
    cuts = []
    for node in ast.parse(text).body:
        decorators = getattr(node, "decorator_list", [])
        row = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        while row > 1 and lines[row - 2].startswith("#"):
            row -= 1
        if row > 1 and not lines[row - 2].strip():
            cuts.append(row)
    starts = [1, *cuts]
    ends = [*cuts, len(lines) + 1]
    return [(start, "\n".join(lines[start - 1 : end - 1])) for start, end in zip(starts, ends, strict=True)]


def code_cell(text: str, **metadata: Any) -> dict[str, Any]:
    """A code cell in the form that nbformat writes."""
    source = text.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def prose_cell(text: str) -> dict[str, Any]:
    """A markdown cell."""
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def notebook(cells: Sequence[dict[str, Any]], **more: Any) -> str:
    """The text of a notebook, as nbformat writes it."""
    content = {
        "cells": list(cells),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 4,
        **more,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def of_program(text: str) -> tuple[str, dict[int, tuple[int, int]]]:
    """A notebook of the program `text`, prose between its cells; and the cell and row in it of each row of the program."""
    cells: list[dict[str, Any]] = []
    rows: dict[int, tuple[int, int]] = {}
    for start, content in paragraphs(text):
        cells += [prose_cell("Then:"), code_cell(content)]
        for number in range(content.count("\n") + 1):
            rows[start + number] = (len(cells), number + 1)
    return notebook(cells), rows


def program_of(text: str) -> str:
    """The code cells of the notebook `text`, joined."""
    cells = json.loads(text)["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")

"""`torchdev-lint infer`: prints what the inference knows of a file, the tool's own debugger."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError
from torchdev_lint.engine.check import unify_newlines
from torchdev_lint.engine.notebooks import broken_cells
from torchdev_lint.files import read_bytes
from torchdev_lint.source.cells import Cells
from torchdev_lint.source.document import Document, SourceError
from torchdev_lint.source.notebook import Notebook
from torchdev_lint.source.roots import given_as_roots

if TYPE_CHECKING:
    import libcst as cst

    from torchdev_lint.flow.inspection.recording import Section

Text = TypeVar("Text")


def parser() -> argparse.ArgumentParser:
    """The arguments of `infer`."""
    made = Parser(
        prog="torchdev-lint infer",
        description="Print what was inferred: names with their devices, where these come from, and the conditions known to "
        "hold; at the end of the module and of each function read alone, or after one line, once for each way that leads there.",
        allow_abbrev=False,
    )
    made.add_argument("place", metavar="FILE[:LINE]", help="of a notebook, FILE[:CELL:LINE]")
    return made


def infer(arguments: Sequence[str]) -> int:
    """Print what is inferred of a file, or of one line of it; returns the exit code 0.

    Raises `ConfigError` for a file that cannot be read or does not parse, or a line without a statement.
    """
    path, numbers = _place(parser().parse_args(arguments).place)
    if path.endswith(".ipynb"):
        notebook = _read(path, Notebook.from_bytes)
        text = notebook.analysed(notebook.text, broken_cells(notebook))
        found = sections(text, _row(notebook, numbers), path, cells=notebook.cells)
    else:
        found = sections(_read(path, Document.from_bytes).text, numbers[0] if numbers else None, path)
    for section in found:
        print(_rendered(section))
    return 0


def _place(given: str) -> tuple[str, list[int]]:
    """The file and the numbers behind it: none, a line, or the cell of a notebook and a line in it."""
    path: str = given
    numbers: list[int] = []
    while not os.path.exists(path) and len(numbers) < (2 if ".ipynb:" in path else 1):
        head, _, number = path.rpartition(":")
        if not head or not number.isdecimal():
            break
        path, numbers = head, [int(number), *numbers]
    return path, numbers


def _read(path: str, read: Callable[[bytes, str], Text]) -> Text:
    try:
        return read(read_bytes(path), path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except SourceError as error:
        raise ConfigError(f"{path}: {error}") from error


def _row(notebook: Notebook, numbers: Sequence[int]) -> int | None:
    """The row of the joined text. Raises `ConfigError` for a place that is none."""
    if not numbers:
        return None
    path = notebook.path
    if len(numbers) == 1:
        raise ConfigError(f"{path}: a notebook has cells: {path}:CELL:LINE")
    cell, line = numbers
    found = next((one for one in notebook.cells.cells if one.index == cell), None)
    if found is None:
        raise ConfigError(f"{path}: cell {cell} holds no code")
    rows = len(found.text.splitlines())
    if not 1 <= line <= rows:
        raise ConfigError(f"{path}: there is no line {line} in cell {cell} (of {rows})")
    return notebook.cells.first_row(cell) + line - 1


def sections(
    text: str, line: int | None = None, path: str | None = None, cells: Cells | None = None
) -> list[Section]:
    """What is known at the end of each part of a source text, or after the statement on a line.

    With a `path`, what the text imports from its project is read too; with `cells`, it is a notebook's, and places are those in them.
    Raises `ConfigError` if the text does not parse, or there is no statement on the line.
    """
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    from torchdev_lint.engine.parsing import ParseError, parse_module
    from torchdev_lint.engine.sources import DiskSources
    from torchdev_lint.flow.activation.analysis import Options
    from torchdev_lint.flow.execution.interpreter import read_module
    from torchdev_lint.flow.inspection.recording import Recorder
    from torchdev_lint.flow.project.projects import Project
    from torchdev_lint.torch_api.factories import DEFAULT_TENSOR_CONSTRUCTORS

    try:
        module = parse_module(unify_newlines(text))
    except ParseError as error:
        raise ConfigError(f"{path or '<text>'}:{error.row}: {error.message}") from error
    places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)

    def place_of(node: cst.CSTNode) -> str | None:
        place = places.get(node)
        if place is None or cells is None:
            return None if place is None else f"line {place.start.line}"
        cell, row = cells.row(place.start.line)
        return f"line {row} of cell {cell}"

    at = None
    if line is not None:
        spans: dict[cst.CSTNode, tuple[int, int]] = {
            node: (place.start.line, place.end.line)
            for node, place in places.items()
            if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
        }
        at = _statement(spans, line)
        if at is None:
            where = f"line {line} (of {len(text.splitlines())})"
            if cells is not None:
                where = "line {1} of cell {0}".format(*cells.row(line))
            raise ConfigError(f"{path or '<text>'}: there is no statement on {where}")
    recorder = Recorder(place_of, at)
    project = None
    if path is not None:
        given = given_as_roots([path])
        project = Project(os.path.abspath(path), DiskSources(), lines=text.count("\n"), given=given)
    read_module(module, Options(DEFAULT_TENSOR_CONSTRUCTORS, in_cells=cells is not None), recorder, project)
    return list(recorder.sections)


def _statement(spans: Mapping[cst.CSTNode, tuple[int, int]], line: int) -> cst.CSTNode | None:
    """The innermost statement that covers a line."""
    covering = [node for node, (first, last) in spans.items() if first <= line <= last]
    return min(covering, key=lambda node: spans[node][1] - spans[node][0], default=None)


def _rendered(section: Section) -> str:
    width = min(max((len(name) for name, _ in section.rows), default=0), 30)
    return "\n".join([f"{section.title}:", *(f"  {name:<{width}}  {text}" for name, text in section.rows)])

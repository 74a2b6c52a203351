"""`torchdev-lint infer`: prints what the inference knows of a file, the tool's own debugger."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError
from torchdev_lint.engine.check import unify_newlines
from torchdev_lint.files import read_bytes
from torchdev_lint.source.document import Document, SourceError
from torchdev_lint.source.roots import given_as_roots

if TYPE_CHECKING:
    import libcst as cst

    from torchdev_lint.flow.inspection.recording import Section


def parser() -> argparse.ArgumentParser:
    """The arguments of `infer`."""
    made = Parser(
        prog="torchdev-lint infer",
        description="Print what was inferred: names with their devices, where these come from, and the conditions known to "
        "hold; at the end of the module and of each function read alone, or after one line, once for each way that leads there.",
        allow_abbrev=False,
    )
    made.add_argument("place", metavar="FILE[:LINE]")
    return made


def infer(arguments: Sequence[str]) -> int:
    """Print what is inferred of a file, or of one line of it; returns the exit code 0.

    Raises `ConfigError` for a file that cannot be read or does not parse, or a line without a statement.
    """
    path, line = _place(parser().parse_args(arguments).place)
    for section in sections(_text(path), line, path):
        print(_rendered(section))
    return 0


def _place(given: str) -> tuple[str, int | None]:
    path, colon, line = given.rpartition(":")
    if colon and line.isdecimal() and not os.path.exists(given):
        return path, int(line)
    return given, None


def _text(path: str) -> str:
    try:
        return Document.from_bytes(read_bytes(path), path).text
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except SourceError as error:
        raise ConfigError(f"{path}: {error}") from error


def sections(text: str, line: int | None = None, path: str | None = None) -> list[Section]:
    """What is known at the end of each part of a source text, or after the statement on a line.

    With a `path`, what the text imports from its project is read too.
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

    def line_of(node: cst.CSTNode) -> int | None:
        place = places.get(node)
        return None if place is None else place.start.line

    at = None
    if line is not None:
        spans: dict[cst.CSTNode, tuple[int, int]] = {
            node: (place.start.line, place.end.line)
            for node, place in places.items()
            if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
        }
        at = _statement(spans, line)
        if at is None:
            rows = len(text.splitlines())
            raise ConfigError(f"{path or '<text>'}: there is no statement on line {line} (of {rows})")
    recorder = Recorder(line_of, at)
    project = None
    if path is not None:
        given = given_as_roots([path])
        project = Project(os.path.abspath(path), DiskSources(), lines=text.count("\n"), given=given)
    read_module(module, Options(DEFAULT_TENSOR_CONSTRUCTORS), recorder, project)
    return list(recorder.sections)


def _statement(spans: Mapping[cst.CSTNode, tuple[int, int]], line: int) -> cst.CSTNode | None:
    """The innermost statement that covers a line."""
    covering = [node for node, (first, last) in spans.items() if first <= line <= last]
    return min(covering, key=lambda node: spans[node][1] - spans[node][0], default=None)


def _rendered(section: Section) -> str:
    width = min(max((len(name) for name, _ in section.rows), default=0), 30)
    return "\n".join([f"{section.title}:", *(f"  {name:<{width}}  {text}" for name, text in section.rows)])

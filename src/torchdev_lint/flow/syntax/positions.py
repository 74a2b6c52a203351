"""Where nodes stand in the source, found only for the nodes that findings need.

LibCST's position providers cost three times the parse; rendering the tree once, noting where the wanted nodes
start and end, costs a fraction of it. The rendering state is the one that LibCST's own `PositionProvider` builds on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import libcst as cst
from libcst._nodes.internal import CodegenState


class _Recorder(CodegenState):
    """A rendering that notes the offsets (in code points) of wanted nodes, without surrounding white space."""

    def __init__(self, module: cst.Module, wanted: Collection[int]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.wanted = wanted
        self.length = 0
        self.starts: dict[int, int] = {}
        self.spans: dict[int, tuple[int, int]] = {}

    def add_indent_tokens(self) -> None:
        self.length += sum(map(len, self.indent_tokens))
        super().add_indent_tokens()

    def add_token(self, value: str) -> None:
        self.length += len(value)
        super().add_token(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.starts[id(node)] = self.length

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.spans[id(node)] = (self.starts[id(node)], self.length)


Spans = dict[int, tuple[int, int]]


class Part(Protocol):
    """A part of a tree that may be exchanged; `version` is how often it was."""

    version: int


@dataclass(slots=True)
class _Rendered:
    """A rendered part of a tree: when (`state`), its text, where its nodes are in it, and the parts in it that have places of their own."""

    state: object
    text: str
    spans: Spans
    parts: list[tuple[int, _Rendered]]

    def find(self, wanted: Collection[int], offset: int, found: Spans) -> None:
        """Add where wanted nodes are, if the text begins at an offset."""
        places = self.spans
        for key in wanted if len(wanted) < len(places) else places.keys() & wanted:
            place = places.get(key)
            if place is not None:
                found[key] = (place[0] + offset, place[1] + offset)
        for start, part in self.parts:
            part.find(wanted, offset + start, found)


class _RecordsAll(_Recorder):
    """One that notes where all nodes are, but for those of parts that have not changed since they were rendered (`known`)."""

    def __init__(self, module: cst.Module, known: dict[int, _Rendered]) -> None:
        super().__init__(module, ())
        self.module = module
        self.known = known
        self.parts: list[tuple[int, _Rendered]] = []

    def done(self, state: object) -> _Rendered:
        """What was rendered."""
        return _Rendered(state, "".join(self.tokens), self.spans, self.parts)

    def render_part(self, part: Part, render: Callable[[CodegenState], None]) -> None:
        """Render a part that may be exchanged, unless that has been done."""
        state = part.version, tuple(self.indent_tokens)
        done = self.known.get(id(part))
        if done is None or done.state != state:
            inner = _RecordsAll(self.module, self.known)
            inner.indent_tokens += self.indent_tokens
            render(inner)
            done = self.known[id(part)] = inner.done(state)
        self.parts.append((self.length, done))
        self.add_token(done.text)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.starts[id(node)] = self.length

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.spans[id(node)] = (self.starts[id(node)], self.length)


class Places:
    """Where the nodes of a module are that is edited: only what has changed is rendered again."""

    def __init__(self) -> None:
        self._lines: dict[int, _Rendered] = {}
        """By line of the module."""
        self._parts: dict[int, _Rendered] = {}
        """By part of a line."""

    def rendered(
        self, module: cst.Module, state_of: Callable[[cst.CSTNode], object], wanted: Collection[int]
    ) -> tuple[dict[int, tuple[int, int]], str]:
        """As `rendered`. `state_of`: what differs, of a line, whenever something has changed in it."""
        recorder = _Recorder(module, wanted)
        for line in module.header:
            line._codegen(recorder)
        found, lines, texts = dict(recorder.spans), {}, list(recorder.tokens)
        offset = recorder.length
        for statement in module.body:
            known, state = self._lines.get(id(statement)), state_of(statement)
            if known is None or known.state != state:
                all_of_it = _RecordsAll(module, self._parts)
                statement._codegen(all_of_it)
                known = all_of_it.done(state)
            lines[id(statement)] = known
            texts.append(known.text)
            known.find(wanted, offset, found)
            offset += len(known.text)
        self._lines = lines
        behind = _Recorder(module, ())
        for line in module.footer:
            line._codegen(behind)
        return found, "".join([*texts, *behind.tokens])


def spans(module: cst.Module, nodes: Collection[cst.CSTNode]) -> dict[int, tuple[int, int]]:
    """Start and end offsets, in code points of the module's text, by `id(node)`.

    An `Arg` spans keyword, star and value, without comma and trailing white space; an expression includes its
    own parentheses. Nodes that are not part of the module are left out.
    """
    return rendered(module, nodes)[0]


def rendered(module: cst.Module, nodes: Collection[cst.CSTNode]) -> tuple[dict[int, tuple[int, int]], str]:
    """The same, and the module's text, which comes with it."""
    wanted: dict[int, cst.CSTNode] = {}
    for node in nodes:
        wanted[id(node)] = node
        if isinstance(node, cst.Arg):
            wanted[id(node.value)] = node.value
    find = getattr(module, "find", None)
    if find is None or not module.body or not module.has_trailing_newline:
        recorder = _Recorder(module, wanted.keys())
        module._codegen(recorder)
        found, text = dict(recorder.spans), "".join(recorder.tokens)
    else:
        found, text = find(wanted.keys())
    for node in nodes:
        if isinstance(node, cst.Arg) and id(node) in found and id(node.value) in found:
            found[id(node)] = (found[id(node)][0], found[id(node.value)][1])
    return found, text

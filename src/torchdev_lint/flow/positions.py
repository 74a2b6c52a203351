"""Where nodes stand in the source, found only for the nodes that findings need.

LibCST's position providers cost three times the parse; rendering the tree once, noting where the wanted nodes
start and end, costs a fraction of it. The rendering state is the one that LibCST's own `PositionProvider` builds on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

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


class _RecordsAll(_Recorder):
    """One that notes where all nodes are."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module, ())

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.starts[id(node)] = self.length

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.spans[id(node)] = (self.starts[id(node)], self.length)


class Places:
    """Where the nodes of a module are that is edited: only what has changed is rendered again."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[object, str, dict[int, tuple[int, int]]]] = {}
        """By line of the module: its state, its text, and where its nodes are in that."""

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
            if known is None or known[0] != state:
                all_of_it = _RecordsAll(module)
                statement._codegen(all_of_it)
                known = state, "".join(all_of_it.tokens), all_of_it.spans
            lines[id(statement)] = known
            texts.append(known[1])
            places = known[2]
            for key in wanted if len(wanted) < len(places) else places.keys() & wanted:
                place = places.get(key)
                if place is not None:
                    found[key] = (place[0] + offset, place[1] + offset)
            offset += len(known[1])
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

"""Tracebacks in any text: a terminal's, a log's, a notebook's, pytest's; cut off, coloured, quoted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Frame:
    """One place of a traceback, as its text has it.

    `path` is "" for a notebook's cell, which has a `cell` (IPython's execution count, "" if it has none) instead.
    `code` is the source line shown, stripped; "" when none is.
    """

    path: str
    row: int
    function: str = ""
    code: str = ""
    cell: str | None = None


@dataclass(slots=True)
class PastedError:
    """One exception: `type` (as printed, "" when only a message was given), `message`, and `frames`, outermost first."""

    type: str = ""
    message: str = ""
    frames: list[Frame] = field(default_factory=list)


_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\^\[\[[0-9;]*m")
_PYTHON_FRAME = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<row>\d+)(?:, in (?P<function>.+))?')
_IPYTHON_FILE = re.compile(
    r"^\s*File (?P<path>[^\s\"<][^\"]*?\.py\w?):(?P<row>\d+)(?:, in (?P<function>[^(]+))?"
)
_IPYTHON_CELL = re.compile(
    r"^\s*(?:Cell |Input )?In ?\[(?P<cell>\d*|\*)\](?:, line (?P<row>\d+)|, in <cell line: (?P<start>\d+)>)"
    r"(?:, in (?P<function>[^(]+))?"
)
_OLD_IPYTHON = re.compile(
    r"^\s*(?P<path>\S.*?\.py\w?|<ipython-input-(?P<cell>\d+)-[^>]*>) in (?P<function>[\w.<>]+)"
)
_ARROW = re.compile(r"^\s*-+> ?(?P<row>\d+)(?P<code>.*)$")
_PYTEST_FRAME = re.compile(r"^(?P<path>[^\s:]+\.py):(?P<row>\d+): ?(?P<rest>in \S+|[A-Z]\w*)?\s*$")
_KERNEL_FILE = re.compile(r"(?:^|[/\\])ipykernel_\d+[/\\]\d+\.py$")
_ERROR = re.compile(
    r"(?<![\w.])(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Iteration))(?:: (?P<message>.*)|:?\s*$)"
)
_CHAIN = re.compile(
    r"During handling of the above|The above exception was the direct cause|Traceback \(most recent"
)
_TAG = re.compile(
    r"^\s*(\[rank\d+\]:|\([\w.-]+ pid=\d+[^)]*\)|\[\d+,\d+\]<std\w+>:|[\w.-]+-\d+ +\||\d+: |E  |\||>)[ \t]?"
)
_MARKS = re.compile(r"^[\s^~]*$")
_TIME = re.compile(r"^\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)")


def parse(text: str) -> list[PastedError]:
    """The errors in `text`, in its order; a text without one is itself taken for a message. Never empty unless `text` is."""
    lines = _one_process([_ESCAPE.sub("", line.rstrip("\r")) for line in text.split("\n")])
    errors = _Reader().read(lines)
    if errors:
        return errors
    message = "\n".join(line for line in (_untagged(line).strip() for line in lines) if line)
    return [PastedError("", message)] if message else []


def _untagged(line: str) -> str:
    """The line without the tag of its process, pytest's `E` or a quotation mark."""
    match = _TAG.match(line)
    return line[match.end() :] if match is not None else line


def _one_process(lines: list[str]) -> list[str]:
    """The lines of the first of several processes whose output is mixed: all say the same."""
    tags = [match[1] if (match := _TAG.match(line)) else "" for line in lines]
    heads = [tag for tag, line in zip(tags, lines, strict=True) if tag and "Traceback (most recent" in line]
    if len(set(heads)) < 2:
        return lines
    return [line for tag, line in zip(tags, lines, strict=True) if tag in ("", heads[0])]


class _Reader:
    """Reads lines one after the other; what is shown below a frame belongs to it."""

    def __init__(self) -> None:
        self.errors: list[PastedError] = []
        self.frames: list[Frame] = []
        self.messages: list[str] | None = None
        self.type = ""
        self.ended = False
        """Whether the message is over: what follows belongs to the log."""
        self.awaits_code = False
        self.prefix = ""
        self.above = ""
        """The code that pytest shows above the place of a frame."""

    def read(self, lines: Iterable[str]) -> list[PastedError]:
        for line in lines:
            self.line(line)
        self.finish()
        return self.errors

    def line(self, line: str) -> None:
        for reader in (self._python_frame, self._ipython_frame, self._arrow, self._pytest, self._chain):
            if reader(line):
                return
        if self._error(line):
            return
        if self.awaits_code:
            self.awaits_code = False
            self._code(self._bare(line))
        elif self.messages is not None:
            self._continue(_untagged(line).strip())

    def _continue(self, text: str) -> None:
        """A line below the one with the error's type: more of its message, until something is there that cannot be."""
        assert self.messages is not None
        if not text or _TIME.match(text):
            self.ended = True
        if not self.ended:
            self.messages.append(text)

    def _add(self, frame: Frame) -> None:
        if self.messages is not None:
            self.finish()
        self.frames.append(frame)

    def _code(self, code: str, row: int | None = None) -> None:
        if not self.frames or _MARKS.match(code):
            return
        last = self.frames[-1]
        self.frames[-1] = Frame(last.path, row or last.row, last.function, code, last.cell)

    def _python_frame(self, line: str) -> bool:
        match = _PYTHON_FRAME.search(line)
        if match is None:
            return False
        path = match["path"]
        cell = "" if _KERNEL_FILE.search(path) else None
        if cell is not None:
            path = ""
        self._add(Frame(path, int(match["row"]), (match["function"] or "").strip(), cell=cell))
        self.awaits_code = True
        self.prefix = line[: match.start()].rstrip()
        return True

    def _bare(self, line: str) -> str:
        """A source line without what the log put before it: the same as before its frame, but for the digits of the time."""
        head, rest = line[: len(self.prefix)], line[len(self.prefix) :]
        if self.prefix and re.sub(r"\d", "0", head) == re.sub(r"\d", "0", self.prefix):
            return rest.strip()
        return _untagged(line).strip()

    def _ipython_frame(self, line: str) -> bool:
        match = _IPYTHON_FILE.match(line)
        if match is not None:
            self._add(Frame(match["path"], int(match["row"]), (match["function"] or "").strip()))
            return True
        match = _IPYTHON_CELL.match(line)
        if match is not None:
            row = int(match["row"] or match["start"])
            self._add(Frame("", row, (match["function"] or "").strip(), cell=match["cell"].strip("*")))
            return True
        match = _OLD_IPYTHON.match(line)
        if match is not None:
            in_cell = match["cell"] is not None or _KERNEL_FILE.search(match["path"])
            path, cell = ("", match["cell"] or "") if in_cell else (match["path"], None)
            self._add(Frame(path, 0, match["function"], cell=cell))
            return True
        return False

    def _arrow(self, line: str) -> bool:
        match = _ARROW.match(_untagged(line)) or _ARROW.match(line)
        if match is None or not self.frames:
            return False
        self._code(match["code"].strip(), int(match["row"]))
        return True

    def _pytest(self, line: str) -> bool:
        if line.startswith(">   ") and not self.awaits_code:
            self.above = line[1:].strip()
            return True
        match = _PYTEST_FRAME.match(line)
        if match is None:
            return False
        rest = match["rest"] or ""
        name = rest.removeprefix("in ").strip() if rest.startswith("in ") else ""
        frame = Frame(match["path"], int(match["row"]), name, self.above)
        self.above = ""
        if self.messages is not None and rest and not rest.startswith("in "):
            self.frames.append(frame)  # pytest names the innermost place below the message.
            return True
        self._add(frame)
        self.awaits_code = bool(name)
        return True

    def _chain(self, line: str) -> bool:
        if not _CHAIN.search(line):
            return False
        if self.messages is not None:
            self.finish()
        return True

    def _error(self, line: str) -> bool:
        match = _ERROR.search(line)
        if match is None or not self._plausible(line, match):
            return False
        if self.messages is not None:
            if match["message"] is None:
                return False
            self.finish()
        self.type = match["type"]
        self.messages = [match["message"] or ""]
        self.awaits_code = self.ended = False
        return True

    def _plausible(self, line: str, match: re.Match[str]) -> bool:
        """Whether the name of an exception is an error that is reported, and not source text or prose."""
        before = _untagged(line[: match.start()]).strip()
        if match["message"] is None:
            return not before
        return (
            not before
            or before[-1] in ":]>|-)"
            or bool(re.search(r"\b(?:ERROR|error|CRITICAL|FATAL)\b", before))
        )

    def finish(self) -> None:
        """Close the error that is being read; frames without one stay for the next, or make one without a message."""
        if self.messages is not None:
            message = "\n".join(self.messages).strip()
            self.errors.append(PastedError(self.type, message, self.frames))
        elif self.frames:
            self.errors.append(PastedError("", "", self.frames))
        self.messages, self.frames, self.type = None, [], ""


def choose(
    errors: list[PastedError], about_devices: Callable[[PastedError], bool]
) -> tuple[PastedError, list[PastedError]]:
    """The error to explain, the first about devices or else the last, and the others, the nearest to it first."""
    index = next((number for number, one in enumerate(errors) if about_devices(one)), len(errors) - 1)
    others = errors[index + 1 :] + errors[:index][::-1]
    return errors[index], others

"""A source file: from bytes to text and back without losing its encoding, byte order mark or newlines."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, lookup
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from torchdev_lint.diagnostics import Diagnostic, Position
from torchdev_lint.source.lines import LineIndex

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_NO_CODE = re.compile(rb"[ \t\f]*(#.*)?\Z", re.DOTALL)
_HEAD = re.compile(rb"\r\n|\n|\r")


class SourceError(Exception):
    """Bytes that cannot be read as Python source; the message is one line, without the path."""


@dataclass(frozen=True, slots=True)
class Document:
    """The decoded source of one file."""

    path: str
    text: str
    """Decoded, without a byte order mark, newlines as in the file."""
    encoding: str = "utf-8"
    bom: bool = False
    newline: str = "\n"
    """The line end that most lines have: "\\n", "\\r\\n" or "\\r"."""
    _lines: list[LineIndex] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> Document:
        """Decode as Python does (byte order mark, PEP 263 cookie, else UTF-8). Raises `SourceError`."""
        bom = data.startswith(BOM_UTF8)
        body = data[len(BOM_UTF8) :] if bom else data
        cookie = _cookie(body)
        encoding = _codec(cookie) if cookie else "utf-8"
        if bom and encoding != "utf-8":
            raise SourceError(f"encoding cookie {cookie!r} contradicts the UTF-8 byte order mark")
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError as error:
            raise SourceError(f"not valid {encoding} at byte {error.start + len(data) - len(body)}") from None
        except (LookupError, UnicodeError):
            raise SourceError(f"unknown encoding {encoding!r}") from None
        if "\0" in text:
            raise SourceError("source contains null bytes")
        return cls(path, text, encoding, bom, dominant_newline(text))

    def encode(self, text: str) -> bytes:
        """`text` in the file's encoding, with its byte order mark. Raises `SourceError`."""
        try:
            return (BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise SourceError(f"{error.object[error.start]!r} cannot be written in {self.encoding}") from None

    def analysed(self, text: str, left_out: Collection[int] = ()) -> str:
        """What is parsed for `text`: the text itself. Only notebooks have cells to leave out."""
        return text

    def with_text(self, text: str) -> Document:
        """The file with another text."""
        return self if text == self.text else replace(self, text=text, _lines=[])

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic as reports show it: as it is."""
        return diagnostic

    def describe_row(self, row: int) -> str:
        """How a message names a row."""
        return str(row)

    @property
    def lines(self) -> LineIndex:
        """The rows of the text."""
        if not self._lines:
            self._lines.append(LineIndex(self.text))
        return self._lines[0]

    def position(self, offset: int) -> Position:
        """The position of `offset` (0-based, code points). Raises `ValueError` outside the text."""
        return self.lines.position(offset)

    def offset(self, position: Position) -> int:
        """The offset of `position`. Raises `ValueError` outside the text."""
        return self.lines.offset(position)


def dominant_newline(text: str) -> str:
    """The line end that most lines of `text` have; "\\n" where there is none."""
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=counts.__getitem__)


def _codec(cookie: str) -> str:
    """The codec that Python takes for an encoding cookie. Raises `SourceError`."""
    normal = cookie[:12].lower().replace("_", "-")
    # As Python's tokenizer has it, for the sake of Emacs: `utf-8-unix` and its like.
    if normal == "utf-8" or normal.startswith("utf-8-"):
        return "utf-8"
    if normal.startswith(("latin-1-", "iso-8859-1-", "iso-latin-1-")):
        return "iso-8859-1"
    try:
        name = lookup(cookie).name
    except LookupError:
        raise SourceError(f"unknown encoding {cookie!r}") from None
    return "utf-8" if name == "utf-8" else cookie


def _cookie(body: bytes) -> str | None:
    """The encoding that one of the first two lines declares, the second only below a line without code."""
    for line in _HEAD.split(body[:4096], maxsplit=2)[:2]:
        match = _COOKIE.match(line)
        if match:
            return match.group(1).decode("ascii", "replace")
        if not _NO_CODE.match(line):
            return None
    return None

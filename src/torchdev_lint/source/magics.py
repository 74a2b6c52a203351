"""IPython's own syntax in the cells of a notebook, replaced by Python that means as much and stands at the same places.

Rows never move, and what stays code keeps its columns, so positions in the masked text are positions in the cell. What a
magic may have executed in the notebook's namespace is either kept as code (`%time model.to(device)`) or makes every name
that it mentions unknown: a move that is overlooked would end in a false alarm.

Syntax: IPython's `core/inputtransformer2.py`; what the magics execute: its `core/magics/`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection

from torchdev_lint.source.comments import logical_line_end

NOTHING = "pass"
UNKNOWN = "get_ipython()"
"""A call that nothing is known of."""

_SUSPECT = re.compile(
    r"""(?mx) ^[ \t]*(?: [%!?,;/] | (?:pip|conda|mamba|uv|cd|ls|ll|cat|cp|mv|rm|mkdir|rmdir|pwd)[ \t] )
    | \?[ \t]*\r?$
    | =[ \t]*[%!]"""
)
"""A text without a match has no magics. Not the other way round."""

_CELL = re.compile(r"%%(?P<name>[\w.]+)(?P<rest>[^\r\n]*)")
_ESCAPED = re.compile(r"[ \t]*[%!?,;/]")
_HELP = re.compile(r"[^#'\"\r\n]*\?[ \t]*\Z")
_AUTOMAGIC = re.compile(
    r"[ \t]*(?:pip|conda|mamba|uv|cd|ls|ll|cat|cp|mv|rm|mkdir|rmdir|pwd)[ \t]+"
    r"(?!(?:in|is|if|and|or|not|for)\b)-{0,2}[\w.~/]"
)
"""`pip install x`: with IPython's automagic the `%` may be left out."""
_ASSIGNED = re.compile(
    r"""(?x) [ \t]* (?: [^=\#'"\r\n] | \[ (?: '[^'\r\n]*' | "[^"\r\n]*" ) \] )* =[ \t]* (?P<magic>[%!]) """
)
_TRAINS = re.compile(
    r"(?i)[ \t]*(?:%run|!{1,2}[ \t]*(?:\w+=\S+[ \t]+)*(?:python3?|torchrun|accelerate|bash|sh))[ \t][^\r\n]*train"
)
"""A program of its own that trains, and leaves files: `!python train.py`."""
_LINE = re.compile(r"%{1,2}(?P<name>[\w.]+)(?P<rest>[^\r\n]*)")
_COMPOUND = re.compile(r"(?:if|for|while|with|try|def|class|async|match)\b|@")
_IDENTIFIER = re.compile(r"(?<![\w.])[^\W\d]\w*")
_IMPORT = re.compile(r"(?m)^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+([^\r\n]+)")

_RUNS_ITS_LINE = {
    "time": "",
    "timeit": "nrp",
    "prun": "lsTD",
    "lprun": "fmTDsuz",
    "mprun": "fT",
    "memit": "rti",
}
"""Magics that execute the code behind them here, and the letters of their options that take a value."""

_RUNS_ITS_CELL = frozenset(
    "time timeit capture prun debug ipytest memit lprun mprun snakeviz pyinstrument".split()
)
"""Cell magics that execute the rest of the cell here, as Python."""

_RUNS_ELSEWHERE = frozenset(
    "bash sh script sx system cmd powershell python python2 python3 pypy perl ruby html HTML svg SVG latex markdown javascript js "
    "writefile file sql bigquery R julia cython cuda cu cpp c shell script skip false writetemplate mermaid".split()
)
"""Cell magics whose cell is another language, another process or only text."""


def masked(text: str, imported: Collection[str] = ()) -> str:
    """The cell `text` without IPython's syntax; `imported` are names that no magic is believed to change."""
    text = _without_surrogates(text)
    return "".join(_masked(text, imported)) if _SUSPECT.search(text) else text


def opaque(text: str, imported: Collection[str] = ()) -> str:
    """The cell `text` as code that nothing is known of: neither what it does nor what its names hold afterwards."""
    return "".join([_forget(text, imported), *_blank(text)])


def imported_names(text: str) -> frozenset[str]:
    """The names that import statements of `text` seem to bind."""
    listed = (match.group(1) for match in _IMPORT.finditer(text))
    return frozenset(name for names in listed for name in _IDENTIFIER.findall(names))


def _without_surrogates(text: str) -> str:
    """Half a surrogate pair, which JSON may hold, is nothing that a parser takes."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _masked(text: str, imported: Collection[str]) -> list[str]:
    pieces: list[str] = []
    position = 0
    at_top = True
    while position < len(text):
        end = _line_end(text, position)
        row, newline = _split_newline(text[position:end])
        if at_top and (match := _CELL.match(row)) and not row.rstrip().endswith("?"):
            mask, goes_on = _cell_magic(match["name"], match["rest"], text[end:], imported)
            pieces += [mask, newline]
            if not goes_on:
                return [*pieces, *_blank(text[end:])]
            position = end
            continue
        at_top = at_top and (not row.strip() or row.lstrip().startswith("#"))
        mask_of_row = _row(row, imported)
        if mask_of_row is not None:
            if mask_of_row.endswith("\\"):
                mask_of_row = _forget(text[position:], imported)  # Code that goes on in the next row.
            pieces += [mask_of_row, newline]
            while row.endswith("\\") and end < len(text):
                position, end = end, _line_end(text, end)
                row, newline = _split_newline(text[position:end])
                pieces.append(newline)
            position = end
            continue
        end = logical_line_end(text, position)
        pieces.append(text[position:end])
        position = end
    return pieces


def _cell_magic(name: str, rest: str, body: str, imported: Collection[str]) -> tuple[str, bool]:
    """What stands for the row of a cell magic, and whether the rows below it are code of this notebook."""
    if name in _RUNS_ITS_CELL:
        # What stands behind `%%timeit` is its setup.
        return (_executed(name, f"%%{name}", rest, imported) if name in _RUNS_ITS_LINE else NOTHING), True
    if name in _RUNS_ELSEWHERE:
        return NOTHING, False
    return _forget(f"{rest}\n{body}", imported), False


def _row(row: str, imported: Collection[str]) -> str | None:
    """What stands for the first row of a logical line that is IPython's; None for one that is Python's."""
    indent = row[: len(row) - len(row.lstrip())]
    if _ESCAPED.match(row):
        match = _LINE.match(row, len(indent))
        if _TRAINS.match(row):
            return indent + UNKNOWN
        if match is None or row.rstrip().endswith("?"):
            return indent + NOTHING
        return indent + _line_magic(match, imported)
    if _HELP.match(row) or _AUTOMAGIC.match(row):
        return indent + NOTHING
    assigned = _ASSIGNED.match(row)
    if assigned is None:
        return None
    start = assigned.start("magic")
    match = _LINE.match(row, start)
    if match is not None and match["name"] == "time":
        skipped, code = _options(match["rest"], "")
        if code:
            return row[:start] + " " * (len("%time") + skipped) + code
    return row[:start] + UNKNOWN


def _line_magic(match: re.Match[str], imported: Collection[str]) -> str:
    name, rest = match["name"], match["rest"]
    if name in _RUNS_ITS_LINE:
        return _executed(name, f"%{name}", rest, imported)
    # `%matplotlib inline` executes nothing; `%profile fit(model)` may.
    return _forget(rest, imported) if "(" in rest else NOTHING


def _executed(name: str, head: str, rest: str, imported: Collection[str]) -> str:
    """The code behind a magic at its columns, below a statement in place of the magic."""
    skipped, code = _options(rest, _RUNS_ITS_LINE[name])
    if not code:
        return NOTHING
    if _COMPOUND.match(code):
        return _forget(code, imported)  # A compound statement cannot follow another on its row.
    return f"{NOTHING};".ljust(len(head) + skipped) + code


def _options(rest: str, valued: str) -> tuple[int, str]:
    """How wide the options of a magic are, and the code behind them."""
    position = 0
    option = re.compile(r"[ \t]+-(?P<letter>[A-Za-z])(?P<value>\S*)(?=[ \t]|\Z)")
    while match := option.match(rest, position):
        position = match.end()
        if match["letter"] in valued and not match["value"]:
            value = re.compile(r"[ \t]+\S+").match(rest, position)
            position = value.end() if value else position
    code = rest[position:].lstrip(" \t")
    return len(rest) - len(code), code


def _forget(code: str, imported: Collection[str]) -> str:
    """A statement after which nothing is known of the names in `code`."""
    names = dict.fromkeys(_IDENTIFIER.findall(code))
    forgotten = [
        name
        for name in names
        if name not in imported and not keyword.iskeyword(name) and not hasattr(builtins, name)
    ]
    return " = ".join([*forgotten, UNKNOWN]) if forgotten else NOTHING


def _blank(text: str) -> list[str]:
    return re.findall(r"\r\n|\n|\r", text)


def _line_end(text: str, start: int) -> int:
    """The offset behind the line end that follows `start`."""
    match = re.compile(r"\r\n|\n|\r").search(text, start)
    return match.end() if match else len(text)


def _split_newline(line: str) -> tuple[str, str]:
    row = line.rstrip("\r\n")
    return row, line[len(row) :]

"""Reading stub files: TOML to facts, with one line for whatever is wrong in them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeGuard

from torchdev_lint.files import read_bytes
from torchdev_lint.stubs.facts import ANY_ARGUMENT, KINDS, RETURNS, Fact, Handed, Library


class StubError(Exception):
    """A stub file that cannot be used; the message is one line that names the file, the key and the cause."""


def read_library(path: str) -> Library:
    """The facts in the stub file at `path`. Raises `StubError`."""
    try:
        text = read_bytes(path).decode("utf-8")
    except OSError as error:
        raise StubError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise StubError(f"{path}: not valid UTF-8 at byte {error.start}") from None
    return parse_library(text, path)


def parse_library(text: str, where: str) -> Library:
    """The facts in the text of a stub file; `where` names it in errors. Raises `StubError`."""
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document = dict(toml.loads(text))
    except ValueError as error:
        raise StubError(f"{where}: not valid TOML: {error}") from None
    except RecursionError:
        raise StubError(f"{where}: not valid TOML: nested too deeply") from None
    name = document.pop("library", None)
    if not isinstance(name, str) or _LIBRARY.match(name) is None:
        raise StubError(
            f"{where}: 'library' must be the name that is imported, such as 'mylib', not {name!r}"
        )
    plain = {key: document.pop(key, "") for key in ("alias-of", "source", "notes")}
    for key, value in plain.items():
        if not isinstance(value, str):
            raise StubError(f"{where}: {key!r} must be a string, not {value!r}")
    moves_nothing = document.pop("moves-nothing", False)
    if not isinstance(moves_nothing, bool):
        raise StubError(f"{where}: 'moves-nothing' must be true or false, not {moves_nothing!r}")
    tables = {kind: _facts(document.pop(kind, []), kind, where) for kind in _KEYS}
    for key in document:
        known = [*_KEYS, "library", *plain, "moves-nothing"]
        raise StubError(f"{where}: unknown key {key!r}{_near(key, known)}")
    return Library(
        name,
        plain["alias-of"],
        tables["function"],
        tables["class"],
        tables["method"],
        plain["source"],
        plain["notes"],
        moves_nothing,
    )


def _facts(tables: object, kind: str, where: str) -> tuple[Fact, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise StubError(f"{where}: {kind!r} must be an array of tables: [[{kind}]]")
    return tuple(_fact(table, kind, f"{where}: {kind} {number}") for number, table in enumerate(tables, 1))


def _fact(table: Mapping[str, Any], kind: str, where: str) -> Fact:
    fields: dict[str, Any] = {"is_class": kind == "class"}
    for key, value in table.items():
        reader = _READERS.get(key) if key in _KEYS[kind] else None
        if reader is None:
            raise StubError(f"{where}: unknown key {key!r}{_near(key, _KEYS[kind])}")
        try:
            fields[key.replace("-", "_")] = reader(value)
        except ValueError as error:
            raise StubError(f"{where}: {key!r} must be {error}, not {value!r}") from None
    if "names" not in fields:
        raise StubError(f"{where}: 'names' is missing")
    return Fact(**fields)


def _near(word: str, known: list[str]) -> str:
    import difflib  # Only needed once something is wrong.

    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


_LIBRARY = re.compile(r"[^\W\d]\w*\Z")


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
        raise ValueError("a list of names")
    return tuple(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a name")
    return value


def _one_of(known: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in known:
            raise ValueError(f"one of {', '.join(known)}")
        return str(value)

    return read


def _returns(value: object) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else [value]
    if not parts or any(part not in RETURNS for part in parts):
        raise ValueError(f"one of {', '.join(RETURNS)}, or a list of these for a tuple")
    return tuple(parts)


def _argument(value: object) -> tuple[int, str]:
    match value:
        case [int(position), str(name)] if position >= 0 and not isinstance(position, bool):
            return position, name
        case _:
            raise ValueError('the position and the name of an argument, such as [0, "tensor"]')


def _followed(value: object) -> tuple[int, str]:
    return ANY_ARGUMENT if value == "any" else _argument(value)


def _reads(value: object) -> str:
    if value == "lists":
        return "lists"
    if not isinstance(value, bool):
        raise ValueError('true, false or "lists"')
    return "always" if value else ""


def _when(value: object) -> tuple[tuple[str, bool | int | float | str], ...]:
    if not isinstance(value, dict) or not all(isinstance(v, (bool, int, float, str)) for v in value.values()):
        raise ValueError("a table of keyword arguments and their values")
    return tuple(value.items())


def _hooks(value: object) -> tuple[tuple[str, Handed], ...]:
    if not isinstance(value, dict):
        raise ValueError("a table of methods and what they are given")
    return tuple((name, _handed(given)) for name, given in value.items())


def _needs(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(needed, str) for needed in value.values()):
        raise ValueError("a table of methods and the methods that they need")
    return tuple(value.items())


def _handed(value: object) -> Handed:
    if _is_position(value):
        return Handed(batch=value, own=True)
    if isinstance(value, dict) and value and value.keys() <= {"batch", "model", "tensors"}:
        tensors = value.get("tensors", [])
        single = [value[key] for key in ("batch", "model") if key in value]
        if isinstance(tensors, list) and all(map(_is_position, [*single, *tensors])):
            return Handed(value.get("batch", 0), value.get("model", 0), tuple(tensors))
    raise ValueError(
        "a table of methods and the positions (after self) of their batches, or a table of those of batch, model and tensors"
    )


def _is_position(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_READERS: dict[str, Callable[[Any], Any]] = {
    "names": _names,
    "of": _names,
    "when": _when,
    "unless": _names,
    "returns": _returns,
    "makes": _text,
    "follows": _followed,
    "passes-through": _argument,
    "yields": _one_of(("cpu-tensor", "cpu-batch", "cpu-mapping")),
    "reads-on-host": _reads,
    "moves-inputs": _flag,
    "brings-arguments": _flag,
    "kind": _one_of(KINDS),
    "placed-by": _names,
    "without-parameters": _flag,
    "moves-in-place": _flag,
    "named-device": _flag,
    "device-property": _flag,
    "composes": _flag,
    "gathers": _flag,
    "known-as": _names,
    "hooks": _hooks,
    "runs": _names,
    "needs": _needs,
    "drives": _argument,
}
_CALLS = [
    "names",
    "when",
    "unless",
    "returns",
    "makes",
    "follows",
    "passes-through",
    "yields",
    "reads-on-host",
]
_KEYS: dict[str, list[str]] = {
    "function": [*_CALLS, "moves-inputs", "placed-by"],
    "class": [
        "names",
        "unless",
        "kind",
        "placed-by",
        "without-parameters",
        "moves-inputs",
        "moves-in-place",
        "named-device",
        "device-property",
        "returns",
        "follows",
        "composes",
        "gathers",
        "yields",
        "reads-on-host",
        "known-as",
        "hooks",
        "runs",
        "needs",
    ],
    "method": [*_CALLS, "of", "moves-inputs", "brings-arguments", "drives"],
}
"""The keys that each kind of table may have. In a class, `returns` and `follows` speak of calling an instance."""

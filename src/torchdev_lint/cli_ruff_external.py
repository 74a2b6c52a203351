"""`torchdev-lint --add-ruff-external`: tells Ruff in its own configuration that `# noqa: TDV001` is none of its business.

Without `external = ["TDV"]` Ruff's RUF100 and RUF102 call our codes unknown, and their fixes delete them from comments.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError
from torchdev_lint.config_file import parse_text
from torchdev_lint.files import read_bytes

FAMILY = "TDV"
FILE_NAMES = (".ruff.toml", "ruff.toml", "pyproject.toml")
"""Where Ruff looks, in its order."""

_ARRAY = re.compile(r"^[ \t]*(?:lint[ \t]*\.[ \t]*)?external[ \t]*=[ \t]*\[", re.MULTILINE)
_TOKEN = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*|\]", re.DOTALL)
_HEADER = re.compile(
    r"^[ \t]*\[{1,2}[ \t]*([^\]\n]+?)[ \t]*\]{1,2}[ \t]*(?:#[^\r\n]*)?(?=\r?$)", re.MULTILINE
)


def add_external(arguments: Sequence[str]) -> int:
    """Do what `arguments` ask for; returns the exit code. Raises `ConfigError`."""
    parser = Parser(
        prog="torchdev-lint --add-ruff-external",
        description="Add TDV to `lint.external` of Ruff's configuration, so that Ruff leaves `# noqa: TDV001` alone.",
        allow_abbrev=False,
    )
    parser.add_argument("path", nargs="?", default=".", help="the file, or where to look for it (default: .)")
    parser.add_argument("--diff", action="store_true", help="print what would be changed, and change nothing")
    given = parser.parse_args([one for one in arguments if one != "--add-ruff-external"])
    path = _find(given.path)
    try:
        data = read_bytes(path)
        text = data.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from None
    after = with_external(text, path)
    if after == text:
        print(f"{path}: `external` has {FAMILY} already", file=sys.stderr)
    elif given.diff:
        _print_diff(path, text, after)
    else:
        _write(path, after.encode("utf-8"), data)
        print(f'Added "{FAMILY}" to `external` in {path}.', file=sys.stderr)
    return 0


def _find(start: str) -> str:
    """The file that Ruff's settings for `start` come from; a pyproject.toml if there is no such file yet."""
    if os.path.isfile(start):
        return start
    if not os.path.isdir(start):
        raise ConfigError(f"--add-ruff-external: {start}: no such file or directory")
    directory, fallback = os.path.abspath(start), ""
    while True:
        for name in FILE_NAMES:
            path = os.path.join(directory, name)
            if not os.path.isfile(path):
                continue
            if name != FILE_NAMES[-1] or _has_section(path):
                return os.path.relpath(path)
            fallback = fallback or path
        parent = os.path.dirname(directory)
        if parent == directory:
            break
        directory = parent
    if fallback:
        return os.path.relpath(fallback)
    raise ConfigError(
        f"--add-ruff-external: no ruff.toml or pyproject.toml in {os.path.abspath(start)} or above; create one"
    )


def _has_section(path: str) -> bool:
    try:
        text = read_bytes(path).decode("utf-8")
        return isinstance(parse_text(text, path).get("tool", {}).get("ruff"), dict)
    except (OSError, UnicodeDecodeError, AttributeError):
        return False


def with_external(text: str, path: str) -> str:
    """`text`, the content of the configuration file `path`, with our family among `lint.external`; every other character stays.

    Raises `ConfigError` for a file that is not TOML, or whose shape leaves no place for it.
    """
    pyproject = os.path.basename(path) == FILE_NAMES[-1]
    place = ("tool", "ruff", "lint") if pyproject else ("lint",)
    before = parse_text(text, path)
    listed = _external(before, place)
    if not isinstance(listed, list):
        raise ConfigError(f"{path}: 'external' must be a list of strings, not {listed!r}")
    if any(isinstance(one, str) and one and FAMILY.startswith(one) for one in listed):
        return text
    wanted = [*listed, FAMILY]
    newline = "\r\n" if "\r\n" in text else "\n"
    for candidate in _candidates(text, ".".join(place), newline):
        try:
            after = parse_text(candidate, path)
        except ConfigError:
            continue
        # Whatever was edited, the file must say what it said before and this.
        if _external(after, place) == wanted and _without(after, place) == _without(before, place):
            return candidate
    raise ConfigError(
        f'{path}: no place was found for it; add external = ["{FAMILY}"] to [{".".join(place)}]'
    )


def _candidates(text: str, table: str, newline: str) -> Iterator[str]:
    """The ways to write it, the one that fits the file best first."""
    for match in _ARRAY.finditer(text):
        end = _end_of_array(text, match.end())
        if end is not None:
            yield text[: match.end()] + _longer(text[match.end() : end], newline) + text[end:]
    line = f'external = ["{FAMILY}"]{newline}'
    headers = [(match.group(1).replace(" ", ""), match) for match in _HEADER.finditer(text)]
    ends = [*(match.start() for _, match in headers[1:]), len(text)][: len(headers)]
    family = table.rpartition(".")[0]
    after = [
        end
        for (name, _), end in zip(headers, ends, strict=True)
        if family and f"{name}.".startswith(f"{family}.")
    ]
    for name, match in headers:
        if name == table:
            yield f"{text[: match.end()]}{newline}{line}{text[match.end() :].removeprefix(newline)}"
    yield _inserted(text, after[-1] if after else len(text), f"[{table}]{newline}{line}", newline)
    for name, match in headers:
        if name == family:
            yield f"{text[: match.end()]}{newline}lint.{line}{text[match.end() :].removeprefix(newline)}"
    yield f"lint.{line}{text}"


def _inserted(text: str, at: int, block: str, newline: str) -> str:
    """`text` with a table of its own at an offset where another one, or the file, ends."""
    head, tail = text[:at].rstrip(), text[at:]
    head = f"{head}{newline}{newline}" if head else ""
    return f"{head}{block}{newline if tail else ''}{tail}"


def _end_of_array(text: str, start: int) -> int | None:
    """Where the `]` of an array of strings is; strings and comments before it are passed over."""
    return next((match.start() for match in _TOKEN.finditer(text, start) if match.group() == "]"), None)


def _longer(body: str, newline: str) -> str:
    """The inside of an array of strings with one more at its end, in the array's own style."""
    items = [match for match in _TOKEN.finditer(body) if not match.group().startswith("#")]
    if not items:
        return f'{body}"{FAMILY}"' if "\n" in body else f'"{FAMILY}"'
    last = items[-1]
    rest = body[last.end() :]
    comma = rest.lstrip().startswith(",")
    if "\n" not in body:
        return f'{body[: last.end()]}, "{FAMILY}"{rest}'
    start = body.rfind("\n", 0, last.start()) + 1
    indent = re.match(r"[ \t]*", body[start:])
    margin = indent.group() if indent is not None else ""
    if not comma:
        return f'{body[: last.end()]},{newline}{margin}"{FAMILY}"{rest}'
    line_end = rest.find("\n")
    # What follows the last item on its line, a comment perhaps, stays with it.
    return f'{body[: last.end()]}{rest[: line_end + 1]}{margin}"{FAMILY}",{newline}{rest[line_end + 1 :]}'


def _external(document: Mapping[str, Any], place: Sequence[str]) -> Any:
    table: Any = document
    for key in place:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    return table.get("external", []) if isinstance(table, dict) else []


def _without(document: Mapping[str, Any], place: Sequence[str]) -> dict[str, Any]:
    """The document less the list, and less tables that hold nothing else."""
    if not place:
        return {key: value for key, value in document.items() if key != "external"}
    copy = dict(document)
    inner = copy.pop(place[0], {})
    rest = _without(inner, place[1:]) if isinstance(inner, dict) else inner
    return {**copy, place[0]: rest} if rest else copy


def _print_diff(path: str, before: str, after: str) -> None:
    from torchdev_lint.report import diff
    from torchdev_lint.report.style import write

    write(diff.render(path, before, after), sys.stdout, colour=False)


def _write(path: str, after: bytes, before: bytes) -> None:
    from torchdev_lint.fixes.writer import WriteError, replace_content

    try:
        replace_content(path, after, before)
    except WriteError as error:
        raise ConfigError(f"{path}: {error}") from None

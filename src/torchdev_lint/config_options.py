"""Every option of the configuration: its name, what it takes, its default, what it is for.

The one place where options are listed: the reader of TOML, the JSON Schema, `torchdev-lint config` and docs/configuration.md
all follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torchdev_lint.config import DEFAULT_EXCLUDE, DEFAULT_INCLUDE, OUTPUT_FORMATS

_DOTTED_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?\Z")
_SELECTOR = "^(ALL|TDV[0-9]{0,3})$"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: what it is called, its JSON Schema, and how it is read (raises ValueError with what is expected)."""

    text: str
    schema: Mapping[str, Any]
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Option:
    """One key of the configuration: `default` (unless it says `none: ...`) and `example` are TOML.

    The first line of `doc` can stand alone.
    """

    name: str
    kind: Kind
    default: str
    doc: str
    example: str
    group: str

    @property
    def field(self) -> str:
        """The field of `Config`."""
        return self.name.replace("-", "_")


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of strings")
    return tuple(value)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(name, str) and _DOTTED_NAME.match(name) for name in value
    ):
        raise ValueError("a list of function names such as 'encode' or 'mylib.encode'")
    return tuple(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _format(value: object) -> str:
    if value not in OUTPUT_FORMATS:
        raise ValueError(f"one of {', '.join(OUTPUT_FORMATS)}")
    return str(value)


def _path(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a path")
    return value


def _version(value: object) -> tuple[int, ...]:
    if not isinstance(value, str) or not _VERSION.match(value):
        raise ValueError("a version of PyTorch such as '2.4'")
    return tuple(int(part) for part in value.split("."))


def _ignores(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ValueError("a table of patterns and lists of codes")
    try:
        return tuple((str(pattern), _strings(codes)) for pattern, codes in value.items())
    except ValueError:
        raise ValueError("a table of patterns and lists of codes") from None


_TEXT = {"type": "string"}
_SELECTORS = {"type": "array", "items": {"type": "string", "pattern": _SELECTOR}}

SELECTORS = Kind("list of rule selectors", _SELECTORS, _strings)
PATTERNS = Kind("list of path patterns", {"type": "array", "items": _TEXT}, _strings)
PATHS = Kind("list of paths", {"type": "array", "items": _TEXT}, _strings)
NAMES = Kind(
    "list of function names",
    {"type": "array", "items": {"type": "string", "pattern": r"^[^\W\d]\w*(\.[^\W\d]\w*)*$"}},
    _names,
)
FLAG = Kind("true or false", {"type": "boolean"}, _flag)
PATH = Kind("path", {"type": "string", "minLength": 1}, _path)
FORMAT = Kind("name of a format", {"type": "string", "enum": list(OUTPUT_FORMATS)}, _format)
VERSION = Kind("version of PyTorch", {"type": "string", "pattern": r"^[0-9]+\.[0-9]+(\.[0-9]+)?$"}, _version)
PER_FILE = Kind(
    "table of path patterns and lists of rule selectors",
    {"type": "object", "additionalProperties": _SELECTORS},
    _ignores,
)


def _list(items: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"


START, RULES, FILES, FIXES = "Where it starts", "Rules", "Files", "Fixes"
INFERENCE, OUTPUT = "What the linter cannot see", "Output"

OPTIONS: tuple[Option, ...] = (
    Option(
        "extend",
        PATH,
        '""',
        """A configuration file to start from: what stands in this file goes on top.
Relative to this file; `~` and environment variables are expanded. Its own patterns and paths stay relative to where it is.
A list replaces that of the extended file, but `extend-select`, `extend-exclude`, `extend-include`, `extend-fixable` and
`extend-per-file-ignores` are added to it; so are `ignore` and `unfixable` as long as this file has no `select` or `fixable`
of its own.""",
        'extend = "../pyproject.toml"',
        START,
    ),
    Option(
        "select",
        SELECTORS,
        "none: the rules that are on by default",
        """The rules that are on: codes, their prefixes, or `ALL`.
Where `select` and `ignore` both cover a rule, the longer selector wins, and `ignore` where they are equally long. TDV900 is on only if
it is named; TDV000 and TDV999 are on unless they are ignored by name.""",
        'select = ["TDV001", "TDV004"]',
        RULES,
    ),
    Option(
        "extend-select",
        SELECTORS,
        "[]",
        "Rules that are on besides those of `select`, or besides the default ones.",
        'extend-select = ["TDV101"]',
        RULES,
    ),
    Option(
        "ignore",
        SELECTORS,
        "[]",
        "Rules that are off.",
        'ignore = ["TDV002"]',
        RULES,
    ),
    Option(
        "per-file-ignores",
        PER_FILE,
        "{}",
        """Rules that are off in some files, by path pattern.
A `!` before a pattern means every file that it does not match.""",
        '[tool.torchdev-lint.per-file-ignores]\n"tests/*" = ["TDV002"]\n"!src/*" = ["TDV1"]',
        RULES,
    ),
    Option(
        "extend-per-file-ignores",
        PER_FILE,
        "{}",
        "More of `per-file-ignores`, besides those of an extended file.",
        '[tool.torchdev-lint.extend-per-file-ignores]\n"notebooks/*" = ["TDV101"]',
        RULES,
    ),
    Option(
        "include",
        PATTERNS,
        _list(DEFAULT_INCLUDE),
        """The files to check in a directory, by pattern.
A file that is given by name is checked whatever it is called. Other suffixes than `.ipynb` are read as Python.""",
        'include = ["*.py", "*.ipynb", "scripts/train"]',
        FILES,
    ),
    Option(
        "extend-include",
        PATTERNS,
        "[]",
        "Files to check besides those of `include`.",
        'extend-include = ["*.pyw"]',
        FILES,
    ),
    Option(
        "exclude",
        PATTERNS,
        _list(DEFAULT_EXCLUDE),
        """Files and directories to leave out, instead of the default ones.
A pattern without a slash is compared with names, one with a slash with paths relative to this file; `*` also matches `/`.""",
        'exclude = ["third_party", "legacy/*.py"]',
        FILES,
    ),
    Option(
        "extend-exclude",
        PATTERNS,
        "[]",
        "Files and directories to leave out besides those of `exclude`.",
        'extend-exclude = ["generated"]',
        FILES,
    ),
    Option(
        "force-exclude",
        FLAG,
        "false",
        "Whether excluded files are left out even when they are given by name, as pre-commit does.",
        "force-exclude = true",
        FILES,
    ),
    Option(
        "respect-gitignore",
        FLAG,
        "true",
        "Whether to leave out what `.gitignore` files name.",
        "respect-gitignore = false",
        FILES,
    ),
    Option(
        "fixable",
        SELECTORS,
        '["ALL"]',
        "The rules whose fixes are offered and applied.",
        'fixable = ["TDV001", "TDV005"]',
        FIXES,
    ),
    Option(
        "extend-fixable",
        SELECTORS,
        "[]",
        "Rules whose fixes are offered besides those of `fixable`.",
        'extend-fixable = ["TDV003"]',
        FIXES,
    ),
    Option(
        "unfixable",
        SELECTORS,
        "[]",
        "Rules whose fixes are neither offered nor applied.",
        'unfixable = ["TDV002"]',
        FIXES,
    ),
    Option(
        "unsafe-fixes",
        FLAG,
        "false",
        "Whether fixes count, and are applied, that may change what the program does.",
        "unsafe-fixes = true",
        FIXES,
    ),
    Option(
        "target-torch",
        VERSION,
        "none: any version",
        """The oldest PyTorch that the code has to run with.
Fixes that would write newer API are not offered.""",
        'target-torch = "2.1"',
        FIXES,
    ),
    Option(
        "src",
        PATHS,
        '[".", "src"]',
        """The directories that imports of the project's own modules start from.
Relative to this file; the directories above a file count anyway.""",
        'src = ["lib", "tools"]',
        INFERENCE,
    ),
    Option(
        "tensor-constructors",
        NAMES,
        "[]",
        "Functions that return tensors on the CPU, by bare or dotted name.",
        'tensor-constructors = ["mylib.encode"]',
        INFERENCE,
    ),
    Option(
        "device-sources",
        NAMES,
        "[]",
        """Functions that return the device that the program works on, by bare or dotted name.
Every call of one gives the same device, which on some machine is an accelerator.""",
        'device-sources = ["mylib.current_device"]',
        INFERENCE,
    ),
    Option(
        "stubs",
        PATHS,
        "[]",
        "Files that say what libraries do to devices (docs/stubs.md), relative to this file.",
        'stubs = ["stubs/mylib.toml"]',
        INFERENCE,
    ),
    Option(
        "output-format",
        FORMAT,
        '"full"',
        "How findings are printed (docs/formats.md).",
        'output-format = "concise"',
        OUTPUT,
    ),
)

BY_NAME: Mapping[str, Option] = {option.name: option for option in OPTIONS}


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7, as SchemaStore wants) of the section, or of a whole torchdev-lint.toml."""
    properties = {option.name: {"description": option.doc, **option.kind.schema} for option in OPTIONS}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "torchdev-lint",
        "description": "[tool.torchdev-lint] in pyproject.toml, or a whole torchdev-lint.toml",
        "type": "object",
        "properties": dict(sorted(properties.items())),
        "additionalProperties": False,
    }

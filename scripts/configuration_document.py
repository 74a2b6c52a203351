"""What is derived from the table of options: the JSON Schema and the list in docs/configuration.md."""

from __future__ import annotations

import json
import re
from itertools import groupby

from fixture_files import ROOT

from torchdev_lint.config_options import OPTIONS, Option, json_schema

SCHEMA = ROOT / "torchdev-lint.schema.json"
CONFIGURATION = ROOT / "docs" / "configuration.md"

_PART = re.compile(r"(?<=<!-- derived: options -->\n).*(?=<!-- end -->)", re.DOTALL)


def schema_text() -> str:
    """The whole of torchdev-lint.schema.json."""
    return json.dumps(json_schema(), indent=2) + "\n"


def configuration(text: str) -> str:
    """docs/configuration.md with its list of options as it is to be."""
    groups = (
        f"## {name}\n\n{_group(list(options))}" for name, options in groupby(OPTIONS, lambda one: one.group)
    )
    listed = "\n\n".join(groups)
    return _PART.sub(lambda _: f"\n{listed}\n\n", text)


def _group(options: list[Option]) -> str:
    return "\n\n".join(_option(option) for option in options)


def _option(option: Option) -> str:
    _, _, example = option.example.rpartition("[tool.torchdev-lint]\n")
    head = "" if example.startswith("[") else "[tool.torchdev-lint]\n"
    none, _, meaning = option.default.partition("none: ")
    default = f"`{none}`" if none else meaning
    return (
        f"### `{option.name}`\n\n{option.doc}\n\n"
        f"Type: {option.kind.text}. Default: {default}.\n\n"
        f"```toml\n{head}{option.example}\n```"
    )

"""`torchdev-lint config`: lists and describes the options of the configuration, as `ruff config` does Ruff's."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError, did_you_mean
from torchdev_lint.config_options import BY_NAME, OPTIONS, Option, json_schema


def parser() -> argparse.ArgumentParser:
    """The arguments of `config`."""
    made = Parser(
        prog="torchdev-lint config",
        description="List the keys of the configuration, or describe one.",
        allow_abbrev=False,
    )
    made.add_argument("key", nargs="?", metavar="KEY", help="the name of an option")
    made.add_argument("--output-format", choices=("text", "json"), default="text")
    made.add_argument("--schema", action="store_true", help="print the JSON Schema of the configuration")
    return made


def describe(arguments: Sequence[str]) -> int:
    """Print what `arguments` ask for; returns the exit code. Raises `ConfigError` for an unknown key."""
    made = parser()
    given = made.parse_args(arguments)
    if given.schema:
        if given.key is not None:
            made.error("--schema takes no key")
        print(json.dumps(json_schema(), indent=2))
    elif given.key is None:
        if given.output_format == "json":
            print(json.dumps({option.name: facts(option) for option in OPTIONS}, indent=2))
        else:
            print("\n".join(option.name for option in OPTIONS))
    else:
        option = _find(given.key)
        print(json.dumps(facts(option), indent=2) if given.output_format == "json" else _text(option))
    return 0


def _find(key: str) -> Option:
    name = key.removeprefix("tool.torchdev-lint.")
    if name not in BY_NAME:
        raise ConfigError(f"config: unknown key {key!r}{did_you_mean(name, BY_NAME)}")
    return BY_NAME[name]


def facts(option: Option) -> dict[str, Any]:
    """What there is to say of an option, keys as Ruff has them."""
    return {
        "doc": option.doc,
        "default": option.default.removeprefix("none: "),
        "value_type": option.kind.text,
        "scope": None,
        "example": option.example,
        "deprecated": None,
    }


def _text(option: Option) -> str:
    return f"""{option.doc}

Default value: {option.default.removeprefix("none: ")}
Type: {option.kind.text}
Example usage:
```toml
{option.example}
```"""

"""The parser of every command: what it does not understand is told in one line."""

from __future__ import annotations

import argparse
from typing import NoReturn

from torchdev_lint.config import nearest

_UNKNOWN = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """An `argparse.ArgumentParser` whose errors name the near miss instead of listing every option; it exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Print the message, prefixed by the program's name, and exit with 2."""
        near = ""
        if message.startswith(_UNKNOWN):
            first = message.removeprefix(_UNKNOWN).split()[0].partition("=")[0]
            options = {option.lstrip("-"): option for option in self._option_string_actions}
            found = nearest(first.lstrip("-"), options)  # with their dashes all of them are alike
            near = f"; did you mean {options[found]!r}?" if found else "; --help lists the options"
        self.exit(2, f"{self.prog}: error: {message}{near}\n")

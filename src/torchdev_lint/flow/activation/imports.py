"""What the interpreter asks about imports, and the answers for a file on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from torchdev_lint.flow.domain.values import UNKNOWN, Api, Import, Namespace, Value

if TYPE_CHECKING:
    import libcst as cst

    from torchdev_lint.flow.activation.analysis import Analysis, Source
    from torchdev_lint.flow.activation.frame import Frame


class Imports(Protocol):
    """Who knows the other files of the project."""

    def in_package(self) -> bool:
        """Whether the checked file belongs to a package, as far as is known: to more than the program beside it."""

    def stands_in_package(self, path: str = "") -> bool:
        """Whether an `__init__.py` stands beside the file: what it defines can be imported from there."""

    def in_program(self) -> bool:
        """Whether the file is part of programs of which all is in sight: nobody else installs them."""

    def imported_texts(self, importer: str, base: str, names: Sequence[str]) -> list[tuple[str, str]]:
        """The files of the project, by path, with their texts, that `from base import names` in another file reads."""

    def lacks(self, importer: str, base: str, names: Sequence[str]) -> bool:
        """Whether `from base import names` in a file certainly fails: the project has not what it names."""

    def texts_around(self, analysis: Analysis) -> list[str]:
        """The texts of the scripts beside the checked file, and of the files of the project that it imports from."""

    def callers(self, name: str, told: str) -> list[tuple[str, cst.Module]]:
        """The other files of the project, by path, that call something of this name, and name what is `told` (a module or a class), too."""

    def tree(self, value: Import) -> cst.Module | None:
        """The file of the project that an imported name is from, parsed but not read."""

    def parsed(self, path: str) -> cst.Module | None:
        """Another file of the project, as `mentioning` names it, parsed but not read."""

    def in_notebooks(self, word: str) -> bool:
        """Whether a notebook of the project, other than the checked one, has a word."""

    def notebooks(self, word: str) -> list[tuple[str, str]] | None:
        """The other notebooks of the project that have a word, with the text of their cells; None where one cannot be read."""

    def documents(self, words: Sequence[str]) -> bool:
        """Whether a README of the project, beside the checked file or above it, has one of these words."""

    def is_searched(self) -> bool:
        """Whether the other files of the project are in sight."""

    def mentioning(self, word: str) -> list[tuple[str, str]] | None:
        """The other files of the project, by absolute path, with their texts, that have a word; None where they are not known."""

    def read_entering(self, name: str) -> bool:
        """Read the file of the project that enters something under a name in a table; whether there is one that was not read yet."""

    def imported(self, frame: Frame, base: str, name: str) -> Value:
        """What `from base import name` binds (`import base` when `name` is empty)."""

    def package(self, frame: Frame, path: str) -> Value:
        """What `import a.b.c` binds `a` to."""

    def star(self, frame: Frame, base: str) -> None:
        """Note `from base import *`."""

    def starred(self, source: Source, name: str) -> Value | None:
        """What a name stands for that came by a star."""

    def held(self, value: Value) -> Value:
        """The value of a name as an expression has it: a class is not read before something is done with it."""

    def force(self, value: Value) -> Value:
        """The value of an imported name, for which its file is read; any other value is itself."""

    def peek(self, value: Value) -> Value:
        """The same, as far as no file needs to be read for it."""

    def attribute(self, module: Namespace, name: str) -> Value:
        """The value of `module.name`."""

    def assign(self, module: Namespace, name: str) -> None:
        """`module.name` is set to something: its value is not known from here on."""

    def read_for(self, word: str) -> bool:
        """Read the files that have a word, and were imported, but that nothing was needed of; whether there were any."""

    def run(self, path: str) -> None:
        """Run another file of the project as the script that it is, with the checked file as it was read."""

    def is_known(self) -> bool:
        """Whether there is a project around the file."""

    def is_for_others(self) -> bool:
        """Whether the project is made to be installed by others: what installs it tells them who made it, or what for."""

    def runs_on_host(self) -> bool:
        """Whether the script beside the checked file never speaks of devices: then neither is anything else of its program on one."""


class NoImports:
    """A file on its own: every imported name is known by its path only."""

    def in_package(self) -> bool:
        """Nothing is known of what is beside it."""
        return True

    def stands_in_package(self, path: str = "") -> bool:
        """Nothing is known of what is beside it."""
        return True

    def runs_on_host(self) -> bool:
        """Nothing is known of what is beside it."""
        return False

    def read_for(self, word: str) -> bool:
        """There are none."""
        return False

    def run(self, path: str) -> None:
        """There are none."""

    def is_known(self) -> bool:
        """There is none."""
        return False

    def is_for_others(self) -> bool:
        """Nothing is known of who else has it."""
        return False

    def in_program(self) -> bool:
        """Nothing is known of who else has it."""
        return False

    def imported_texts(self, importer: str, base: str, names: Sequence[str]) -> list[tuple[str, str]]:
        """None are known."""
        return []

    def lacks(self, importer: str, base: str, names: Sequence[str]) -> bool:
        """It is not known what there is."""
        return False

    def texts_around(self, analysis: Analysis) -> list[str]:
        """None are known."""
        return []

    def callers(self, name: str, told: str) -> list[tuple[str, cst.Module]]:
        """None are known."""
        return []

    def tree(self, value: Import) -> cst.Module | None:
        """None is known."""
        return None

    def parsed(self, path: str) -> cst.Module | None:
        """None is known."""
        return None

    def in_notebooks(self, word: str) -> bool:
        """None are known."""
        return False

    def notebooks(self, word: str) -> list[tuple[str, str]] | None:
        """None are known."""
        return []

    def documents(self, words: Sequence[str]) -> bool:
        """None are known."""
        return False

    def is_searched(self) -> bool:
        """They are not."""
        return False

    def mentioning(self, word: str) -> list[tuple[str, str]] | None:
        """It is not known which they are."""
        return None

    def read_entering(self, name: str) -> bool:
        """There is none."""
        return False

    def imported(self, frame: Frame, base: str, name: str) -> Value:
        """The name's path."""
        return Api(joined(base, name))

    def package(self, frame: Frame, path: str) -> Value:
        """The path of the outermost package."""
        return Api(path.partition(".")[0])

    def star(self, frame: Frame, base: str) -> None:
        """Nothing is known of what a star brings."""

    def starred(self, source: Source, name: str) -> Value | None:
        """Nothing is known of what a star brings."""
        return None

    def held(self, value: Value) -> Value:
        """There is nothing to be read."""
        return value

    def force(self, value: Value) -> Value:
        """There is nothing to be read."""
        return value

    def peek(self, value: Value) -> Value:
        """There is nothing to be read."""
        return value

    def attribute(self, module: Namespace, name: str) -> Value:
        """There are no modules."""
        return UNKNOWN

    def assign(self, module: Namespace, name: str) -> None:
        """There are no modules."""


def joined(base: str, name: str) -> str:
    """The dotted path of `from base import name`."""
    if not name:
        return base
    return f"{base}{name}" if base.endswith(".") else f"{base}.{name}"

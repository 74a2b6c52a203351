"""Which code of a program gets to a function or class, and whether any of it puts things on an accelerator.

A function of a program (not of a library, which others install) is only ever given what the program's own files hand over, and a module
of it is only where they put it. So what leads to it is followed upwards, by name, without executing anything: the
definitions that name it, those that name these, up to what runs at the top of a file. Where none of these speaks of an accelerator,
nor any file that they get their helpers from, nothing there is on one.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.project.text_facts import remembered_of_text
from torchdev_lint.torch_api.devices import names_only_the_cpu, speaks_of_devices

MAX_NAMES = 12
"""Definitions on the way up; beyond that it is not known who gets there."""

_BLOCK = re.compile(r"(?:async\s+def|def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]+)?=(?!=)")
_LEFT = re.compile(r"(?m)^(?=[^\s#)\]}])")
_IMPORTS = re.compile(
    r"(?m)^[ \t]*(?:from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|(?:\\\r?\n|[^\n])*)|import[ \t]+[^\n]*)"
)
_IMPORTED = re.compile(
    r"(?m)^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|(?:\\\r?\n|[^\n#])*)|import[ \t]+([\w.]+))"
)

_MOVES_ITSELF = re.compile(r"\bself\s*\.\s*(?:to|cuda|xpu|mps)\(|(?i:device|accelerat)")
"""What a definition says that puts itself somewhere; it may take what it works on there and back."""

_LOOKS_UP = re.compile(
    r"getattr\(\s*(?:sys\.modules|\w*(?i:model|net|arch|module|zoo|layer|loss))\w*\s*,\s*(?![\"'])|"
    r"importlib|__import__|globals\(\)\s*\[|(?<![\w.])(?<!def )eval\(|instantiate\("
)
"""How programs find a class by a name that somebody gives them."""

_REGISTERED = re.compile(r"(?im)^@.*regist")
"""A definition that is found by what it was registered as."""

RUNS_MODELS = re.compile(
    r"(?i)lightning|\btrainer\b|\bTrainer\(|\bLearner\b|\brunner\b|accelerat|skorch|fastai|catalyst|poutyne|deepspeed|horovod|composer|keras"
)
"""Libraries, and what programs call things, that put a model on an accelerator of their own accord."""

_IN_NOTEBOOKS = ("cuda", "device", ".to(", "Trainer(", "Learner", "lightning", "accelerat")
"""What notebooks say that put something on an accelerator."""

Block = tuple[str, str]
"""A definition (or an assignment: `MODELS = {"a": A}`) at the top of a file, by name, with its text; what just runs has no name."""


def blocks(text: str) -> list[Block]:
    """The definitions and assignments at the top of a text, and first what stands between them, without its imports."""
    found: list[Block] = []
    between: list[str] = []
    starts = [match.start() for match in _LEFT.finditer(text)]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    decorators = ""
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        begun = _BLOCK.match(part)
        if part.startswith("@"):
            decorators += part
            continue
        if begun is not None:
            found.append((begun[1] or begun[2], decorators + part))
        else:
            between.append(part)
        decorators = ""
    return [("", without_imports("".join(between))), *found]


def without_imports(text: str) -> str:
    """A text less its import statements."""
    return _IMPORTS.sub("", text)


_LEFT_OUT = re.compile(r"(?s)\"\"\".*?\"\"\"|'''.*?'''|#[^\n]*")
"""What a text says to its readers."""


def said(text: str) -> str:
    """A text less its comments and documentation."""
    return _LEFT_OUT.sub("", text)


def stays_on_host(analysis: Analysis, name: str) -> bool:
    """Whether all that gets to a definition at the top of the checked file, of a program, leaves everything on the CPU.

    Something that runs has to get there: what nobody names may be for whoever finds it.
    """
    known: dict[str, bool] = analysis.notes.setdefault("reach", {})
    if name not in known:
        known[name] = analysis.imports.in_program() and _stays(analysis, name)
    return known[name]


def trains_on_host(analysis: Analysis) -> bool:
    """Whether the project trains models, and no file of it, nor what it trains them with, speaks of devices at all."""
    if places_things(said(analysis.written)):
        return False
    others = list(_related(analysis, analysis.imports.mentioning("torch") or ()))
    return not any(places_things(said(text)) for text in others) and any(
        ".backward(" in said(text) for text in others
    )


def is_all_on_host(analysis: Analysis) -> bool:
    """Whether nothing in the project but comments and documentation speaks of devices, in files and notebooks that name PyTorch.

    What a program says in a comment only (`# model.cuda()`) it does not do.
    """
    known: bool | None = analysis.notes.get("all on host")
    if known is None:
        known = analysis.notes["all on host"] = _is_all_on_host(analysis)
    return known


def _is_all_on_host(analysis: Analysis) -> bool:
    others = analysis.imports.mentioning("torch")
    if others is None:
        return False
    texts = (analysis.written, *_related(analysis, others))
    return not any(places_things(said(text)) for text in texts) and not any(
        map(analysis.imports.in_notebooks, _IN_NOTEBOOKS)
    )


def _stays(analysis: Analysis, name: str) -> bool:
    path, text = analysis.source.path, analysis.written
    own = blocks(text)
    if not any(one == name and not _MOVES_ITSELF.search(body) for one, body in own):
        return False
    if any(one == name and _REGISTERED.search(body) for one, body in own):
        return False
    done: set[tuple[str, str]] = set()
    pending = [(path, name)]
    run = False
    while pending:
        current = pending.pop()
        if current in done:
            continue
        done.add(current)
        notebooks = analysis.imports.notebooks(current[1])
        if len(done) > MAX_NAMES or notebooks is None:
            return False
        for file, cells in notebooks:
            if may_import(cells, file, current[0]):
                if places_things(cells) or any(map(places_things, _helpers(analysis, file, cells))):
                    return False
                run = True
        for file, block, body, whole in naming(analysis, own, *current):
            if places_things(whole if file != path or not block else body):
                return False
            if file != path and any(map(places_things, _helpers(analysis, file, whole))):
                return False
            if block and block != "main":
                pending.append((file, block))
            else:
                run = True
    return run and not _is_looked_up(analysis)


def _is_looked_up(analysis: Analysis) -> bool:
    """Whether a file that uses an accelerator finds classes or functions by a name that is only known when it runs."""
    return any(
        _LOOKS_UP.search(text) and places_things(text) and may_import(text, file, analysis.source.path)
        for word in ("getattr(", "importlib", "__import__", "globals()", "eval(", "instantiate(")
        for file, text in analysis.imports.mentioning(word) or ()
    )


def _related(analysis: Analysis, files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The texts of the files that may import the checked one, or be imported by it."""
    path = analysis.source.path
    for file, text in files:
        if may_import(text, file, path) or may_import(analysis.written, path, file):
            yield text


def may_import(text: str, file: str, other: str) -> bool:
    """Whether a file with this text may import another one: from beside or above it, or by a part of its path.

    A repository that collects the programs of several authors has many classes of one name, which have nothing to do with each other.
    """
    steps, others = _steps(file), _steps(other)
    shared = sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(steps, others, strict=False))
    )
    if shared >= len(others) - 1 or (shared >= len(steps) - 1 and len(steps) <= len(others)):
        return True
    parts = {os.path.splitext(part)[0] for part in others}
    for statement, base, names in _imports(text):
        if base.startswith("..") or not parts.isdisjoint([*re.findall(r"\w+", base), *names]):
            return True
        if "," in statement and not parts.isdisjoint(re.findall(r"\w+", statement)):
            return True
    return False


def _steps(path: str) -> list[str]:
    return os.path.abspath(path).split(os.sep)


def naming(
    analysis: Analysis, own: list[Block], defined_in: str, name: str
) -> Iterator[tuple[str, str, str, str]]:
    """The definitions of the project that name one: the file, their name and text, and the text of the file."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    others = analysis.imports.mentioning(name)
    for file, text in ((analysis.source.path, analysis.written), *(others or ())):
        if not word.search(text) or not (file == analysis.source.path or may_import(text, file, defined_in)):
            continue
        parts = own if file == analysis.source.path else blocks(text)
        if file != defined_in and any(one == name for one, _ in parts):
            continue  # it has one of its own
        for block, body in parts:
            if not (file == defined_in and block == name) and word.search(body):
                yield file, block, body, text


MAX_READ = 60
"""Files that are looked through for what a program imports; beyond that it is not known."""


def users(analysis: Analysis, name: str) -> dict[str, str] | None:
    """The files, by path, with their texts, whose definitions get to one at the top of the checked file, and that file itself.

    None where there are too many of them. An empty name: what just runs, which needs nobody.
    """
    own = blocks(analysis.written)
    files = {analysis.source.path: analysis.written}
    done: set[tuple[str, str]] = set()
    pending = [(analysis.source.path, name)] if name else []
    while pending:
        current = pending.pop()
        if current in done:
            continue
        done.add(current)
        if len(done) > MAX_NAMES:
            return None
        for file, block, _, whole in naming(analysis, own, *current):
            files[file] = whole
            if block:
                pending.append((file, block))
    return files


def with_imported(
    analysis: Analysis, files: Mapping[str, str], *, at_top: bool = False
) -> dict[str, str] | None:
    """Files, by path, with their texts, and all of the project that they import, directly or not; None where these are too many.

    `at_top`: as soon as they are imported themselves, not in functions nor in a `try`.
    """
    found: dict[str, str] = {}
    pending = list(files.items())
    while pending:
        path, text = pending.pop()
        if path in found:
            continue
        found[path] = text
        if len(found) > MAX_READ:
            return None
        for statement, base, names in _imports(text):
            if not (at_top and statement[0] in " \t"):
                pending += analysis.imports.imported_texts(path, base, names)
    return found


def imported_by(analysis: Analysis, file: str, text: str, word: str = "") -> Iterator[tuple[str, str]]:
    """The files of the project, by path, with their texts, that a file with this text imports from, in statements that have a word."""
    for statement, base, names in _imports(text):
        if word in statement:
            yield from analysis.imports.imported_texts(file, base, names)


def imports_at_once(text: str) -> list[tuple[str, list[str]]]:
    """What a text imports as soon as it is run, whatever happens: modules, and the names that are taken from each, less those of stars."""
    return [
        (
            base,
            re.findall(r"(?:^|,)\s*(\w+)", statement.partition(" import")[2].translate(_BRACKETS))
            if names
            else [],
        )
        for statement, base, names in _imports(text)
        if statement[0] not in " \t" and "*" not in statement
    ]


_BRACKETS = str.maketrans("(\\", "  ")


@remembered_of_text
def _imports(text: str) -> tuple[tuple[str, str, list[str]], ...]:
    """The import statements of a text: all of it, the module, and the names that are taken from it."""
    return tuple(
        (match.group(), match[1] or match[3], re.findall(r"\w+", match[2] or ""))
        for match in _IMPORTED.finditer(text)
    )


def _helpers(analysis: Analysis, file: str, text: str) -> Iterator[str]:
    """The texts of the files of the project that a file imports from, but for the one that is checked."""
    for path, imported in imported_by(analysis, file, text):
        if path != analysis.source.path and os.path.basename(path) != "__init__.py":
            yield imported


_OF_LIBRARIES = re.compile(
    r"(?im)^[ \t]*(?:from|import)[ \t]+(?:\w*lightning|transformers|trl|peft|setfit|sentence_transformers|accelerate|skorch|fastai|"
    r"catalyst|poutyne|deepspeed|horovod|composer|keras|ignite|mmengine|mmcv|detectron2|flair|speechbrain|super_gradients|ultralytics|ray)\b"
)
"""Imports of libraries that have trainers."""


def places_things(text: str) -> bool:
    """Whether a file puts something on an accelerator, or has that done: by a trainer of a library, not by one of the program's own."""
    return (speaks_of_devices(text) and not names_only_the_cpu(text)) or (
        RUNS_MODELS.search(text) is not None and _OF_LIBRARIES.search(text) is not None
    )

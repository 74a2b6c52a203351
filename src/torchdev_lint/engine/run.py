"""The run over files: read, prefilter, check, suppress, fix, write; results in the order of the paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchdev_lint.config import SYNTAX_ERROR, UNUSED_SUPPRESSION, Config
from torchdev_lint.diagnostics import Applicability, Diagnostic, Position, Range
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.parsing import judge_of
from torchdev_lint.engine.prefilter import may_matter
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.files import read_bytes
from torchdev_lint.fixes.fixpoint import Fixed, fix_text
from torchdev_lint.fixes.writer import WriteError, replace_content
from torchdev_lint.source.document import Document, SourceError
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX, read_source
from torchdev_lint.source.suppression import Suppressions

if TYPE_CHECKING:
    from torchdev_lint.flow.projects import Sources
    from torchdev_lint.source.notebook import Notebook

SYNTAX_ERROR_NAME = "syntax-error"

NO_FIXES: frozenset[Applicability] = frozenset()

Choice = Callable[[str, str, list[Diagnostic]], list[Diagnostic]]
"""Picks findings, given the path of a file, its text, which their positions are those of, and all of them."""

_START = Range(Position(1, 1), Position(1, 1))


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file came to.

    `text` is what the diagnostics' positions refer to, the fixed text where something was fixed; `before` is
    the text as it was read, `data` the bytes to be kept. `errors` end a run with exit code 2, `warnings`
    do not. Of a notebook, the texts are its joined cells, and `notebooks` says how it was and is.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()
    data: bytes = b""
    text: str = ""
    before: str = ""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notebooks: tuple[Notebook, Notebook] | None = None

    @property
    def changed(self) -> bool:
        """Whether fixes changed the text."""
        return self.text != self.before

    def without_data(self) -> FileResult:
        """The result less what no report needs: a run holds thousands of them."""
        if self.diagnostics or self.changed:
            return replace(self, data=b"")
        return replace(self, data=b"", text="", before="", notebooks=None)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to; `files` holds every file visited, in order."""

    files: tuple[FileResult, ...]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is left to report, sorted."""
        return sorted((one for file in self.files for one in file.diagnostics), key=Diagnostic.sort_key)

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How often each (code, name) was fixed."""
        total: Counter[tuple[str, str]] = Counter()
        for file in self.files:
            total.update(file.counts)
        return total

    @property
    def errors(self) -> list[str]:
        """Internal errors and files that could not be written, one line each, with the path."""
        return [f"{file.path}: {error}" for file in self.files for error in file.errors]

    @property
    def warnings(self) -> list[str]:
        """What the user should know but need not act on, one line each, with the path."""
        return [f"{file.path}: {warning}" for file in self.files for warning in file.warnings]

    @property
    def sources(self) -> dict[str, str]:
        """The texts that positions refer to, by path; none for a file that could not be read as text."""
        return {file.path: file.text for file in self.files if file.text and file.notebooks is None}

    @property
    def notebooks(self) -> dict[str, Notebook]:
        """The notebooks that cells refer to, by path."""
        return {file.path: file.notebooks[1] for file in self.files if file.notebooks is not None}


def run(
    paths: Iterable[str],
    config_for: Callable[[str], Config],
    allowed: Callable[[Config], frozenset[Applicability]],
    *,
    write: bool,
    only: Choice | None = None,
) -> RunResult:
    """Check the files `paths`; apply the fixes that are `allowed` under a file's configuration.

    The files are rewritten only with `write`. What goes wrong in one file does not stop the run.
    """
    return RunResult(tuple(_run(paths, config_for, allowed, write=write, only=only)))


def _run(
    paths: Iterable[str],
    config_for: Callable[[str], Config],
    allowed: Callable[[Config], frozenset[Applicability]],
    *,
    write: bool,
    only: Choice | None = None,
) -> Iterator[FileResult]:
    sources = DiskSources()
    for path in paths:
        config = config_for(path)
        try:
            data = read_bytes(path)
        except OSError as error:
            yield _unreadable(path, config, f"cannot be read: {error.strerror}")
            continue
        result = check_bytes(data, path, config, allowed(config), only, sources)
        if write and result.changed:
            try:
                replace_content(path, result.data, data)
            except WriteError as error:
                unfixed = check_bytes(data, path, config, only=only, sources=sources)
                result = replace(unfixed, errors=(*unfixed.errors, str(error)))
        yield result.without_data()


def check_bytes(
    data: bytes,
    path: str,
    config: Config,
    allowed: frozenset[Applicability] = NO_FIXES,
    only: Choice | None = None,
    sources: Sources | None = None,
) -> FileResult:
    """Check the content `data` of `path`, apply the fixes that are `allowed`; writes no file.

    Findings that are not among those `only` gives back are neither reported nor fixed. What `data` imports from its
    project is read through `sources`; without them, no file is read.
    """
    untouched = FileResult(path, data=data)
    if not may_matter(data, config) and not _may_be_suppressed_in_vain(data, path, config):
        return untouched
    try:
        source = read_source(data, path)
    except SourceError as error:
        return _not_read(error, path, data, config)
    try:
        return _check_source(source, data, config, allowed, only, sources)
    except Exception as error:  # One file's bad luck must not cost the others their findings.
        return replace(untouched, errors=(describe_bug(error),))


def _may_be_suppressed_in_vain(data: bytes, path: str, config: Config) -> bool:
    return b"TDV" in data and config.selects(UNUSED_SUPPRESSION, path)


def _not_read(error: SourceError, path: str, data: bytes, config: Config) -> FileResult:
    if path.endswith(NOTEBOOK_SUFFIX):
        from torchdev_lint.source.notebook import NotPythonError

        if isinstance(error, NotPythonError):
            return FileResult(path, data=data, warnings=(str(error),))
    return replace(_unreadable(path, config, str(error)), data=data)


def _check_source(
    source: Document | Notebook,
    data: bytes,
    config: Config,
    allowed: frozenset[Applicability],
    only: Choice | None,
    sources: Sources | None,
) -> FileResult:
    broken = _broken_cells(source)

    def program(text: str) -> str:
        return source.analysed(text, broken)

    def check(text: str) -> list[Diagnostic]:
        found = findings(program(text), source.path, config, sources=sources)
        return found if only is None else only(source.path, text, found)

    if allowed:
        judge = judge_of(program(source.text))
        fixed = fix_text(source.text, check, lambda text: judge(program(text)), allowed, source.newline)
    else:
        fixed = Fixed(source.text, tuple(check(source.text)))
    errors = list(fixed.errors)
    written = data
    after = source
    if fixed.text != source.text:
        try:
            written = _encoded(source, fixed.text, data)
            after = source.with_text(fixed.text)
        except SourceError as error:
            errors.append(f"not fixed: {error}")
            fixed = Fixed(source.text, tuple(check(source.text)))
    diagnostics = [after.placed(one) for one in fixed.diagnostics]
    if config.selects(SYNTAX_ERROR, source.path):
        diagnostics += broken.values()
    problems = Suppressions.of(after.analysed(after.text, broken)).problems
    return FileResult(
        source.path,
        tuple(diagnostics),
        written,
        fixed.text,
        source.text,
        fixed.counts,
        tuple(errors),
        tuple(f"{after.describe_row(row)}: {problem}" for row, problem in problems),
        None if isinstance(source, Document) or isinstance(after, Document) else (source, after),
    )


def _broken_cells(source: Document | Notebook) -> dict[int, Diagnostic]:
    if isinstance(source, Document):
        return {}
    from torchdev_lint.engine.notebooks import broken_cells

    return broken_cells(source)


def _encoded(source: Document | Notebook, text: str, data: bytes) -> bytes:
    if source.encode(source.text) != data:
        raise SourceError("writing it would not give the untouched lines back as they were")
    return source.encode(text)


def _unreadable(path: str, config: Config, message: str) -> FileResult:
    if not config.selects(SYNTAX_ERROR, path):
        return FileResult(path, warnings=(message,))
    return FileResult(path, (Diagnostic(path, SYNTAX_ERROR, SYNTAX_ERROR_NAME, message, _START),))


def describe_bug(error: Exception) -> str:
    """One line for a bug of this program: what was raised, and where."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" (at {frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    message = " ".join(str(error).split())
    return f"internal error: {type(error).__name__}{': ' if message else ''}{message}{where}"

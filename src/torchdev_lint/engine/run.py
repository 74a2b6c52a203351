"""The run over files: read, prefilter, check, suppress, fix, write; results in the order of the paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from torchdev_lint.config import SYNTAX_ERROR, Config
from torchdev_lint.diagnostics import Applicability, Diagnostic, Position, Range
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.parsing import judge_of
from torchdev_lint.engine.prefilter import may_matter
from torchdev_lint.fixes.fixpoint import Fixed, fix_text
from torchdev_lint.fixes.writer import WriteError, replace_content
from torchdev_lint.source.document import Document, SourceError
from torchdev_lint.source.suppression import Suppressions

SYNTAX_ERROR_NAME = "syntax-error"

NO_FIXES: frozenset[Applicability] = frozenset()

_START = Range(Position(1, 1), Position(1, 1))


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file came to.

    `text` is what the diagnostics' positions refer to, the fixed text where something was fixed; `before` is
    the text as it was read, `data` the bytes to be kept. `errors` end a run with exit code 2, `warnings`
    do not.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()
    data: bytes = b""
    text: str = ""
    before: str = ""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether fixes changed the text."""
        return self.text != self.before

    def without_data(self) -> FileResult:
        """The result less what no report needs: a run holds thousands of them."""
        if self.diagnostics or self.changed:
            return replace(self, data=b"")
        return replace(self, data=b"", text="", before="")


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
        return {file.path: file.text for file in self.files if file.text}


def run(
    paths: Iterable[str],
    config_for: Callable[[str], Config],
    allowed: Callable[[Config], frozenset[Applicability]],
    *,
    write: bool,
) -> RunResult:
    """Check the files `paths`; apply the fixes that are `allowed` under a file's configuration.

    The files are rewritten only with `write`. What goes wrong in one file does not stop the run.
    """
    return RunResult(tuple(_run(paths, config_for, allowed, write=write)))


def _run(
    paths: Iterable[str],
    config_for: Callable[[str], Config],
    allowed: Callable[[Config], frozenset[Applicability]],
    *,
    write: bool,
) -> Iterator[FileResult]:
    for path in paths:
        config = config_for(path)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            yield _unreadable(path, config, f"cannot be read: {error.strerror}")
            continue
        result = check_bytes(data, path, config, allowed(config))
        if write and result.changed:
            try:
                replace_content(path, result.data, data)
            except WriteError as error:
                unfixed = check_bytes(data, path, config)
                result = replace(unfixed, errors=(*unfixed.errors, str(error)))
        yield result.without_data()


def check_bytes(
    data: bytes, path: str, config: Config, allowed: frozenset[Applicability] = NO_FIXES
) -> FileResult:
    """Check the content `data` of `path`, apply the fixes that are `allowed`; reads and writes no file."""
    untouched = FileResult(path, data=data)
    if not may_matter(data, config):
        return untouched
    try:
        document = Document.from_bytes(data, path)
    except SourceError as error:
        return replace(_unreadable(path, config, str(error)), data=data)
    try:
        return _check_document(document, data, config, allowed)
    except Exception as error:  # One file's bad luck must not cost the others their findings.
        return replace(untouched, errors=(describe_bug(error),))


def _check_document(
    document: Document, data: bytes, config: Config, allowed: frozenset[Applicability]
) -> FileResult:
    def check(text: str) -> list[Diagnostic]:
        return findings(text, document.path, config)

    if allowed:
        fixed = fix_text(document.text, check, judge_of(document.text), allowed, document.newline)
    else:
        fixed = Fixed(document.text, tuple(check(document.text)))
    errors = list(fixed.errors)
    if fixed.text != document.text:
        try:
            written = _encoded(document, fixed.text, data)
        except SourceError as error:
            errors.append(f"not fixed: {error}")
            fixed = Fixed(document.text, tuple(check(document.text)))
            written = data
    else:
        written = data
    return FileResult(
        document.path,
        fixed.diagnostics,
        written,
        fixed.text,
        document.text,
        fixed.counts,
        tuple(errors),
        tuple(f"{row}: {problem}" for row, problem in Suppressions.of(fixed.text).problems),
    )


def _encoded(document: Document, text: str, data: bytes) -> bytes:
    if document.encode(document.text) != data:
        raise SourceError(f"{document.encoding} would not give the untouched lines back as they were")
    return document.encode(text)


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

"""One file: read, prefilter, check, suppress, fix; what it came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from torchdev_lint.config import SYNTAX_ERROR, UNUSED_SUPPRESSION, Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine import limits
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.parsing import judge_of
from torchdev_lint.engine.prefilter import may_matter
from torchdev_lint.engine.results import NO_FIXES, Choice, FileResult, describe_bug, to_bare, unreadable
from torchdev_lint.fixes.fixpoint import Fixed, fix_text
from torchdev_lint.source.document import Document, SourceError, dominant_newline
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX, read_source
from torchdev_lint.source.suppression import Suppressions

if TYPE_CHECKING:
    from torchdev_lint.flow.project.projects import Sources
    from torchdev_lint.source.notebook import Notebook


def check_bytes(
    data: bytes,
    path: str,
    config: Config,
    allowed: frozenset[Applicability] = NO_FIXES,
    only: Choice | None = None,
    sources: Sources | None = None,
    *,
    wants_bare: bool = False,
) -> FileResult:
    """Check the content `data` of `path`, apply the fixes that are `allowed`; writes no file.

    Findings that are not among those `only` gives back are neither reported nor fixed. What `data` imports from its
    project is read through `sources`; without them, no file is read. With `wants_bare`, `FileResult.bare` is there where it can be.
    """
    untouched = FileResult(path, data=data, bare=() if wants_bare else None)
    if not can_matter(data, path, config):
        return untouched
    try:
        source = read_source(data, path)
    except SourceError as error:
        return _not_read(error, path, data, config)
    return _guarded(
        untouched, config, lambda: _check_source(source, data, config, allowed, only, sources, wants_bare)
    )


def check_content(content: bytes | str, path: str, config: Config, only: Choice | None = None) -> FileResult:
    """Check what is in no file: bytes as those of a file `path`, a text whatever encoding it declares. No file is read."""
    if isinstance(content, bytes) or path.endswith(NOTEBOOK_SUFFIX):
        data = content if isinstance(content, bytes) else content.encode()
        return check_bytes(data, path, config, only=only)
    data = content.encode("utf-8", "surrogatepass")
    if not can_matter(data, path, config):
        return FileResult(path, data=data)
    if "\0" in content:
        return _not_read(SourceError("source contains null bytes"), path, data, config)
    text = content.removeprefix("\ufeff")
    source = Document(path, text, newline=dominant_newline(text))
    return _guarded(FileResult(path), config, lambda: _check_source(source, data, config, NO_FIXES, only))


def _guarded(untouched: FileResult, config: Config, check: Callable[[], FileResult]) -> FileResult:
    try:
        return limits.in_time(check)
    except MemoryError:
        return _given_up(untouched, config, limits.out_of_memory())
    except limits.OutOfTimeError as error:
        return _given_up(untouched, config, limits.out_of_time(error.args[0]))
    except Exception as error:  # One file's bad luck must not cost the others their findings.
        return replace(untouched, errors=(describe_bug(error),))


def _given_up(untouched: FileResult, config: Config, reason: str) -> FileResult:
    result = unreadable(untouched.path, config, f"Not checked: {reason}")
    return replace(result, data=untouched.data, exhausted=True)


def can_matter(data: bytes, path: str, config: Config) -> bool:
    """Whether there can be anything to say of the content `data` of `path`."""
    return may_matter(data, config) or (b"TDV" in data and config.selects(UNUSED_SUPPRESSION, path))


def _not_read(error: SourceError, path: str, data: bytes, config: Config) -> FileResult:
    if path.endswith(NOTEBOOK_SUFFIX):
        from torchdev_lint.source.notebook import NotPythonError

        if isinstance(error, NotPythonError):
            return FileResult(path, data=data, warnings=(str(error),))
    return replace(unreadable(path, config, str(error)), data=data)


def _check_source(
    source: Document | Notebook,
    data: bytes,
    config: Config,
    allowed: frozenset[Applicability],
    only: Choice | None,
    sources: Sources | None = None,
    wants_bare: bool = False,
) -> FileResult:
    broken = _broken_cells(source)
    bare: list[Diagnostic] | None = None
    if wants_bare and not allowed and isinstance(source, Document):
        bare = []

    def program(text: str) -> str:
        return source.analysed(text, broken)

    def check(text: str) -> list[Diagnostic]:
        found = findings(program(text), source.path, config, sources=sources, bare=bare)
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
        None if bare is None else tuple(to_bare(one) for one in bare),
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

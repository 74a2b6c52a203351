"""`torchdev-ruff check`: our run and Ruff's, reported as one."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace

from torchdev_lint.cli_check import FAILURE, allowed_fixes, report
from torchdev_lint.cli_options import Options, parse_check
from torchdev_lint.cli_output import coloured, prepare_output
from torchdev_lint.config import SYNTAX_ERROR, Config
from torchdev_lint.diagnostics import Applicability, Diagnostic, Position, Range
from torchdev_lint.engine.file_check import check_bytes
from torchdev_lint.engine.results import NO_FIXES, FileResult
from torchdev_lint.engine.run import RunResult, run
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.files import read_bytes
from torchdev_lint.shim import findings
from torchdev_lint.shim.flags import RUFF_FORMATS, Command, Flag, for_ruff, for_us, has_selection
from torchdev_lint.shim.program import Ruff, finished, lines_of
from torchdev_lint.source.discovery import discover
from torchdev_lint.source.document import Document, SourceError
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX, read_source

_OUTPUT = (
    "fix fix-only show-fixes diff output-format output-file statistics exit-zero exit-non-zero-on-fix quiet verbose silent "
    "color add-noqa add-ignore"
).split()
"""What says how to report or fix: left out of the runs of Ruff that only ask what it finds."""

_MISSING = "No such file or directory (os error 2)"
_START = Range(Position(1, 1), Position(1, 1))


@dataclass(frozen=True, slots=True)
class Both:
    """The two tools, and what both are asked. `ruff` is None where Ruff has no part in it."""

    command: Command
    options: Options
    ruff: Ruff | None
    keep_ours: tuple[str, ...] = ()
    """Arguments that make Ruff leave our codes in comments alone."""
    ours: bool = True
    """Whether any rules of ours are on."""

    # -- Ruff's part

    def ask(
        self, *more: str, dropping: Sequence[str] = _OUTPUT, paths: Sequence[str] | None = None
    ) -> list[str]:
        """The arguments of a run of Ruff that reports as `more` says."""
        flags = for_ruff(self.command.without(*dropping))
        stdin = ("-",) if self.command.reads_stdin else self.command.paths
        return ["check", *flags, *more, *self.keep_ours, "--", *(stdin if paths is None else paths)]

    def theirs(self, data: bytes = b"") -> list[Diagnostic]:
        """What Ruff finds, now. Raises `RuffError`."""
        if self.ruff is None:
            return []
        output = self.ruff.run(self.ask("--no-fix", "--output-format=json"), data)
        _pass_on(lines_of(output))
        return self.known(findings.read(output.out, self._stdin_path()), data)

    def known(self, found: list[Diagnostic], data: bytes = b"") -> list[Diagnostic]:
        """Ruff's findings with what Ruff's own report says of them beyond its JSON."""
        form = self.options.output_format
        if self.ruff is None or not found or form not in ("gitlab", "full") or self.options.statistics:
            return found
        # Fingerprints must not depend on whether there is something of ours beside them.
        own = self._own_words(form, data)
        if form == "gitlab":
            marks = [item["fingerprint"] for item in json.loads(own)]
            if len(marks) == len(found):
                return [replace(one, fingerprint=mark) for one, mark in zip(found, marks, strict=True)]
            return found
        colour = coloured(self.options, sys.stdout) and self.options.output_file is None
        return findings.drawn(found, own, self._own_words(form, data, "--color=always") if colour else own)

    def _own_words(self, form: str, data: bytes, *more: str) -> str:
        assert self.ruff is not None
        arguments = self.ask("--no-fix", "--quiet", f"--output-format={form}", *more)
        return self.ruff.run(arguments, data).out.decode("utf-8", "replace")

    def make_sure(self) -> None:
        """Let Ruff object to its flags and configuration before anything is written. Raises `RuffError`."""
        if self.ruff is not None:
            self.ruff.run(self.ask("--no-fix", "--output-format=json"))

    def _stdin_path(self) -> str | None:
        return self.options.stdin_filename or "-" if self.command.reads_stdin else None

    def fix_text(self, data: bytes, path: str, *more: str) -> tuple[bytes, Counter[tuple[str, str]]]:
        """What Ruff's fixes make of `data`, and what they were. Raises `RuffError`."""
        if self.ruff is None:
            return data, Counter()
        flags = ["--fix-only", "--show-fixes", "--output-format=concise", *more]
        if not self.command.has("stdin-filename") and path != "-":
            flags.append(f"--stdin-filename={path}")
        output = self.ruff.run(self.ask(*flags, paths=("-",)), data)
        return output.out, findings.fixed(output.err.decode("utf-8", "replace"))

    def fix_files(self) -> findings.Counts:
        """Apply Ruff's fixes to the files; returns what they were. Raises `RuffError`."""
        if self.ruff is None:
            return {}
        output = self.ruff.run(self.ask("--fix-only", "--show-fixes", "--output-format=concise"))
        return findings.fixed_by_path((output.out + output.err).decode("utf-8", "replace"))

    def alone(self, result: RunResult) -> bool:
        """Whether there is nothing to add to Ruff's own words, which say more than its JSON."""
        form = self.options.output_format
        known = form is None or form in RUFF_FORMATS
        return self.ruff is not None and known and not result.diagnostics and not result.errors

    # -- the report

    def report(self, result: RunResult, config: Config) -> int:
        """Print the outcome; returns the exit code."""
        if not self.command.has("silent"):
            return self._report(result, config)
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
        ):
            return self._report(result, config)

    def _report(self, result: RunResult, config: Config) -> int:
        ruff = self.ruff
        if ruff is None:
            return report(result, self.options, config)
        return report(
            result, self.options, config, lambda form, codes: findings.rule_texts(ruff, form, codes)
        )


def check(command: Command, ruff: Ruff | None, data: bytes) -> int:
    """Answer `check`, with `data` from standard input; returns the exit code. Raises `ConfigError`, `DiscoveryError`, `RuffError`."""
    both = _prepare(command, ruff)
    if not both.ours and both.ruff is not None:
        return both.ruff.call(both.ask(dropping=()), data if command.reads_stdin else None)
    prepare_output(both.options)
    if both.options.add_noqa is not None:
        return _add_noqa(both)
    return _stdin(both, data) if command.reads_stdin else _files(both)


def _prepare(command: Command, ruff: Ruff | None) -> Both:
    """Settle what both tools are to do, Ruff's own configuration included."""
    keep: list[str] = []
    if ruff is not None:
        place = command.value("stdin-filename") or (command.paths[0] if command.paths else ".")
        place = place if os.path.exists(place) else os.path.dirname(place) or "."
        asking = [flag.text() for flag in command.flags if flag.name in ("config", "isolated")]
        settings = ruff.settings(asking, place)
        keep = settings.keep_ours()
        # What Ruff's configuration turns on counts for both, unless a flag says otherwise.
        told = [Flag(name) for name in settings.switches if not _decided(command, name)]
        if not command.has("output-format"):
            told.append(Flag("output-format", settings.output_format))
        command = Command((*told, *command.flags), command.paths)
    configs = [
        flag.value
        for flag in command.flags
        if flag.name == "config" and flag.value and _speaks_of_us(flag.value)
    ]
    options = parse_check(["check", *for_us(command, configs)])
    theirs = ruff if has_selection(command, ours=False) else None
    return Both(command, options, theirs, tuple(keep), has_selection(command, ours=True))


def _decided(command: Command, name: str) -> bool:
    return command.has(name) or command.has(f"no-{name}")


def _speaks_of_us(path: str) -> bool:
    try:
        return b"tool.torchdev-lint" in read_bytes(path)
    except OSError:
        return False


def _add_noqa(both: Both) -> int:
    """Our comments first, then Ruff's beside them."""
    from torchdev_lint.cli_noqa import add_comments

    settings = both.options.settings
    both.make_sure()
    found = discover(_existing(both.options.paths), settings.file_rules)
    code = add_comments(found.files, settings.for_file, both.options.add_noqa or "") if both.ours else 0
    theirs = both.ruff.call(both.ask(dropping=())) if both.ruff is not None else 0
    return max(code, theirs)


def _existing(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if os.path.lexists(path)]


def _files(both: Both) -> int:
    options, settings = both.options, both.options.settings
    found = discover(_existing(options.paths), settings.file_rules)
    paths = list(dict.fromkeys(findings.shown(path) for path in found.files)) if both.ours else []
    _pass_on(f"error: {problem}" for problem in found.problems)
    if options.show_files:
        sys.stdout.writelines(f"{os.path.abspath(path)}\n" for path in found.files)
        return FAILURE if found.problems else 0
    config = settings.for_directory(".")
    if options.diff:
        return both.report(_diffs(both, paths), config)
    # Ruff is the faster of the two: it has its answer by the time that ours is there.
    asked = None
    if options.fix:
        both.make_sure()
    if both.ruff is not None and not options.fix:
        asked = both.ruff.start(both.ask("--no-fix", "--output-format=json"))
    result = run(paths, settings.for_file, lambda config: allowed_fixes(options, config), write=options.fix)
    if options.fix:
        if both.command.on("tidy-fixes") and both.ruff is not None:
            from torchdev_lint.shim.tidy import tidy_files

            tidy_files(both.ruff, result)
        result = _with_their_fixes(both, result)
    if asked is not None:
        output = finished(asked, b"")
        _pass_on(lines_of(output))
        theirs = [] if both.alone(result) else both.known(findings.read(output.out))
    else:
        theirs = both.theirs()
    if asked is not None and both.alone(result):
        _pass_on(f"warning: {warning}" for warning in result.warnings)
        code = _ruff_alone(both)
        return FAILURE if found.problems else code
    theirs += _missing(both)
    code = both.report(_merged(both, result, theirs), config)
    return FAILURE if found.problems else code


def _ruff_alone(both: Both) -> int:
    assert both.ruff is not None
    return both.ruff.call(both.ask(dropping=()))


def _missing(both: Both) -> list[Diagnostic]:
    """Ruff's E902 for paths that are not there, when Ruff itself is not there to say so."""
    if both.ruff is not None:
        return []
    missing = [path for path in both.options.paths if not os.path.lexists(path)]
    return [
        Diagnostic(findings.shown(path), "E902", "io-error", _MISSING, _START, tool=findings.TOOL)
        for path in missing
    ]


def _with_their_fixes(both: Both, result: RunResult) -> RunResult:
    """Apply Ruff's fixes to the files that ours are in; what they changed is read once more."""
    counts = both.fix_files()
    if not counts:
        return result
    touched = [file.path for file in result.files if file.path in counts]
    again = run(touched, both.options.settings.for_file, lambda config: NO_FIXES, write=False)
    fresh = {file.path: file for file in again.files}
    files = []
    for file in result.files:
        now = fresh.get(file.path, file)
        files.append(replace(now, counts=file.counts + counts.pop(file.path, Counter()), errors=file.errors))
    files += [FileResult(path, counts=count) for path, count in counts.items()]
    return RunResult(tuple(sorted(files, key=lambda file: file.path)))


def _diffs(both: Both, paths: Sequence[str]) -> RunResult:
    """What both would do to each file: Ruff works on what we would make of it."""
    settings, options = both.options.settings, both.options
    result = run(paths, settings.for_file, lambda config: allowed_fixes(options, config), write=False)
    files = {file.path: file for file in result.files}
    concerned = {file.path for file in result.files if file.changed} | _would_change(both)
    for path in concerned:
        data = read_bytes(path)
        ours = check_bytes(
            data, path, settings.for_file(path), allowed_fixes(options, settings.for_file(path))
        )
        files[path] = _fixed_by_ruff(both, ours, data, path)
    return RunResult(tuple(files[path] for path in sorted(files)))


def _would_change(both: Both) -> set[str]:
    if both.ruff is None:
        return set()
    output = both.ruff.run(both.ask("--diff"))
    heads = (line for line in output.out.decode("utf-8", "replace").splitlines() if line.startswith("--- "))
    names = {line[4:].partition(":cell ")[0] for line in heads}
    return {name for name in names if os.path.isfile(name)}


def _fixed_by_ruff(both: Both, ours: FileResult, data: bytes, path: str) -> FileResult:
    """The result of a file after the fixes of both; its texts are those before all and after all."""
    fixed, counts = both.fix_text(ours.data, path)
    try:
        before, after = read_source(data, path), read_source(fixed, path)
    except SourceError:
        return ours
    both_texts = None if isinstance(before, Document) or isinstance(after, Document) else (before, after)
    return FileResult(
        path,
        ours.diagnostics,
        fixed,
        after.text,
        before.text,
        ours.counts + counts,
        ours.errors,
        ours.warnings,
        both_texts,
    )


def _stdin(both: Both, data: bytes) -> int:
    options = both.options
    path = options.stdin_filename or "-"
    config = options.settings.for_file(path)
    rules = options.settings.file_rules(os.path.dirname(path) or ".")
    skip = not both.ours or (path != "-" and rules.force_exclude and rules.excludes_within(path))
    allowed = allowed_fixes(options, config)

    def ours(content: bytes, fixes: frozenset[Applicability]) -> FileResult:
        # A client may send the cells of a notebook as one text: `--extension ipynb:python`.
        name = path if not _is_plain(both.command, path) else f"{path}.py"
        sources = DiskSources() if path != "-" else None
        result = FileResult(path, data=content)
        if not skip:
            result = check_bytes(content, name, config, fixes, sources=sources)
        diagnostics = tuple(replace(one, path=path) for one in result.diagnostics)
        return replace(result, path=path, diagnostics=diagnostics)

    if options.diff:
        return both.report(RunResult((_fixed_by_ruff(both, ours(data, allowed), data, path),)), config)
    first = ours(data, allowed)
    if options.fix:
        text = first.data
        if both.command.on("tidy-fixes") and both.ruff is not None and first.changed:
            from torchdev_lint.shim.tidy import tidied

            text = tidied(both.ruff, first, path)
        fixed, counts = both.fix_text(text, path)
        if fixed != first.data:
            first = replace(ours(fixed, NO_FIXES), counts=first.counts + counts, errors=first.errors)
        sys.stdout.flush()
        sys.stdout.buffer.write(fixed)
        sys.stdout.buffer.flush()
        return both.report(_merged(both, RunResult((first,)), both.theirs(fixed)), config)
    if both.ruff is not None and both.alone(RunResult((first,))):
        return both.ruff.call(both.ask(dropping=()), data)
    return both.report(_merged(both, RunResult((first,)), both.theirs(data)), config)


def _is_plain(command: Command, path: str) -> bool:
    mapped = [
        pair for flag in command.flags if flag.name == "extension" for pair in (flag.value or "").split(",")
    ]
    return path.endswith(NOTEBOOK_SUFFIX) and f"{NOTEBOOK_SUFFIX[1:]}:python" in mapped


def _merged(both: Both, result: RunResult, theirs: Iterable[Diagnostic]) -> RunResult:
    """One result with the findings of both; with `--fix-only`, with none."""
    found: dict[str, list[Diagnostic]] = {}
    for one in theirs:
        found.setdefault(one.path, []).append(one)
    files = {file.path: file for file in result.files}
    for path, more in found.items():
        file = files.get(path, FileResult(path))
        kept = file.diagnostics
        if any(one.code == findings.SYNTAX for one in more):
            # Both say that it does not parse; once is enough.
            kept = tuple(one for one in kept if one.code != SYNTAX_ERROR)
        files[path] = _with_text(replace(file, diagnostics=(*kept, *more)))
    listed = [files[path] for path in sorted(files)]
    if both.command.on("fix-only"):
        listed = [replace(file, diagnostics=()) for file in listed]
    return RunResult(tuple(listed))


def _with_text(file: FileResult) -> FileResult:
    """The result with the text that a report quotes, which a file without findings of ours has not kept."""
    if file.text or file.notebooks is not None:
        return file
    try:
        data = file.data
        if not data and file.path != "-":
            data = read_bytes(file.path)
        source = read_source(data, file.path)
    except (OSError, SourceError):
        return file
    notebooks = None if isinstance(source, Document) else (source, source)
    return replace(file, text=source.text, before=source.text, notebooks=notebooks)


def _pass_on(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)

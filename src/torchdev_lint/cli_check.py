"""`torchdev-lint check`: runs the engine as the flags say and prints what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from torchdev_lint.cli_options import STDIN, Options, cache_directory
from torchdev_lint.cli_output import Others, applicable, coloured, prepare_output, print_findings
from torchdev_lint.config import REVEALED, SYNTAX_ERROR, Config, ConfigError, did_you_mean
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.caches import Caches
from torchdev_lint.engine.results import NO_FIXES, Choice, Choices
from torchdev_lint.engine.run import Progress, RunResult, run, run_and_fix
from torchdev_lint.engine.workers import Workers, own_process
from torchdev_lint.report import summary
from torchdev_lint.report.formats import TEXT
from torchdev_lint.source.discovery import Discovered, DiscoveryError, discover

if TYPE_CHECKING:
    from torchdev_lint.engine.jobs import Checked
    from torchdev_lint.engine.unchanged import Remembering

CLEAN, FINDINGS, FAILURE = 0, 1, 2


def check(options: Options) -> int:
    """Check what `options` name, print, and return the exit code."""
    if options.parquet:
        return _check_parquet(options)
    prepare_output(options)
    own_process()
    if options.reads_stdin:
        return _check_stdin(options)
    only = _choice(options)
    settings = options.settings
    caches = (
        None
        if options.no_cache
        else Caches(cache_directory(options.cache_dir, settings), trusted=options.cache_dir is not None)
    )
    remembering = _remembering(options, only)
    found = _discovered(options)
    _say(f"error: {problem}" for problem in found.problems)
    if options.show_files:
        sys.stdout.writelines(f"{os.path.abspath(path)}\n" for path in found.files)
        return FAILURE if found.problems else CLEAN
    if not found.files and not options.quiet:
        _say(["warning: no Python files found under the given path(s)"])
    if options.verbose:
        _say(f"checking {path}" for path in found.files)
    if options.add_noqa is not None:
        from torchdev_lint.cli_noqa import add_comments

        code = add_comments(found.files, settings.for_file, options.add_noqa)
        return FAILURE if found.problems else code
    long: dict[str, bool] = {}
    with workers_of(options) as workers:
        allowed = partial(allowed_fixes, options)
        progress = _progress(options, long)
        if options.fix and not options.diff:
            choose = partial(_choice, options)
            result = run_and_fix(
                found.files, settings.for_file, allowed, choose, only=only, workers=workers,
                progress=progress, caches=caches,
            )  # fmt: skip
        else:
            result = run(
                found.files, settings.for_file, allowed, write=False, only=only, workers=workers,
                progress=progress, caches=caches,
            )  # fmt: skip
    if options.verbose:
        _say([_how_parsed(long, whole=options.no_slice)])
    if options.write_baseline and options.baseline is not None:
        return _write_baseline(result, options.baseline, failed=bool(found.problems))
    code = report(result, options, settings.for_directory("."))
    if (
        remembering is not None
        and caches is not None
        and result.all_kept
        and result.nothing
        and not found.problems
    ):
        remembering.keep("" if options.quiet else summary.closing_lines((), 0, unsafe=False), found, caches)
    return FAILURE if found.problems else code


def _discovered(options: Options) -> Discovered:
    """The files to check. Raises `DiscoveryError`, which names the command that a path looks like."""
    try:
        return discover(options.paths, options.settings.file_rules)
    except DiscoveryError as error:
        from torchdev_lint.cli_completion import COMMANDS

        first = options.paths[0]
        meant = "" if os.path.exists(first) else did_you_mean(first, COMMANDS, "the command ")
        raise DiscoveryError(f"{error}{meant}") from None


def _remembering(options: Options, only: Choice | None) -> Remembering | None:
    """Whoever may write down this run, if it is one that only reads files, all of which its command line and configuration name."""
    more = (
        options.diff, options.watch, options.verbose, options.statistics, options.files_from, options.output_file, options.executor,
        options.cache_dir, options.no_cache, options.write_baseline, only,
    )  # fmt: skip
    if (
        any(one not in (None, False) for one in more)
        or options.settings.for_directory(".").output_format not in TEXT
    ):
        return None
    from torchdev_lint.engine.unchanged import Remembering

    return Remembering(options.arguments, options.paths)


def _check_parquet(options: Options) -> int:
    from torchdev_lint.cli_parquet import check_data_sets

    with workers_of(options) as workers:
        found, failed = check_data_sets(
            options.parquet,
            options.parquet_columns,
            options.settings.for_directory("."),
            workers,
            output_format=options.output_format or "json-lines",
            output_file=options.output_file,
            quiet=options.quiet,
        )
    return FAILURE if failed else FINDINGS if found and not options.exit_zero else CLEAN


@contextmanager
def workers_of(options: Options) -> Iterator[Workers]:
    """Whoever checks the files. Raises `ConfigError`."""
    if options.executor is None:
        yield Workers(options.jobs, options.file_timeout, options.file_memory, whole=options.no_slice)
        return
    from torchdev_lint.engine.executors import elsewhere
    from torchdev_lint.engine.limits import FILE_TIMEOUT

    with closing(elsewhere(options.executor, options.jobs)) as executor:
        executor.seconds = options.file_timeout or FILE_TIMEOUT
        yield Workers(options.jobs, elsewhere=executor, whole=options.no_slice)


def _progress(options: Options, long: dict[str, bool]) -> Progress | None:
    """A bar on the terminal while files are checked, where somebody looks at it; or what became of the `long` ones is noted."""
    if options.verbose:
        return partial(_noted, long)
    if options.quiet:
        return None
    from torchdev_lint.report.progress import over, wanted

    return partial(over, stream=sys.stderr) if wanted(sys.stderr, os.environ) else None


def _noted(
    long: dict[str, bool], checked: Iterator[tuple[int, Checked]], _: int
) -> Iterator[tuple[int, Checked]]:
    for index, one in checked:
        long.update(one.long)
        yield index, one


def _how_parsed(long: Mapping[str, bool], *, whole: bool) -> str:
    """A line about the files that are long enough to be cut, by path whether they were."""
    told = f"parsed: {len(long)} long file{'' if len(long) == 1 else 's'}"
    if whole or not long:
        return f"{told}, as a whole (--no-slice)" if whole else told
    others = sorted(os.path.relpath(path) for path, cut in long.items() if not cut)
    names = f": {', '.join(others)}" if others else ""
    return f"{told}, {len(long) - len(others)} in pieces, {len(others)} as a whole{names}"


def _check_stdin(options: Options) -> int:
    from torchdev_lint.engine.file_check import check_bytes
    from torchdev_lint.engine.parsing import cutting
    from torchdev_lint.engine.sources import DiskSources

    path = options.stdin_filename or STDIN
    config = options.settings.for_file(path)
    rules = options.settings.file_rules(os.path.dirname(path) or ".")
    data = sys.stdin.buffer.read()
    excluded = path != STDIN and rules.force_exclude and rules.excludes_within(path)
    if options.show_files:
        if not excluded:
            print(os.path.abspath(path))
        return CLEAN
    only = _choice(options)
    sources = DiskSources() if path != STDIN else None
    allowed = allowed_fixes(options, config)
    with cutting(allowed=not options.no_slice) as how:
        result = RunResult(() if excluded else (check_bytes(data, path, config, allowed, only, sources),))
    if options.verbose:
        _say([_how_parsed(how.long, whole=options.no_slice)])
    if options.fix and not options.diff:
        # The fixed source is the output; whatever else there is to say goes elsewhere.
        sys.stdout.flush()
        sys.stdout.buffer.write(result.files[0].data if result.files else data)
        sys.stdout.buffer.flush()
    return report(result, options, config)


def _choice(options: Options) -> Choice | None:
    """Which findings count, when not all do. Raises `ConfigError`."""
    choices: list[Choice] = []
    if options.diff_base is not None:
        from torchdev_lint.engine.changed_lines import ChangedLines

        choices.append(ChangedLines.since(options.diff_base).concerned)
    if options.baseline is not None and not options.write_baseline:
        from torchdev_lint.engine.baseline import Baseline

        choices.append(Baseline.read(options.baseline).new)
    return Choices(tuple(choices)) if choices else None


def _write_baseline(result: RunResult, path: str, *, failed: bool) -> int:
    """Write what was found to the file `path`; returns the exit code. Raises `ConfigError`."""
    from torchdev_lint.engine.baseline import render
    from torchdev_lint.report.sources import Sources

    _say(f"error: {error}" for error in result.errors)
    sources = Sources(result.sources, result.notebooks)
    found = [(one, sources.lines(one.path, one.cell)) for one in result.diagnostics]
    content, count = render(found, path)
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(content)
    except OSError as error:
        raise ConfigError(f"--baseline: {path}: cannot be written: {error.strerror}") from None
    _say([f"Wrote {count} finding{'' if count == 1 else 's'} to {path}."])
    return FAILURE if failed or result.errors else CLEAN


def allowed_fixes(options: Options, config: Config) -> frozenset[Applicability]:
    """The fixes that are to be applied."""
    return applicable(config) if options.fix or options.diff else NO_FIXES


def report(result: RunResult, options: Options, config: Config, others: Others | None = None) -> int:
    """Print the outcome of a run, in which there may be findings of `others`; returns its exit code."""
    _say(f"warning: {warning}" for warning in result.warnings)
    _say(f"error: {error}" for error in result.errors)
    if options.diff:
        code = _print_diff(result, options, config)
    else:
        print_findings(result, options, config, others)
        failed = any(one.code != REVEALED for one in result.diagnostics) or (
            options.exit_non_zero_on_fix and bool(result.counts)
        )
        code = FINDINGS if failed and not options.exit_zero else CLEAN
    return FAILURE if result.errors else code


def _print_diff(result: RunResult, options: Options, config: Config) -> int:
    from torchdev_lint.report import diff
    from torchdev_lint.report.style import write

    changed = [file for file in result.files if file.changed]
    colour = coloured(options, sys.stdout)
    for file in changed:
        if file.notebooks is None:
            write(diff.render(file.path, file.before, file.text), sys.stdout, colour=colour)
            continue
        before, after = file.notebooks
        for old, new in zip(before.cells.cells, after.cells.cells, strict=True):
            name = f"{file.path}:cell {old.index}"
            write(diff.render(name, old.text, new.text), sys.stdout, colour=colour)
    if not options.quiet:
        line = summary.diff_line(sum(result.counts.values()), result.diagnostics, unsafe=config.unsafe_fixes)
        sys.stdout.flush()
        _say([line.rstrip("\n")])
    # A file that was not read has no diff, and is not clean for that.
    unread = [one for one in result.diagnostics if one.code == SYNTAX_ERROR]
    _say(f"error: {one.path}:{one.range.start.row}: {one.message}" for one in unread)
    return FINDINGS if (changed or unread) and not options.exit_zero else CLEAN


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)

"""`torchdev-lint check`: runs the engine as the flags say and prints what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from torchdev_lint.cli_options import STDIN, Options
from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.run import NO_FIXES, RunResult, check_bytes, run
from torchdev_lint.report import concise, diff, full, statistics, summary
from torchdev_lint.report import json as json_report
from torchdev_lint.report.style import write
from torchdev_lint.source.discovery import discover

CLEAN, FINDINGS, FAILURE = 0, 1, 2


def check(options: Options) -> int:
    """Check what `options` name, print, and return the exit code."""
    if options.reads_stdin:
        return _check_stdin(options)
    settings = options.settings
    found = discover(options.paths, settings.file_rules)
    _say(f"error: {problem}" for problem in found.problems)
    if options.show_files:
        sys.stdout.writelines(f"{os.path.abspath(path)}\n" for path in found.files)
        return FAILURE if found.problems else CLEAN
    if not found.files and not options.quiet:
        _say(["warning: no Python files found under the given path(s)"])
    if options.verbose:
        _say(f"checking {path}" for path in found.files)
    result = run(
        found.files,
        settings.for_file,
        lambda config: _allowed(options, config),
        write=options.fix and not options.diff,
    )
    code = _report(result, options, settings.for_directory("."))
    return FAILURE if found.problems else code


def _check_stdin(options: Options) -> int:
    path = options.stdin_filename or STDIN
    config = options.settings.for_file(path)
    rules = options.settings.file_rules(os.path.dirname(path) or ".")
    data = sys.stdin.buffer.read()
    excluded = path != STDIN and rules.force_exclude and rules.excludes_within(path)
    if options.show_files:
        if not excluded:
            print(os.path.abspath(path))
        return CLEAN
    result = RunResult(() if excluded else (check_bytes(data, path, config, _allowed(options, config)),))
    if options.fix and not options.diff:
        # The fixed source is the output; whatever else there is to say goes elsewhere.
        sys.stdout.flush()
        sys.stdout.buffer.write(result.files[0].data if result.files else data)
        sys.stdout.buffer.flush()
    return _report(result, options, config)


def _allowed(options: Options, config: Config) -> frozenset[Applicability]:
    """The fixes that are to be applied."""
    return _applicable(config) if options.fix or options.diff else NO_FIXES


def _applicable(config: Config) -> frozenset[Applicability]:
    if config.unsafe_fixes:
        return frozenset({Applicability.SAFE, Applicability.UNSAFE})
    return frozenset({Applicability.SAFE})


def _report(result: RunResult, options: Options, config: Config) -> int:
    """Print the outcome of a run; returns its exit code."""
    _say(f"warning: {warning}" for warning in result.warnings)
    _say(f"error: {error}" for error in result.errors)
    if options.diff:
        code = _print_diff(result, options, config)
    else:
        _print_findings(result, options, config)
        failed = bool(result.diagnostics) or (options.exit_non_zero_on_fix and bool(result.counts))
        code = FINDINGS if failed and not options.exit_zero else CLEAN
    return FAILURE if result.errors else code


def _print_diff(result: RunResult, options: Options, config: Config) -> int:
    changed = [file for file in result.files if file.changed]
    colour = _coloured(options, sys.stdout)
    for file in changed:
        write(diff.render(file.path, file.before, file.text), sys.stdout, colour=colour)
    if not options.quiet:
        line = summary.diff_line(sum(result.counts.values()), result.diagnostics, unsafe=config.unsafe_fixes)
        sys.stdout.flush()
        _say([line.rstrip("\n")])
    return FINDINGS if changed and not options.exit_zero else CLEAN


def _print_findings(result: RunResult, options: Options, config: Config) -> None:
    stream = sys.stderr if options.reads_stdin and options.fix else sys.stdout
    remaining, fixable = result.diagnostics, _applicable(config)
    colour = _coloured(options, stream)
    if config.output_format == "json":
        if options.statistics:
            stream.write(statistics.render_json(remaining, fixable) + "\n")
        else:
            stream.write(json_report.render(remaining))
        return
    if options.statistics:
        stream.write(statistics.render(remaining, fixable))
    elif config.output_format == "concise":
        write(concise.render(remaining, fixable), stream, colour=colour)
    else:
        write(full.render(remaining, fixable, result.sources.get), stream, colour=colour)
    # "All checks passed!" would be a lie about files that could not be checked.
    if not options.quiet and (remaining or not result.errors):
        stream.write(
            summary.closing_lines(remaining, sum(result.counts.values()), unsafe=config.unsafe_fixes)
        )


def _coloured(options: Options, stream: object) -> bool:
    """Whether to colour: as the flag says, else as NO_COLOR and FORCE_COLOR say, else on a terminal."""
    if options.color != "auto":
        return options.color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(getattr(stream, "isatty", bool)()) and os.environ.get("TERM") != "dumb"


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)

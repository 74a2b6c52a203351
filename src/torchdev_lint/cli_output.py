"""Where the findings of `check` go, and in which format."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from torchdev_lint import __version__
from torchdev_lint.cli_options import Options
from torchdev_lint.config import Config, ConfigError
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.run import RunResult
from torchdev_lint.report import summary
from torchdev_lint.report.formats import TEXT, render, render_text

if TYPE_CHECKING:
    from torchdev_lint.report.context import RuleText, Tool

Others = Callable[[str, set[str]], "tuple[dict[str, RuleText], dict[str, Tool]]"]
"""Given the format of a report and the codes in it that are not ours: what is said of those rules, and of their tools."""


def prepare_output(options: Options) -> None:
    """Make sure that `--output-file` can be written, before anything is changed. Raises `ConfigError`."""
    if options.output_file is None:
        return
    try:
        os.makedirs(os.path.dirname(options.output_file) or ".", exist_ok=True)
        with open(options.output_file, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise _not_written(options.output_file, error) from None


def applicable(config: Config) -> frozenset[Applicability]:
    """The fixes that `--fix` applies."""
    if config.unsafe_fixes:
        return frozenset({Applicability.SAFE, Applicability.UNSAFE})
    return frozenset({Applicability.SAFE})


def print_findings(result: RunResult, options: Options, config: Config, others: Others | None = None) -> None:
    """Write what a run found, to where `options` say; `others` tells of the other tools whose findings are among it.

    Raises `ConfigError`.
    """
    with _stream(options) as stream:
        if options.statistics:
            _print_statistics(result, options, config, stream)
        elif config.output_format in TEXT:
            if result.diagnostics:
                _print_text(result, options, config, stream)
            _close(result, options, config, stream)
        else:
            stream.write(_for_programs(result, config, others))


def _print_text(result: RunResult, options: Options, config: Config, stream: TextIO) -> None:
    from torchdev_lint.report.sources import Sources
    from torchdev_lint.report.style import write

    fixable, sources = applicable(config), Sources(result.sources, result.notebooks)
    pieces = render_text(config.output_format, result.diagnostics, fixable, sources)
    write(pieces, stream, colour=coloured(options, stream))


def _for_programs(result: RunResult, config: Config, others: Others | None) -> str:
    from torchdev_lint.report.context import Context
    from torchdev_lint.report.sources import Sources

    rules = _rule_texts(result.diagnostics)
    tools: dict[str, Tool] = {}
    if others is not None:
        more, tools = others(config.output_format, {one.code for one in result.diagnostics} - set(rules))
        rules |= more
    context = Context(
        Sources(result.sources, result.notebooks),
        os.getcwd(),
        __version__,
        rules,
        applicable(config),
        tools,
    )
    return render(config.output_format, result.diagnostics, context)


def _rule_texts(diagnostics: list[Diagnostic]) -> dict[str, RuleText]:
    """Our rules among the findings."""
    from torchdev_lint.report.context import RuleText
    from torchdev_lint.rules.registry import rule_by_code

    texts = {}
    for code in {one.code for one in diagnostics}:
        rule = rule_by_code(code)
        if rule is not None:
            texts[code] = RuleText(code, rule.name, rule.summary(), rule.documentation(), rule.default)
    return texts


def _print_statistics(result: RunResult, options: Options, config: Config, stream: TextIO) -> None:
    from torchdev_lint.report import statistics

    if config.output_format == "json":
        stream.write(statistics.render_json(result.diagnostics, applicable(config)) + "\n")
        return
    if config.output_format not in ("full", "concise"):
        raise ConfigError(
            f"--statistics: there are none as {config.output_format!r}; use full, concise or json"
        )
    stream.write(statistics.render(result.diagnostics, applicable(config)))
    _close(result, options, config, stream)


def _close(result: RunResult, options: Options, config: Config, stream: TextIO) -> None:
    # "All checks passed!" would be a lie about files that could not be checked.
    if options.quiet or not (result.diagnostics or not result.errors):
        return
    if options.show_fixes and result.counts:
        stream.write(summary.fixed_lines((file.path, file.counts) for file in result.files))
    fixed = sum(result.counts.values())
    stream.write(summary.closing_lines(result.diagnostics, fixed, unsafe=config.unsafe_fixes))


@contextmanager
def _stream(options: Options) -> Iterator[TextIO]:
    if options.output_file is None:
        # With `--fix -` the fixed source is the output.
        yield sys.stderr if options.reads_stdin and options.fix else sys.stdout
        return
    try:
        with open(options.output_file, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
    except OSError as error:
        raise _not_written(options.output_file, error) from None


def _not_written(path: str, error: OSError) -> ConfigError:
    return ConfigError(f"--output-file: {path}: cannot be written: {error.strerror}")


def coloured(options: Options, stream: object) -> bool:
    """Whether the options ask for colours on `stream`."""
    return colour_wanted(options.color, stream)


def colour_wanted(flag: str, stream: object) -> bool:
    """Whether to colour: as the flag `--color` says, else as NO_COLOR and FORCE_COLOR say, else on a terminal."""
    if flag != "auto":
        return flag == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(getattr(stream, "isatty", bool)()) and os.environ.get("TERM") != "dumb"

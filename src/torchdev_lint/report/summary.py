"""The closing lines of a run, worded as Ruff's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from torchdev_lint.config import REVEALED
from torchdev_lint.diagnostics import Applicability, Diagnostic


def closing_lines(remaining: Sequence[Diagnostic], fixed: int, *, unsafe: bool) -> str:
    """What was found and fixed, and what `--fix` could do; `unsafe` says that unsafe fixes are enabled."""
    remaining = [one for one in remaining if one.code != REVEALED]  # notes are not errors
    if not remaining and not fixed:
        return "All checks passed!\n"
    total = len(remaining) + fixed
    line = f"Found {total} {_errors(total)}"
    line += f" ({fixed} fixed, {len(remaining)} remaining).\n" if fixed else ".\n"
    safe, risky = _fixable(remaining)
    if unsafe:
        safe, risky = safe + risky, 0
    fixes = f"{risky} unsafe {_fixes(risky)} available with `--fix --unsafe-fixes`"
    if safe and risky:
        return line + f"[*] {safe} fixable with `--fix` ({fixes}).\n"
    if safe:
        return line + f"[*] {safe} fixable with `--fix`.\n"
    return line + f"{fixes}.\n" if risky else line


def fixed_lines(files: Iterable[tuple[str, Counter[tuple[str, str]]]]) -> str:
    """What was fixed, by file: how often each (code, name)."""
    from torchdev_lint.report.excerpt import visible

    listed = [(path, counts) for path, counts in files if counts]
    total = sum(sum(counts.values()) for _, counts in listed)
    width = max(len(str(count)) for _, counts in listed for count in counts.values())
    lines = [f"\nFixed {total} {_errors(total)}:\n"]
    for path, counts in listed:
        lines.append(f"- {visible(path)}:\n")
        for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            lines.append(f"    {count:>{width}} \N{MULTIPLICATION SIGN} {code} ({name})\n")
    return "".join([*lines, "\n"])


def diff_line(fixed: int, remaining: Sequence[Diagnostic], *, unsafe: bool) -> str:
    """What applying the diff would do."""
    _, risky = _fixable(remaining)
    more = f"{risky} {{}}{_fixes(risky)} available with `--unsafe-fixes`" if risky and not unsafe else ""
    if fixed:
        return f"Would fix {fixed} {_errors(fixed)}{f' ({more})' if more else ''}.\n".format("additional ")
    return f"No errors would be fixed{f' ({more})' if more else ''}.\n".format("")


def _fixable(diagnostics: Sequence[Diagnostic]) -> tuple[int, int]:
    """How many have a safe and how many an unsafe fix."""
    levels = [one.fix.applicability for one in diagnostics if one.fix is not None]
    return levels.count(Applicability.SAFE), levels.count(Applicability.UNSAFE)


def _errors(count: int) -> str:
    return "error" if count == 1 else "errors"


def _fixes(count: int) -> str:
    return "fix" if count == 1 else "fixes"

"""The closing lines of a run, worded as Ruff's."""

from __future__ import annotations

from collections.abc import Sequence

from torchdev_lint.diagnostics import Applicability, Diagnostic


def closing_lines(remaining: Sequence[Diagnostic], fixed: int, *, unsafe: bool) -> str:
    """What was found and fixed, and what `--fix` could do; `unsafe` says that unsafe fixes are enabled."""
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

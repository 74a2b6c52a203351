"""`--tidy-fixes`: the lines that our fixes changed, and no others, as `ruff format` would have them."""

from __future__ import annotations

import difflib
import sys
from dataclasses import replace

from torchdev_lint.engine.results import FileResult
from torchdev_lint.engine.run import RunResult
from torchdev_lint.files import read_bytes
from torchdev_lint.fixes.writer import WriteError, replace_content
from torchdev_lint.shim.program import Ruff, RuffError


def tidy_files(ruff: Ruff, result: RunResult) -> None:
    """Format the lines that fixes changed in files, notebooks left out."""
    for file in result.files:
        if not file.changed or file.notebooks is not None:
            continue
        data = read_bytes(file.path)
        tidy = tidied(ruff, replace(file, data=data), file.path)
        if tidy != data:
            try:
                replace_content(file.path, tidy, data)
            except WriteError as error:
                print(f"error: {file.path}: {error}", file=sys.stderr)


def tidied(ruff: Ruff, file: FileResult, path: str) -> bytes:
    """The fixed bytes of a file with the lines that our fixes changed as `ruff format` would have them."""
    rows = difflib.SequenceMatcher(None, file.before.splitlines(), file.text.splitlines(), autojunk=False)
    data = file.data
    # From the bottom up: what is formatted may become longer.
    for tag, _, _, start, end in reversed(rows.get_opcodes()):
        if tag in ("equal", "delete"):
            continue
        name = [] if path == "-" else [f"--stdin-filename={path}"]
        try:
            data = ruff.run(["format", f"--range={start + 1}-{end + 1}", *name, "-"], data).out
        except RuffError:
            return file.data
    return data

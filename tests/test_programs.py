"""Larger programs, as users write them: each bad one is found, nothing is found in its good twin or in a look-alike.

A bad program marks the line at fault with `# CAUSE` and the line that raises with `# FAIL` (there may be several of each); `# CALL` marks
a line further out in the traceback, where a function or module was given what fails in it. A program counts as found where a
finding stands on one of them, or on a line that its good twin has changed.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

PROGRAMS = Path(__file__).parent / "programs"
BAD = sorted(PROGRAMS.glob("*_bad.py"))
RIGHT = sorted(set(PROGRAMS.glob("*.py")) - set(BAD))

MISSED: dict[str, str] = {
    "bootstrapped_return_bad": "a tensor on the CPU in one of two cases, which the truth of an attribute tells apart",
    "distill_teacher_loaded_bad": "reported where a lambda of a table builds the model that is never moved",
    "gpu_index_truth_bad": "the truth of a device index (TDV012)",
    "hypernetwork_snapshots_bad": "what one call keeps in a dict under a key, and another call reads in a loop over its items",
    "kalman_observations_bad": "how many dimensions what a loop takes from a tensor has left",
    "lightgcn_adjacency_unmoved_bad": "reported where the matrix that was not moved becomes an attribute",
    "lora_injected_late_bad": "reported where the part is put into the moved model",
    "lora_surgery_bad": "reported where the part is put into the moved model",
    "mixture_confusion_bad": "reported where the tensor is made that stays on the CPU for a reason",
    "moved_in_one_branch_bad": "a module returned from two branches, moved in one",
    "nanogpt_pinned_targets_bad": "reported where the caller unpacks what a function has moved in part",
    "pinn_targets_bad": "how many dimensions a part of an array has that is an argument",
    "ppo_grid_moves_bad": "reported where a table of the host is made that is indexed with what was drawn on the GPU",
    "split_transformer_padding_bad": "one of three pairs of devices, by how many GPUs there are",
}
"""Programs that are not found yet, and why. Whoever makes one found takes it out."""

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

_MARK = re.compile(r"#.*\b(CAUSE|FAIL|CALL)\b")


def rows_that_count(path: Path) -> set[int]:
    """The rows of a bad program on which a finding counts."""
    bad = path.read_text(encoding="utf-8").splitlines()
    good = path.with_name(path.name.replace("_bad.py", "_good.py")).read_text(encoding="utf-8").splitlines()
    marked = {row for row, line in enumerate(bad, 1) if _MARK.search(line)}
    match = difflib.SequenceMatcher(
        None, [_code(line) for line in bad], [_code(line) for line in good], autojunk=False
    )
    changed = {
        row
        for tag, start, end, _, _ in match.get_opcodes()
        if tag in ("replace", "delete")
        for row in range(start + 1, end + 1)
        if _code(bad[row - 1])
    }
    return marked | changed


def _code(line: str) -> str:
    return re.sub(r"\s*#.*", "", line).strip()


def findings(path: Path) -> list[tuple[range, str]]:
    """The rows of each finding of the default rules, and what it says."""
    found = check_source(path.read_text(encoding="utf-8"), str(path), DEFAULT_RULES)
    return [(range(one.range.start.row, one.range.end.row + 1), f"{one.code} {one.message}") for one in found]


def test_there_are_as_many_as_promised() -> None:
    assert len(BAD) >= 120
    assert len([path for path in RIGHT if path.name.startswith("lookalike_")]) >= 80


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_program_is_found(path: Path) -> None:
    rows = rows_that_count(path)
    found = findings(path)
    hit = any(rows & set(span) for span, _ in found)
    if path.stem in MISSED:
        assert not hit, f"found: take {path.stem} out of MISSED"
        pytest.xfail(MISSED[path.stem])
    assert hit, (
        f"wanted on one of the rows {sorted(rows)}, found {[(span.start, text) for span, text in found]}"
    )


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_program_is_silent(path: Path) -> None:
    assert [(span.start, text) for span, text in findings(path)] == []

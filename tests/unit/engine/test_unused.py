"""TDV900: where a comment that silences nothing stands, what it is told, and what is left without it."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.findings import findings
from torchdev_lint.fixes.edits import apply_edits
from torchdev_lint.source.lines import LineIndex

HEAD = "import torch\n"
BAD = "y = torch.ones(2).cuda() + torch.ones(2)"


def unused(text: str, config: Config) -> list[Diagnostic]:
    return [one for one in findings(text, "a.py", config) if one.code == "TDV900"]


@pytest.mark.parametrize(
    ("row", "comment", "message", "left"),
    [
        ("x = 1  # noqa: TDV001", "# noqa: TDV001", "`TDV001` silences nothing here", "x = 1"),
        ("x = 1  # noqa: TDV001   ", "# noqa: TDV001", "`TDV001` silences nothing here", "x = 1"),
        (
            "x = 1  # why  # noqa: TDV001, TDV777  # more",
            "# noqa: TDV001, TDV777",
            "`TDV001`, `TDV777` silence nothing here",
            "x = 1  # why  # more",
        ),
        (
            "x = 1  # why # torchdev: ignore[TDV999, host-read]",
            "# torchdev: ignore[TDV999, host-read]",
            "`TDV999`, `host-read` silence nothing here",
            "x = 1  # why",
        ),
        (
            f"{BAD}  # torchdev: ignore[ TDV005 ,\tTDV001 , TDV006 ]",
            "# torchdev: ignore[ TDV005 ,\tTDV001 , TDV006 ]",
            "`TDV001`, `TDV006` silence nothing here",
            f"{BAD}  # torchdev: ignore[ TDV005 ]",
        ),
        (
            f"{BAD}  # noqa: E501,TDV005 TDV001 because",
            "# noqa: E501,TDV005 TDV001",
            "`TDV001` silences nothing here",
            f"{BAD}  # noqa: E501,TDV005 because",
        ),
        (
            "# flake8: noqa: TDV001",
            "# flake8: noqa: TDV001",
            "`TDV001` silences nothing in this file",
            None,
        ),
    ],
)
def test_a_comment_that_is_of_no_use(row: str, comment: str, message: str, left: str | None) -> None:
    text = f"{HEAD}\n{row}\nz = 2\n"
    (one,) = unused(text, Config(select=("TDV0", "TDV900")))
    lines = LineIndex(text)
    assert text[lines.offset(one.range.start) : lines.offset(one.range.end)] == comment
    assert (one.path, one.name, one.message, one.noqa_row) == ("a.py", "unused-suppression", message, 3)
    assert one.fix is not None
    assert one.fix.applicability is Applicability.SAFE
    assert one.fix.message == f"Remove {message.split(' silence')[0]}"
    assert apply_edits(text, one.fix.edits) == f"{HEAD}\n{'' if left is None else left + chr(10)}z = 2\n"


def test_a_comment_at_the_end_leaves_its_row() -> None:
    text = f"{HEAD}# flake8: noqa: TDV001"
    (one,) = unused(text, Config(select=("TDV001", "TDV900")))
    assert one.fix is not None
    assert apply_edits(text, one.fix.edits) == HEAD


@pytest.mark.parametrize(
    "code", ["TDV002", "TDV0", "tdv00", "TDV", "# torchdev: ignore[hardcoded-device-index]"]
)
def test_codes_of_rules_that_were_not_all_run_are_not_judged(code: str) -> None:
    text = f"{HEAD}x = 1  {code if '#' in code else f'# noqa: {code}'}\n"
    assert not unused(text, Config(select=("TDV001", "TDV900")))
    assert len(unused(text, Config(select=("TDV0", "TDV1", "TDV900")))) == 1


def test_rules_that_are_off_for_the_file_are_not_judged() -> None:
    text = f"{HEAD}x = 1  # noqa: TDV001\n"
    config = Config(select=("TDV001", "TDV900"), per_file_ignores=(("a.py", ("TDV001",)),))
    assert not unused(text, config)
    assert len(findings(text, "b.py", config)) == 1


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: E501", "# noqa: ABC123, TDV", "# flake8: noqa"])
def test_what_others_may_mean_is_left_alone(comment: str) -> None:
    text = f"{HEAD}{BAD}  {comment}\n"
    assert not unused(text, Config(select=("TDV0", "TDV1", "TDV900")))


def test_without_noqa_only_our_own_comments_are_read() -> None:
    text = f"{HEAD}{BAD}  # noqa: TDV005\n{BAD}  # torchdev: ignore[TDV005]\n"
    config = Config(select=("TDV005", "TDV900"))
    assert findings(text, "a.py", config) == []
    assert [one.range.start.row for one in findings(text, "a.py", config, noqa=False)] == [2]
    assert [
        one.range.start.row for one in findings(text, "a.py", Config(select=("TDV005",), ignore_noqa=True))
    ] == [2]

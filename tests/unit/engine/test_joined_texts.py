"""Many contents in one piece: each file that has a word is found once, and no word is found across two files."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.engine import joined_texts
from torchdev_lint.engine.joined_texts import joined

TEXTS = {"a.py": b"net = 1\nnet = 2\n", "b.py": b"", "c.py": b"other\n", "d.py": b"import net"}


def _paths(root: Path) -> list[str]:
    for name, text in TEXTS.items():
        (root / name).write_bytes(text)
    return [str(root / name) for name in TEXTS]


@pytest.mark.parametrize(
    ("word", "found"), [("net", ["a.py", "d.py"]), ("other", ["c.py"]), ("other\nimport", []), ("no", [])]
)
def test_each_file_once(tmp_path: Path, word: str, found: list[str]) -> None:
    texts = joined([*_paths(tmp_path), str(tmp_path / "gone.py")])
    assert texts is not None
    assert [Path(path).name for path in texts.having(word.encode())] == found


def test_not_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_texts, "MAX_JOINED", 20)
    assert joined(_paths(tmp_path)) is None
    assert joined([]) is None

"""What belongs to a project that is searched for callers."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.engine.sources import listed


@pytest.mark.parametrize("other", ["venv", "env", "node_modules", "site-packages", ".tox"])
def test_what_others_have_written_is_not_listed(tmp_path: Path, other: str) -> None:
    for name in ("a.py", "package/b.py", f"{other}/c.py", f"package/{other}/d.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    below = listed(str(tmp_path))
    assert below is not None
    assert list(below.files) == [str(tmp_path / "a.py"), str(tmp_path / "package" / "b.py")]

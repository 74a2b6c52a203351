"""What a result depends on besides files: the configuration, in one spelling."""

from __future__ import annotations

from dataclasses import replace

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine import cache_key as module
from torchdev_lint.engine.cache_key import cache_key


def test_a_set_has_one_spelling() -> None:
    """The order of a set is not that of another process."""
    codes = frozenset(f"TDV{number}" for number in range(100, 110))
    assert module._plain(codes) == sorted(codes)
    assert cache_key(Config(off_by_default=codes)) != cache_key(Config())


@pytest.mark.parametrize(
    "changed",
    [
        Config(select=("TDV001",)),
        Config(tensor_constructors=("load",)),
        Config(ignore_noqa=True),
        Config(per_file_ignores=(("a.py", ("TDV001",)),)),
    ],
    ids=["select", "tensor_constructors", "ignore_noqa", "per_file_ignores"],
)
def test_what_is_configured_counts(changed: Config) -> None:
    assert cache_key(changed) != cache_key(Config())
    assert cache_key(replace(changed, output_format="json")) == cache_key(changed)

"""Output that is too long keeps its two ends."""

from __future__ import annotations

import pytest

from torchdev_lint.harness.process import Tail


def test_short_output_is_kept_whole():
    tail = Tail(limit=100)
    tail.add(b"a" * 40)
    tail.add(b"b" * 60)
    assert tail.text() == "a" * 40 + "b" * 60


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_long_output_keeps_its_ends_however_it_comes(size):
    tail = Tail(limit=10)
    data = b"01234" + b"x" * 3000 + b"56789"
    for start in range(0, len(data), size):
        tail.add(data[start : start + size])
    assert tail.text() == "01234\n[… 3000 bytes left out …]\n56789"


def test_bytes_that_are_no_text_are_replaced():
    tail = Tail()
    tail.add(b"\xff\xfe ok")
    assert tail.text().endswith(" ok")

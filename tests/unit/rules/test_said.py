"""What is said of the fixtures is what was said of them when somebody last read it."""

from __future__ import annotations

import pytest
from said_document import SAID, said_document

from torchdev_lint.rules.registry import all_rules

CODES = [rule.code for rule in all_rules()]


@pytest.mark.parametrize("code", CODES)
def test_the_words_are_those_that_were_read(code: str) -> None:
    path = SAID / f"{code}.txt"
    assert path.read_text(encoding="utf-8") == said_document(code), (
        "read what changed, then: python scripts/derive.py"
    )


def test_every_file_is_of_a_rule() -> None:
    assert sorted(path.stem for path in SAID.iterdir()) == CODES

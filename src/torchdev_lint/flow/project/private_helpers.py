"""Private functions of files that have nothing to do with models: all that calls them is in sight, in a library, too.

What a public function of a library is given nobody knows. `_count(ids)` is only given what its own project hands over; where its file
and all that names it speak of neither devices nor models, that is what is being prepared, on the CPU: triples, lengths, statistics.
"""

from __future__ import annotations

import re

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.project.reach import blocks, naming

_SPEAKS = re.compile(
    r"\bnn\b|\bModule\b|\bautograd\.Function\b|\.to\(|(?i:(?:\b|_)(?:devices?|cuda|gpus?|mps|xpu|accelerat\w+)(?:\b|_|\d))"
)
"""What has to do with models or devices."""


def is_within(frame: Frame) -> bool:
    """Whether what is executed stands in such a function, or is called by one."""
    current: Frame | None = frame
    while current is not None:
        function = current.function
        if function is not None and not current.source.foreign and _is_private(function):
            known: dict[str, bool] = frame.analysis.notes.setdefault("private helpers", {})
            if function.name not in known:
                known[function.name] = _is_one(frame.analysis, function.name)
            if known[function.name]:
                return True
        current = current.caller
    return False


def _is_private(function: Function) -> bool:
    owner = function.owner
    return (
        function.name.startswith("_")
        and not function.name.startswith("__")
        and (owner is None or not (owner.is_module or owner.is_autograd_function))
    )


def _is_one(analysis: Analysis, name: str) -> bool:
    if _SPEAKS.search(analysis.written) or not analysis.imports.is_searched():
        return False
    named = False
    for _, block, body, whole in naming(analysis, blocks(analysis.written), analysis.source.path, name):
        if _SPEAKS.search(body if block else whole):
            return False
        named = named or re.search(rf"(?<!def )\b{re.escape(name)}\(", body) is not None
    return named and not analysis.imports.in_notebooks(name)

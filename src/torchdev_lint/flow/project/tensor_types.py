"""Attributes called `dtype` that hold a type of tensors: `args.dtype = torch.cuda.FloatTensor if use_cuda else torch.FloatTensor`.

What `.type(self.dtype)` makes of a tensor, or a module, is then on a device that another file may choose.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.project.text_facts import remembered_of_text
from torchdev_lint.flow.syntax.trees import dotted

_WORD = "cuda.FloatTensor"
_ASSIGNED = re.compile(r"(?m)\b(\w+)['\"]?\]?[ \t]*=[ \t]*\(?[ \t]*torch\.cuda\.\w*Tensor\b")


def holds_type(analysis: Analysis, node: cst.BaseExpression) -> bool:
    """Whether what an attribute's or a variable's name says is assigned a type of tensors on an accelerator, anywhere in the project."""
    name = (dotted(node) or "").rpartition(".")[2]
    if not name:
        return False
    if name in _named(analysis.written):
        return True
    return any(name in _named(text) for _, text in analysis.imports.mentioning(_WORD) or ())


@remembered_of_text
def _named(text: str) -> frozenset[str]:
    return frozenset(match[1] for match in _ASSIGNED.finditer(text)) if _WORD in text else frozenset()

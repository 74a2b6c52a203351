"""What documentation says that a parameter is, in the usual styles: `x (torch.Tensor)`, `x : Tensor`, `:type x: torch.Tensor`."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.syntax.trees import remembered

_TENSOR = (
    r"[:`~!]*(?:(?:py:)?(?:obj|class):`~?)?(?:(?:py)?torch[. ])?"
    r"(?:(?:cuda\.)?(?:Float|Long|Bool|Int|Double|Half|Byte)?Tensor|tensors?)\b`?"
)
_OTHER_KINDS = re.compile(
    r"(?i)\bor\b(?! None)|\band\b|\||\b(?:union|list|tuple|dict|array|ndarray|numpy|int|float|str|sequence|iterable|number|"
    r"scalar|callable)\b"
)
"""What else a type may be: then the body decides."""


def tensors_told(node: cst.FunctionDef, names: list[str]) -> set[str]:
    """Those of the parameters that the function's documentation calls tensors, and nothing else."""
    text = node.get_docstring(clean=False) if names else None
    if text is None or "ensor" not in text:
        return set()
    return {name for name in names if _is_told(text, name)}


def is_number_told(node: cst.FunctionDef | cst.Lambda, name: str) -> bool:
    """Whether the function's documentation calls a parameter a number: `t (int): the step`, `t : float`, `:type t: int`."""
    text = node.get_docstring(clean=False) if isinstance(node, cst.FunctionDef) else None
    if text is None:
        return False
    written, kind = re.escape(name), r"(?:int|float|bool)(?:,? *optional)?[ \t]*"
    return (
        re.search(
            rf"(?m)^[ \t]*(?:[-*][ \t]*)?`{{0,2}}{written}`{{0,2}}[ \t]*(?:\([ \t]*{kind}\)|:[ \t]*{kind}$)"
            rf"|:type[ \t]+{written}[ \t]*:[ \t]*{kind}$|:param[ \t]+{kind}[ \t]+{written}[ \t]*:",
            text,
        )
        is not None
    )


_HOST = re.compile(
    r"(?im)^[ \t\"']*(?:[-*][ \t]*|:param[ \t]+)?(?!\w*device)[a-z_]\w*(?:,[ \t]*\w+)*[ \t]*(?:\([^)\n]*\)[ \t]*)?:"
    r"(?![^\n]*(?:gpu|cuda|device|accelerator))[^\n]*\b(?:cpu|host)\b"
)
"""What is told of a parameter that is on the host: `ids: host token ids`, `w, h: cpu double`."""


@remembered(cst.FunctionDef)
def are_told_on_host(node: cst.FunctionDef) -> bool:
    """Whether the function's documentation says that it is given tensors of the host."""
    text = node.get_docstring(clean=False)
    return text is not None and _HOST.search(text) is not None


def _is_told(text: str, name: str) -> bool:
    written = re.escape(name)
    found = re.search(
        rf"(?m)^[ \t]*(?:[-*][ \t]*)?`{{0,2}}{written}`{{0,2}}[ \t]*"
        rf"(?:\([ \t]*{_TENSOR}(?P<inside>[^)\n]*)\)|:[ \t]*{_TENSOR}(?P<after>[^.\n]*))"
        rf"|:type[ \t]+{written}[ \t]*:[ \t]*{_TENSOR}(?P<typed>[^\n]*)"
        rf"|:param[ \t]+{_TENSOR}[ \t]+{written}[ \t]*:",
        text,
    )
    if found is None:
        return False
    rest = found["inside"] or found["after"] or found["typed"] or ""
    return _OTHER_KINDS.search(re.sub(r"\bof (?:shape|size)\b.*|\[.*|\(.*", "", rest)) is None

"""Functions and classes of a script that nothing it runs leads to any more: `def test(args)` of a program whose end only trains.

Only where the file is a script, that is where something in it runs at once; where no other file or notebook imports it; and where nothing
is looked up by a name that somebody types. What leads where is read by name, as in `reach`.
"""

from __future__ import annotations

import re

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.project.project_calls import module_name
from torchdev_lint.flow.project.reach import blocks, said
from torchdev_lint.flow.project.text_facts import remembered_of_text

_BY_NAME = re.compile(
    r"\bgetattr\(\s*sys\.modules|\bglobals\(|\blocals\(|\bvars\(\)|__dict__|\bFire\(|\bhydra\b|\btyper\b|\bclick\b|\binvoke\b|import_module|"
    r"(?<![\w.])(?<!def )eval\(|\bexec\(|\bunittest\b|\bpytest\b|\binspect\b|\bargh\b|\bdefopt\b|\bplac\b|\bfabric\b|\bpickle\b|\bray\b"
)
"""How programs get at what they do not name."""


def is_left(function: Function) -> bool:
    """Whether a function, or the class of a method, is one."""
    model, frame = function.owner, function.frame
    if frame.source.foreign or function.decorators:
        return False
    if model is not None:
        if model.frame.function is not None or model.decorators or model.metaclass is not None:
            return False
    elif frame.function is not None:
        return False
    analysis = frame.analysis
    return analysis.learn(_is_left, analysis, function.name if model is None else model.name)


def _is_left(analysis: Analysis, name: str) -> bool:
    if (
        not analysis.imports.is_searched()
        or analysis.options.in_cells
        or name not in _unreached(analysis.written)
    ):
        return False
    imported = _imported(analysis, module_name(analysis))
    return imported is not None and name in _unreached(f"{imported}\n{analysis.written}")


@remembered_of_text
def _unreached(text: str) -> frozenset[str]:
    """The names of all definitions that nothing in a script leads to; none where it is no script, or finds what it runs by name."""
    words = said(text)
    if _BY_NAME.search(words) is not None:
        return frozenset()
    parts = blocks(words)
    defined = {name: body for name, body in parts if re.match(r"(?:async\s+def|def|class)\b", body)}
    pending = [body for name, body in parts if body != defined.get(name)]
    reached = {name for body in pending for name in _named(body) if name in defined}
    if not reached:
        return frozenset()
    pending = [defined[name] for name in reached]
    while pending:
        found = {name for name in _named(pending.pop()) if name in defined} - reached
        reached |= found
        pending += [defined[name] for name in found]
    return frozenset(defined.keys() - reached)


def _named(body: str) -> list[str]:
    return _NAMED.findall(_STRING.sub("", body))


_NAMED = re.compile(r"(?<![\w.])(?!(?:def|class)\b)[A-Za-z_]\w*")
_STRING = re.compile(r"(?<![fF\w])[rRbBuU]?(?:\"[^\"\n{]*\"|'[^'\n{]*')")
"""A string that names nothing: no expression is in it."""


def _imported(analysis: Analysis, own: str) -> str | None:
    """What other files, and notebooks, take from the checked one by name; None where one may take all of it."""
    word = re.escape(own)
    taken = re.compile(rf"\bfrom[ \t]+[\w.]*\b{word}[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)")
    whole = re.compile(rf"\bimport\b[^\n]*\b{word}\b|['\"][^'\"\n]*\b{word}['\"]")
    others = analysis.imports.mentioning(own)
    notebooks = analysis.imports.notebooks(own)
    if others is None or notebooks is None:
        return None
    names: list[str] = []
    for _, text in (*others, *notebooks):
        found = taken.findall(text)
        if any("*" in one for one in found) or whole.search(taken.sub("", text)) is not None:
            return None
        names += found
    return "\n".join(re.sub(r"[()\\\s]+", " ", one).strip() for one in names)

"""Programs that only ever use the current GPU: there `cuda` without an index is where everything is.

That something may be on another has to show: the file is on its own, or belongs to a library, of whose users nothing is known;
or the programs that it is part of name a GPU by a number that is not always 0, and do not make it the current one. It does not if
everything that imports the file takes what it works with to the current GPU itself, whatever else is in the project.
"""

from __future__ import annotations

import re

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.project.accelerator_programs import TAKES_TO_CURRENT, importing, leading_here
from torchdev_lint.flow.project.reach import imported_by, said

MAX_FILES = 60
"""Of a program; of a larger one the whole project is taken for it."""

_NAMES_A_GPU = re.compile(
    r"cuda:(?:[1-9{%]|['\"] *[+%])|\.cuda\((?!\s*(?:\)|0\s*\)|non_blocking|async))|['\"]cuda['\"] *, *\w|device_map|"
    r"\.to\(\s*(?:\w+\.)*(?:(?:local_|global_)?rank|gpu(?:_id)?)\s*[,)]|"
    r"torch\.device\(\s*(?:args|opt|opts|cfg|config|self)\b|['\"]--device['\"]|(?P<option>['\"]--gpu[-_]?ids?['\"])"
)
"""How programs put things on a GPU that has a number; not by `device_ids`: `DataParallel` runs a copy where its GPU is the current one
(torch/nn/parallel/parallel_apply.py)."""

_MAKES_CURRENT = re.compile(r"\bset_device\(")
"""How a process makes the GPU that it numbers the current one (torch/cuda/__init__.py)."""

_USES_CURRENT = re.compile(rf"{TAKES_TO_CURRENT}|torch\.device\(\s*['\"]cuda['\"]\s*\)")
"""How a program takes its things to the current GPU."""

_WHERE_ANOTHER_IS = re.compile(r"\.is_cuda\b[^\n]*(?:\n[^\n]*)?")
"""What follows another tensor to a GPU: the question, and the line below it."""

_GIVEN_NAME = re.compile(r"\s*([a-z]\w*)\s*\)")


def stays_on_current_gpu(analysis: Analysis) -> bool:
    """Whether the programs that the checked file is part of are in sight, and have nothing on another GPU than the current one."""
    key = ("stays on current gpu", analysis.says(_NAMES_A_GPU), analysis.says(_MAKES_CURRENT))
    known = analysis.notes.get(key)
    if known is None:
        known = analysis.notes[key] = _stays(analysis)
    return bool(known)


def _stays(analysis: Analysis) -> bool:
    if not analysis.imports.is_known():
        return "__main__" in analysis.written and _MAKES_CURRENT.search(said(analysis.written)) is not None
    if _is_given_the_current(analysis, analysis.source.path, {analysis.source.path}):
        return True
    if analysis.imports.is_for_others():
        # whoever uses the library runs the file's bases along with it
        taken = (text for _, text in imported_by(analysis, analysis.source.path, analysis.written))
        return any(_MAKES_CURRENT.search(said(text)) for text in (analysis.written, *taken))
    texts = [said(text) for text in _program(analysis)]
    return any(map(_MAKES_CURRENT.search, texts)) or not any(map(_names_another_gpu, texts))


def _is_given_the_current(analysis: Analysis, file: str, seen: set[str]) -> bool:
    """Whether all that import a file, or those that import these, take their things to the current GPU and to no other.

    `seen`: the files that were asked; nothing is known where there are more than `MAX_FILES`.
    """
    users = [(path, text) for path, text in importing(analysis, file) if path not in seen]
    seen.update(path for path, _ in users)
    return (
        bool(users)
        and len(seen) <= MAX_FILES
        and all(
            _MAKES_CURRENT.search(words) is not None
            or (
                not _names_another_gpu(words)
                and (
                    _USES_CURRENT.search(_WHERE_ANOTHER_IS.sub("", words)) is not None
                    or _is_given_the_current(analysis, path, seen)
                )
            )
            for path, text in users
            for words in (said(text),)
        )
    )


def _program(analysis: Analysis) -> list[str]:
    """The texts of what runs the checked file, and of all that they import."""
    leading = leading_here(analysis)
    found = {} if leading is None else {path: text for path, (text, _) in leading.items()}
    pending = dict(found)
    while pending:
        path, text = pending.popitem()
        for other, imported in imported_by(analysis, path, text):
            if other not in found:
                found[other] = pending[other] = imported
        if len(found) > MAX_FILES:
            found.clear()
            break
    if found:
        return list(found.values())
    around = [one for word in ("cuda", "device") for one in analysis.imports.mentioning(word) or ()]
    return [analysis.written, *dict(around).values()]


def _names_another_gpu(text: str) -> bool:
    """Whether a program may put things on a GPU that is not the current one.

    The number in `CUDA_VISIBLE_DEVICES` makes that one the first; a name that is only ever 0 is the first.
    """
    chosen = "CUDA_VISIBLE_DEVICES" in text
    for match in _NAMES_A_GPU.finditer(text):
        if match["option"] and chosen:
            continue
        named = _GIVEN_NAME.match(text, match.end()) if match.group() == ".cuda(" else None
        if named is None or set(re.findall(rf"(?m)^\s*{named[1]}\s*=\s*(.+)", text)) != {"0"}:
            return True
    return False

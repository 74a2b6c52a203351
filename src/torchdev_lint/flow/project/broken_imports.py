"""Files that cannot be imported, on whatever machine: what they import at once of their own project is not there any more.

A notebook that names what was renamed since, a tracker that an older layout belonged to: nothing in them is ever reached. Source:
https://docs.python.org/3/reference/import.html. What is imported in a `try`, a branch or a function may not be missed.
"""

from __future__ import annotations

import itertools
import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.project.reach import imports_at_once, said, with_imported

_LEADS_ELSEWHERE = re.compile(
    r"\bchdir\(|^[ \t]*[%!]?cd\b|git clone|site-packages|sys\.modules|PYTHONPATH|"
    r"^[^#\n]*\bsys\.path\b[^\n]*['\"](?=[^'\"\n]*[A-Za-z])",
    re.MULTILINE,
)
"""What a program says whose imports may be of other projects than its own: `sys.path.append("../other")`, but not of `".."`."""


def cannot_be_imported(analysis: Analysis) -> bool:
    """Whether the checked file fails before anything of it runs, by what it imports or by what that does."""
    if not analysis.imports.is_known() or _LEADS_ELSEWHERE.search(analysis.written) is not None:
        return False
    text = analysis.written
    if analysis.options.in_cells:
        lines = map(analysis.module.code_for_node, analysis.module.body)
        text = "".join(itertools.takewhile(lambda line: _BEGINS.search(line) is not None, lines))
    at_once = with_imported(analysis, {analysis.source.path: text}, at_top=True)
    return any(_fails(analysis, path, text) for path, text in (at_once or {}).items())


_BEGINS = re.compile(
    r"^\s*(?:#.*\s+)*(?:import|from|pass)\b|\b(?:sys|os|warnings|get_ipython|logging|plt|mpl|sns)\."
)
"""What a notebook begins with: its imports, and what they need."""


def fails_in_cell(analysis: Analysis, base: str, node: cst.ImportFrom) -> bool:
    """Whether an import ends the cell of the checked notebook that it stands in."""
    if isinstance(node.names, cst.ImportStar) or _LEADS_ELSEWHERE.search(analysis.written) is not None:
        return False
    names = [alias.evaluated_name for alias in node.names]
    return analysis.imports.lacks(analysis.source.path, base, names)


def _fails(analysis: Analysis, path: str, text: str) -> bool:
    words = said(text)
    return _LEADS_ELSEWHERE.search(words) is None and any(
        analysis.imports.lacks(path, base, names) for base, names in imports_at_once(words)
    )

"""What a text is told off for: the check's diagnostics, less what was deselected or suppressed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torchdev_lint.config import SYNTAX_ERROR, UNUSED_SUPPRESSION, Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.source.suppression import Suppressions
from torchdev_lint.torch_api.versions import runs_with

if TYPE_CHECKING:
    from torchdev_lint.engine.memory import Memory
    from torchdev_lint.flow.activation.analysis import Recording
    from torchdev_lint.flow.project.projects import Sources


def findings(
    text: str,
    path: str,
    config: Config,
    *,
    noqa: bool = True,
    sources: Sources | None = None,
    recorder: Recording | None = None,
    bare: list[Diagnostic] | None = None,
    memory: Memory | None = None,
) -> list[Diagnostic]:
    """The diagnostics of `text`, sorted; without `noqa`, `# noqa` comments are left to the caller.

    What `text` imports from its project is read through `sources`. A `recorder` is told of what was executed; a `memory` remembers the
    last text of the file. To `bare` is added what this would give back without `noqa`.
    """
    from torchdev_lint.engine.check import check_source  # Loads LibCST; files without torch never get here.

    noqa = noqa and not config.ignore_noqa
    found = check_source(text, path, config, sources, recorder, memory)
    if not config.selects(SYNTAX_ERROR, path):
        found = [one for one in found if one.code != SYNTAX_ERROR]
    if bare is not None and found:
        bare += sorted(Suppressions.of(text, noqa=False).keep(found), key=Diagnostic.sort_key)
    asks_for_unused = noqa and config.selects(UNUSED_SUPPRESSION, path)
    if not found and not asks_for_unused:
        return []
    suppressions = Suppressions.of(text, noqa=noqa)
    left = suppressions.keep(found)
    if asks_for_unused and all(one.code != SYNTAX_ERROR for one in found):
        from torchdev_lint.engine.unused import unused_suppressions

        left += unused_suppressions(text, path, config, suppressions, found)
    return sorted((_with_allowed_fix(one, config) for one in left), key=Diagnostic.sort_key)


def _with_allowed_fix(one: Diagnostic, config: Config) -> Diagnostic:
    if one.fix is None:
        return one
    written = (edit.content for edit in one.fix.edits)
    return (
        one if config.fixes(one.code) and runs_with(written, config.target_torch) else replace(one, fix=None)
    )

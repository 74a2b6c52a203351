"""`torchdev-lint --add-noqa`: writes the comments and says how many."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from torchdev_lint.config import Config
from torchdev_lint.engine.add_noqa import add_noqa
from torchdev_lint.engine.results import describe_bug
from torchdev_lint.files import read_bytes
from torchdev_lint.fixes.writer import WriteError, replace_content
from torchdev_lint.source.document import SourceError


def add_comments(paths: Iterable[str], config_for: Callable[[str], Config], reason: str) -> int:
    """Add `# noqa` comments to the files `paths`; returns the exit code."""
    counts = [_add_to_file(path, config_for, reason) for path in paths]
    count = sum(filter(None, counts))
    if count:
        print(f"Added {count} noqa directive{'' if count == 1 else 's'}.", file=sys.stderr)
    return 2 if None in counts else 0


def _add_to_file(path: str, config_for: Callable[[str], Config], reason: str) -> int | None:
    """How many comments were added; None when the file is left as it is because something went wrong."""
    try:
        data = read_bytes(path)
        config = config_for(path)
        added = add_noqa(data, path, config, reason)
        if added.count:
            replace_content(path, added.data, data, within=config.root)
    except (SourceError, WriteError) as error:
        problem = str(error)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except Exception as error:  # One file's bad luck must not cost the others their comments.
        problem = describe_bug(error)
    else:
        return added.count
    print(f"error: {path}: {problem}", file=sys.stderr)
    return None

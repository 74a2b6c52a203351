"""The caches of a run: one for each configuration that its files have; and what a kept result means to this run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchdev_lint.config import Config
from torchdev_lint.engine.cache import Cache
from torchdev_lint.engine.cache_key import cache_key
from torchdev_lint.engine.file_check import Choice, FileResult
from torchdev_lint.files import read_bytes
from torchdev_lint.source.document import SourceError
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX, read_source

if TYPE_CHECKING:
    from torchdev_lint.diagnostics import Applicability
    from torchdev_lint.engine.jobs import Checked


@dataclass(slots=True)
class Caches:
    """Kept results, in the directory `directory`.

    It is `trusted` when whoever runs this named it; one that was found in the project may have come with the project.
    """

    directory: str
    trusted: bool = True
    _open: dict[int, Cache] = field(default_factory=dict)
    _configs: list[Config] = field(default_factory=list)
    """Keeps the configurations, which are known by their identity: hashing one costs more than looking a file up."""

    def _of(self, config: Config) -> Cache:
        cache = self._open.get(id(config))
        if cache is None:
            key = cache_key(config)
            same = next((one for one in self._open.values() if one.key == key), None)
            cache = self._open[id(config)] = same or Cache.load(self.directory, key, self.trusted)
            self._configs.append(config)
        return cache

    def result(
        self, path: str, config: Config, allowed: frozenset[Applicability], only: Choice | None
    ) -> FileResult | None:
        """What the file `path` came to; None when it has to be checked."""
        known = self._of(config).look_up(path)
        if known is None:
            return None
        found, warnings = known
        result = FileResult(path, found, warnings=warnings)
        if not found:
            return result
        if allowed and any(one.fix is not None and one.fix.applicability in allowed for one in found):
            return None
        if only is None and not path.endswith(NOTEBOOK_SUFFIX):
            return result
        try:
            source = read_source(read_bytes(path), path)
        except (OSError, SourceError):
            return None
        if path.endswith(NOTEBOOK_SUFFIX):
            from torchdev_lint.source.notebook import Notebook

            if only is not None or not isinstance(source, Notebook):
                return None
            return replace(result, text=source.text, before=source.text, notebooks=(source, source))
        from torchdev_lint.engine.run import chosen

        return result if only is None else chosen(replace(result, text=source.text, before=source.text), only)

    def keep(self, path: str, config: Config, checked: Checked) -> None:
        """Keep what a file came to."""
        if checked.stamp is not None:
            result = checked.result
            self._of(config).put(
                path, checked.stamp, checked.digest, checked.seen, result.diagnostics, result.warnings
            )

    def save(self) -> None:
        """Write what is new."""
        for cache in {id(cache): cache for cache in self._open.values()}.values():
            cache.save()


def clean(directory: str) -> bool:
    """Remove a cache directory; False when there is none. Raises `OSError`, and `ValueError` if it is not ours."""
    from torchdev_lint.engine.cache import TAG

    if not os.path.isdir(directory):
        return False
    try:
        ours = b"torchdev-lint" in read_bytes(os.path.join(directory, TAG), 1000)
    except OSError:
        ours = False
    if not ours:
        raise ValueError("it was not made by torchdev-lint")
    import shutil

    shutil.rmtree(directory)
    return True

"""The caches of a run: one for each configuration that its files have; and what a kept result means to this run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchdev_lint.config import Config
from torchdev_lint.engine.cache import Cache
from torchdev_lint.engine.cache_directory import DIRECTORY
from torchdev_lint.engine.cache_key import cache_key
from torchdev_lint.engine.results import Bare, Choice, FileResult, chosen
from torchdev_lint.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchdev_lint.diagnostics import Applicability
    from torchdev_lint.engine.jobs import Checked
    from torchdev_lint.engine.settings import Settings
    from torchdev_lint.engine.stamps import Stamp


def of_project(settings: Settings, directory: str = ".") -> Caches:
    """The kept results of the project around a directory. Raises `ConfigError`."""
    return Caches(os.path.join(settings.for_directory(directory).root, DIRECTORY), trusted=False)


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
        from torchdev_lint.source.reading import NOTEBOOK_SUFFIX, read_source

        if only is None and not path.endswith(NOTEBOOK_SUFFIX):
            return result
        from torchdev_lint.source.document import SourceError

        try:
            source = read_source(read_bytes(path), path)
        except (OSError, SourceError):
            return None
        if path.endswith(NOTEBOOK_SUFFIX):
            from torchdev_lint.source.notebook import Notebook

            if only is not None or not isinstance(source, Notebook):
                return None
            return replace(result, text=source.text, before=source.text, notebooks=(source, source))
        return result if only is None else chosen(replace(result, text=source.text, before=source.text), only)

    def bare(self, path: str, config: Config) -> list[Bare] | None:
        """What `FileResult.bare` has of the file `path`; None when it has to be checked."""
        return self._of(config).look_up_bare(path)

    def reads(self, path: str, config: Config) -> list[str]:
        """The other files, with absolute paths, that the result of the file `path` depends on."""
        return self._of(config).reads(path)

    def looked_at(self) -> Iterator[tuple[str, Stamp | None, dict[str, bool] | None]]:
        """What the results that were asked for rest on: see `Cache.looked_at`."""
        for cache in {id(cache): cache for cache in self._open.values()}.values():
            yield from cache.looked_at()

    def configured_by(self) -> set[str]:
        """The files of the configurations that were asked for, and the stub files that these name."""
        sources = {os.path.abspath(config.source) for config in self._configs if config.source}
        return sources.union(*(config.stubs for config in self._configs))

    def look_again(self) -> None:
        """Files may have changed since they were last looked at."""
        for cache in self._open.values():
            cache.look_again()

    def keep(self, path: str, config: Config, checked: Checked) -> None:
        """Keep what a file came to."""
        if checked.stamp is not None:
            result = checked.result
            self._of(config).put(
                path,
                checked.stamp,
                checked.digest,
                checked.seen,
                result.diagnostics,
                result.warnings,
                result.bare,
            )

    def save(self) -> None:
        """Write what is new."""
        for cache in {id(cache): cache for cache in self._open.values()}.values():
            cache.save()

"""What kind of file some bytes are, by the name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdev_lint.source.document import Document

if TYPE_CHECKING:
    from torchdev_lint.source.notebook import Notebook

NOTEBOOK_SUFFIX = ".ipynb"


def read_source(data: bytes, path: str) -> Document | Notebook:
    """The source that the content `data` of the file `path` holds. Raises `SourceError`."""
    if path.endswith(NOTEBOOK_SUFFIX):
        from torchdev_lint.source.notebook import Notebook  # Most runs see none.

        return Notebook.from_bytes(data, path)
    return Document.from_bytes(data, path)

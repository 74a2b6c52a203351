"""Decides on bytes, without decoding or parsing, whether a file can have findings at all."""

from __future__ import annotations

from torchdev_lint.config import Config
from torchdev_lint.torch_api.marks import MARKS

_MARKS = tuple(mark.encode() for mark in MARKS)


def may_matter(data: bytes, config: Config) -> bool:
    """Whether `data` mentions torch, or a tensor constructor or a library that the configuration speaks of.

    Device mismatches need tensors or modules, and those come out of torch or out of what the user named.
    """
    if any(mark in data for mark in _MARKS):
        return True
    if config.stubs and _names_a_library(data, config):
        return True
    return any(name.rpartition(".")[2].encode() in data for name in config.tensor_constructors)


def _names_a_library(data: bytes, config: Config) -> bool:
    from torchdev_lint.stubs.shelf import own_libraries

    return any(library.encode() in data for library in own_libraries(config.stubs))

"""Decides on bytes, without decoding or parsing, whether a file can have findings at all."""

from __future__ import annotations

from torchdev_lint.config import Config

_TORCH = b"torch"


def may_matter(data: bytes, config: Config) -> bool:
    """Whether `data` mentions torch or a tensor constructor of the configuration.

    Device mismatches need tensors or modules, and those come out of torch or out of what the user named.
    """
    if _TORCH in data:
        return True
    return any(name.rpartition(".")[2].encode() in data for name in config.tensor_constructors)

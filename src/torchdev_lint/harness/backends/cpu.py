"""The plain CPU: the machine as it is, but without its CUDA devices."""

from __future__ import annotations

from torchdev_lint.harness.backends.base import Backend


class CpuBackend(Backend):
    """A host without a GPU.

    CUDA is hidden by `CUDA_VISIBLE_DEVICES=""`, which CUDA reads once, at its initialisation: hence in the
    environment of the child and not later. torch is not imported: a program that does not need it does not
    pay.
    """

    name = "cpu"

    def environment(self) -> dict[str, str]:
        """Hide every CUDA device."""
        return {"CUDA_VISIBLE_DEVICES": ""}

    def prepare(self) -> str:
        """Nothing to do."""
        return self.name

"""A real NVIDIA GPU, and the choice between it and the simulator."""

from __future__ import annotations

from torchdev_lint.harness.backends.base import Backend, BackendUnavailableError
from torchdev_lint.harness.backends.simulated import SimulatedBackend


class CudaBackend(Backend):
    """The machine as it is, which must have a usable CUDA device."""

    name = "cuda"

    def prepare(self) -> str:
        """Check that there is a device; CUDA itself is initialised by the program, as it would be without
        us.
        """
        reason = no_cuda_reason()
        if reason is not None:
            raise BackendUnavailableError(reason)
        return self.name

    def describe(self) -> str:
        """The names of the GPUs."""
        import torch

        names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        return ", ".join(names)


class AutoBackend(Backend):
    """A real GPU where there is one, else the simulator."""

    name = "auto"

    def __init__(self, fallback: SimulatedBackend) -> None:
        self._chosen: Backend = CudaBackend()
        self._fallback = fallback

    def prepare(self) -> str:
        """Choose; the name of the choice."""
        if no_cuda_reason() is not None:
            self._chosen = self._fallback
        return self._chosen.prepare()

    def describe(self) -> str:
        """What the chosen backend says."""
        return self._chosen.describe()


def no_cuda_reason() -> str | None:
    """Why this process has no CUDA device, or None when it has one."""
    try:
        import torch
    except ImportError as error:
        return f"torch cannot be imported: {error}"
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} is built for CUDA {torch.version.cuda} but sees no usable GPU"
    return None

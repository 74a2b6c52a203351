"""The simulated accelerator as a backend."""

from __future__ import annotations

from torchdev_lint.harness.backends.base import Backend, BackendUnavailableError

ACCELERATORS = ("cuda", "mps")
"""The device types that can be simulated."""


class SimulatedBackend(Backend):
    """`devices` simulated accelerators of one type; real ones are hidden, since tensors must stay on the
    CPU.
    """

    name = "simulated"

    def __init__(self, *, devices: int = 2, accelerator: str = "cuda") -> None:
        if accelerator not in ACCELERATORS:
            raise ValueError(
                f"unknown accelerator {accelerator!r}: expected one of {', '.join(ACCELERATORS)}"
            )
        if devices < 1:
            raise ValueError(f"the number of simulated devices must be at least 1, not {devices}")
        self.accelerator = accelerator
        # Apple machines have one GPU: `mps:0`.
        self.devices = 1 if accelerator == "mps" else devices

    def environment(self) -> dict[str, str]:
        """Hide every CUDA device."""
        return {"CUDA_VISIBLE_DEVICES": ""}

    def prepare(self) -> str:
        """Install the simulator in this process and test it."""
        try:
            import torch  # noqa: F401
        except ImportError as error:
            raise BackendUnavailableError(f"torch cannot be imported: {error}") from error
        from torchdev_lint.harness import simulator

        try:
            simulator.install(devices=self.devices, accelerator=self.accelerator)
        except simulator.SimulatorUnavailableError as error:
            raise BackendUnavailableError(str(error)) from error
        return self.name

    def describe(self) -> str:
        """Which devices are simulated."""
        if self.devices == 1:
            return f"1 simulated {self.accelerator} device"
        return f"{self.devices} simulated {self.accelerator} devices"

"""Streams and events: everything is done at once, in order, so they only keep up appearances."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

import torch

from torchdev_lint.harness.simulator import machine


class Stream:
    """`torch.cuda.Stream`."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device = machine.resolve(machine.machine().type if device is None else device)
        self.device_index = self.device.index
        self.device_type = 1
        self.stream_id = 0
        self.cuda_stream = 0
        self.priority = priority

    def synchronize(self) -> None:
        """Nothing is pending."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing is pending."""

    def wait_event(self, event: Any) -> None:
        """Nothing is pending."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event that happens now."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Everything is done."""
        return True

    def is_capturing(self) -> bool:
        """There are no graphs."""
        return False

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device == self.device

    def __hash__(self) -> int:
        return hash((Stream, self.device))


class ExternalStream(Stream):
    """`torch.cuda.ExternalStream`."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        super().__init__(device)


class Event:
    """`torch.cuda.Event`: wall-clock times."""

    def __init__(self, enable_timing: bool = False, *_: Any, **__: Any) -> None:
        self._seconds: float | None = None

    def record(self, stream: Any = None) -> None:
        """Happen now."""
        self._seconds = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Nothing is pending."""

    def synchronize(self) -> None:
        """Nothing is pending."""

    def query(self) -> bool:
        """It has happened."""
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between the two."""
        if self._seconds is None or end_event._seconds is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._seconds - self._seconds) * 1e3


def device_stream(device: Any = None) -> Stream:
    """The only stream of a device."""
    return Stream(device)


class use_stream:  # noqa: N801 - torch.cuda.stream's name style
    """`with torch.cuda.stream(s):`; also makes the stream's device current, as CUDA does."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        self._before = machine.machine().current
        device = getattr(self.stream, "device", None)
        if isinstance(device, torch.device) and device.index is not None:
            machine.machine().current = device.index

    def __exit__(self, *exc_info: object) -> None:
        if machine.active():
            machine.machine().current = self._before

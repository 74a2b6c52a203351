"""What a program that is run may take from the machine, besides its time, which the parent watches."""

from __future__ import annotations

from contextlib import suppress

MEMORY_GIB = 16
"""Address space that the program gets besides what its process has when it begins; PyTorch's libraries alone take some of it."""


def bound_this_process(backend: str) -> None:
    """From now on this process leaves no core dump and gets a `MemoryError` for more than `MEMORY_GIB` (Linux only).

    On a real GPU memory is not bounded: CUDA reserves addresses for all that the machine has
    (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#unified-memory-programming).
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if backend == "cuda":
            return
        with open("/proc/self/statm", "rb") as status:
            taken = int(status.read().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = taken + MEMORY_GIB * 2**30
        if most == resource.RLIM_INFINITY or wanted < most:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))

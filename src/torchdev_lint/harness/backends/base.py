"""What a backend is."""

from __future__ import annotations

from abc import ABC, abstractmethod


class BackendUnavailableError(Exception):
    """This backend cannot be used here; the text is the reason, for a person."""


class Backend(ABC):
    """One place to run programs. Made in the parent, used in the child: keep it free of torch until
    `prepare`.
    """

    name: str

    def environment(self) -> dict[str, str]:
        """Variables to set in the child's environment before it starts."""
        return {}

    @abstractmethod
    def prepare(self) -> str:
        """Get ready inside the child, before the program's first line; the name of what is in use now.

        Raises BackendUnavailableError.
        """

    def describe(self) -> str:
        """What is in use, in words, after `prepare`."""
        return self.name

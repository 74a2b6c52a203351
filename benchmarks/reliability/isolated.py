"""Work on many things in child processes: one that dies or exceeds a limit costs its own result only."""

from __future__ import annotations

import multiprocessing as mp
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

Thing = TypeVar("Thing")
Worker = Callable[[Thing], dict[str, Any]]

BATCH = 150
"""Things that one child process works on: its memory starts afresh with each batch."""


def isolated(
    things: Sequence[Thing], prepare: Callable[[], Worker[Thing]], limit: float
) -> Iterator[tuple[Thing, dict[str, Any]]]:
    """Each thing and what the worker, made by `prepare` in the child, makes of it.

    That is `{"died": why}` where the child died or took more than `limit` seconds for it.
    """
    context = mp.get_context("fork")
    left = list(things)
    while left:
        batch, left = left[:BATCH], left[BATCH:]
        receiving, sending = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(batch, prepare, sending))
        child.start()
        sending.close()
        done = 0
        why = ""
        while done < len(batch):
            try:
                if not receiving.poll(limit):
                    why = f"more than {limit:.0f} s"
                    child.kill()
                    break
                yield batch[done], receiving.recv()
                done += 1
            except EOFError:
                break
        child.join(limit)
        if child.exitcode is None:  # It has nothing left to do, and does not end.
            child.kill()
            child.join()
        receiving.close()
        if done < len(batch):
            yield batch[done], {"died": why or f"exit status {child.exitcode}"}
            left = batch[done + 1 :] + left


def _work(batch: list[Thing], prepare: Callable[[], Worker[Thing]], reports: Connection) -> None:
    worker = prepare()
    for thing in batch:
        reports.send(worker(thing))

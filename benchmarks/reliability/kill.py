"""`--fix` is killed at every step and at random instants: every file must be the old one or the new one.

    python benchmarks/reliability/kill.py [--count 300] [--seed 0] [--json FILE]

Three ways to die, in turn: SIGKILL, SIGTERM, SIGINT. First, at every line that replacing a file executes, by a trace function, so that
no instant between two lines is left to chance. Then `--count` times a whole `check --fix` of a small tree, at a random instant
after a random number of its files is done; in every fourth of them two runs work on the same tree, and both are killed.
Each run is forked from a process that has the linter loaded, so that the kills fall into reading, fixing and writing rather
than into imports.

After each kill: every file has its old or its new bytes, whole; whatever else lies there is a temporary file that no
run would check; and a run that is left alone brings every file to its new content.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from torchdev_lint.cli import main as command_line
from torchdev_lint.fixes.writer import replace_content

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
OLD = """import torch
from torch import nn

model = nn.Linear(4, 2).to("cuda")
x = torch.ones(3, 4)
x.to("cuda")
print(model(x), {number})
"""
FILES = 30
COMMAND = ("check", "--isolated", "--fix", "--unsafe-fixes", "--exit-zero", "--quiet")


def forked(work: Callable[[], object]) -> int:
    """The process that does `work`, silently, and ends."""
    # An interrupt before the child is ready for it would send the child on into the caller's code, or leave half done what
    # Python mends after a fork: such a child may wait for ever.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS[1:])
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return pid
    try:
        # A measurement of coverage holds a lock at every line: interrupted there, the child would wait for itself.
        sys.settrace(None)
        for signum in SIGNALS[1:]:
            signal.signal(signum, signal.SIG_DFL if signum != signal.SIGINT else signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS[1:])
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        work()
        os._exit(0)
    except BaseException:
        os._exit(1)


def status_of(pid: int, patience: float = 120.0) -> int:
    """The status with which a process ended; one that does not end is killed, and raises TimeoutError."""
    deadline = time.monotonic() + patience
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise TimeoutError(f"a run did not end within {patience:g} s")
        time.sleep(0.0005)


def leftovers(directory: Path) -> list[str]:
    return [name for name in os.listdir(directory) if not name.startswith("file")]


def complain_about(directory: Path, old: dict[str, bytes], new: dict[str, bytes]) -> list[str]:
    """What is not as it must be, after a kill."""
    wrong = []
    for name, before in old.items():
        path = directory / name
        if not path.exists():
            wrong.append(f"{name} is gone")
        elif path.read_bytes() not in (before, new[name]):
            wrong.append(f"{name} is neither old nor new: {path.read_bytes()[:80]!r}")
    wrong += [
        f"{name} is left and would be checked"
        for name in leftovers(directory)
        if not (name.startswith(".file") and name.endswith(".tmp"))
    ]
    return wrong


def steps(
    scratch: Path,
    replace: Callable[[str, bytes, bytes], None] = replace_content,
    signals: Sequence[signal.Signals] = SIGNALS,
) -> dict[str, Any]:
    """Kill at every line of the writer's code, by every signal."""
    deaths: Counter[str] = Counter()
    wrong: list[str] = []
    left = 0
    old, new = {"file.py": b"old\n" * 999}, {"file.py": b"newer\n" * 999}
    code = os.path.abspath(inspect.getfile(replace))
    for signum in signals:
        step = 0
        while True:
            step += 1
            directory = Path(tempfile.mkdtemp(dir=scratch))
            (directory / "file.py").write_bytes(old["file.py"])

            def dying(step: int = step, signum: signal.Signals = signum, directory: Path = directory) -> None:
                seen = 0

                def trace(frame: FrameType, event: str, argument: object) -> Any:
                    nonlocal seen
                    if os.path.abspath(frame.f_code.co_filename) != code:
                        return None
                    if event == "line":
                        seen += 1
                        if seen == step:
                            os.kill(os.getpid(), signum)
                    return trace

                sys.settrace(trace)
                replace(str(directory / "file.py"), new["file.py"], old["file.py"])

            status = status_of(forked(dying))
            wrong += [f"step {step}, {signum.name}: {one}" for one in complain_about(directory, old, new)]
            left += len(leftovers(directory))
            shutil.rmtree(directory)
            if status == 0:
                break  # it came to its end before this step
            deaths[signum.name] += 1
    return {"kills": dict(deaths), "temporary files left": left, "wrong": wrong}


def instants(scratch: Path, count: int, seed: int) -> dict[str, Any]:
    """Kill whole runs at random instants."""
    chance = random.Random(seed)
    old = {f"file{number:02}.py": OLD.format(number=number).encode() for number in range(FILES)}

    def tree() -> Path:
        directory = Path(tempfile.mkdtemp(dir=scratch))
        for name, content in old.items():
            (directory / name).write_bytes(content)
        return directory

    # One cache for all: what a killed run left in it must not mislead the next.
    arguments = [*COMMAND, "--cache-dir", str(scratch / "cache")]

    def run(directory: Path) -> int:
        return forked(lambda: os._exit(command_line([*arguments, str(directory)])))

    whole = tree()
    command_line([*arguments, str(whole)])  # loads what is loaded lazily, and says what the new content is
    new = {name: (whole / name).read_bytes() for name in old}
    if any(new[name] == old[name] for name in old):
        raise SystemExit("the files of this test are not fixed any more: it would show nothing")

    def done(directory: Path) -> int:
        return sum((directory / name).read_bytes() == new[name] for name in old)

    deaths: Counter[str] = Counter()
    wrong: list[str] = []
    survived = written = left = 0
    for number in range(count):
        signum = SIGNALS[number % 3]
        directory = tree()
        start = time.monotonic()
        pids = [run(directory) for _ in range(2 if number % 4 == 3 else 1)]
        # By the files that are done, not by the clock, which on a busy machine says little.
        wanted = chance.randrange(FILES)
        begun = 0.0
        while (ready := done(directory)) < wanted and time.monotonic() - start < 60:
            begun = begun or (time.monotonic() if ready else 0.0)
        seen = time.monotonic() - (begun or start)
        time.sleep(chance.uniform(0, seen / max(wanted, 1)))
        for pid in pids:
            os.kill(pid, signum)
        ended = [status_of(pid) for pid in pids]
        deaths[signum.name] += sum(status != 0 for status in ended)
        survived += sum(status == 0 for status in ended)
        wrong += [f"kill {number}, {signum.name}: {one}" for one in complain_about(directory, old, new)]
        written += done(directory)
        left += len(leftovers(directory))
        if number % 10 == 0:
            status_of(run(directory))
            if any((directory / name).read_bytes() != new[name] for name in old):
                wrong.append(f"kill {number}, {signum.name}: the next run does not finish the work")
        shutil.rmtree(directory)
    return {
        "kills": dict(deaths),
        "ended before the signal": survived,
        "files": count * FILES,
        "files with the new content": written,
        "temporary files left": left,
        "wrong": wrong,
    }


def experiment(count: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="kill-") as name:
        return {"every step": steps(Path(name)), "random instants": instants(Path(name), count, seed)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    result = experiment(options.count, options.seed)
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    return 1 if any(part["wrong"] for part in result.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

"""`--watch` as a process that is told of changes, and the bar of a long run."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchdev_lint.cli import main
from torchdev_lint.report.progress import over, wanted

BAD = "import torch\nmodel = torch.nn.Linear(2, 1).to('cuda')\nprint(model(torch.ones(2)))\n"
GOOD = BAD.replace("ones(2)", "ones(2, device='cuda')")


# A measurement of coverage holds a lock at every line: interrupted there, a process would wait for itself.
UNMEASURED = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


class Watcher:
    """A running `--watch`, whose output can be waited for."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "torchdev_lint", "--watch", "--output-format=concise", *arguments],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**UNMEASURED, "PYTHONUNBUFFERED": "1"},
            # what a shell runs in the background ignores it, and so would all that it starts
            preexec_fn=None if os.name == "nt" else lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.text = ""
        self.read = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.text += line

    def wait_for(self, words: str, seconds: float = 60) -> str:
        """What was printed since the last call up to the line with `words`."""
        end = time.monotonic() + seconds
        while words not in self.text[self.read :]:
            assert time.monotonic() < end, self.text
            assert self.process.poll() is None, self.text
            time.sleep(0.05)
        since = self.text[self.read :]
        self.read = len(self.text)
        return since

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.torchdev-lint]\n")
    (tmp_path / "a.py").write_text(BAD)
    return tmp_path


@pytest.fixture
def watcher(folder: Path) -> Iterator[Watcher]:
    started = Watcher(folder)
    yield started
    if started.process.poll() is None:
        started.process.kill()
    started.process.wait()
    started.reader.join(10)
    assert started.process.stdout is not None
    started.process.stdout.close()


@pytest.mark.skipif(os.name == "nt", reason="sends a SIGINT")
def test_every_change_is_checked(watcher: Watcher, folder: Path) -> None:
    first = watcher.wait_for("Watching for file changes.")
    assert "Starting the linter in watch mode" in first
    assert "a.py:3" in first
    (folder / "a.py").write_text(GOOD)
    assert "All checks passed!" in watcher.wait_for("Watching for file changes.")
    (folder / "new.py").write_text(BAD)
    assert "new.py:3" in watcher.wait_for("Watching for file changes.")
    (folder / "pyproject.toml").write_text('[tool.torchdev-lint]\nignore = ["ALL"]\n')
    assert "All checks passed!" in watcher.wait_for("Watching for file changes.")
    (folder / "pyproject.toml").write_text('[tool.torchdev-lint]\nselct = ["ALL"]\n')
    assert "unknown key" in watcher.wait_for("Watching for file changes.")
    assert "\x1b" not in watcher.text, "no terminal to be cleared"
    assert watcher.stop() == 0


@pytest.mark.parametrize("other", ["-", "--diff", "--add-noqa", "--show-files"])
def test_what_it_cannot_do(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--watch", other])
    assert exit_.value.code == 2
    assert "--watch" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_comes_late_and_leaves_nothing() -> None:
    stream, ticks = Terminal(), iter([0.0, 0.1, 0.5, 1.2, 1.25, 1.4])
    assert list(over(list("abcde"), 5, stream, lambda: next(ticks))) == list("abcde")
    drawn = stream.getvalue().split("\r\x1b[K")
    assert drawn[0] == ""
    assert [piece.rpartition("] ")[2] for piece in drawn[1:]] == ["3/5 files", "5/5 files", ""]


def test_a_short_run_draws_nothing() -> None:
    stream = Terminal()
    assert list(over(list("ab"), 2, stream, lambda: 0.0)) == ["a", "b"]
    assert stream.getvalue() == ""


def test_the_bar_goes_when_the_run_is_broken_off() -> None:
    stream, ticks = Terminal(), iter([0.0, 2.0])
    bar = over(["a", "b"], 2, stream, lambda: next(ticks))
    next(bar)
    bar.close()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"TERM": "xterm", "CI": "true"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
)
def test_who_sees_the_bar(stream: io.StringIO, environment: dict[str, str], expected: bool) -> None:
    assert wanted(stream, environment) is expected


def test_the_findings_are_not_touched_by_the_bar(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from torchdev_lint.report import progress

    terminal = Terminal()
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    assert main([str(folder)]) == 1
    assert "] 1/1 files" in terminal.getvalue()
    assert "Checking [" not in capsys.readouterr().out
    terminal.truncate(0)
    assert main(["--quiet", str(folder)]) == 1
    assert "Checking" not in terminal.getvalue()

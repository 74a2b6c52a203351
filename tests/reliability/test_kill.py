"""Killed while it fixes: every file is the old one or the new one."""

import signal
from pathlib import Path

import kill


def careless(path: str, data: bytes, expected: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def test_every_step_of_replacing_a_file(tmp_path: Path) -> None:
    result = kill.steps(tmp_path)
    assert result["wrong"] == []
    assert min(result["kills"][signum.name] for signum in kill.SIGNALS) > 20


def test_the_experiment_sees_a_file_that_is_written_in_place(tmp_path: Path) -> None:
    result = kill.steps(tmp_path, careless, [signal.SIGKILL])
    assert any("neither old nor new" in one for one in result["wrong"])


def test_random_instants(tmp_path: Path) -> None:
    result = kill.instants(tmp_path, count=15, seed=1)
    assert result["wrong"] == []
    assert sum(result["kills"].values()) >= 5
    assert 0 < result["files with the new content"] < result["files"]

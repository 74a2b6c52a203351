"""The cache: an entry holds as long as what it was made from, and no longer."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range, Related
from torchdev_lint.engine import cache as cache_module
from torchdev_lint.engine import cache_directory
from torchdev_lint.engine import jobs as jobs_module
from torchdev_lint.engine.cache import Cache
from torchdev_lint.engine.cache_format import FIELDS, from_plain, to_plain
from torchdev_lint.engine.cache_key import cache_key
from torchdev_lint.engine.caches import Caches
from torchdev_lint.engine.jobs import Job
from torchdev_lint.engine.listings import listed
from torchdev_lint.engine.results import NO_FIXES
from torchdev_lint.engine.run import run
from torchdev_lint.engine.sources import Seen
from torchdev_lint.engine.stamps import stamp_of_path

BOTH = "from devices import pick\nimport torch\n\nx = torch.ones(2, device='cuda') + torch.ones(2, device=pick())\n"


BOTH_KINDS = frozenset({Applicability.SAFE, Applicability.UNSAFE})


def aged(path: Path, seconds: int = 100) -> None:
    """Make the file or directory look as if it had been changed long ago, when its time says something."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - seconds * 10**9))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


@pytest.fixture
def lint(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[str], list[str]]]:
    """Runs over all files; which of them were checked, and the findings."""
    checked: list[str] = []
    settings = Config(root=str(project), off_by_default=frozenset({"TDV101"}))
    real = jobs_module.Checker.__call__

    def watched(self: jobs_module.Checker, job: Job) -> jobs_module.Checked:
        checked.append(job.path)
        return real(self, job)

    monkeypatch.setattr(jobs_module.Checker, "__call__", watched)

    def once(
        config: Config | None = None, fixes: frozenset[Applicability] = NO_FIXES
    ) -> tuple[list[str], list[str]]:
        checked.clear()
        paths = sorted(path.name for path in project.glob("*.py"))
        result = run(
            paths,
            lambda path: config or settings,
            lambda config: fixes,
            write=True,
            caches=Caches(str(project / "kept")),
        )
        found = [f"{one.path}:{one.range.start.row}:{one.code} {one.message}" for one in result.diagnostics]
        return list(checked), found

    return once


def test_nothing_changed_nothing_checked(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]]
) -> None:
    (project / "a.py").write_text(BOTH)
    (project / "devices.py").write_text("def pick():\n    return 'cpu'\n")
    (project / "plain.py").write_text("print(1)\n")
    checked, found = lint()
    assert checked == ["a.py"]
    assert len(found) == 1
    assert lint() == ([], found)
    for path in (project, *project.glob("*.py")):
        aged(path)
    assert lint() == ([], found)
    assert lint() == ([], found)


def test_what_an_import_changes_is_seen(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]]
) -> None:
    (project / "a.py").write_text(BOTH)
    (project / "b.py").write_text("import torch\nx = torch.ones(2)\n")
    (project / "devices.py").write_text("def pick():\n    return 'cpu'\n")
    _, found = lint()
    assert found
    (project / "devices.py").write_text("def pick():\n    return 'cuda'\n")
    assert lint() == (["a.py"], [])
    (project / "devices.py").write_text("def pick():\n    return 'cpu'\n")
    assert lint() == (["a.py"], found)


def test_a_file_that_appears_is_seen(project: Path, lint: Callable[..., tuple[list[str], list[str]]]) -> None:
    (project / "a.py").write_text(BOTH)
    assert lint() == (["a.py"], [])
    aged(project)
    assert lint() == ([], [])
    assert lint() == ([], [])
    (project / "nobody_asked.py").write_text("")
    assert lint() == ([], [])
    (project / "devices.py").write_text("def pick():\n    return 'cpu'\n")
    checked, found = lint()
    assert (checked, len(found)) == (["a.py"], 1)
    (project / "devices.py").unlink()
    assert lint() == (["a.py"], [])


def test_a_caller_that_appears_or_changes_is_seen(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]]
) -> None:
    """What the callers of a function give it may stand in any file of the project."""
    text = "import torch\ndef centered(poses: torch.Tensor):\n    return torch.eye(4) @ poses\n"
    (project / "geometry.py").write_text(text)
    below = project / "readers"
    below.mkdir()
    other = below / "other.py"
    other.write_text("import torch\nx = torch.ones(3)\n")
    for path in (project / "geometry.py", other, below, project):
        aged(path)
    assert [one.split(":")[2][:6] for one in lint()[1]] == ["TDV005"]
    caller = below / "reading.py"
    caller.write_text(
        "import torch\nfrom geometry import centered\ndef read(p):\n    return centered(torch.tensor(p))\n"
    )
    checked, found = lint()
    assert "geometry.py" in checked
    assert found == []
    other.write_text(
        "import torch\nfrom geometry import centered\ndef train(p):\n    return centered(p.cuda())\n"
    )
    assert [one.split(":")[2][:6] for one in lint()[1]] == ["TDV005"]


CENTERED = "import torch\ndef centered(poses: torch.Tensor):\n    return torch.eye(4) @ poses\n"
READER = "import torch\nfrom geometry import centered\ndef read(p):\n    return centered(torch.tensor(p))\n"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("runs/exp1/weights.pt", "..."),
        ("log.txt", "centered("),
        ("other.py", "# nothing that is sought\nx = 4\n"),
        ("further/readers.py", "import os\n"),
        (".hidden/reading.py", READER),
    ],
)
def test_what_a_search_would_not_find_does_not_count(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]], written: str, text: str
) -> None:
    """Training writes weights and logs beside its program: that is no reason to check it again."""
    (project / "geometry.py").write_text(CENTERED)
    (project / "other.py").write_text("x = 3\n")
    for path in (project / "geometry.py", project / "other.py", project):
        aged(path)
    _, found = lint()
    assert [one.split(":")[2][:6] for one in found] == ["TDV005"]
    assert lint() == ([], found)
    (project / written).parent.mkdir(parents=True, exist_ok=True)
    (project / written).write_text(text)
    checked, again = lint()
    assert "geometry.py" not in checked
    assert again == found
    (project / "reading.py").write_text(READER)
    checked, again = lint()
    assert "geometry.py" in checked
    assert again == []


def test_what_is_written_into_a_directory_that_came_later_counts(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]]
) -> None:
    (project / "geometry.py").write_text(CENTERED)
    _, found = lint()
    (project / "readers").mkdir()
    assert lint() == ([], found)
    aged(project)
    aged(project / "readers")
    assert lint() == ([], found)
    (project / "readers" / "reading.py").write_text(READER)
    assert lint() == (["geometry.py"], [])
    (project / "readers" / "reading.py").unlink()
    assert lint() == (["geometry.py"], found)


def test_a_project_that_changes_while_it_is_checked_is_checked_again(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "geometry.py").write_text(CENTERED)
    aged(project / "geometry.py")
    put = Cache.put

    def late(self: Cache, *told: Any) -> None:
        (project / "elsewhere.py").write_text("import torch\n")
        put(self, *told)

    monkeypatch.setattr(Cache, "put", late)
    _, found = lint()
    monkeypatch.undo()
    monkeypatch.chdir(project)
    caches = Caches(str(project / "kept"))
    assert (
        caches.result(
            "geometry.py", Config(root=str(project), off_by_default=frozenset({"TDV101"})), NO_FIXES, None
        )
        is None
    )
    assert found


def searched(project: Path, word: str, *found: str) -> Seen:
    below = listed(str(project))
    assert below is not None
    key = (str(project), word, False)
    paths = tuple(str(project / name) for name in found)
    return Seen({}, {}, {key: paths}, {str(project): below.fingerprint})


def test_runs_at_the_same_time_share_what_they_searched(project: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (project / name).write_text(f"import torch\n{name[0]}()\n")
        aged(project / name)
    where = str(project / "kept")
    first, second = (Cache.load(where, "key") for _ in range(2))

    def put(cache: Cache, name: str, said: str, seen: Seen) -> None:
        stamp = stamp_of_path(str(project / name))
        assert stamp is not None
        cache.put(str(project / name), stamp, said, seen, (), [said])

    put(first, "a.py", "by the first", searched(project, "b()", "b.py"))
    put(second, "b.py", "by the second", searched(project, "b()", "b.py"))
    first.save()
    second.save()
    last = Cache.load(where, "key")
    assert [last.look_up(str(project / name)) is not None for name in ("a.py", "b.py")] == [True, True]
    (project / "c.py").write_text("import torch\nc(d())\n")
    third = Cache.load(where, "key")
    put(third, "c.py", "by the third", searched(project, "d()", "c.py"))
    third.save()
    (project / "c.py").unlink()
    assert Cache.load(where, "key").look_up(str(project / "c.py")) is None
    (project / "c.py").write_text("import torch\nc(b())\n")
    last = Cache.load(where, "key")
    assert [last.look_up(str(project / name)) for name in ("a.py", "b.py", "c.py")] == [None, None, None]


def test_a_change_that_leaves_time_and_size_alone_is_seen(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]]
) -> None:
    path = project / "a.py"
    path.write_text("import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n")
    aged(path)
    _, found = lint()
    assert len(found) == 1
    assert lint() == ([], found)
    status = path.stat()
    path.write_text("import torch\nx = torch.ones(2, device='cuda') + 1            \n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert lint() == (["a.py"], [])


def test_a_touched_file_is_read_but_not_checked(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]]
) -> None:
    (project / "a.py").write_text("import torch\n")
    lint()
    os.utime(project / "a.py")
    assert lint() == ([], [])


def test_configuration_counts(project: Path, lint: Callable[..., tuple[list[str], list[str]]]) -> None:
    (project / "a.py").write_text("import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n")
    _, found = lint()
    assert lint(Config(root=str(project), ignore=("TDV005", "TDV101"))) == (["a.py"], [])
    assert lint() == ([], found)
    off = frozenset({"TDV101"})
    assert lint(Config(root=str(project), output_format="json", off_by_default=off)) == ([], found)
    stub = project / "own.toml"
    stub.write_text('library = "own"\n')
    before = cache_key(Config(stubs=(str(stub),)))
    stub.write_text('library = "another"\n')
    assert cache_key(Config(stubs=(str(stub),))) != before
    sets = [Config(off_by_default=frozenset(codes)) for codes in (("TDV101", "TDV102"), ("TDV102", "TDV101"))]
    assert cache_key(sets[0]) == cache_key(sets[1])


def test_what_can_be_fixed_is_fixed(project: Path, lint: Callable[..., tuple[list[str], list[str]]]) -> None:
    path = project / "a.py"
    path.write_text("import torch\nnet = torch.nn.Linear(2, 2).to('cuda')\nx = torch.ones(1, 2)\nnet(x)\n")
    _, found = lint()
    assert len(found) == 1
    assert lint(None, BOTH_KINDS) == (["a.py"], [])
    assert "next(net.parameters()).device" in path.read_text()
    assert lint() == (["a.py"], [])
    assert lint(None, BOTH_KINDS) == ([], [])


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other", "entry"])
def test_damage_costs_time_only(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]], damage: str
) -> None:
    (project / "a.py").write_text("import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n")
    _, found = lint()
    (kept,) = (project / "kept").glob("*.json")
    data = kept.read_bytes()
    if damage == "entry":
        body = json.loads(data.partition(b"\n")[2])
        body["entries"][str(project / "a.py")][3] = [["TDV005"]]
        text = json.dumps(body).encode()
        kept.write_bytes(cache_directory.headed(cache_module.HEAD, text) + b"\n" + text)
    else:
        middle = len(data) // 2
        kept.write_bytes(
            {
                "cut": data[:middle],
                "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
                "empty": b"",
                "other": b"\x80\x04]\x94.",
            }[damage]
        )
    assert lint() == (["a.py"], found)
    assert lint() == ([], found)


def test_files_that_have_gone_are_forgotten(
    project: Path, lint: Callable[..., tuple[list[str], list[str]]]
) -> None:
    for name in ("a.py", "b.py"):
        (project / name).write_text("import torch\n")
    lint()
    (project / "b.py").unlink()
    (project / "c.py").write_text("import torch\n")
    lint()
    (kept,) = (project / "kept").glob("*.json")
    assert set(json.loads(kept.read_bytes().partition(b"\n")[2])["entries"]) == {
        str(project / name) for name in ("a.py", "c.py")
    }


def test_old_keys_make_room(tmp_path: Path) -> None:
    for number in range(cache_directory.MAX_FILES + 5):
        cache = Cache.load(str(tmp_path / "kept"), f"key {number}")
        cache.put("a.py", (1, 2, 3), "d", None, (), ())
        cache.save()
        os.utime(cache.path, (number, number))
    assert len(list((tmp_path / "kept").glob("*.json"))) == cache_directory.MAX_FILES
    assert (tmp_path / "kept" / ".gitignore").read_text() == "*\n"


def test_a_directory_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    cache = Cache.load(str(tmp_path / "kept"), "key")
    cache.put("a.py", (1, 2, 3), "d", None, (), ())
    cache.save()
    assert (tmp_path / "kept").read_text() == "a file"


def test_diagnostics_come_back_whole() -> None:
    of_other_tools = ["tool", "url", "fingerprint", "drawing"]
    assert [field.name for field in fields(Diagnostic)] == FIELDS + of_other_tools
    place = Range(Position(1, 2), Position(3, 4))
    fix = Fix((Edit(place, "x\n", 3), Edit(place, "")), Applicability.UNSAFE, "Say", True)
    one = Diagnostic(
        "a.py",
        "TDV001",
        "name",
        "é\ud800",
        place,
        (Related(place, "here", "b.py", 2), Related(place, "")),
        fix,
        7,
        5,
    )
    for given in (one, Diagnostic("a.py", "TDV001", "name", "message", place)):
        assert from_plain("a.py", json.loads(json.dumps(to_plain(given)))) == given


def test_runs_at_the_same_time_add_to_each_other(project: Path) -> None:
    for name in ("a.py", "b.py", "c.py", "d.py", "shared.py"):
        (project / name).write_text("import torch\n")
        aged(project / name)
    where = str(project / "kept")
    first, second, third = (Cache.load(where, "key") for _ in range(3))

    def put(cache: Cache, name: str, said: str, shared: str = "same") -> None:
        stamp, other = (stamp_of_path(str(project / one)) for one in (name, "shared.py"))
        assert stamp is not None
        assert other is not None
        seen = Seen({str(project): (None, {"x.py": False})}, {str(project / "shared.py"): (other, shared)})
        cache.put(str(project / name), stamp, said, seen, (), [said])

    def told() -> dict[str, list[str]]:
        last = Cache.load(where, "key")
        known = {name: last.look_up(str(project / f"{name}.py")) for name in "abcd"}
        return {name: list(result[1]) for name, result in known.items() if result is not None}

    put(first, "a.py", "by the first")
    put(first, "b.py", "by the first")
    put(second, "b.py", "by the second")
    put(second, "c.py", "by the second")
    put(third, "d.py", "by the third", shared="as nobody else saw it")
    first.save()
    second.save()
    assert told() == {"a": ["by the first"], "b": ["by the second"], "c": ["by the second"]}
    third.save()
    assert told() == {"d": ["by the third"]}


@pytest.mark.parametrize("trouble", [OSError(errno.ENOLCK, "No locks available"), BlockingIOError()])
def test_results_are_kept_where_there_are_no_locks(
    project: Path, monkeypatch: pytest.MonkeyPatch, trouble: OSError
) -> None:
    fcntl = pytest.importorskip("fcntl")
    waits: list[float] = []
    monkeypatch.setattr(cache_directory, "LOCK_TIMEOUT", 0.1)
    monkeypatch.setattr(cache_directory.time, "sleep", waits.append)

    def flock(descriptor: int, how: int) -> None:
        raise trouble

    monkeypatch.setattr(fcntl, "flock", flock)
    (project / "a.py").write_text("import torch\n")
    cache = Cache.load(str(project / "kept"), "key")
    stamp = stamp_of_path(str(project / "a.py"))
    assert stamp is not None
    cache.put(str(project / "a.py"), stamp, "digest", None, (), ["told"])
    cache.save()
    assert len(list((project / "kept").glob("*.json"))) == 1
    if trouble.errno == errno.ENOLCK:
        assert waits == []


def test_a_file_that_was_found_and_has_gone(project: Path) -> None:
    """Nobody has looked at it but the search."""
    for name in ("a.py", "b.py"):
        (project / name).write_text("import torch\nf()\n")
        aged(project / name)
    cache = Cache.load(str(project / "kept"), "key")
    stamp = stamp_of_path(str(project / "a.py"))
    assert stamp is not None
    cache.put(str(project / "a.py"), stamp, "digest", searched(project, "f()", "a.py", "b.py"), (), [])
    cache.save()
    assert Cache.load(str(project / "kept"), "key").look_up(str(project / "a.py")) is not None
    (project / "b.py").unlink()
    assert Cache.load(str(project / "kept"), "key").look_up(str(project / "a.py")) is None

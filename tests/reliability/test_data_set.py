"""Data sets made of repositories, directories and archives, and the run over their parts."""

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: NO DATA SET IS MADE")

import data_set  # noqa: E402
import data_set_run  # noqa: E402

BAD = b"import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n"


def run(monkeypatch: pytest.MonkeyPatch, main: object, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["script", *map(str, arguments)])
    main()  # type: ignore[operator]


def rows(data: Path) -> list[dict[str, object]]:
    found = [row for part in sorted(data.glob("*.parquet")) for row in pq.read_table(part).to_pylist()]
    return sorted(found, key=lambda row: (row["repository"], row["path"]))


def sources(where: Path) -> list[Path]:
    """A directory, the git directory of a repository, a wheel and a source archive."""
    folder = where / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.py").write_bytes(b"a = 1\n")
    (folder / "twice.py").write_bytes(BAD)
    (folder / "notes.txt").write_bytes(b"not this one\n")
    work = where / "work"
    work.mkdir()
    (work / "b.py").write_bytes(b"b = 1\n")
    (work / "bad.py").write_bytes(BAD)
    (work / "link.py").symlink_to("b.py")
    git = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    bare = where / "owner+name" / "repo"
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    with zipfile.ZipFile(where / "some-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some/c.py", "c = 1\n")
        wheel.writestr("some/long.py", "x = 1\n" * 400_000)
    with tarfile.open(where / "other-1.0.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("other/d.py")
        member.size = 6
        archive.addfile(member, io.BytesIO(b"d = 1\n"))
    return [folder, bare, where / "some-1.0-py3-none-any.whl", where / "other-1.0.tar.gz"]


def test_each_content_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    run(monkeypatch, data_set.main, "-o", data, "--parts", 3, *sources(tmp_path))
    assert [(row["repository"], row["path"]) for row in rows(data)] == [
        ("folder", "deep/a.py"),
        ("folder", "twice.py"),
        ("other-1.0.tar.gz", "other/d.py"),
        ("owner/name", "b.py"),
        ("some-1.0-py3-none-any.whl", "some/c.py"),
    ]
    assert rows(data)[1]["content"] == BAD
    told = json.loads(capsys.readouterr().out)
    expected = {
        "files": 5,
        "lines": 6,
        "bytes": 24 + len(BAD),
        "torch files": 1,
        "torch lines": 2,
        "torch bytes": len(BAD),
    }
    assert told == {**expected, "known": 1, "too large": 1}
    assert len(list(data.glob("*.parquet"))) == 3
    # another data set without what is in this one
    (tmp_path / "folder" / "new.py").write_bytes(b"new = 1\n")
    run(monkeypatch, data_set.main, "-o", tmp_path / "more", "--without", data, tmp_path / "folder")
    assert [row["path"] for row in rows(tmp_path / "more")] == ["new.py"]


def test_a_run_goes_on_where_it_was_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.py").write_bytes(BAD + b"# %d\n" % number)
    data, out = tmp_path / "data", tmp_path / "out"
    run(monkeypatch, data_set.main, "-o", data, "--parts", 2, folder)
    run(monkeypatch, data_set_run.main, data, "-o", out, "--dask", 0)
    told = [json.loads(line) for line in (out / "parts.jsonl").read_text().splitlines()]
    assert [one["part"] for one in told] == ["part-000.parquet", "part-001.parquet"]
    assert sum(one["codes"]["TDV005"] for one in told) == sum(one["torch rows"] for one in told) == 8
    assert all(one["exit code"] == 1 for one in told)
    (out / "parts.jsonl").write_text(json.dumps(told[0]) + "\n")
    (out / "part-000.here.jsonl").unlink()
    run(monkeypatch, data_set_run.main, data, "-o", out, "--dask", 0)
    assert not (out / "part-000.here.jsonl").exists()
    assert [json.loads(line)["part"] for line in (out / "parts.jsonl").read_text().splitlines()] == [
        "part-000.parquet",
        "part-001.parquet",
    ]

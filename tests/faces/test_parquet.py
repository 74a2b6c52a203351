"""`--parquet`: sources in a data set are checked as files are, a few at a time."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.file_check import check_content
from torchdev_lint.engine.rows import Count, check_rows
from torchdev_lint.engine.workers import Workers
from torchdev_lint.source.parquet import Row, data_files

needed = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None,
    reason="pyarrow is not installed: NOTHING IS TESTED OF --parquet (pip install 'torchdev-lint[parquet]')",
)
FIXTURES = Path(__file__).parents[1] / "fixtures"
BAD = "import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n"

ONE = Config(select=("TDV005",))


def lint(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "torchdev_lint", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=300)


def write(path: Path, columns: dict[str, Any], **more: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **more)


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@needed
@pytest.mark.parametrize(
    "more", [[], ["--jobs=2"], ["--executor=concurrent.futures:ProcessPoolExecutor", "--jobs=2"]]
)
def test_rows_come_to_what_files_come_to(project: Path, more: list[str]) -> None:
    files = project / "files"
    files.mkdir()
    for folder in ("TDV001", "TDV004"):
        for path in sorted((FIXTURES / folder).glob("[a-z]*.py"))[:8]:
            (files / f"{folder}_{path.name}").write_bytes(path.read_bytes())
    (files / "broken.py").write_text("import torch\ndef (\n")
    names = sorted(path.name for path in files.iterdir())
    contents = [(files / name).read_text(encoding="utf-8") for name in names]
    half = len(names) // 2
    write(
        project / "data" / "0.parquet",
        {"path": names[:half], "content": contents[:half], "stars": [1] * half},
    )
    rest = len(names) - half
    write(
        project / "data" / "more" / "1.parquet",
        {"id": [1] * rest, "content": contents[half:], "path": names[half:]},
    )
    (project / "data" / "_metadata.parquet").write_bytes(b"not this one")
    expected = objects(lint(".", "--no-cache", "--output-format=json-lines", cwd=files).stdout)
    assert len(expected) > 8
    result = lint("--parquet=data", *more, cwd=project)
    found = objects(result.stdout)
    for one in found:
        one["filename"] = str(files / one["filename"])
        name, row = one.pop("data_file"), one.pop("data_row")
        place = names.index(os.path.basename(one["filename"]))
        assert (Path(name).as_posix(), row) == (
            ("data/0.parquet", place) if place < half else ("data/more/1.parquet", place - half)
        )
    order = sorted(expected, key=lambda one: names.index(os.path.basename(one["filename"])))
    assert found == order
    assert result.returncode == 1
    assert result.stderr == f"2 files, {len(names)} rows; {len(names)} analysed, {len(found)} findings\n"


@needed
def test_findings_as_a_table(project: Path) -> None:
    import pyarrow.parquet as pq

    fixed = (FIXTURES / "TDV001" / "after_early_return_bad.py").read_text(encoding="utf-8")
    write(project / "a.parquet", {"path": ["x.py", "y.py", "z.py"], "content": [BAD, "print(1)\n", fixed]})
    arguments = ("--parquet=a.parquet", "--output-format=parquet", "-o", "out/found.parquet")
    result = lint(*arguments, cwd=project)
    assert (result.returncode, result.stdout) == (1, "")
    rows = pq.read_table(project / "out" / "found.parquet").to_pylist()
    lines = objects(lint("--parquet=a.parquet", cwd=project).stdout)
    assert [(one["data_file"], one["data_row"], one["path"]) for one in rows] == [
        ("a.parquet", 0, "x.py"),
        ("a.parquet", 2, "z.py"),
    ]
    for row, line in zip(rows, lines, strict=True):
        assert (row["code"], row["name"], row["message"]) == (line["code"], line["name"], line["message"])
        assert {"row": row["row"], "column": row["column"]} == line["location"]
        assert {"row": row["end_row"], "column": row["end_column"]} == line["end_location"]
    assert [(row["code"], row["fix_applicability"]) for row in rows] == [("TDV005", None), ("TDV001", "safe")]
    assert lines[1]["fix"]["applicability"] == "safe"
    # Nothing found: an empty table, not none.
    write(project / "a.parquet", {"path": ["x.py"], "content": ["print(1)\n"]})
    assert lint(*arguments, cwd=project).returncode == 0
    table = pq.read_table(project / "out" / "found.parquet")
    assert (table.num_rows, table.column_names[:2]) == (0, ["data_file", "data_row"])
    assert os.listdir(project / "out") == ["found.parquet"]


@needed
def test_columns_of_other_names_and_types(project: Path) -> None:
    import pyarrow as pa

    columns = {
        "max_stars_repo_path": pa.array(["a.py", "b.py", None, "d.py"]).dictionary_encode(),
        "code": pa.array([BAD.encode(), None, BAD.encode(), b"import torch\n\xff"], pa.large_binary()),
    }
    write(project / "a.parquet", columns)
    result = lint("--parquet=a.parquet", "--parquet-columns=max_stars_repo_path,code", cwd=project)
    assert [(one["filename"], one["code"]) for one in objects(result.stdout)] == [
        ("a.py", "TDV005"),
        ("d.py", "TDV999"),
    ]
    assert result.stderr == "1 file, 4 rows, 2 of them without path or content; 2 analysed, 2 findings\n"
    assert (
        lint("--parquet=a.parquet", "--parquet-columns=max_stars_repo_path,code", "-qe", cwd=project).stderr
        == ""
    )


@needed
def test_text_is_text_whatever_it_declares(project: Path) -> None:
    """Its encoding is that of the data set, not of the file that it once was; only bytes are decoded as they say."""
    cookie = (
        "# -*- coding: utf-16 -*-\nimport torch\né = 1; x = torch.ones(2, device='cuda') + torch.ones(2)\n"
    )
    plain = cookie.replace("utf-16", "utf-8")
    found = check_content("\ufeff" + cookie, "a.py", ONE)
    assert [one.range for one in found.diagnostics] == [
        one.range for one in check_content(plain, "a.py", ONE).diagnostics
    ]
    assert found.diagnostics[0].code == "TDV005"
    told = check_content(cookie.encode(), "a.py", ONE).diagnostics
    assert [one.code for one in told] == ["TDV999"]
    (null,) = check_content("import torch\n\0", "a.py", ONE).diagnostics
    assert null.message == "source contains null bytes"


@needed
@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            {"path": ["a"], "text": ["b"]},
            "no column 'content' (--parquet-columns PATH,CONTENT names others); it has: path, text",
        ),
        ({"path": ["a"], "content": [1]}, "column 'content' is int64, not text"),
        ({"path": [["a"]], "content": ["b"]}, "column 'path' is list<"),
    ],
)
def test_a_data_set_without_what_is_needed_is_told(project: Path, columns: dict[str, Any], told: str) -> None:
    write(project / "data" / "a.parquet", {"path": ["a.py"], "content": [BAD]})
    write(project / "data" / "b.parquet", columns)
    result = lint("--parquet=data", "-o", "found.json", cwd=project)
    # Before anything is checked or written, though the first file is fine.
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert f"error: --parquet: {os.path.join('data', 'b.parquet')}: {told}" in result.stderr
    assert os.listdir(project) == ["data"]


@needed
def test_damaged_files_are_told(project: Path) -> None:
    (project / "not.parquet").write_bytes(b"PAR1 this is nothing PAR1")
    (project / "empty").mkdir()
    for given, told in {
        "not.parquet": "not.parquet: not a Parquet file that can be read: ",
        "gone.parquet": "gone.parquet: no such file or directory",
        "empty": "empty: no .parquet files in this directory",
    }.items():
        result = lint(f"--parquet={given}", cwd=project)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert f"error: --parquet: {told}" in result.stderr
    # Damaged in the middle: what stands before it is told, and what stands in other files.
    contents = [f"{BAD}# {os.urandom(1000).hex()}\n" for _ in range(400)]
    columns = {"path": [f"{number}.py" for number in range(400)], "content": contents}
    write(
        project / "data" / "a.parquet", columns, row_group_size=200, compression="zstd", use_dictionary=False
    )
    data = bytearray((project / "data" / "a.parquet").read_bytes())
    middle = len(data) * 3 // 4  # In the contents of the second row group.
    data[middle : middle + 4000] = bytes(4000)
    (project / "data" / "a.parquet").write_bytes(data)
    write(project / "data" / "b.parquet", {"path": ["a.py"], "content": [BAD]})
    result = lint("--parquet=data", "-q", cwd=project)
    assert result.returncode == 2
    assert result.stderr.startswith(f"error: {os.path.join('data', 'a.parquet')}: cannot be read behind row ")
    assert result.stderr.count("\n") == 1
    assert objects(result.stdout)[-1]["data_file"].endswith("b.parquet")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--parquet=a", "--fix"], "--parquet checks what is in no file: without --fix"),
        (["--parquet=a", "--diff"], "without --diff"),
        (["--parquet=a", "--add-noqa"], "without --add-noqa"),
        (["--parquet=a", "--files-from=b"], "without --files-from"),
        (["--parquet=a", "--watch"], "without --watch"),
        (["--parquet=a", "b.py"], "--parquet takes no other paths"),
        (["--parquet=a", "--output-format=sarif"], "written as json-lines or parquet, not as sarif"),
        (["--parquet=a", "--output-format=parquet"], "--output-format parquet needs --output-file PATH"),
        (["--output-format=parquet", "-o", "b"], "--output-format parquet is for what --parquet checks"),
        (["--parquet=a", "--parquet-columns=b"], "expected two names, PATH,CONTENT, not 'b'"),
        (["data.parquet"], "data.parquet: a data set of sources is given as --parquet data.parquet"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(project: Path, arguments: list[str], told: str) -> None:
    (project / "data.parquet").touch()
    result = lint(*arguments, cwd=project)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert told in result.stderr


def test_without_pyarrow_it_says_what_to_install(project: Path) -> None:
    (project / "data.parquet").touch()
    code = "import sys; sys.modules['pyarrow'] = None\nfrom torchdev_lint.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "--parquet=data.parquet"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=project, check=False)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "pyarrow is not installed: pip install 'torchdev-lint[parquet]'" in result.stderr


def test_rows_are_asked_for_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchdev_lint.engine.rows.CHUNK_BYTES", 1000)
    asked = 0

    def rows() -> Any:
        nonlocal asked
        for asked in range(1, 10_001):
            yield Row(asked, f"{asked}.py", b"import torch\n" if asked % 2 else b"print(1)\n", text=True)

    count = Count()
    results = check_rows(rows(), Config(), Workers(), count)
    assert next(results)[0].number == 1
    assert asked < 200
    assert sum(1 for _ in results) == 4999
    assert (count.rows, count.analysed, count.findings) == (10_000, 5000, 0)


@needed
def test_a_file_is_read_a_few_rows_at_a_time(project: Path) -> None:
    import pyarrow as pa

    size = 20_000
    contents = [os.urandom(size).hex() for _ in range(1500)]
    columns = {"path": ["a.py"] * len(contents), "content": contents}
    write(project / "a.parquet", columns, use_dictionary=False, write_batch_size=16)
    del contents
    (file,) = data_files("a.parquet", ("path", "content"))
    before, highest = pa.total_allocated_bytes(), 0
    count = 0
    for row in file.rows([]):
        count += 1
        assert len(row.data) == 2 * size
        highest = max(highest, pa.total_allocated_bytes() - before)
    assert count == 1500
    assert highest < 20_000_000  # Of 60 MB in one row group.

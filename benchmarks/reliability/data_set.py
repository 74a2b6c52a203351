"""All Python files of repositories, directories and archives, each content once, as a Parquet data set for `--parquet`.

    python benchmarks/reliability/data_set.py -o DATA SOURCE... [--parts N] [--without DATA]...

A source is a directory with sources, the git directory of a bare repository (its newest commit is read; what is missing from
a partial clone is counted), a wheel, or a source archive (.zip, .tar.gz). What is one content under several names comes once, as
it is first met. Rows have `path`, `content` (bytes) and `repository` (the source's name), and go to parts by what they contain,
so that each part is a random sample of all sources: a run that has to end early says something about all of them. `--without`
leaves out what is in other data sets. Files over 2 MB are left out, and counted. Sources are read one after another, rows are
written a few at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema([("path", pa.string()), ("content", pa.binary()), ("repository", pa.string())])
LARGEST = 2_000_000
ROW_GROUP = 256
"""Rows that are held for each part until they are written."""
MISSING, LARGE = "missing", "too large"

File = tuple[str, bytes]


def files_of(source: Path, count: Counter[str]) -> Iterator[File]:
    """The Python files of a source: names within it, and contents."""
    if (source / "HEAD").is_file() and (source / "objects").is_dir():
        return in_git(source, count)
    if source.is_dir():
        return in_directory(source)
    if zipfile.is_zipfile(source):
        return in_zip(source)
    return in_tar(source)


def in_git(git: Path, count: Counter[str]) -> Iterator[File]:
    environment = {**os.environ, "GIT_DIR": str(git), "GIT_NO_LAZY_FETCH": "1"}
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "-z", "HEAD"], env=environment, stdout=subprocess.PIPE, check=True
    )
    names: list[tuple[bytes, str]] = []
    for entry in listed.stdout.split(b"\0"):
        about, _, name = entry.partition(b"\t")
        if name.endswith(b".py") and about.startswith(b"100"):
            names.append((about.split()[2], name.decode("utf-8", "replace")))
    with subprocess.Popen(
        ["git", "cat-file", "--batch"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as git_process:
        asked, answered = git_process.stdin, git_process.stdout
        assert asked is not None
        assert answered is not None
        for digest, name in names:
            asked.write(digest + b"\n")
            asked.flush()
            head = answered.readline().split()
            if head[-1] == b"missing":
                count[MISSING] += 1
                continue
            content = answered.read(int(head[2]))
            answered.read(1)
            yield name, content


def in_directory(directory: Path) -> Iterator[File]:
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(".py") and path.is_file() and not path.is_symlink():
                yield str(path.relative_to(directory)), path.read_bytes()


def in_zip(archive: Path) -> Iterator[File]:
    with zipfile.ZipFile(archive) as opened:
        for one in opened.infolist():
            if one.filename.endswith(".py"):
                yield one.filename, opened.read(one)


def in_tar(archive: Path) -> Iterator[File]:
    with tarfile.open(archive) as opened:
        for one in opened:
            if one.name.endswith(".py") and one.isfile():
                content = opened.extractfile(one)
                assert content is not None
                yield one.name, content.read()


def name_of(source: Path) -> str:
    """`OWNER/NAME` of a repository that lies in `OWNER+NAME/repo`, else the file's or directory's name."""
    source = source.parent if source.name == "repo" else source
    return source.name.replace("+", "/", 1)


def digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


class Part:
    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        self._rows: list[tuple[str, bytes, str]] = []

    def add(self, path: str, content: bytes, repository: str) -> None:
        self._rows.append((path, content, repository))
        if len(self._rows) == ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = [list(column) for column in zip(*self._rows, strict=True)]
            self._writer.write_table(pa.table(columns, schema=SCHEMA))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--without", type=Path, action="append", default=[], metavar="DATA")
    options = parser.parse_args()
    seen = {
        digest(content)
        for data in options.without
        for part in sorted(data.glob("*.parquet"))
        for batch in pq.ParquetFile(part).iter_batches(64, columns=["content"])
        for content in batch.column(0).to_pylist()
    }
    options.output.mkdir(parents=True, exist_ok=True)
    everything: Counter[str] = Counter()
    with ExitStack() as closing, open(options.output / "sources.jsonl", "w", encoding="utf-8") as told:
        parts = [Part(options.output / f"part-{number:03}.parquet") for number in range(options.parts)]
        for part in parts:
            closing.callback(part.close)
        for source in options.sources:
            count: Counter[str] = Counter()
            for path, content in files_of(source, count):
                if len(content) > LARGEST:
                    count[LARGE] += 1
                    continue
                key = digest(content)
                if key in seen:
                    count["known"] += 1
                    continue
                seen.add(key)
                parts[int.from_bytes(key[:4], "big") % len(parts)].add(path, content, name_of(source))
                torch = "torch " if b"torch" in content else ""
                for kind in ("", torch) if torch else ("",):
                    count[f"{kind}files"] += 1
                    count[f"{kind}lines"] += content.count(b"\n")
                    count[f"{kind}bytes"] += len(content)
            told.write(json.dumps({"source": name_of(source), **count}) + "\n")
            everything += count
    print(json.dumps(everything))


if __name__ == "__main__":
    main()

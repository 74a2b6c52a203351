"""Broken and odd variants of real files: no crash, no hang, and fixes, suppressions and faces that keep their promises.

    python benchmarks/reliability/mutate.py DIRECTORY... [--count 2000] [--seed 0] [--limit SECONDS]

Each variant is a file of the directories with one to six changes: tokens deleted, doubled, swapped or replaced (by tokens of other
files, and by what parsers are known to stumble over), lines moved between blocks, files cut off or glued together, bytes
changed, other encodings and line ends. Of each:

* no exception, no dead process, no more than the time limit;
* the fixed text compiles where the text did, and fixing it again changes nothing;
* a `# noqa: CODE` at the row of a finding silences that finding and nothing else;
* the flake8 plugin finds what the command line finds.
"""

from __future__ import annotations

import argparse
import ast
import io
import keyword
import random
import sys
import time
import tokenize
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from isolated import isolated

from torchdev_lint.config import SYNTAX_ERROR, Config, Selection
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.file_check import check_bytes
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.parsing import compiles
from torchdev_lint.flake8_plugin import Plugin

NASTY = [
    *(
        "torch .to('cuda') .cuda() device lambda * ** async await match case type yield del global nonlocal @ -> ; := ... ~ 0xg 1_ 1e "
        "f'{ ''' \"\"\" ( ) [ ] { } : , = == != <> ` $ ? ! \\ # #noqa elif else finally except except* raise import from as with for "
        "in while class def return None True self super().__init__() torch.device('cuda:0') nn.Module not is and or if"
    ).split(),
    *(
        "\x00",
        "\x0c",
        "\t",
        "\ufeff",
        "\u2028",
        "\x85",
        "é",
        "\U0001d431",
        "\r",
        "\n",
        "\n\n    ",
        "\\\n",
        " ",
        "\udcff",
    ),
]


def tokens_of(text: str) -> list[str]:
    """The text cut into tokens and what stands between them."""
    try:
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        cuts = {0, len(text)}
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            for row, column in (token.start, token.end):
                cuts.add(min(starts[min(row - 1, len(starts) - 1)] + column, len(text)))
        places = sorted(cuts)
        return [text[start:end] for start, end in pairwise(places)]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return text.split(" ")


def variant(texts: Sequence[str], seed: int) -> bytes:
    """The variant of a seed."""
    chance = random.Random(seed)
    tokens = tokens_of(chance.choice(texts))
    if chance.random() < 0.6:
        return "".join(_gently(tokens, chance)).encode("utf-8", "surrogateescape")
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(tokens) or 1)
        other = chance.randrange(len(tokens) or 1)
        match chance.randrange(9):
            case 0:
                del tokens[place : place + chance.choice((1, 1, 2, 5))]
            case 1:
                tokens[place:place] = tokens[place : place + chance.choice((1, 2, 30))]
            case 2 if tokens:
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3 | 4:
                tokens[place : place + 1] = [chance.choice(NASTY)]
            case 5:
                tokens[place:place] = [" ", chance.choice(NASTY), " "]
            case 6:
                tokens = tokens[:place] if chance.random() < 0.3 else tokens
            case 7:
                foreign = tokens_of(chance.choice(texts))
                start = chance.randrange(len(foreign) or 1)
                tokens[place:place] = foreign[start : start + chance.choice((1, 3, 40))]
            case 8:
                lines = "".join(tokens).splitlines(keepends=True)
                row = chance.randrange(len(lines) or 1)
                if lines:
                    line = lines.pop(row)
                    lines.insert(chance.randrange(len(lines) + 1), chance.choice(("", "    ", "\t")) + line)
                tokens = tokens_of("".join(lines))
    text = "".join(tokens)
    if chance.random() < 0.1:
        text = text.replace("\n", chance.choice(("\r\n", "\r")))
    coding = chance.choice(("utf-8",) * 20 + ("utf-8-sig", "utf-16", "latin-1"))
    data = text.encode(coding, "surrogateescape" if coding == "utf-8" else "replace")
    if chance.random() < 0.1:
        place = chance.randrange(len(data) or 1)
        data = data[:place] + chance.randbytes(chance.randint(1, 4)) + data[place + 1 :]
    return data


def _gently(tokens: list[str], chance: random.Random) -> list[str]:
    """With names, operators and constants in each other's place, and simple lines gone or doubled: often still Python."""
    kinds: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        if token.isidentifier() and not keyword.iskeyword(token):
            kinds.setdefault("name", []).append(index)
        elif token in ("+", "-", "*", "/", "@", "==", "<", ">", "and", "or", "is", "in"):
            kinds.setdefault("operator", []).append(index)
        elif token[:1].isdigit() or token[-1:] in "'\"" or token in ("None", "True", "False"):
            kinds.setdefault("constant", []).append(index)
    for _ in range(chance.randint(1, 5)):
        places = kinds.get(chance.choice(("name", "name", "operator", "constant")))
        if places:
            tokens[chance.choice(places)] = tokens[chance.choice(places)]
    lines = "".join(tokens).splitlines(keepends=True)
    for _ in range(chance.randint(0, 3)):
        row = chance.randrange(len(lines) or 1)
        if lines and not lines[row].rstrip().endswith(":"):
            lines[row : row + 1] = [lines[row]] * chance.choice((0, 2))
    return lines


CONFIG = Config(command_line=Selection(("TDV",)))
EVERY_FIX = frozenset(Applicability)


def complaints(data: bytes) -> tuple[list[str], int]:
    """What is wrong with what the linter makes of `data`, and how many findings there are."""
    path = "variant.py"
    result = check_bytes(data, path, CONFIG)
    fixed = check_bytes(data, path, CONFIG, EVERY_FIX)
    wrong = [*result.errors, *fixed.errors]
    if fixed.changed:
        again = check_bytes(fixed.data, path, CONFIG, EVERY_FIX)
        if again.data != fixed.data:
            wrong.append("fixing the fixed file changes it again")
        if compiles(fixed.before) and not compiles(fixed.text):
            wrong.append("the fixed file does not compile")
    found = [one for one in result.diagnostics if one.code != SYNTAX_ERROR]
    text = result.text
    if found and "\r" not in text and compiles(text):
        wrong += _noqa_complaints(text, found)
        wrong += _flake8_complaints(text, path)
    return wrong, len(found)


def _noqa_complaints(text: str, found: list[Diagnostic]) -> list[str]:
    for one in found:
        lines = text.split("\n")
        row = one.noqa_row
        if row is None or "#" in lines[row - 1] or lines[row - 1].endswith("\\"):
            continue
        lines[row - 1] += f"  # noqa: {one.code}"
        silenced = "\n".join(lines)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if ast.dump(ast.parse(silenced)) != ast.dump(ast.parse(text)):
                continue  # the row ends within a string
        before = Counter((each.code, each.range.start.row) for each in found)
        gone = Counter({key: count for key, count in before.items() if key[0] == one.code and key[1] == row})
        after = Counter(
            (each.code, each.range.start.row) for each in findings(silenced, "variant.py", CONFIG)
        )
        if after != before - gone:
            return [f"noqa of {one.code} in row {row}: {before} became {after}"]
    return []


def _flake8_complaints(text: str, path: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    if "".join(lines) != text or text.count("\n") != len(lines) - (not text.endswith("\n")):
        return []  # flake8 cuts lines where the language does not
    Plugin._overrides = {"command_line": CONFIG.command_line}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    plugin = sorted((row, column + 1, words[:6]) for row, column, words, _ in Plugin(tree, path, lines).run())
    own = [one for one in findings(text, path, CONFIG, noqa=False) if one.code != SYNTAX_ERROR]
    expected = sorted((one.range.start.row, one.range.start.column, one.code) for one in own)
    return [] if plugin == expected else [f"flake8 finds {plugin}, the command line {expected}"]


def read_texts(directories: Sequence[str]) -> list[str]:
    texts = []
    for directory in directories:
        for path in sorted(Path(directory).rglob("*.py")):
            data = path.read_bytes()
            if b"torch" in data and len(data) < 30_000:
                texts.append(data.decode("utf-8", "replace"))
    return texts


def worker(texts: Sequence[str]) -> Callable[[int], dict[str, Any]]:
    def work(seed: int) -> dict[str, Any]:
        data = variant(texts, seed)
        found = 0
        try:
            wrong, found = complaints(data)
        except Exception:
            wrong = [traceback.format_exc()]
        return {"wrong": wrong, "found": found, "compiles": compiles(data.decode("utf-8", "replace"))}

    return work


def experiment(
    texts: Sequence[str], first: int, count: int, limit: float
) -> list[tuple[int, dict[str, Any]]]:
    return list(isolated(range(first, first + count), lambda: worker(texts), limit))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directories", nargs="+")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--limit", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--keep", metavar="DIRECTORY", help="write the variants with complaints there")
    options = parser.parse_args()
    start = time.monotonic()
    texts = read_texts(options.directories)
    results = experiment(texts, options.seed, options.count, options.limit)
    bad = [(seed, result) for seed, result in results if result.get("died") or result["wrong"]]
    for seed, result in bad:
        print(f"variant {seed}: {result.get('died') or result['wrong']}")
        if options.keep:
            Path(options.keep, f"variant{seed}.py").write_bytes(variant(texts, seed))
    valid = sum(bool(result.get("compiles")) for _, result in results)
    print(
        f"{len(results)} variants of {len(texts)} files, {valid} of them valid Python; {len(bad)} with complaints"
    )
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""How often `torchdev-lint explain` names the right finding: every bad fixture is run, and its traceback explained.

    python benchmarks/explained.py [--every N]

Each program is executed on two simulated CUDA devices. Its own traceback, as it was printed, is what is explained; the
answer is right if the first finding has a code with which the fixture is marked.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from torchdev_lint.config import Config
from torchdev_lint.engine.settings import Settings
from torchdev_lint.explain.explanation import explain
from torchdev_lint.explain.places import Finder
from torchdev_lint.harness import ForkServer, Kind

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Exit status 0, whatever comes out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take only every Nth fixture")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    settings = Settings(Config(root=str(ROOT)))
    programs = sorted((ROOT / "tests/fixtures").glob("*/*_bad.py"))[:: given.every]
    with ForkServer("simulated") as server:
        for program in programs:
            verdict = server.run(program, cwd=program.parent)
            if verdict.kind is not Kind.DEVICE_ERROR or "Traceback" not in verdict.stderr:
                counts["raises nothing on this backend"] += 1
                continue
            outcome = judge(program.read_text(encoding="utf-8"), verdict.stderr, settings)
            counts[outcome] += 1
            if outcome != "right":
                print(f"{program.relative_to(ROOT)}: {outcome}", file=sys.stderr)
    print(", ".join(f"{outcome}: {count}" for outcome, count in counts.most_common()))
    return 0


def judge(text: str, traceback: str, settings: Settings) -> str:
    """What the answer to a traceback is worth, given the marks in the text of the program."""
    marked = set(re.findall(r"TDV\d{3}", " ".join(re.findall(r"# error:(.*)", text))))
    answer = explain(traceback, Finder(), settings.for_file)
    if answer is None or answer.complaint is None:
        return "not taken for a device error"
    if not answer.findings:
        return "no finding"
    return "right" if answer.findings[0].diagnostic.code in marked else "another finding"


if __name__ == "__main__":
    sys.exit(main())

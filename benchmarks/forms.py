"""One mistake in many forms: small programs put together from pieces, told by the linter and run on the simulated accelerator.

    python benchmarks/forms.py [--simulate] [--triples N] [--seed K]

`tests/data/forms` holds the pieces: ways to a tensor of the CPU (`sources`), to let it meet one of the accelerator (`uses`), to hand it
on (`ways`, and `carriers`, which go into one another), and what looks like these and is right (`right`). Told at least are all of the
first three and each pair of carriers, and random chains of three, half of them with a transfer on the way, which makes them right.
Prints how many are told that must be, and how many that must not. `--simulate` runs each program first, and leaves out what does
not do what it is there for.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FORMS = Path(__file__).resolve().parents[1] / "tests" / "data" / "forms"
MET = "t = torch.randn(8, 4)\nx = torch.randn(8, 4, device=device)\n"
BEFORE = {
    "sources": "x = torch.randn(1, 4, device=device).view(-1)\n",
    "uses": MET + "model = nn.Linear(4, 3).to(device)\ny = torch.randint(0, 3, (8,))\n",
    "ways": MET,
    "right": MET,
}
AFTER = {"sources": "print(x * t)\n"}
CHAIN = (
    "import dataclasses\nimport functools\nimport types\n\n"
    "flag = len('abc') > 2\nmodel = nn.Linear(4, 4).to(device)\nx = torch.randn(4, device=device)\n"
)
SOURCES = (
    "torch.zeros(4)",
    "torch.rand(4)",
    "torch.arange(4).float()",
    "torch.tensor([1.0, 2.0, 3.0, 4.0])",
    "torch.from_numpy(np.ones(4, dtype=np.float32))",
    "torch.linspace(0, 1, 4)",
)
MOVES = (
    "{}.to(device)",
    "{}.to(x.device)",
    "{}.to(x)",
    "{}.type_as(x)",
    "torch.as_tensor({}, device=device)",
)
USES = (
    "print(x * {})",
    "print(torch.cat([x, {}]))",
    "x = x + {}",
    "loss = ((x - {}) ** 2).mean()",
    "print(model({}))",
)


def pieces(kind: str) -> list[str]:
    """The pieces of one kind."""
    return (FORMS / f"{kind}.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n---\n")


def head() -> str:
    """What every program begins with."""
    return (FORMS / "head.txt").read_text(encoding="utf-8")


def single(kind: str) -> list[str]:
    """The programs that each piece of a kind is."""
    return [f"{head()}{BEFORE[kind]}{piece}\n{AFTER.get(kind, '')}" for piece in pieces(kind)]


def carried(piece: str, value: str, number: int) -> tuple[str, str]:
    """The statements that hand on a value, and the expression that it is then."""
    filled = piece.replace("VALUE", value).replace("_I", str(number))
    statements, _, expression = filled.rpartition("\n=> ")
    return statements, expression


def pairs() -> Iterator[str]:
    """Each carrier alone, and each within each."""
    carriers = pieces("carriers")
    for first in carriers:
        body, value = carried(first, "torch.rand(4)", 0)
        yield f"{head()}{CHAIN}{body}\nprint(x * {value})\n"
        for second in carriers:
            more, after = carried(second, value, 1)
            yield f"{head()}{CHAIN}{body}\n{more}\nprint(x * {after})\n"


def triples(number: int, seed: int, *, moved: bool) -> Iterator[str]:
    """Random chains of three carriers; `moved`: with a transfer somewhere on the way."""
    draw, carriers = random.Random(seed), pieces("carriers")
    for _ in range(number):
        value, body = draw.choice(SOURCES), ""
        where = draw.randrange(4) if moved else None
        for step in range(4):
            if where == step:
                value = draw.choice(MOVES).format(value)
            if step < 3:
                statements, value = carried(draw.choice(carriers), value, step)
                body += statements + "\n"
        yield f"{head()}{CHAIN}{body}{draw.choice(USES).format(value)}\n"


def told(programs: list[str]) -> list[list[str]]:
    """What the linter says of each program, by the default rules: the codes."""
    with tempfile.TemporaryDirectory() as folder:
        for index, program in enumerate(programs):
            Path(folder, f"p{index:05}.py").write_text(program, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "torchdev_lint",
            "check",
            "--isolated",
            "--no-cache",
            "--output-format",
            "json",
            ".",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        codes: list[list[str]] = [[] for _ in programs]
        for found in json.loads(done.stdout):
            codes[int(Path(found["filename"]).stem[1:])].append(found["code"])
    return codes


def ends(program: str) -> str:
    """How a program ends on the simulated accelerator."""
    from torchdev_lint.harness.run import run_program

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(program, encoding="utf-8")
        return str(run_program(path, backend="simulated", cwd=folder).kind)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--triples", type=int, default=250, help="how many random chains of each sort")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    groups = [(kind, single(kind), kind != "right") for kind in BEFORE]
    groups.append(("carriers, pairs", list(pairs()), True))
    groups += [
        (
            f"carriers, three{', moved' * moved}",
            list(triples(options.triples, options.seed, moved=moved)),
            not moved,
        )
        for moved in (False, True)
    ]
    for name, programs, wrong in groups:
        if options.simulate:
            wanted = "device-error" if wrong else "passed"
            programs = [program for program in programs if ends(program) == wanted]
        found = sum(map(bool, told(programs)))
        print(f"{name}: {len(programs)} {'wrong' if wrong else 'right'}, {found} told", flush=True)


if __name__ == "__main__":
    main()

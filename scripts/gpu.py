"""Everything that a machine with a GPU can tell: one command, its outcomes stored as data in the repository.

    python scripts/gpu.py

Runs the probes and the operator sweep (`tests/data/gpu/`), every rule's fixtures (`docs/evidence.md`) and the mutation
study (`benchmarks/mutation/results/`) on the GPU, without the simulator. Afterwards the tests hold the simulator to what
was seen. Takes up to an hour; ends with exit code 1, doing nothing, where there is no GPU.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run all parts; the exit code is 0 when each of them ended well."""
    import torch

    if not torch.cuda.is_available():
        print("error: no CUDA device: torch.cuda.is_available() is False", file=sys.stderr)
        return 1
    card = re.sub(r"[^a-z0-9]+", "-", torch.cuda.get_device_name(0).lower()).strip("-")
    facts = ROOT / "tests" / "data" / "gpu" / f"{card}-torch-{str(torch.__version__).partition('+')[0]}.json"
    facts.parent.mkdir(parents=True, exist_ok=True)
    parts = (
        ["-m", "torchdev_lint.harness", "truth", "--backend", "cuda", "--output", str(facts)],
        ["scripts/evidence.py"],
        ["benchmarks/mutation/run.py", "--backend", "cuda"],
    )
    codes = []
    for part in parts:
        print("$ python", *part, flush=True)
        codes.append(subprocess.run([sys.executable, *part], cwd=ROOT, check=False).returncode)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())

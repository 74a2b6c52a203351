"""One command that asks a machine for the facts: every probe and every operator, stored as data.

    python -m torchdev_lint.harness truth --backend cuda --output tests/data/gpu/NAME.json

Run on a machine with a GPU it records what the GPU does; the tests then hold the simulator to it.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torchdev_lint.harness.backends import Backend


def collect(backend: Backend, *, with_sweep: bool = True) -> dict[str, Any]:
    """Run all probes (and the operator sweep) in this process.

    Raises BackendUnavailableError. Probes for another accelerator or for more devices than there are, are left out.
    """
    name = backend.prepare()
    import torch

    from torchdev_lint.harness import probes, sweep
    from torchdev_lint.harness.probes import base

    accelerator = "cuda" if torch.cuda.is_available() else "mps"
    devices = torch.cuda.device_count() if accelerator == "cuda" else 1
    outcomes: dict[str, Any] = {}
    for probe in probes.catalogue():
        if probe.accelerator != accelerator or probe.devices > devices:
            continue
        result = base.run(probe)
        outcomes[probe.name] = {**asdict(result), "as_expected": result.problem(probe) is None}
    return {
        "backend": name,
        "devices": backend.describe(),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "probes": outcomes,
        "operators": [asdict(one) for one in sweep.sweep(f"{accelerator}:0")] if with_sweep else [],
    }


def summary(facts: Mapping[str, Any]) -> str:
    """What a person wants to know of the facts: which probes went otherwise than expected."""
    surprising = {name: fact for name, fact in facts["probes"].items() if not fact["as_expected"]}
    lines = [
        f"{facts['devices']}, torch {facts['torch']}: {len(facts['probes'])} probes, "
        f"{len(surprising)} not as expected; {len(facts['operators'])} operators"
    ]
    for name, fact in surprising.items():
        message = (fact["message"] or "no error").split("\n", 1)[0]
        lines.append(f"  {name}: {fact['error_type'] or ''} {message}")
    return "\n".join(lines)


def write(facts: Mapping[str, Any], path: Path) -> None:
    """Store the facts, one stable JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")

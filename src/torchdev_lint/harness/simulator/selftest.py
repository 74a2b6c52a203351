"""A dozen small programs that must behave, or the simulator refuses to work with this torch."""

from __future__ import annotations

import re
from typing import Any

import torch

SAME = "Expected all tensors to be on the same device"

PROBES: tuple[tuple[str, str, str | None], ...] = (
    (
        "a factory",
        "assert torch.zeros(2, device=d).device == d and torch.zeros(2).device.type == 'cpu'",
        None,
    ),
    (
        "a transfer",
        "y = c.to(d); assert y.device == d and c.device.type == 'cpu' and y.to('cpu').tolist() == c.tolist()",
        None,
    ),
    ("views and in-place operations", "v = x[0]; v += 1; assert v.device == d and x.t().device == d", None),
    ("pointwise", "x + c", SAME),
    ("a CPU scalar", "assert (x + torch.tensor(1.0)).device == d", None),
    ("matmul", "x @ c.t()", SAME),
    ("cat", "torch.cat([x, c])", SAME),
    (
        "an accelerator index on a CPU tensor",
        "c[torch.tensor([0], device=d)]",
        "indices should be either on cpu",
    ),
    ("the host", "x.numpy()", "can't convert"),
    (
        "a module",
        "m = nn.Linear(4, 2); w = m.weight; m.to(d); assert m.weight is w and w.device == d; "
        "m(x).sum().backward(); assert w.grad.device == d",
        None,
    ),
    ("a module's input", "nn.Linear(4, 2).to(d)(c)", SAME),
    (
        "gradients across devices",
        "w = torch.ones(4, requires_grad=True); (w.to(d) * x).sum().backward(); "
        "assert w.grad.device.type == 'cpu'",
        None,
    ),
    ("embedding", "nn.Embedding(3, 4).to(d)(torch.tensor([0, 1]))", f"{SAME}|Placeholder storage"),
    ("operators on lists", "a = [x.clone()]; torch._foreach_add_(a, [x]); assert a[0].device == d", None),
)
"""(what, code, the error it must raise or None)."""


def run(accelerator: str) -> list[str]:
    """Run the probes; what failed, in words."""
    state = torch.get_rng_state()
    try:
        return [failure for probe in PROBES if (failure := _run_one(accelerator, *probe)) is not None]
    finally:
        torch.set_rng_state(state)


def _run_one(accelerator: str, what: str, code: str, expected: str | None) -> str | None:
    device = torch.device(accelerator, 0)
    cpu_tensor = torch.ones(3, 4)
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "d": device, "c": cpu_tensor}
    try:
        names["x"] = cpu_tensor.to(device)
        exec(code, names)
    except Exception as error:
        if expected is not None and re.search(expected, str(error)):
            return None
        return f"{what}: {type(error).__name__}: {error}"
    return None if expected is None else f"{what}: no error"

"""Gradients that a backward pass starts from: each has to be where its output is.

`loss.backward(seed)`, `torch.autograd.backward(outputs, seeds)` and `torch.autograd.grad(outputs, inputs, grad_outputs=seeds)` compare
the devices before anything is computed; a 0-dim seed is taken over (torch/csrc/autograd/engine.cpp, `validate_outputs`).
"""

from __future__ import annotations

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import Tensor
from torchdev_lint.flow.torch_calls.operands import Given, given_by
from torchdev_lint.flow.torch_calls.operations import combine
from torchdev_lint.flow.torch_calls.tensor_values import taken_for_tensor
from torchdev_lint.torch_api.operators import SCALAR, SHARED

FUNCTIONS = {
    "torch.autograd.grad": ("outputs", (2, "grad_outputs")),
    "torch.autograd.backward": ("tensors", (1, "grad_tensors")),
}
"""The functions that start a backward pass: the name of their first argument, and where the seeds are given."""


def check_call(frame: Frame, path: str, site: CallSite) -> None:
    """One of the functions of `torch.autograd`."""
    first, place = FUNCTIONS[path]
    outputs, seeds = site.get(0, first), site.get(*place)
    if outputs is not None and seeds is not None:
        _check(frame, site, given_by(outputs), seeds)


def check_method(frame: Frame, receiver: Tensor, site: CallSite) -> None:
    """`loss.backward(seed)`."""
    seed = site.get(0, "gradient")
    if site.receiver is not None and seed is not None:
        _check(frame, site, [Given(receiver, site.receiver)], seed)


def _check(frame: Frame, site: CallSite, outputs: list[Given], seeds: Argument) -> None:
    given = given_by(seeds)
    if len(outputs) != len(given):
        return
    for output, seed in zip(outputs, given, strict=True):
        output = replace(output, value=taken_for_tensor(frame, output.value))
        combine(frame, site.node, "backward", [output, seed], [SHARED, SCALAR])

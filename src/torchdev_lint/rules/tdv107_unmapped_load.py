"""TDV107: a checkpoint is loaded without `map_location`, and nothing shows where it was saved.

## What it does
Finds `torch.load`, `torch.jit.load`, `load_state_dict_from_url` and functions of libraries and of the project that have a parameter
`map_location`, called without it for what the program treats as a checkpoint, where TDV009 says nothing: nothing in the project
writes such files, nobody in sight calls the function, the weights are others', the failure is caught, or the program goes on with
an accelerator. Off by default: it is for those who want every load to say where.

## Why it fails
Every tensor goes back to the device that it was saved from (torch/serialization.py, `default_restore_location`):
`RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False` on a machine without a GPU,
`Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 1` on one with fewer. Several processes
that load it fill the memory of the one GPU that wrote it.

## Example
    def restore(net: nn.Module, folder: str) -> None:
        net.load_state_dict(torch.load(os.path.join(folder, "weights.bin")))

## Use instead
    def restore(net: nn.Module, folder: str) -> None:
        net.load_state_dict(torch.load(os.path.join(folder, "weights.bin"), map_location="cpu"))

## Fix safety
Unsafe: what is loaded may be somewhere else afterwards.

## Known limits
Whether the file holds tensors of an accelerator is not known. Of 30 findings in 74 public repositories, where there was one in
19,000 lines, 11 were right, 3 wrong (since mended), and of 16 nobody can tell: weights that others have published, as a rule.
Nothing is said of what comes from the web by an address, what a test, or the same run, has saved, what is given `*args` or
`**kwargs`, what a file trains and loads that never speaks of devices, where a failure is made good, and in programs of one
process that insist on a GPU. `load_from_checkpoint` of Lightning is left out: its newer versions fall back on the CPU by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import CheckpointLoad
from torchdev_lint.rules.base import Finding, Rule
from torchdev_lint.rules.tdv009_load_without_map_location import mapped

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class UnmappedLoad(Rule):
    """See the module's docstring."""

    code = "TDV107"
    name = "unmapped-load"
    fix_applicability = Applicability.UNSAFE
    default = False
    answers: ClassVar = (CheckpointLoad,)
    witness: ClassVar = ("cpu",)

    def check(self, event: Event) -> Iterator[Finding]:
        """Every load is a finding that nothing shows to be harmless, and that is not TDV009's."""
        assert isinstance(event, CheckpointLoad)
        if event.borne_out:
            return
        message = (
            f"`{event.function}` without `map_location`: the tensors go back to where they were saved, and nothing shows "
            "that to be the CPU"
        )
        yield Finding(event.node, message, fix=mapped(event))

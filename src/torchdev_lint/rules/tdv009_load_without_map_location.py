"""TDV009: a checkpoint is loaded without `map_location`.

## What it does
Finds `torch.load`, `torch.hub.load_state_dict_from_url` and `torch.utils.model_zoo.load_url`, under whatever name they are imported,
that load the weights of a model (or a whole model) without `map_location`, `weights_only=True` or not. Programs that insist on a GPU are
told of it only if they start several processes, wrap a model in `DistributedDataParallel`, and save what they load themselves.

## Why it fails
Every tensor goes back to the device that it was saved from (torch/serialization.py, `default_restore_location`). A checkpoint that was
saved on a machine with a GPU then cannot be loaded on one without: `RuntimeError: Attempting to deserialize object on a CUDA device
but torch.cuda.is_available() is False`; with fewer GPUs: `Attempting to deserialize object on CUDA device 3 but
torch.cuda.device_count() is 1`. And when several processes load it, all of them fill the memory of the one GPU that wrote it.

## Example
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.load_state_dict(torch.load("best.pt"))

## Use instead
    model.load_state_dict(torch.load("best.pt", map_location=device))

## Fix safety
Unsafe: what is loaded may be somewhere else afterwards. A device that has a name in scope is used; else `"cpu"` for what goes into
`load_state_dict`, which copies to where the module is; else `"cuda" if torch.cuda.is_available() else "cpu"`.

## Known limits
What a file holds is told by what the program does with it and what it calls it. Files that look like data sets, caches or plain
Python are not reported, nor what the same function or class saved before, what an earlier cell of the notebook saved (of who opens
it again without a GPU and begins in the middle nothing is said), what is loaded after a training loop, what tests load, what is asked
for first and written nowhere in the project,
what is loaded where an accelerator is known to be, by sharded training, or in a `try` that handles the failure, by functions that are only
called after a function that trains, or where everything goes on with an accelerator (`data.cuda()`), be it in functions of the
project that are called next, the state of schedulers, and what
scripts save and load that never speak of devices. Where published
weights were saved is not in the program: what is downloaded, from an address that the file names, is not reported, nor what is called
pretrained.

Where the files around a file are known (a project has a `pyproject.toml`, `setup.py` or `.git`, or is the directory that was checked),
they have to bear it out. Not reported is what a function loads that nobody in a program calls, nor any README names; a file of whose
name, or of whose keys, nothing that saves in the project speaks; what a module fills itself with when it is made, in a file that saves
nothing; what a file loads that defines networks and neither trains, saves, runs nor asks for an accelerator (published weights, as a
rule); what is loaded by a file, or only on behalf of files, that put things on an accelerator (`.cuda()`) and never ask for one, or
that import kernels compiled for GPUs; in a notebook, what a program may have left that a cell before has run (`!python train.py`);
whatever is loaded in a project that speaks of devices in comments only; a parameter for which everybody gives what is called
pretrained (`load(args.pretrained)`); what a class that saves nothing says where to fetch (`hf_hub_url(...)`), or another file fetches
by that name; what is called `name_or_path`; what is read in whichever format it has (`if path.endswith(".safetensors")`); and what a
function is given after something has saved under that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import CheckpointLoad
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class LoadWithoutMapLocation(Rule):
    """See the module's docstring."""

    code = "TDV009"
    name = "load-without-map-location"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (CheckpointLoad,)
    witness: ClassVar = ("cpu",)

    def check(self, event: Event) -> Iterator[Finding]:
        """Every load of a checkpoint that some machine without the accelerator gets to is a finding."""
        assert isinstance(event, CheckpointLoad)
        if not event.borne_out:
            return
        message = (
            f"`{event.function}` without `map_location`: a checkpoint saved on an accelerator cannot be loaded where "
            "there is none"
        )
        if event.several:
            message = (
                f"`{event.function}` without `map_location` in a program of several processes: each of them puts it on the "
                "GPU of the one that saved it"
            )
        yield Finding(event.node, message, fix=mapped(event))


def mapped(event: CheckpointLoad) -> NodeFix | None:
    """The edit that says where to load it; None where no place is known."""
    if event.target is None:
        return None
    if event.keyword is not None:
        edit = NodeEdit(event.keyword, "replace", event.target)
    else:
        edit = NodeEdit(event.node.args[-1], "after", f", map_location={event.target}")
    return NodeFix((edit,), Applicability.UNSAFE, f"Load it with `map_location={event.target}`")

"""TDV021: a module with parameters or buffers is made and never moved, although a device is at hand.

## What it does
Finds modules with parameters or buffers (layers, losses with weights, transforms with buffers, pretrained models, classes of the project
that hold such) that code makes and nothing in sight moves, where something says where things are to be:

* the function that makes one runs it on an argument, which may be anywhere, or on what it has moved itself, at once or by a function of
  the project;
* the function moves another one of the same kind, or the same one in another branch, or another instance of the class;
* a class that is no module keeps a device, moves what it runs its module on, and never moves that;
* a class of modules moves what it is given to a device of the program, to which others of its kind move themselves;
* a module moves itself in `__init__` before it attaches its parts (`self.to(device)`, then `self.embed = nn.Embedding(...)`).

## Why it fails
A module is on the CPU until it is moved. Run on what is on an accelerator, PyTorch raises
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.

## Example
    class Wrapper:
        def __init__(self, module, device):
            self.device = device
            self.module = module

        def initialize(self, **kwargs):
            self.module_ = self.module(**kwargs)
            self.module_.train()

        def infer(self, x):
            x = x.to(self.device)
            return self.module_(x)

## Use instead
    class Wrapper:
        def __init__(self, module, device):
            self.device = device
            self.module = module

        def initialize(self, **kwargs):
            self.module_ = self.module(**kwargs).to(self.device)
            self.module_.train()

        def infer(self, x):
            x = x.to(self.device)
            return self.module_(x)

## Fix safety
Unsafe: who gets the module later may move it.

## Known limits
What is a module is told by the text of the program, and by what is known of libraries. Nothing is said of modules that are handed to
code that cannot be read, in tests and data sets, of programs that leave the devices to a library (Lightning, Accelerate, `DataParallel`),
and of what is told a device by any argument or method (`model.place(device)`), of losses whose weight the caller gives, and of what is
given another weight then. What is certain is TDV001's. It is rare: in the five million lines of TDV019 it told nine places, all of them
wrong (chains as `net.train().to(device)`, callers' weights, parts of moved ones) and silent since. Of ten real faults of this kind that
were known when it was written it tells seven; TDV001 tells one more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import UnmovedModule
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event

_SAYS = {
    "runs": ("and is run on `{given}`, which may be elsewhere", "it is run here"),
    "beside": ("although `{given}` beside it is", "this one is moved"),
    "branch": ("although another one of the same kind is", "that one is moved here"),
    "kept": ("but is run on `{given}`, which is moved", "it is run here"),
    "class": ("although others of this class's kind move themselves to where `{given}` is", "it is run here"),
}


class UnmovedModuleRule(Rule):
    """See the module's docstring."""

    code = "TDV021"
    name = "unmoved-module"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (UnmovedModule,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every such module is a finding, where it is made."""
        assert isinstance(event, UnmovedModule)
        if event.how == "early":
            message = f"`{event.name}` comes before `{event.given}` is attached, which it leaves on the CPU"
            yield Finding(event.node, message, (Note(event.use, "it is attached here"),), _fix(event))
            return
        why, where = _SAYS[event.how]
        message = (
            f"the module `{event.name}` is made on the CPU and never moved, {why.format(given=event.given)}"
        )
        yield Finding(event.node, message, (Note(event.use, where),), _fix(event))


def _fix(event: UnmovedModule) -> NodeFix | None:
    if not event.move:
        return None
    if event.behind is not None:
        edit = NodeEdit(event.behind, "after", event.move)
        return NodeFix((edit,), Applicability.UNSAFE, "Move it once more, behind its last part")
    edit = NodeEdit(event.node, "after", event.move)
    return NodeFix((edit,), Applicability.UNSAFE, f"Move it with `{event.move}`")

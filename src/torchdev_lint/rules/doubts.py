"""What is said of the uses of a device that fail for some of the devices that a program takes, and which rule says it.

Most of them need a caller, or a machine, that is not in sight, and are TDV109's, which is off by default. Some read as mistakes to
whoever looks at them; what they do is another rule's, and on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.placement_events import DoubtfulDevice

_TOLD_BY = {
    "index left": "TDV004",
    "index": "TDV012",
    "ignored": "TDV012",
    "no storage": "TDV012",
    "not called": "TDV012",
    "type given": "TDV016",
    "unbound": "TDV012",
    "zero": "TDV012",
    "number": "TDV016",
}
"""The rules that tell of uses in their form; TDV109 tells of the others."""


def doubts(code: str, event: DoubtfulDevice) -> Iterator[Finding]:
    """The finding, with its fix, of a use of which the rule of this code tells."""
    if _TOLD_BY.get(event.form, "TDV109") != code:
        return
    notes = () if event.goes is None else (Note(event.goes, "it is used here"),)
    fix = None
    if event.replaced is not None and event.replacement is not None:
        edit = NodeEdit(event.replaced, "replace", event.replacement)
        fix = NodeFix((edit,), Applicability.UNSAFE, f"Write {quoted(event.replacement, 'what is meant')}")
    yield Finding(event.node, _message(event), notes, fix)


def _message(event: DoubtfulDevice) -> str:
    text = quoted(event.text, "the device")
    return _MESSAGES[event.form].format(text=text, other=quoted(event.other, "the other"), word=event.other)


_INDEX = "{text} may be on the CPU: then `get_device()` is -1, which is no device"
_MESSAGES = {
    "literal": '{text} may have an index or be a torch.device: then it is not equal to "{word}"',
    "equal": "{text} has an index, which {other} may lack: then they differ although it is the same device",
    "type": "{text} is a device, where the type of one is wanted: one with an index, or a torch.device, does not fit",
    **dict.fromkeys(("index", "index of a GPU"), _INDEX),
    "tensor type": "the name of the type of {text} is one that `.type()` does not know on MPS: this raises",
    "part": "{text} may have no index: this raises, or takes its type for one",
    "before": "{text} is the device from before: it becomes {other} further on",
    "kind": "{text} may be {word}, which does not have this",
    "given": "{text} may be None: {other} was chosen in its place",
    "guess": "the device that the machine has, wherever {text} is",
    "cuda only": "{text} may be the CPU or another accelerator: {other} takes devices of CUDA only",
    "not the host": "{text} may be another accelerator than CUDA: what is not the CPU is taken for CUDA here",
    "twice": '{text} may be a device already: "cuda:" before it makes none',
    "none": "{text} may be None here, which raises",
    "ignored": "{text} is passed over where {other} is false: `or` binds closer than `if`",
    "zero": "{text} may be 0, which is a device: `or` takes {other} for it",
    "index left": "{text} stays where it is, while what came with it goes to the device of {other}, which it indexes",
    "current": "the current GPU, wherever {text} is, for which this is made",
    "number": "{text} is used without {other}, which other calls here are given along with it",
    "not called": "`{word}` is not called here: this is the method itself, and no tensor",
    "no storage": "{text} is no storage, which a function for `map_location` has to give: this raises",
    "type given": "the type of {text} is given for the device: the index is lost",
    "unbound": "{text} is bound on this way only, and used on others",
}

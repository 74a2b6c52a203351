"""TDV001: a model or loss is called with an input that is on another device.

## What it does
Finds calls of a module that was moved (`model.to(device)`, `model.cuda()`) with an input that certainly stayed elsewhere:
directly (`model(x)`, `model.forward(x)`, `model.generate(x)`), through a function of the project that runs the
module on the input, or through a function that cannot be read and is handed both. Loss modules count as models; so do
inputs of one call that are on different devices (`criterion(model(x), y)` with `y` on the CPU). An output that is moved to
the model's own device (`model(x).to(next(model.parameters()).device)`) gives away an input that was forgotten. And modules with
parameters or buffers that a function builds itself, and runs without a move on its argument (a resampler, a filter), or on what the
module computes whose method it is (a loss with weights): those are reported where they are built. An input that has no other use is
reported where it got its name, if PyTorch raises inside of a module or function of the project.

## Why it fails
`Module.to` moves the module in place, but a tensor made by `torch.tensor`, `from_numpy`, a tokenizer or a `DataLoader` is on the
CPU until it is moved itself. The first operation that meets both raises
`RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!`.
On a machine without an accelerator everything is on the CPU and nothing is seen.

## Example
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Net()
    model.to(device)
    logits = model(torch.tensor([[1, 2, 3]]))

## Use instead
    logits = model(torch.tensor([[1, 2, 3]]).to(device))

## Fix safety
Safe when the input is a tensor: `.to(device)` with the device that the module certainly has gives the same tensor where the
program runs today. The device is written as the name that moved the module, if it still holds that value; else as
the other input's `.device`; else as `next(model.parameters()).device`. Unsafe when the input may be a container,
when an explicit transfer to another accelerator is redirected, or when the states that a method of a module returns
(`return torch.zeros(n), torch.zeros(n)`) are made with `device=next(self.parameters()).device`.

## Known limits
Apart from modules that are built for an argument, only what is certain is reported. A value whose origin is unknown (an argument
of a function that the file does not call, the result of a library's function) is taken to be in the right place; of other files,
only those of the same project are read. Modules that move their inputs themselves are recognised when their class is in the
file; `DataParallel`, `DistributedDataParallel` and models loaded with `device_map="auto"`, or for several devices, are never reported.
`generate` of Transformers takes ids from the CPU since June 2026 (pull request 46590); before, it warns and raises, and it is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import ModelCall, OutputMoved
from torchdev_lint.flow.domain.lattice import Cpu
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule
from torchdev_lint.rules.edits import each_moved, moved, wrapped
from torchdev_lint.rules.stories import notes
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event, Place


class ModelInputOnOtherDevice(Rule):
    """See the module's docstring."""

    code = "TDV001"
    name = "model-input-on-other-device"
    fix_applicability = Applicability.SAFE
    answers: ClassVar = (ModelCall, OutputMoved)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every conflict of a model call is a finding."""
        if isinstance(event, OutputMoved):
            yield _of_output(event)
            return
        assert isinstance(event, ModelCall)
        shown = [
            *notes(event.model, _beside(event), event.model_device),
            *notes(event.given, "the input", event.given_device),
        ]
        if event.inner is not None:
            shown.append(Note(event.inner, f"`{event.through}` uses the input with the model here"))
        node = _node(event)
        if node is not event.place.node and event.transfer is None:
            shown.append(Note(event.place.node, "they meet here"))
        own = [note for note in shown if note.node is not node]
        yield Finding(node, _message(event), tuple(own), _fix(event))


def _of_output(event: OutputMoved) -> Finding:
    text = event.given_text
    what = quoted(text, "its input")
    message = f"the output of `{event.model}` is on its device anyway: {what} is what has to be moved there"
    fix = None
    if text.isidentifier():
        edits = (NodeEdit(event.node, "replace", f"{event.model}({text}.to({event.target}))"),)
        fix = NodeFix(edits, Applicability.UNSAFE, f"Move `{text}` instead")
    return Finding(event.node, message, fix=fix)


def _node(event: ModelCall) -> Any:
    """Where the fault lies: at what put the input or the module where it is, if that is known, else at the input."""
    if event.built is not None and event.built.at_fault:
        return event.built.node
    if event.transfer is not None:
        return event.transfer.node
    return event.place.node if event.bound is None else event.bound


def _message(event: ModelCall) -> str:
    text = event.place.text if event.transfer is None else event.transfer.receiver
    what = quoted(text, "the input")
    if event.place.keyword and event.transfer is None:
        what = f"`{event.place.keyword}`"
    if event.place.in_object:
        what = f"what {what} keeps"
    kind = "loss" if event.is_loss else "model"
    if event.against == "input":
        return f"{what} is on {event.given_device}, but `{event.callee}` gets another input on {event.model_device}"
    if isinstance(event.model, Cpu):
        never = "is never moved: it " if event.built is not None else ""
        given = "its input" if what == "the input" else f"its input {what}"
        return f"the {kind} `{event.model_name}` {never}is on the CPU, but {given} is on {event.given_device}"
    where = f"the {kind} `{event.model_name}` is on {event.model_device}"
    if event.through not in ("", "forward", "__call__") and event.transfer is None:
        return f"{what} is on {event.given_device}, but {where}: `{event.through}` needs them on one device"
    return f"{what} is on {event.given_device}, but {where}"


def _beside(event: ModelCall) -> str:
    """What the input does not meet: the model, or what the other input was computed with."""
    return f"`{event.model_name}`" if event.against == "model" else "what the other input comes from"


def _fix(event: ModelCall) -> NodeFix | None:
    if isinstance(event.model, Cpu):
        if event.built is None or event.built.target is None:
            return None
        move = f".to({event.built.target})"
        return NodeFix(
            (NodeEdit(event.built.place or event.built.node, "after", move),),
            Applicability.UNSAFE,
            f"Move the module with `{move}`",
            cures_cause=True,
        )
    target = event.target
    if target is None:
        return None
    if event.transfer is not None:
        edit = NodeEdit(event.transfer.node, "replace", f"{event.transfer.receiver}.to({target})")
        return NodeFix((edit,), Applicability.UNSAFE, f"Move to `{target}` instead")
    place = event.place
    if place.taken_by is not None:
        if len(place.taken_by.args) > 2:
            return None  # it is given a device that is none
        edit = NodeEdit(place.taken_by.args[-1], "after", f", device={target}")
        return NodeFix((edit,), Applicability.SAFE, f"Have it moved with `device={target}`")
    if event.made:
        edits = tuple(NodeEdit(one.args[-1], "after", f", device={event.made_target}") for one in event.made)
        return NodeFix(edits, Applicability.UNSAFE, f"Make them with `device={event.made_target}`")
    if place.mixed:
        return None
    edits = _transfer(place, target)
    sure = not place.container and not place.unsure
    return NodeFix(
        edits, Applicability.SAFE if sure else Applicability.UNSAFE, f"Move it with `.to({target})`"
    )


def _transfer(place: Place, target: str) -> tuple[NodeEdit, ...]:
    node = place.value_node
    if place.container == "dict":
        content = f"{{k: v.to({target}) for k, v in {wrapped(place)}.items()}}"
        return (NodeEdit(node, "replace", content),)
    if place.container == "list":
        return each_moved(place, f".to({target})")
    return moved(node, f".to({target})", parenthesize=place.needs_parentheses)

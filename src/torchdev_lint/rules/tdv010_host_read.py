"""TDV010: a tensor on an accelerator is read on the host.

## What it does
Finds `.numpy()` on a tensor that is certainly on an accelerator, and the same reading done unseen: tensors, or lists of tensors,
given to numpy (`np.asarray(t)`, `np.isnan(t)`), matplotlib (`plt.plot(losses)`), scikit-learn (`accuracy_score(y, t)`,
`TSNE().fit_transform(t)`), scipy, pandas and seaborn; what is computed of a tensor and a NumPy array (`scores * np.array(weights)`); and
an array that a tensor of several elements indexes (`pool[scores.topk(k).indices]`).

## Why it fails
NumPy's arrays are views of the host's memory. `Tensor.numpy()` and `Tensor.__array__`, which all those libraries call, raise
`TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.`
On a machine without an accelerator everything is on the CPU and nothing is seen.

## Example
    model.to(device)
    with torch.no_grad():
        scores = model(inputs.to(device))
    plt.plot(scores)

## Use instead
    plt.plot(scores.cpu())

## Fix safety
Safe for a tensor: `.cpu()` gives the tensor itself where it is on the CPU already, and `.detach()`, which is added where the
tensor may need gradients, changes nothing that is read. Unsafe for a value that may be something else, and for a list; and for an array
beside a tensor, which becomes a tensor where that one is.

## Known limits
`.item()`, `.tolist()`, `float(t)`, `print(t)` and `t.numpy(force=True)` copy to the host themselves and are never reported; neither
are the functions of numpy that only look at the shape or call the tensor's own method (`np.sum(t)`). A tensor that came in
through a parameter is only reported when the function moves it, when it brings another parameter to the CPU before it reads that,
or when it belongs to a module that the function is given and does not run. What a function gives of which nothing is known is reported
where another result of it is brought to the CPU in the same function (`predict(x).cpu().numpy()`, and `predict(y).numpy()`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.events import HostRead
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule
from torchdev_lint.rules.edits import each_moved, moved
from torchdev_lint.rules.stories import notes
from torchdev_lint.rules.wording import quoted

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class HostReadRule(Rule):
    """See the module's docstring."""

    code = "TDV010"
    name = "host-read"
    fix_applicability = Applicability.SAFE
    answers: ClassVar = (HostRead,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Reads of what is certainly on an accelerator are findings."""
        assert isinstance(event, HostRead)
        if not event.certain and not event.beside:
            return
        where = f"on {event.given_device}"
        if not event.certain:
            where = f"wherever the caller put it, like `{event.beside}`, which is brought to the CPU"
            if not event.parameter:
                where = f"where `{event.beside}` leaves it, which is brought to the CPU for another read here"
        message = sentence(event, where)
        yield Finding(event.place.node, message, steps(event), copy_to_host(event))


def steps(event: HostRead) -> tuple[Note, ...]:
    """How what is read came to where it is, and where it is read."""
    shown = list(notes(event.given, "it", event.given_device))
    if event.through:
        shown.append(Note(event.node, f"`{event.through}` reads it here"))
    return tuple(note for note in shown if note.node is not event.place.node)


def sentence(event: HostRead, where: str) -> str:
    """What is said of what is read, which is `where`."""
    what = quoted(event.place.text, "a tensor")
    if event.place.container:
        what = f"the tensors in {what}" if what != "a tensor" else "tensors"
    verb, wanted = ("are", "CPU tensors") if event.place.container else ("is", "a CPU tensor")
    through = f" in `{event.through}`" if event.through else ""
    if event.array is not None:
        return f"{what} is {where}, but in `{event.reader}` NumPy reads it, which needs a CPU tensor"
    return f"{what} {verb} {where}, but `{event.reader}`{through} needs {wanted}"


def copy_to_host(event: HostRead) -> NodeFix | None:
    """The edit that brings what is read to the CPU; None where one expression cannot."""
    place = event.place
    if event.array is not None:
        array, written = event.array
        if not written:
            return None
        edit = NodeEdit(array, "replace", written)
        return NodeFix((edit,), Applicability.UNSAFE, "Make the array a tensor beside it")
    move = ".cpu()" if event.without_grad else ".detach().cpu()"
    if place.container == "dict" or place.star or place.mixed:
        return None
    if place.container == "list":
        return NodeFix(each_moved(place, move), Applicability.UNSAFE, f"Copy each to the CPU with `{move}`")
    edits = moved(place.value_node, move, parenthesize=place.needs_parentheses)
    sure = not place.unsure or event.reader == ".numpy()"
    applicability = Applicability.SAFE if sure else Applicability.UNSAFE
    return NodeFix(edits, applicability, f"Copy it to the CPU with `{move}`")

"""TDV011: a random generator is used for tensors on another device.

## What it does
Finds a `torch.Generator` whose device type is not that of the tensor that is drawn with it: in factory functions (`torch.randn(...,
generator=...)`), in functions and methods that follow a tensor (`torch.multinomial`, `x.normal_(...)`), and in what draws indices
(`DataLoader`, `random_split`, the samplers, `torch.randperm`). With an accelerator as the default device or tensor type, also what
shuffles without being given a generator: `DataLoader(..., shuffle=True)`, `RandomSampler`, `random_split`.

## Why it fails
`torch.Generator()` is on the CPU, whatever the default device is, and so is what `torch.manual_seed` returns. A factory without
`device=`, and everything that draws indices, draws on the default device. PyTorch checks that both agree: `RuntimeError:
Expected a 'cuda' device type for generator but found 'cpu'`, or the other way round. What shuffles and is given no generator makes
one on the CPU (`torch/utils/data/sampler.py`, pytorch#44714).

## Example
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(shape, generator=generator, device=device)

## Use instead
    generator = torch.Generator(device=device).manual_seed(seed)
    noise = torch.randn(shape, generator=generator, device=device)

## Fix safety
Unsafe: other numbers are drawn. `device=` is written into the factory that has none, or into the generator, if it is used for
nothing else; a generator for indices loses its device; what shuffles on an accelerator is given a generator there.

## Known limits
Only generators that are made in the file are known, not those that a caller hands in. Where indices are drawn in a function that
nothing in the file calls, the caller may have set a default device: such are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import GeneratorMismatch
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Rule
from torchdev_lint.rules.edits import generator_made_on
from torchdev_lint.rules.stories import notes

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event


class GeneratorOnOtherDevice(Rule):
    """See the module's docstring."""

    code = "TDV011"
    name = "generator-on-other-device"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (GeneratorMismatch,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every generator of another device type is a finding, where it is given."""
        assert isinstance(event, GeneratorMismatch)
        if event.unstated:
            message = (
                f"`{event.function}` shuffles with a generator on the CPU where it is given none, but draws indices on the default "
                f"device, {event.made_device}"
            )
            yield Finding(event.node, message, (), _given_generator(event))
            return
        draws = "draws indices on" if event.draws_indices else "draws on"
        message = f"the generator is on {event.generator_device}, but `{event.function}` {draws} {event.made_device}"
        made = tuple(notes(event.generator, "the generator", event.generator_device))
        yield Finding(event.node, message, made, _fix(event))


def _given_generator(event: GeneratorMismatch) -> NodeFix | None:
    if event.target is None or not event.call.args:
        return None
    edit = NodeEdit(event.call.args[-1], "after", f", generator={event.target}")
    return NodeFix((edit,), Applicability.UNSAFE, f"Shuffle with `{event.target}`")


def _fix(event: GeneratorMismatch) -> NodeFix | None:
    if event.factory is not None:
        edit = NodeEdit(event.factory.args[-1], "after", f", device={event.target}")
        return NodeFix((edit,), Applicability.UNSAFE, f"Draw with `device={event.target}`")
    if event.constructor is None:
        return None
    if event.draws_indices:
        if event.constructor_function.rpartition(".")[2] != "Generator":
            return None
        edit = NodeEdit(event.constructor, "replace", f"{event.constructor_function}()")
        return NodeFix((edit,), Applicability.UNSAFE, "Make the generator on the CPU")
    return generator_made_on(event.constructor, event.constructor_function, str(event.target))

"""TDV019: a random generator says no device where one is at hand.

## What it does
Finds `torch.Generator()`, `torch.manual_seed(...)` and `torch.default_generator` where a function gives them

* to a draw that is where its tensor is, or where `device=` says: `torch.multinomial(p, n, generator=g)`, `p.uniform_(generator=g)`;
* to an attribute of a module, or of a class that keeps a device, and draws there with it;
* to a function, or a class, that is given a model, a tensor or a device, too.

And, the other way round, draws with a generator that the caller gives, without `device=`, whose result is taken to a device.

## Why it fails
`torch.Generator()` is on the CPU, whatever the default device is. PyTorch checks that it is where it draws: `RuntimeError: Expected a
'cuda' device type for generator but found 'cpu'`. A draw without `device=` is on the CPU: it refuses the generator of a caller that
made it where the model is.

## Example
    def pick(weights: torch.Tensor, count: int, seed: int):
        generator = torch.Generator().manual_seed(seed)
        return torch.multinomial(weights, count, generator=generator)

    def noise(sample: torch.Tensor, generator=None):
        return torch.randn(sample.shape, generator=generator).to(sample.device)

## Use instead
    def pick(weights: torch.Tensor, count: int, seed: int):
        generator = torch.Generator(device=weights.device).manual_seed(seed)
        return torch.multinomial(weights, count, generator=generator)

    def noise(sample: torch.Tensor, generator=None):
        return torch.randn(sample.shape, generator=generator, device=sample.device)

## Fix safety
Unsafe: other numbers are drawn, and a draw with `device=` refuses the generators of the CPU that callers give.

## Known limits
Nobody knows that it fails. Nothing is said of generators that draw indices or tensors on the CPU as well, nor in tests, data sets and
samplers; of draws where something asks the generator for its device, draws on the CPU with it and leaves that there, or says that it is
the CPU's; of generators in lists and dicts; and of what pipelines of diffusers are given, which draw on the CPU then. What is certain is
TDV011's.

It is rare: in five million lines of 150 public repositories it tells two places, and both fail (the schedulers of GenerativeModels refuse
the generator of a caller, as those of MONAI did until they were mended). 352 files of 80 repositories that work with generators have
none today; of 334 older states of such files (152,000 lines) three are told, all of which have been mended since.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.flow.activation.placement_events import UnstatedGenerator
from torchdev_lint.rules.base import Finding, NodeEdit, NodeFix, Note, Rule
from torchdev_lint.rules.edits import generator_made_on

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import Event

_GOES = {
    "draws": "`{function}` draws with it",
    "kept": "it is kept to draw there",
    "handed": "`{function}` is given both",
}


class UnstatedGeneratorRule(Rule):
    """See the module's docstring."""

    code = "TDV019"
    name = "unstated-generator"
    fix_applicability = Applicability.UNSAFE
    answers: ClassVar = (UnstatedGenerator,)
    witness: ClassVar = ("simulated", "cuda")

    def check(self, event: Event) -> Iterator[Finding]:
        """Every such generator, or draw, is a finding."""
        assert isinstance(event, UnstatedGenerator)
        if event.how == "given":
            message = (
                f"`{event.function}` draws on the CPU with the caller's generator, and the result is taken to `{event.near}`: a "
                f"generator that was made there is refused"
            )
        else:
            goes = _GOES[event.how].format(function=event.function)
            message = f"the generator is on the CPU, although `{event.near}` is at hand, and {goes}"
        goes_on = () if event.goes is event.node else (Note(event.goes, "it goes here"),)
        yield Finding(event.node, message, goes_on, _fix(event))


def _fix(event: UnstatedGenerator) -> NodeFix | None:
    if event.target is None:
        return None
    if event.how == "given":
        edit = NodeEdit(event.node.args[-1], "after", f", device={event.target}")
        return NodeFix((edit,), Applicability.UNSAFE, f"Draw with `device={event.target}`")
    return generator_made_on(event.node, event.constructor_function, event.target)

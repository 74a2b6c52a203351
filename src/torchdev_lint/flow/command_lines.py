"""Command line parsers: which devices an option can hold."""

from __future__ import annotations

from torchdev_lint.flow.callsites import CallSite
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import CPU
from torchdev_lint.flow.values import UNKNOWN, Api, DeviceValue, Items, Literal, Object, State, Value


def call_parser(frame: Frame, parser: Object, name: str, site: CallSite) -> Value:
    """The effect and result of `add_argument` and `parse_args`.

    An option is whatever the user gives; only one that may be nothing but the CPU is known.
    """
    state = frame.state(parser)
    if name == "add_argument":
        option = next((a.value.value for a in site.positional()[::-1] if isinstance(a.value, Literal)), None)
        choices = site.keyword("choices")
        if isinstance(option, str) and choices is not None and choices.value == Items((Literal("cpu"),)):
            attribute = option.lstrip("-").replace("-", "_")
            frame.set_state(parser, state.with_attribute(attribute, DeviceValue(CPU, is_object=False)))
        if isinstance(option, str):
            _note_integer(frame, parser, option.lstrip("-").replace("-", "_"), site)
        return UNKNOWN
    arguments = Object(("arguments", parser.key), "args")
    start = frame.env.state(arguments)
    frame.set_state(arguments, State("unknown", start.device, attributes=dict(state.attributes)))
    return arguments if name == "parse_args" else Items((arguments, UNKNOWN))


def _note_integer(frame: Frame, parser: Object, attribute: str, site: CallSite) -> None:
    """An option of type `int` holds an integer, or what its default is when it is not given."""
    type_, default = site.keyword("type"), site.keyword("default")
    if type_ is None or type_.value != Api("builtins.int"):
        return
    match default and default.value:
        case None | Literal(value=None):
            present = "is not None"
        case Literal(value=int(number)) if number < 0:
            present = ">= 0"
        case _:
            return
    frame.analysis.integers[("attr", ("arguments", parser.key), attribute)] = present

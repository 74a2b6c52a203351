"""Command line parsers: which devices an option can hold."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import CPU
from torchdev_lint.flow.domain.values import UNKNOWN, Api, DeviceValue, Items, Literal, Object, State, Value
from torchdev_lint.flow.project.accelerator_needs import insists
from torchdev_lint.flow.syntax.trees import dotted, walk


def call_parser(frame: Frame, parser: Object, name: str, site: CallSite) -> Value:
    """The effect and result of `add_argument` and `parse_args`.

    An option is whatever the user gives; only one that may be nothing but the CPU is known.
    """
    state = frame.state(parser)
    if name == "add_argument":
        option = next((a.value.value for a in site.positional()[::-1] if isinstance(a.value, Literal)), None)
        choices = site.keyword("choices")
        if isinstance(option, str) and choices is not None and choices.value == Items((Literal("cpu"),)):
            given = DeviceValue(CPU, is_object=False)
            frame.set_state(parser, state.with_attribute(_attribute(option), given))
        if isinstance(option, str):
            dest = site.keyword("dest")
            told = dest.value.value if dest is not None and isinstance(dest.value, Literal) else option
            _note_number(frame, parser, _attribute(str(told)), site)
            _note_integer(frame, parser, _attribute(option), site)
            _note_default(frame, parser, _attribute(str(told)), site)
        return UNKNOWN
    arguments = Object(("arguments", parser.key), "args")
    start = frame.env.state(arguments)
    frame.set_state(arguments, State("unknown", start.device, attributes=dict(state.attributes)))
    return arguments if name == "parse_args" else Items((arguments, UNKNOWN))


def _attribute(option: str) -> str:
    """What `argparse` calls the attribute of an option: `--batch-size` is `args.batch_size`."""
    return option.lstrip("-").replace("-", "_")


_NUMBER = "number of a command line"


def is_number(frame: Frame, value: Value) -> bool:
    """Whether it is what a command line gives for an option of type `int` or `float`: no tensor, whatever it is."""
    return isinstance(value, Object) and (_NUMBER, value.key) in frame.analysis.notes


def _note_number(frame: Frame, parser: Object, attribute: str, site: CallSite) -> None:
    type_ = site.keyword("type")
    if type_ is not None and type_.value in (Api("builtins.int"), Api("builtins.float")):
        frame.analysis.notes[_NUMBER, ("attr", ("arguments", parser.key), attribute)] = True


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


def _note_default(frame: Frame, parser: Object, attribute: str, site: CallSite) -> None:
    """What an option holds where it is not given: a word, or whether it is a flag that is set."""
    default, action = site.keyword("default"), site.keyword("action")
    match action and action.value, default and default.value:
        case Literal(value="store_true" | "store_false" as kind), None:
            value: object = kind == "store_false"
        case None, Literal(value=str() | bool() as value):
            pass
        case _:
            return
    frame.analysis.option_defaults[("attr", ("arguments", parser.key), attribute)] = value


_OPTION = re.compile(r"--?[a-z][\w-]*\Z")


def minded_defaults(module: cst.Module) -> frozenset[int]:
    """The defaults of options, by id, that no machine without the device gets to use, as far as the file shows.

    Wherever the file reads the option it asks in the same breath whether there is an accelerator
    (`args.device if torch.cuda.is_available() else "cpu"`), it sets the option anew where there is none, or never reads it.
    """
    defaults = dict(_defaults(module))
    if not defaults:
        return frozenset()
    minded: set[int] = set()
    settled: set[str] = set()
    for node in walk(module):
        if (isinstance(node, (cst.If, cst.IfExp)) and asks_for_one(node.test)) or (
            isinstance(node, cst.FunctionDef) and insists(node)
        ):
            minded |= {id(part) for part in walk(node)}
            settled |= {
                target.target.attr.value
                for part in walk(node)
                if isinstance(part, cst.Assign)
                for target in part.targets
                if isinstance(target.target, cst.Attribute)
            }
    spaces = _namespaces(module)
    read = {
        node.attr.value
        for node in walk(module)
        if isinstance(node, cst.Attribute)
        and id(node) not in minded
        and (dotted(node.value) or "").rpartition(".")[2] in spaces
    }
    return frozenset(id(node) for option, node in defaults.items() if option not in read - settled)


_CALLED = frozenset(
    "args arg opt opts options flags FLAGS config cfg conf hparams params arguments namespace ns".split()
)
"""What the options of a command line are called where they are handed on."""


def _namespaces(module: cst.Module) -> frozenset[str]:
    """The names that hold the options of a command line: what is assigned from a parser, and what it is handed on as."""
    found = set(_CALLED)
    for node in walk(module):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=cst.Call(func=function)) if (
                "parse" in (dotted(function) or "")
            ):
                first = target.elements[0].value if isinstance(target, cst.Tuple) else target
                found.add((dotted(first) or "").rpartition(".")[2])
            case _:
                pass
    return frozenset(found)


def _defaults(module: cst.Module) -> Iterator[tuple[str, cst.BaseExpression]]:
    """What options are called as attributes, and their defaults; `add_argument` may go by another name."""
    for call in walk(module):
        if type(call) is not cst.Call or not call.args:
            continue
        names = [one.value for one in call.args if one.keyword is None]
        words = [str(name.raw_value) for name in names if isinstance(name, cst.SimpleString)]
        options = [word for word in words if _OPTION.match(word)]
        if not options:
            continue
        given = {one.keyword.value: one.value for one in call.args if one.keyword is not None}
        told = given.get("dest")
        long = next((word for word in options if word.startswith("--")), options[0])
        option = str(told.raw_value) if isinstance(told, cst.SimpleString) else long
        if "default" in given:
            yield option.lstrip("-").replace("-", "_"), given["default"]


def asks_for_one(test: cst.BaseExpression) -> bool:
    """Whether a test asks the machine for its accelerators."""
    return any(
        isinstance(part, cst.Attribute) and part.attr.value in ("is_available", "device_count")
        for part in walk(test)
    )

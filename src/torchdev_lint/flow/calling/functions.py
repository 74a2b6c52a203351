"""Calling the file's own functions: binding arguments, running the body, taking over what it did."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis, PutToUse
from torchdev_lint.flow.activation.frame import MAX_CALL_DEPTH, Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.calling.signatures import refuses
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Cpu, Origin, Symbol, leaves
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    Class,
    DeviceValue,
    Either,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Method,
    Object,
    Partial,
    State,
    Tensor,
    Value,
    element_of,
    join_all,
    retag,
)
from torchdev_lint.flow.execution import yields
from torchdev_lint.flow.execution.identities import forget_moved, with_cell, with_identities
from torchdev_lint.flow.instances.confinement import does_nothing_to_self
from torchdev_lint.flow.instances.handed_functions import may_move
from torchdev_lint.flow.instances.objects import escape, forget_attributes
from torchdev_lint.flow.mistakes import literals, unstated_devices
from torchdev_lint.flow.nn_modules import load_helpers, loaded_parts, placements, seen_to_work
from torchdev_lint.flow.project import defaults_met, settings_given
from torchdev_lint.flow.project.accelerator_needs import insists
from torchdev_lint.flow.project.kept_unread import is_only_kept
from torchdev_lint.flow.project.overridden_defaults import is_overridden
from torchdev_lint.flow.read_alone import device_takers
from torchdev_lint.flow.syntax.trees import all_parameters, remembered, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME, parse
from torchdev_lint.torch_api.libraries import SIGNATURE_KEEPING_DECORATORS


def body_of(node: cst.FunctionDef | cst.Lambda) -> list[cst.CSTNode]:
    """The statements of a function's body."""
    return list(node.body.body) if isinstance(node, cst.FunctionDef) else []


def _keeps_signature(function: Function) -> bool:
    return all(decorator in SIGNATURE_KEEPING_DECORATORS for decorator in function.decorators)


def can_follow(frame: Frame, function: Function, site: CallSite | None = None) -> bool:
    """Whether a call of the function is to be followed into its body.

    A function that calls itself is followed a few times over if it is given a container, a tensor or a module: it goes through the
    parts of something.
    """
    if (
        frame.depth() >= MAX_CALL_DEPTH
        or not frame.analysis.affords(function)
        or not _keeps_signature(function)
        or (site is not None and _lacks_an_argument(function, site))
    ):
        return False
    running = frame.running(function.node)
    if running == 0:
        return True
    if running > MAX_RECURSION or site is None:
        return False
    return _goes_through_parts(frame, site) or _is_another(frame, function)


def _lacks_an_argument(function: Function, site: CallSite) -> bool:
    """Whether a call leaves out what the function takes without a default: it raises a `TypeError`, as what nobody runs any more does."""
    node = site.node
    if (
        not isinstance(node, cst.Call)
        or not isinstance(function.node, cst.FunctionDef)
        or len(node.args) != len(site.arguments)  # of a partial, say
        or any(one.star for one in site.arguments)
        or function.decorators
    ):
        return False
    parameters = function.node.params
    placed = [*parameters.posonly_params, *parameters.params][function.receiver is not None :]
    given = sum(one.keyword is None for one in site.arguments)
    named = {one.keyword for one in site.arguments}
    return any(
        one.default is None and one.name.value not in named
        for one in (*placed[given:], *parameters.kwonly_params)
    )


MAX_RECURSION = 3


def _is_another(frame: Frame, method: Function) -> bool:
    """Whether a method that runs is called of another thing, `value.to(device)` of what the thing holds."""
    thing = method.receiver
    return (
        isinstance(thing, Object)
        and frame.state(thing).model is not None
        and not frame.running(method.node, thing)
    )


def _goes_through_parts(frame: Frame, site: CallSite) -> bool:
    given = site.positional()
    # `tree_map(fn, nest)`: what is done with each part may be said first
    told_what = bool(given) and isinstance(given[0].value, (Function, Method, Partial))
    return any(
        isinstance(argument.value, (Items, Many, Entries, Tensor, Literal))
        or (isinstance(argument.value, Object) and frame.state(argument.value).kind != "unknown")
        for argument in (given[1:2] if told_what else given[:1])
    )


def is_private(name: str) -> bool:
    """Whether a function's name says that only its own file calls it."""
    return name.startswith("_") and not name.endswith("__")


def called_to_build_only(frame: Frame, function: Function) -> bool:
    """Whether the file calls the function, and only from an `__init__`."""
    return frame.analysis.notes.get(("called later", id(function.node))) is False


def not_followed(frame: Frame, site: CallSite, text: str = "", *, leaves: bool = False) -> Value:
    """The result of a call whose body is not read; modules given to it may have been moved, unless it `leaves` them."""
    unstated_devices.note_given(frame, site.callee, site)
    loaded_parts.hand_over(frame, site)
    hand_over(frame, site, leaves=leaves)
    return following(frame, frame.result_of(site.node, text), site)


def hand_over(frame: Frame, site: CallSite, *, leaves: bool = False) -> None:
    """What is given to code that cannot be read may be moved there; `leaves`: only by the functions among it."""
    leaves = leaves and not any(
        isinstance(one.value, (Function, Partial)) and may_move(one.value) for one in site.arguments
    )
    for argument in site.arguments:
        if not leaves or isinstance(argument.value, Method):
            escape(frame, argument.value)
    if frame.discarded is site.node and not leaves:
        forget_moved(frame, site)


def following(frame: Frame, result: Object, site: CallSite) -> Object:
    """What a call that cannot be read returns; if it is a tensor, it is where the tensors are that the call was given."""
    for argument in site.arguments:
        value = argument.value
        if isinstance(value, Tensor) and isinstance(value.device, Symbol):
            frame.set_state(result, State("unknown", value.device))
            break
    return result


def call(frame: Frame, function: Function, site: CallSite, sent: Argument | None = None) -> Value:
    """The result of calling a function of the project; `sent` is what a generator is sent at each `yield`."""
    load_helpers.note(frame, function, site)
    device_takers.note(frame, function, site)
    if refuses(frame, function, site):
        frame.leave()
        return UNKNOWN
    site = with_identities(frame, site)
    matters = _matters_elsewhere(frame, function, site)
    out_of_reach = is_out_of_reach(frame, function, site)
    if out_of_reach or not can_follow(frame, function, site):
        # Functions that call each other spend their time on such calls, and on few statements.
        frame.analysis.spend(foreign=frame.source.foreign)
        if function.receiver is not None and not out_of_reach and not _leaves_its_object(frame, function):
            escape(frame, function.receiver)
        if "property" in function.decorators and DEVICE_NAME.search(function.name):
            return UNKNOWN  # where the thing's own tensors are, perhaps
        result = not_followed(frame, site, function.name)
        return _without_recursion(frame, function) or result
    child = Frame(
        frame.analysis,
        frame.env.inside(),
        parent=function.frame,
        caller=frame,
        function=function,
        call=site.node,
    )
    child.salt, child.round = frame.salt, frame.round
    child.env.names = _bind(child, function, site)
    if frame.analysis.at_top:
        defaults_met.note(frame, function.node)
        settings_given.note(frame, function, child.env.names)
    if child.source.foreign and not frame.source.foreign:
        child.handed = dict(child.env.names)
    if sent is not None:
        child.sent = retag(sent.value, Origin(sent.node, "argument", child.uid))
    analysis = frame.analysis
    of_module = function.owner is not None and function.owner.is_module
    private = is_private(function.name)
    seen_to_work.note_given(frame, function.name, child.env.names)
    for name, given in child.env.names.items():
        key = parameter_key(function.node, name)
        analysis.see_argument(
            key,
            given,
            moved=_was_moved(frame, given),
            of_module=of_module,
            # a function inside of another has no callers but those that are read with it, a step of a method hardly any
            is_private=private or function.frame.function is not None or _is_helper(frame, function),
        )
    if private or _is_helper(frame, function):
        key_of_calls = ("called later", id(function.node))
        later = not frame.building() or frame.analysis.notes.get(key_of_calls, False)
        frame.analysis.notes[key_of_calls] = later
    entered = analysis.enter(frame, function, matters=matters)
    try:
        value, end = run_body(child, function)
    finally:
        analysis.left(function, entered, matters=matters)
    if end is None and child.first_yield is not None:
        # a generator without an end: whoever made it goes on at once
        end = child.first_yield
        end.path = frame.env.path
    if end is None:
        frame.leave()
        return UNKNOWN
    if child.first_yield is not None and is_context_manager(function):
        frame.suspended = (child.first_yield, end)
        end = child.first_yield
        end.path = frame.env.path
    frame.env.heap = end.heap
    frame.env.default_device = end.default_device
    # what must hold for the call to return holds from here on (`require_gpu()`)
    frame.env.path = end.path
    placements.returned(frame, value, site.node, child)
    if child.receives and sent is None and isinstance(value, Many):
        value = with_cell(frame, site.node, value)
        frame.analysis.notes[_WAITING, value.cell] = (function, site)
    return value


_WAITING = "waits for what is sent"


def is_waiting(frame: Frame, generator: Many) -> bool:
    """Whether a generator makes something of what it is sent."""
    return generator.cell is not None and (_WAITING, generator.cell) in frame.analysis.notes


def send(frame: Frame, generator: Many, site: CallSite) -> Value:
    """`generator.send(value)`: what it yields next, with the value at each of its `yield`s; what it yields at first is none of that."""
    function, made = frame.analysis.notes[_WAITING, generator.cell]
    given = site.positional()
    if not given:
        return UNKNOWN
    alive = frame.alive
    result = call(frame, function, replace(made, node=site.node), given[0])
    frame.alive = alive
    return element_of(result)


def _leaves_its_object(frame: Frame, function: Function) -> bool:
    """Whether a method that calls itself is not followed any further, and does nothing to its object, whatever it is given."""
    node = function.node
    return isinstance(node, cst.FunctionDef) and frame.running(node) > 0 and does_nothing_to_self(node)


def _without_recursion(frame: Frame, function: Function) -> Value | None:
    """What the running activations of a function have returned so far, if it is tensors; None where none is running.

    That is the first step towards a fixed point; those that follow are taken as the calls up the stack end.
    """
    returned: list[Value] = []
    running: Frame | None = frame
    while running is not None:
        if running.function is not None and running.function.node is function.node:
            returned += [value for value, _ in running.returns]
        running = running.caller
    if not returned or not all(isinstance(value, Tensor) for value in returned):
        return None
    return join_all(returned)


def is_out_of_reach(frame: Frame, function: Function, site: CallSite) -> bool:
    """Whether a function of another file is not read for this call because enough of other files was read already.

    The call is then what it would be without the other file, so that nothing is lost by having it: a method that cannot be read is
    not taken to move its object. Of what was built only in part, nothing is read.
    """
    if not function.frame.source.foreign:
        return False
    receiver = function.receiver
    if not (isinstance(receiver, Object) and is_half_built(frame, receiver)) and frame.analysis.affords(
        function, matters=_matters_elsewhere(frame, function, site)
    ):
        return False
    _note_half_built(frame)
    _forget_what_it_may_set(frame, function, site)
    return True


def _forget_what_it_may_set(frame: Frame, function: Function, site: CallSite) -> None:
    """A callback that is given an instance is there to change it, `self.on_batch(self)`: others that were called before have.

    And where another file calls a method of its own that is not read, the half of what it does is known.
    """
    given = [argument.value for argument in site.arguments]
    for value in (*given, function.receiver) if frame.source.foreign else given:
        if isinstance(value, Object) and frame.state(value).kind == "instance":
            forget_attributes(frame, value)


_HALF_BUILT = "half built"


def is_half_built(frame: Frame, thing: Object) -> bool:
    """Whether the constructor of an instance was not read to its end: what it is made of is not known."""
    return (_HALF_BUILT, thing.key) in frame.analysis.notes


def _note_half_built(frame: Frame) -> None:
    """A call that cannot be read belongs to these constructors of other files: what they leave behind is not the whole instance."""
    current: Frame | None = frame
    while current is not None and current.source.foreign:
        function = current.function
        if function is not None and function.name == "__init__" and isinstance(function.receiver, Object):
            frame.analysis.notes[_HALF_BUILT, function.receiver.key] = True
        current = current.caller


def _matters_elsewhere(frame: Frame, function: Function, site: CallSite) -> bool:
    return not function.frame.source.foreign or _hands_over(frame, function, site)


def _is_helper(frame: Frame, function: Function) -> bool:
    """Whether a method is called by another one of the same object: it takes a step of what that does."""
    caller = frame.function
    return (
        function.receiver is not None
        and caller is not None
        and caller.receiver == function.receiver
        and function.name not in ("forward", "__call__", caller.name)
    )


def is_context_manager(function: Function) -> bool:
    """Whether a generator gives once, what a `with` block is entered with."""
    return any(name in ("contextmanager", "asynccontextmanager") for name in function.decorators)


def _was_moved(frame: Frame, value: Value) -> bool:
    match value:
        case Tensor(device=device):
            origins = [leaf.origin for leaf in leaves(device)]
            return all(origin is not None and origin.root().what == "moved" for origin in origins)
        case Many(element):
            return _was_moved(frame, element)
        case Items(items):
            return all(_was_moved(frame, item) for item in items)
        case Object():
            state = frame.state(value)
            return state.moved and not isinstance(state.device, Cpu)
        case _:
            return False


def _hands_over(frame: Frame, function: Function, site: CallSite) -> bool:
    """Whether a call gives its function anything that is on a device, or a device."""
    given = [function.receiver, *(argument.value for argument in site.arguments)]
    return any(value is not None and _matters(frame, value) for value in given)


def _matters(frame: Frame, value: Value) -> bool:
    match value:
        case Tensor() | DeviceValue():
            return True
        case Object():
            state = frame.state(value)
            return state.kind in ("module", "loader") or state.moved
        case Items(items):
            return any(_matters(frame, item) for item in items)
        case Many(element):
            return _matters(frame, element)
        case Entries(entries=entries):
            return any(_matters(frame, entry) for _, entry in entries)
        case Either(_, then, otherwise):
            return _matters(frame, then) or _matters(frame, otherwise)
        case _:
            return False


def run_body(child: Frame, function: Function) -> tuple[Value, Environment | None]:
    """Execute a body whose parameters are bound; its result and the environment at its end."""
    node = function.node
    if type(node) is cst.Lambda:
        child.analysis.spend(foreign=child.source.foreign)
        return child.evaluate(node.body), child.env
    with PutToUse(child.analysis):
        child.execute(body_of(node))
    value, end = child.join_returns()
    if child.yields:
        value = yields.given(child)
    return value, end


def is_property(function: Function) -> bool:
    """Whether to name a method is to call it."""
    return "property" in function.decorators or "cached_property" in function.decorators


def call_without_arguments(frame: Frame, function: Function) -> Value:
    """The result of reading a property; one that is cached is an attribute from then on, whatever it was computed of."""
    value = call(frame, function, CallSite(function.node))
    thing = function.receiver
    if (
        "cached_property" in function.decorators
        and isinstance(thing, Object)
        and thing.key[0] == "made"
        and not _may_be_computed_again(frame, function)
    ):
        frame.set_state(thing, frame.state(thing).with_attribute(function.name, value))
    return value


def _may_be_computed_again(frame: Frame, function: Function) -> bool:
    """Whether the class lets go of what is cached: `del self.rays`, `self.__dict__.pop("rays", None)`."""
    lets_go = re.compile(rf"__dict__|\bvars\(|\bdelattr\(|\bdel [^\n]*\.{function.name}\b")
    owners = [] if function.owner is None else function.owner.lineage()
    return any(lets_go.search(owner.frame.analysis.text(owner.node)) is not None for owner in owners)


def _bind(child: Frame, function: Function, site: CallSite) -> dict[str, Value]:
    parameters = function.node.params
    names: dict[str, Value] = {}
    origin_frame = child.uid

    def entered(argument: Argument) -> Value:
        return retag(argument.value, Origin(argument.node, "argument", origin_frame))

    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    open_ended: Value | None = None
    more: Value | None = None
    spare = False
    if function.receiver is not None and "staticmethod" not in function.decorators:
        receiver = function.receiver
        if (
            "classmethod" in function.decorators
            and isinstance(receiver, Object)
            and function.owner is not None
        ):
            receiver = Class(function.owner)
        positional.append(receiver)
    for argument in site.arguments:
        if argument.star == "*":
            if isinstance(argument.value, Items):
                positional += argument.value.items
            else:
                open_ended = more = element_of(argument.value)
                positional += [open_ended] * _left_for_star(function, site, argument)
        elif argument.star == "**":
            if isinstance(argument.value, Entries):
                origin = Origin(argument.node, "argument", origin_frame)
                keywords |= {
                    name: retag(value, origin)
                    for name, value in argument.value.entries
                    if name not in keywords
                }
                if argument.value.open:
                    open_ended = argument.value.default
                spare = spare or argument.value.spare
            elif isinstance(argument.value, Tensor):
                part = Tensor(argument.value.device)
                open_ended = retag(part, Origin(argument.node, "argument", origin_frame))
            else:
                open_ended = UNKNOWN
        elif argument.keyword is not None:
            keywords[argument.keyword] = entered(argument)
        else:
            positional.append(entered(argument))

    for parameter in (*parameters.posonly_params, *parameters.params):
        name = parameter.name.value
        if positional:
            names[name] = positional.pop(0)
        elif name in keywords:
            names[name] = keywords.pop(name)
        elif open_ended is not None:
            names[name] = open_ended if parameter.default is None else _of_star(site, name)
        else:
            names[name] = _default(child, function, parameter)
    if type(parameters.star_arg) is cst.Param:
        names[parameters.star_arg.name.value] = (
            Items(tuple(positional)) if more is None else Many(join_all([*positional, more]))
        )
    for parameter in parameters.kwonly_params:
        name = parameter.name.value
        if name in keywords:
            names[name] = keywords.pop(name)
        else:
            default = _default(child, function, parameter) if open_ended is None else _of_star(site, name)
            names[name] = default
    if parameters.star_kwarg is not None:
        names[parameters.star_kwarg.name.value] = Entries(
            tuple(keywords.items()), open_ended or UNKNOWN, open=open_ended is not None, spare=spare
        )
    return names


def _of_star(site: CallSite, name: str) -> Object:
    """What a star may give for a parameter that has a default: one thing, wherever it goes from there."""
    return Object(("starred", id(site.node), name), name)


def _left_for_star(function: Function, site: CallSite, star: Argument) -> int:
    """How many parameters a star fills of which it is not known what it holds, `f(*views, ids)`: those that nothing else is given for.

    None if it stands last, or is not the only one: how many there are does not matter, or is not known.
    """
    given = [one for one in site.arguments if one.keyword is None and one.star != "**"]
    if given[-1] is star or sum(one.star == "*" for one in given) > 1:
        return 0
    parameters = (*function.node.params.posonly_params, *function.node.params.params)
    named = {one.keyword for one in site.arguments}
    wanted = [one for one in parameters if one.default is None and one.name.value not in named]
    bound = function.receiver is not None and "staticmethod" not in function.decorators
    return max(0, len(wanted) - bound - (len(given) - 1))


def evaluate_defaults(frame: Frame, node: cst.FunctionDef | cst.Lambda) -> tuple[tuple[str, Value], ...]:
    """Default arguments are evaluated where the function is defined.

    The result is what they are for this very definition, where others of the same text may differ (`lambda x, where=where: ...`).
    """
    parameters = node.params
    found: list[tuple[str, Value]] = []
    for parameter in all_parameters(parameters):
        if parameter.default is not None:
            insisted = _names_device(parameter.default) and (
                insists(node)
                or not is_read(node, parameter)
                or is_only_kept(frame, node, parameter)
                or is_overridden(frame, node, parameter)
            )
            frame.handlers += insisted
            value = frame.evaluate(parameter.default)
            frame.analysis.defaults[id(parameter)] = value
            literals.see_default(frame, parameter, value)
            frame.handlers -= insisted
            found.append((parameter.name.value, value))
    over_and_over = frame.function is not None or frame.loops or frame.round
    return tuple(found) if over_and_over else ()


def is_read(node: cst.FunctionDef | cst.Lambda, parameter: cst.Param) -> bool:
    """Whether a function may do anything with an argument: it speaks of it, or of all at once (`locals()`), or is only declared."""
    names = _names_within(node) if isinstance(node, cst.FunctionDef) else _names(node.body)
    return not names or not names.isdisjoint((parameter.name.value, "locals", "vars"))


@remembered(cst.FunctionDef)
def _names_within(node: cst.FunctionDef) -> frozenset[str]:
    return _names(node.body)


def _names(body: cst.CSTNode) -> frozenset[str]:
    parts = list(walk(body, below=(cst.Del,)))
    apart = {id(part.keyword) for part in parts if type(part) is cst.Arg}
    apart |= {id(part.attr) for part in parts if type(part) is cst.Attribute}
    return frozenset(part.value for part in parts if type(part) is cst.Name and id(part) not in apart)


def _names_device(default: cst.BaseExpression) -> bool:
    return isinstance(default, cst.Call) or (
        isinstance(default, cst.SimpleString) and parse(str(default.raw_value)) is not None
    )


def _default(child: Frame, function: Function, parameter: cst.Param) -> Value:
    if parameter.default is None:
        return Object(parameter_key(function.node, parameter.name.value), parameter.name.value)
    name = parameter.name.value
    value = next((value for held, value in function.defaults if held == name), None)
    if value is None:
        value = function.frame.analysis.defaults.get(id(parameter), UNKNOWN)
    if (
        isinstance(value, (Literal, DeviceValue))
        and is_read(function.node, parameter)
        and not is_only_kept(child, function.node, parameter)
        and not is_overridden(child, function.node, parameter)
    ):
        literals.see_default_used(child, parameter, value)
    return value


def parameter_key(node: cst.CSTNode, name: str) -> Key:
    """The identity of whatever a parameter holds when nothing is known of the caller."""
    return ("parameter", id(node), name)


def tensors_by_default(function: Function) -> dict[str, Value]:
    """The parameters that are tensors made with the function, and that nobody in sight gives: `def f(x, kinds=torch.arange(3))`."""
    if not isinstance(function.node, cst.FunctionDef):
        return {}
    analysis = function.frame.analysis
    found: dict[str, Value] = {}
    for parameter in all_parameters(function.node.params):
        value = analysis.defaults.get(id(parameter))
        if isinstance(value, Tensor) and isinstance(value.device, Cpu):
            name = parameter.name.value
            if analysis.learn(_is_left_to_its_default, analysis, function.name, name):
                found[name] = value
    return found


def _is_left_to_its_default(analysis: Analysis, function: str, name: str) -> bool:
    given = re.compile(rf"\b{re.escape(name)}\s*=(?!=)")
    others = [text for _, text in analysis.imports.mentioning(name) or () if function in text]
    return len(given.findall(analysis.written)) == 1 and not any(map(given.search, others))


def bind_symbolically(function: Function) -> dict[str, Value]:
    """Parameters bound to whatever a caller may give."""
    parameters = function.node.params
    names: dict[str, Value] = {}
    for parameter in all_parameters(parameters):
        name = parameter.name.value
        names[name] = Object(parameter_key(function.node, name), name)
    if isinstance(parameters.star_arg, cst.Param):
        name = parameters.star_arg.name.value
        names[name] = Object(parameter_key(function.node, name), name)
    if parameters.star_kwarg is not None:
        name = parameters.star_kwarg.name.value
        names[name] = Object(parameter_key(function.node, name), name)
    first = next(iter((*parameters.posonly_params, *parameters.params)), None)
    if function.receiver is not None and first is not None and "staticmethod" not in function.decorators:
        receiver = function.receiver
        if "classmethod" in function.decorators and function.owner is not None:
            receiver = Class(function.owner)
        names[first.name.value] = receiver
    return names

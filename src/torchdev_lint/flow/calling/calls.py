"""Evaluating calls: the arguments, then whatever is called."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow.activation.analysis import Printed
from torchdev_lint.flow.activation.frame import Frame, expression
from torchdev_lint.flow.calling import arrays, builtin_functions, dispatch, exit_stacks, workers
from torchdev_lint.flow.calling.callsites import Argument, CallSite, ImpliedItem, Unwritten, name_given
from torchdev_lint.flow.calling.functions import (
    call,
    call_without_arguments,
    hand_over,
    is_out_of_reach,
    is_property,
    is_waiting,
    not_followed,
    send,
)
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Anywhere, Cpu, Device, Origin, leaves
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    AnyOf,
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Dtype,
    Either,
    Entries,
    Function,
    Generator,
    Import,
    Items,
    Literal,
    Many,
    Method,
    Namespace,
    Object,
    Partial,
    State,
    Super,
    Tensor,
    Value,
    if_not_none,
    item_of,
    join,
    join_all,
    narrowed,
)
from torchdev_lint.flow.execution import containers
from torchdev_lint.flow.inspection import reveals
from torchdev_lint.flow.instances import (
    computed_attributes,
    dict_classes,
    list_classes,
    made_by_new,
    records,
    torch_bases,
)
from torchdev_lint.flow.instances.classes import ClassModel, instantiate
from torchdev_lint.flow.instances.confinement import (
    brings_what_it_is_given,
    may_bring,
    moves_what_it_is_given,
    takes_apart,
)
from torchdev_lint.flow.instances.objects import (
    attribute_of_function,
    forget_attributes,
    forget_bare,
    forget_device,
    get_attribute,
    held_as,
    hide_attribute,
    is_loss_like,
    is_module_like,
)
from torchdev_lint.flow.libraries import command_lines, library_calls, library_hooks
from torchdev_lint.flow.mistakes import (
    brought_back,
    device_objects,
    discarded_copies,
    host_reads,
    literals,
    lost_index,
    moved_outputs,
    no_tensors,
)
from torchdev_lint.flow.nn_modules import (
    brought_by_hooks,
    hooks,
    library_parts,
    loaded_parts,
    model_runs,
    module_containers,
    modules,
    optimizers,
    parametrizations,
    seen_to_work,
)
from torchdev_lint.flow.nn_modules.model_calls import check_inputs_together
from torchdev_lint.flow.nn_modules.registration import check_late
from torchdev_lint.flow.read_alone import evident_parts
from torchdev_lint.flow.syntax.trees import dotted, goes_to_cpu, walk
from torchdev_lint.flow.torch_calls import (
    current_device,
    distributions,
    function_transforms,
    tensor_values,
    tensors,
    torch_factories,
    torch_functions,
)
from torchdev_lint.flow.torch_calls.device_values import as_device
from torchdev_lint.torch_api import callables, factories, libraries, tensor_methods
from torchdev_lint.torch_api import modules as module_api
from torchdev_lint.torch_api.generators import KEEPS_GENERATOR
from torchdev_lint.torch_api.libraries import ASKS_ACCELERATOR, NOT_DEVICE_USES, SKIPS_TEST


@expression(cst.Call)
def visit_Call(frame: Frame, node: cst.Call) -> Value:
    function = node.func
    discarded, frame.discarded = frame.discarded, None
    if type(function) is cst.Attribute:
        name = function.attr.value
        receiver = frame.evaluate(function.value)
        quiet = name in NOT_DEVICE_USES or name.startswith("assert") or _is_marked_parameter(node)
        quiet = quiet or (name in ASKS_ACCELERATOR and isinstance(receiver, Api))
        site = _site(frame, node, quiet=quiet, receiver=function.value)
        device_objects.check_method(frame, receiver, name, site)
        lost_index.check_method(frame, receiver, name, site)
        if name in current_device.THREAD_METHODS:
            current_device.check_thread(frame, site)
        frame.discarded = discarded
        no_tensors.check_method(frame, receiver, name, site)
        if name == "to":
            moved_outputs.check(frame, site)
        result = call_attribute(frame, receiver, name, site)
        frame.discarded = None
        return result
    callee = frame.evaluate(function)
    if reveals.is_reveal(callee):
        return reveals.reveal(frame, _site(frame, node, quiet=True))
    quiet = type(function) is cst.Name and function.value in NOT_DEVICE_USES
    site = _site(frame, node, quiet=quiet)
    frame.discarded = discarded
    result = call_value(frame, callee, site)
    frame.discarded = None
    return result


def _is_marked_parameter(node: cst.Call) -> bool:
    """`pytest.param("cuda:0", marks=...)`: the mark says when it is skipped."""
    for argument in node.args:  # noqa: SIM110 - asked of every call: a generator would take twice as long
        if argument.keyword is not None and argument.keyword.value == "marks":
            return True
    return False


def _site(
    frame: Frame, node: cst.Call, *, quiet: bool, receiver: cst.BaseExpression | None = None
) -> CallSite:
    arguments: list[Argument] = []
    evaluate = frame.evaluate
    if quiet:
        with Printed(frame.analysis):
            for argument in node.args:
                arguments.append(Argument(evaluate(argument.value), argument))  # noqa: PERF401 - a list comprehension is a call
    else:
        for argument in node.args:
            if argument.keyword is not None and argument.keyword.value in _TEXT_ARGUMENTS:
                with frame.quietly():
                    arguments.append(Argument(evaluate(argument.value), argument))
            else:
                value = evaluate(argument.value)
                if argument.star == "**":
                    value = dict_classes.as_dict(frame, value)
                elif argument.star == "*" and isinstance(value, Object):
                    value = module_containers.spread(frame, value)
                arguments.append(Argument(value, argument))
    return CallSite(node, tuple(arguments), dotted(node.func) or "the call", receiver)


_TEXT_ARGUMENTS = frozenset(
    {"choices", "help", "description", "msg", "match", "metavar", "reason", "title", "label", "name"}
)


def call_value(frame: Frame, callee: Value, site: CallSite) -> Value:
    """The result of calling a value."""
    match callee:
        case Import():
            return call_value(frame, frame.analysis.imports.force(callee), site)
        case Function(decorators=decorators):
            if callee.receiver is None and is_out_of_reach(frame, callee, site):
                brings = isinstance(callee.node, cst.FunctionDef) and may_bring(callee.node)
                return torch_functions.unresolved(frame, site.callee, site, brings=brings)
            return call(frame, dispatch.chosen(frame, callee, site) if decorators else callee, site)
        case Class(model=model):
            return instantiate(frame, model, site)
        case Api(path=path) if path.startswith("builtins."):
            return builtin_functions.call_builtin(frame, path.removeprefix("builtins."), site, call_value)
        case Api(path=path):
            return torch_functions.call_api(frame, path, site)
        case Object():
            return call_object(frame, callee, site)
        case AnyOf(things=things):
            joined = call_each(frame, things, lambda thing: call_object(frame, thing, site))
            return not_followed(frame, site) if joined is None else joined
        case Method(receiver=receiver, name=name):
            return call_attribute(frame, receiver, name, site)
        case Partial():
            return _call_partial(frame, callee, site)
        case Either() if (settled := narrowed(callee, frame.env.path)) is not callee:
            return call_value(frame, settled, site)
        case Either(guard, then, otherwise):
            left, right = frame.either(
                guard, lambda: call_value(frame, then, site), lambda: _call_other(frame, otherwise, site)
            )
            return join(guard, left, right)
        case Tensor(device=device):
            return Tensor(device)
        case _:
            return not_followed(frame, site)


_OTHER = -1_000_000


def _call_other(frame: Frame, callee: Value, site: CallSite) -> Value:
    """`(Host if offload else Device)(keys)`: what the second class makes here is another thing than what the first makes."""
    if not isinstance(callee, Class):
        return call_value(frame, callee, site)
    with frame.in_turn(_OTHER):
        return call_value(frame, callee, site)


def _call_partial(frame: Frame, partial: Partial, site: CallSite) -> Value:
    # In another activation these arguments are not written: an operation tells of what is called, which holds them.
    written = partial.nodes if partial.frame == frame.uid else ()
    held = site.node.func if isinstance(site.node, cst.Call) and isinstance(partial.function, Api) else None

    def argument(index: int, value: Value, name: str | None = None) -> Argument:
        if index < len(written) and not written[index].star:
            return Argument(value, written[index])
        keyword = None if name is None else cst.Name(name)
        if held is None:
            return Argument(value, Unwritten(cst.Name("_"), keyword=keyword))
        return Argument(value, ImpliedItem(held, keyword=keyword))

    given = {argument.keyword for argument in site.arguments}
    first = tuple(argument(index, value) for index, value in enumerate(partial.positional))
    bound = tuple(
        argument(index, value, name)
        for index, (name, value) in enumerate(partial.keywords, len(first))
        if name not in given
    )
    arguments = (*first, *site.arguments, *bound)
    return call_value(frame, partial.function, CallSite(site.node, arguments, site.callee, site.receiver))


def call_object(frame: Frame, thing: Object, site: CallSite) -> Value:
    """The result of calling an object: a module, a callable instance, or something unknown; its hooks are run."""
    site = hooks.inputs(frame, thing, site, call_value)
    parametrizations.run(frame, thing, site, call_value)
    known = seen_to_work.told_before(frame)
    result = _call_object(frame, thing, site)
    seen_to_work.note(frame, frame.state(thing).device, site, known)
    return hooks.run(frame, thing, result, site, call_value)


def _call_object(frame: Frame, thing: Object, site: CallSite) -> Value:
    state = frame.state(thing)
    if "forward" in state.attributes and state.kind == "module":
        own = state.attributes["forward"]
        if isinstance(own, Object) and frame.state(own).kind == "unknown":
            return not_followed(frame, site)  # put there by what cannot be read
        return call_value(frame, own, site)
    if state.model is not None:
        check_late(frame, thing, site.node)
        for name in ("__call__", "forward"):
            method = state.model.find(name)
            if method is not None:
                function = state.model.function(method, name, thing)
                if not is_out_of_reach(frame, function, site):
                    return call(frame, function, site)
                if _brings_what_it_is_given(function):
                    return not_followed(frame, site)
                site = _without(site, takes_apart(function.node), function.node.params)
                state = _of_unread_class(state)
                break
        if state.kind == "instance":
            return not_followed(frame, site)
    known = library_calls.call_instance(frame, thing, site)
    if known is not None:
        return known
    parts = module_containers.in_order(frame, thing)
    if parts is not None and site.positional():
        return _call_in_order(frame, thing, parts, site)
    if state.kind == "module" or state.moved:
        return modules.call_module(frame, thing, site)
    tokenized = torch_functions.tokenizer_result(site, "")
    if tokenized is not None:
        return tokenized  # a module's own tokenizer, too, makes them on the CPU
    if _is_part_of_module(frame, thing, state):
        return modules.call_part(frame, thing, site)
    if _runs_model(frame, thing):
        check_inputs_together(frame, thing, site)
        if is_module_like(frame, thing):
            result = torch_functions.unresolved(frame, site.callee, site)
            return modules.output_of(frame, site) or result
    return torch_functions.unresolved(frame, site.callee, site)


def _call_in_order(frame: Frame, thing: Object, parts: list[Object], site: CallSite) -> Value:
    """A Sequential with modules of the file: what one part returns is given to the next."""
    known = len(frame.analysis.events)
    whole = modules.call_module(frame, thing, site)
    if len(frame.analysis.events) != known or frame.analysis.budget <= 0:
        return whole  # at fault as a whole: what follows from it is not to be reported, too
    given = site.positional()[0]
    value = given.value
    for part in parts:
        value = call_value(frame, part, CallSite(site.node, (Argument(value, given.node),), site.callee))
    return whole if value == UNKNOWN else value


def call_each(frame: Frame, things: tuple[Object, ...], call_one: Callable[[Object], Value]) -> Value | None:
    """One of several objects is called, it is not known which: all of a kind do the same, so that one of each kind is called.

    None where they are not all modules or instances of classes of the file, of too many kinds, or in several places.
    """
    kinds: dict[object, Object] = {}
    devices: set[Device] = set()
    for thing in things:
        state = frame.state(thing)
        if state.kind not in ("module", "instance") or (state.kind == "instance" and state.model is None):
            return None
        kinds.setdefault(state.model or state.api, thing)
        if not all(isinstance(leaf, Anywhere) for leaf in leaves(state.device)):
            devices.add(state.device)
    if len(kinds) > MAX_KINDS or len(devices) > 1:
        return None
    return join_all([call_one(thing) for thing in kinds.values()])


MAX_KINDS = 4


def _is_part_of_module(frame: Frame, thing: Object, state: State) -> bool:
    """Whether the thing is an attribute of the module whose method this is, of a class that cannot be read."""
    function = frame.function
    receiver = None if function is None else function.receiver
    if not isinstance(receiver, Object) or frame.state(receiver).kind != "module":
        return False
    if thing.key[:2] == ("attr", receiver.key):
        return True
    return thing in frame.state(receiver).attributes.values()


def call_attribute(frame: Frame, receiver: Value, name: str, site: CallSite) -> Value:
    """The result of `receiver.name(...)`."""
    if name in tensor_methods.READING_METHODS:
        host_reads.check_method(frame, receiver, name, site)
    elif name == "cpu":
        brought_back.check(frame, site)
    receiver = if_not_none(receiver)
    if name in module_api.REGISTERING and (
        receiver == UNKNOWN or (isinstance(receiver, Object) and frame.state(receiver).kind == "unknown")
    ):
        forget_bare(frame)
    match receiver:
        case Tensor() if name == "register_hook":
            return hooks.run_on_tensor(frame, receiver, site, call_value)
        case Tensor():
            return tensors.call_method(frame, receiver, name, site)
        case Object():
            return call_object_method(frame, receiver, name, site)
        case Generator():
            return receiver if name in KEEPS_GENERATOR else UNKNOWN
        case Super(receiver=Class(model=model)) if name == "__new__":
            return made_by_new.bare(frame, model, site.node)
        case Super(receiver=instance):
            found = get_attribute(frame, receiver, name, site.node)
            if isinstance(found, Function):
                return call(frame, found, site)
            if (
                isinstance(instance, Object)
                and name == "__call__"
                and frame.state(instance).model is not None
            ):
                return call_attribute(frame, instance, "forward", site)
            if isinstance(instance, Object) and name not in ("__init__", "forward"):
                return call_base_method(frame, instance, name, site)
            return _call_torch_base(frame, instance, name, site) if isinstance(instance, Object) else UNKNOWN
        case Many() if name in ("send", "asend") and is_waiting(frame, receiver):
            return send(frame, receiver, site)
        case Items() | Many() | Entries() | Literal():
            return containers.call_container_method(frame, receiver, name, site)
        case Function() | Method() | Partial() if function_transforms.is_transformed(receiver, name):
            return function_transforms.call(frame, receiver, name, site, call_value)
        case Function() if (held := attribute_of_function(frame, receiver, name)) is not None:
            return call_value(frame, held, site)
        case AnyOf(things=things):
            if name in dict_classes.CHANGING:
                dict_classes.forget(frame, receiver)
            if name in list_classes.CHANGING:
                list_classes.forget(frame, receiver)
            if name in workers.METHODS and all(workers.is_worker(frame, thing) for thing in things):
                return join_all([call_object_method(frame, thing, name, site) for thing in things])
            if name in hooks.REGISTERS:  # of a loop over all modules: each of them has the hook
                return join_all([call_object_method(frame, thing, name, site) for thing in things])
            if name not in module_api.IN_PLACE_MOVES:
                joined = call_each(frame, things, lambda thing: call_object_method(frame, thing, name, site))
                if joined is not None:
                    return joined
            for thing in things:
                forget_device(frame, thing, even_moved=name in module_api.IN_PLACE_MOVES)
            return not_followed(frame, site)
        case DeviceValue() | DeviceType() if name == "startswith" and site.positional():
            return literals.starts_with(frame, receiver, site)
        case DeviceValue() if name in ("__enter__", "__exit__"):
            entered = name == "__enter__"
            frame.env.default_device = as_device(receiver) if entered else UNKNOWN_DEVICE
            return receiver if entered else NONE
        case Either() if (settled := narrowed(receiver, frame.env.path)) is not receiver:
            return call_attribute(frame, settled, name, site)
        case Either(guard, then, otherwise):
            left, right = frame.either(
                guard,
                lambda: call_attribute(frame, then, name, site),
                lambda: call_attribute(frame, otherwise, name, site),
            )
            return join(guard, left, right)
        case Class(model=model) if name == "apply" and model.is_autograd_function:
            return _apply_function(frame, model, site)
        case Import():  # of a name like a class's, `KC_MATRIX.cuda()`
            return call_attribute(frame, frame.analysis.imports.force(receiver), name, site)
        case Api() | Namespace() | Class() | DeviceValue():
            return call_value(frame, get_attribute(frame, receiver, name, site.node), site)
        case _:
            tokenized = torch_functions.tokenizer_result(site, name)
            if tokenized is not None:
                return tokenized
            if name in module_api.IN_PLACE_MOVES:
                return modules.transfer(frame, frame.result_of(site.node), name, site)
            return not_followed(frame, site)


def _call_torch_base(frame: Frame, thing: Object, name: str, site: CallSite) -> Value:
    """`super().__init__(...)` and `super().forward(x)` of a class that derives from a layer of PyTorch's."""
    model = frame.state(thing).model
    if name == "__init__" and dict_classes.kept_as(model) is not None:
        dict_classes.begin(frame, thing, containers.dict_of(frame, site))
    if name == "__init__" and list_classes.kept_as(model) is not None:
        list_classes.begin(frame, thing, containers.list_of(frame, site))
    path = None if model is None else torch_bases.base_of(model)
    if path is None:
        if model is not None and model.is_filled_by_others():
            hand_over(frame, site)
        return UNKNOWN
    if name == "__init__":
        torch_bases.build(frame, thing, path, site)
        return UNKNOWN
    made = torch_bases.made_by_base(frame, thing)
    return UNKNOWN if made is None else call_object(frame, made, site)


def _brings_what_it_is_given(function: Function) -> bool:
    """As `brings_what_it_is_given`, also of a function that a decorator's stands for."""
    if brings_what_it_is_given(function.node):
        return True
    if function.frame.function is None:
        return False
    called = {
        part.func.value
        for part in walk(function.node.body)
        if isinstance(part, cst.Call) and isinstance(part.func, cst.Name)
    }
    wrapped = [held for name, held in function.frame.env.names.items() if name in called]
    return any(isinstance(held, Function) and brings_what_it_is_given(held.node) for held in wrapped)


def _apply_function(frame: Frame, model: ClassModel, site: CallSite) -> Value:
    """`MyFunction.apply(x, ...)`: its `forward`, given a context unless there is a `setup_context`."""
    forward = model.find("forward")
    if forward is None:
        return not_followed(frame, site)
    arguments = site.arguments
    if model.find("setup_context") is None:
        context = Argument(Object(("context", id(site.node), frame.uid)), cst.Arg(cst.Name("ctx")))
        arguments = (context, *arguments)
    return call(frame, model.function(forward, "forward", None), replace(site, arguments=arguments))


def _checked(site: CallSite) -> CallSite:
    """The call with the first tensor only: the others may well be indices into it, and those may be on the CPU."""
    tensors_given = [a for a in site.arguments if isinstance(a.value, Tensor)]
    return replace(site, arguments=tuple(a for a in site.arguments if a not in tensors_given[1:]))


def call_base_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value:
    """`super().to(...)` and its like: what nn.Module itself does."""
    if name in module_api.IN_PLACE_MOVES:
        return modules.transfer(frame, thing, name, site)
    found = containers.call_dict_method(frame, thing, name, site)
    if found is None:
        found = containers.call_list_class_method(frame, thing, name, site)
    if found is None:
        found = modules.call_module_method(frame, thing, name, site)
    return UNKNOWN if found is None else found


_READS_ATTRIBUTES = frozenset("get keys values items copy".split())


def _call_on_attributes(frame: Frame, owner: Object, name: str, site: CallSite) -> Value:
    """A method of `thing.__dict__`."""
    under, default = name_given(site, 0), site.get(1, "default")
    if name == "setdefault" and under is not None and under not in frame.state(owner).attributes:
        value = NONE if default is None else default.value
        hide_attribute(frame, owner, under, value)
        return value
    if name not in _READS_ATTRIBUTES and (name != "setdefault" or under is None):
        forget_attributes(frame, owner)
        return UNKNOWN
    return frame.state(owner).attributes.get(under or "", UNKNOWN)


_COMPUTES = module_api.MODEL_METHODS | {"update"}
"""Methods by which a library's modules compute with what they are given; metrics are updated."""
_OF_DENSITIES = frozenset("log_prob prob cdf icdf entropy".split())
"""Methods of densities: one that cannot be read may well be made of numbers, though it is part of a model that was moved."""


def call_object_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value:
    """The result of a method of an object."""
    state = frame.state(thing)
    if thing.key[0] == "attr" and thing.key[2] == "__dict__":
        return _call_on_attributes(frame, Object(thing.key[1]), name, site)
    if name == "startswith" and site.positional():
        return literals.starts_with(frame, thing, site)
    if name in ("__next__", "next") and state.model is None and state.element != UNKNOWN:
        return state.element
    if name == "get" and state.api == "contextvars.ContextVar":
        return UNKNOWN  # what it was set to last, in this context
    if name == SKIPS_TEST:
        frame.leave()
        return UNKNOWN
    if name == "enter_context" and any(
        isinstance(argument.value, DeviceValue) for argument in site.arguments
    ):
        exit_stacks.enter_device(frame, thing, site)
    optimizers.call_method(frame, thing, name, site)
    unread = False
    if state.api.startswith("torch.distributions."):
        drawn = distributions.call_method(frame, thing, name, site)
        if drawn is not None:
            return drawn
    if name in workers.METHODS and workers.is_worker(frame, thing):
        worked = workers.call_method(frame, thing, name, site, call_value)
        if worked is not None:
            return worked
    if name == "callback" and exit_stacks.is_entered(frame, thing):
        return exit_stacks.note(frame, thing, site)
    if name in records.METHODS and state.kind == "instance":
        return records.call_method(frame, thing, name, site)
    if name == brought_by_hooks.BEFORE and not frame.env.knows(thing):
        brought_by_hooks.note_unknown(frame, thing)
    if name in hooks.REGISTERS and hooks.is_some_part(thing):
        hooked = hooks.register(frame, thing, name, site)
        return not_followed(frame, site) if hooked is None else hooked
    held = held_as(state, name)
    if held is not None:
        return call_value(frame, held, site)
    if state.model is not None:
        method = state.model.find(name)
        if method is not None:
            function = state.model.function(method, name, thing)
            if is_property(function):
                # `self.teacher(x)`: what is read is called
                return call_value(frame, call_without_arguments(frame, function), site)
            discarded_copies.check(frame, thing, method, site)
            if not is_out_of_reach(frame, function, site):
                return call(frame, function, site)
            if _brings_what_it_is_given(function) or any(map(goes_to_cpu, walk(function.node.body))):
                return not_followed(frame, site)  # or it takes to the host what it gives out
            unread = True
        elif state.kind == "module" and name == "__call__":
            return call_object(frame, thing, site)
        elif isinstance(shared := state.model.class_attribute(name), Class):
            return call_value(
                frame, shared, site
            )  # `class Block(nn.Module)` within: it is not bound, as a function would be
        else:
            computed = computed_attributes.where_there_is_none(frame, thing, name)
            if computed is not None:
                return call_value(frame, computed, site)
            if state.model.find("__getattr__") is not None and name in module_api.MODEL_METHODS:
                return not_followed(frame, site)  # it may move what it is given before it hands it on
    of_dict = containers.call_dict_method(frame, thing, name, site)
    if of_dict is not None:
        return of_dict
    of_list = containers.call_list_class_method(frame, thing, name, site)
    if of_list is not None:
        return of_list
    if name in module_api.IN_PLACE_MOVES:
        return modules.transfer(frame, thing, name, site)
    if tensor_values.frame_moved(frame, thing) and (
        (name in module_api.CASTS and not site.arguments)
        or (name == "type" and len(site.arguments) == 1 and isinstance(site.arguments[0].value, Dtype))
    ):
        return thing  # a tensor or a module, it stays where it was moved to
    if name in ("items", "values", "keys") and state.kind == "unknown" and not site.arguments:
        element = item_of(thing)
        return Many(
            Items((UNKNOWN, element)) if name == "items" else element if name == "values" else UNKNOWN
        )
    if state.kind != "module" and any(moves_what_it_is_given(one.node.value) for one in site.arguments):
        forget_attributes(frame, thing)
        return not_followed(frame, site)
    modules.note_evidence(frame, thing, name)
    state = _of_unread_class(frame.state(thing)) if unread else frame.state(thing)
    if state.kind == "module":
        if name == "apply":
            hooks.run_applied(frame, thing, site, call_value)
        found = modules.call_module_method(frame, thing, name, site)
        if found is not None:
            return found
    tokenized = torch_functions.tokenizer_result(site, name)
    if tokenized is not None:
        return tokenized
    library_hooks.drive(frame, thing, name, site, call)
    known = torch_factories.drawn(frame, thing, name, site) or library_calls.call_method(
        frame, thing, name, site
    )
    if known is not None:
        if name in _COMPUTES and state.kind == "module":
            modules.check_inputs(frame, thing, site)
        return known
    if (
        name in module_api.MODEL_METHODS
        and (state.kind == "module" or (state.moved and name not in _OF_DENSITIES))
        and not _is_put_aside(frame, thing, state, name)
    ):
        return modules.call_module(frame, thing, _checked(site) if name in module_api.MAY_INDEX else site)
    if state.kind == "module" and state.model is None and name[:1].islower():
        derived = library_parts.part(frame, thing, state, name) or Object(
            ("attr", thing.key, name), f"{thing.text}.{name}"
        )
        if frame.env.knows(derived) or frame.state(derived).kind == "module":
            return call_object(frame, derived, site)
    if (
        (name in _ONLY_TENSORS or (name in _OF_TENSORS and tensor_values.frame_moved(frame, thing)))
        and state.kind == "unknown"
        and not arrays.is_array(frame, thing)
    ):
        evident_parts.note_method(frame, site.receiver, thing, name)
        found = loaded_parts.as_tensor(frame, thing)
        return tensors.call_method(
            frame, found if isinstance(found, Tensor) else Tensor(state.device), name, site
        )
    if name in ("add_argument", "parse_args", "parse_known_args"):
        return command_lines.call_parser(frame, thing, name, site)
    if {name, f"{thing.text}.{name}"} & frame.analysis.options.tensor_constructors:
        return Tensor(Cpu(Origin(site.node, "made")))
    if {name, f"{thing.text}.{name}"} & frame.analysis.options.device_sources:
        return torch_functions.told_device(f"{thing.text}.{name}")
    if name in module_api.MODEL_METHODS - module_api.MAY_INDEX and _runs_model(frame, thing):
        check_inputs_together(frame, thing, site)
    arrays.note_method(frame, thing, name, site)
    model_runs.check_method(frame, name, site)
    held = Object(("attr", thing.key, name), f"{thing.text}.{name}" if thing.text else name)
    if frame.env.knows(held) or _runs_model(frame, held):
        return call_object(frame, held, site)
    api = frame.state(thing).api
    leaves = (
        name in callables.LEAVES_ARGUMENTS
        or libraries.moves_nothing(api)
        or frame.analysis.options.shelf.moves_nothing(api)
    )
    return not_followed(frame, site, leaves=leaves)


def _without(site: CallSite, names: frozenset[str], parameters: cst.Parameters) -> CallSite:
    """A call of a method as if nothing were known of the arguments that it is given for parameters of these names."""
    own = [one.name.value for one in (*parameters.posonly_params, *parameters.params)][1:]
    if not names:
        return site
    arguments = [
        replace(argument, value=UNKNOWN)
        if not argument.star and (argument.keyword or "".join(own[index : index + 1])) in names
        else argument
        for index, argument in enumerate(site.arguments)
    ]
    return replace(site, arguments=tuple(arguments))


def _of_unread_class(state: State) -> State:
    """What is known of an instance whose class is not read: whether it is a module is seen by what is done with it."""
    return state if state.moved else replace(state, kind="unknown")


def _is_put_aside(frame: Frame, thing: Object, state: State, name: str) -> bool:
    """Whether a model of unknown class was brought to the CPU when it had done its work: what is asked of it then needs none of it."""
    wanders = frame.analysis.notes.get(("wanders", thing.key), False)
    return bool(wanders) and state.model is None and name != "forward" and isinstance(state.device, Cpu)


def _runs_model(frame: Frame, thing: Object) -> bool:
    """Whether calling a thing of an unknown class computes with a model, a layer, a loss or a metric, by its name or its class."""
    name = thing.text.rpartition(".")[2]
    if not frame.state(thing).api and callables.STORES_OR_INSPECTS.search(name):
        return False  # `build_model`
    return is_module_like(frame, thing) or is_loss_like(thing)


_ONLY_TENSORS = (
    factories.NEW_METHODS
    | tensor_methods.EVIDENT_OPERATIONS
    | frozenset(
        (
            "unsqueeze squeeze view reshape permute transpose contiguous detach clone expand expand_as repeat_interleave "
            "flatten softmax log_softmax sigmoid tanh relu argmax argmin cumsum clamp masked_fill type_as view_as size dim "
            "numel item long bmm unbind unfold logsumexp index_select masked_select"
        ).split()
    )
) - {"new"}
"""Methods that, of the things that people put on devices, only tensors have."""

_OF_TENSORS = frozenset(
    (
        "abs add all any argsort bernoulli bool ceil chunk copy_ cos cummax cumprod diag diagonal diff div erf exp "
        "fill_ fix flip floor gather index_add index_add_ index_copy index_copy_ index_fill index_fill_ int isfinite isinf "
        "isnan kthvalue lerp log log10 log1p log2 masked_scatter max maximum mean median min minimum mode movedim "
        "mul multinomial nan_to_num narrow neg nonzero norm normal_ pow prod put_ quantile random_ reciprocal repeat "
        "reshape_as roll round rsqrt scatter scatter_ scatter_add scatter_add_ sign sin sort split sqrt square std sub sum "
        "swapaxes swapdims take tile to_sparse topk tril triu trunc uniform_ unique var vdot where zero_"
    ).split()
)
"""Methods of tensors that arrays have, too, or classes for other things: of what was moved, a tensor it is."""

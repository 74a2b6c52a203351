"""PyTorch's own modules: building them, calling them, their methods."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite, name_given
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Accelerator,
    Anywhere,
    Device,
    Symbol,
    leaves,
    without_attribute,
)
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Unknown,
    Value,
    each_of,
    join_all,
    unknown_tensor,
)
from torchdev_lint.flow.execution.iteration import ANY, container_of
from torchdev_lint.flow.instances.confinement import brings_what_it_is_given, only_computes
from torchdev_lint.flow.instances.objects import escape, forget_device, is_module_like, move, moves_with_owner
from torchdev_lint.flow.instances.parameter_places import parameters_device
from torchdev_lint.flow.libraries import library_facts
from torchdev_lint.flow.mistakes import discarded_transfers, unstated_devices
from torchdev_lint.flow.nn_modules import (
    attached_parts,
    hooks,
    library_parts,
    module_containers,
    optimizers,
    placements,
)
from torchdev_lint.flow.nn_modules.model_calls import check_inputs_together, check_model_call, check_part
from torchdev_lint.flow.nn_modules.registration import check_late, note_late
from torchdev_lint.flow.telling.cures import Callee
from torchdev_lint.flow.torch_calls import device_values, tensor_values, torch_factories, transfers
from torchdev_lint.torch_api import modules as api

_UNKNOWN_LOSS = re.compile(r"(?<!SoftmaxWith)Loss$")


def is_module_path(path: str) -> bool:
    """Whether calling this name gives a module."""
    if not path.startswith(api.MODULE_NAMESPACES) or path.startswith(api.NOT_MODULES):
        return path in api.MOVES_INPUTS
    return path not in api.PARAMETER_TYPES and path.rpartition(".")[2][:1].isupper()


def construct(frame: Frame, path: str, site: CallSite) -> Value:
    """A new module of PyTorch's (or a model builder's)."""
    text = path.rpartition(".")[2]
    placements.note_built(frame, site.node)
    if path in api.MOVES_INPUTS:
        wrapped = site.get(0, "module")
        state = State("module", UNKNOWN_DEVICE, path, moves_inputs=True, moved=True)
        if wrapped is not None:
            state = replace(state, attributes={"module": wrapped.value}, registered=frozenset({"module"}))
        return frame.fresh(site.node, state, text)
    argument = transfers.device_keyword(frame, site)
    if argument is None and path in api.DEVICE_POSITIONS and not site.has_star():
        argument = site.get(api.DEVICE_POSITIONS[path], "device")
    device: Device = frame.default_device()
    if argument is not None and argument.value != NONE:
        device = device_values.as_device(argument.value)
    elif site.has_unknown_star() and not all(_is_shape(a) for a in site.arguments if a.star):
        device = UNKNOWN_DEVICE
    elif path not in api.CONTAINERS:
        device = _device_of_parts(frame, path, site, device)
    state = State("module", device_values.built_on(frame, device, site.node), path)
    if path in api.LOSSES:
        state = replace(state, device=device_values.built_on(frame, _loss_device(frame, site), site.node))
        reduction = site.keyword("reduction")
        if reduction is not None:
            state = state.with_attribute("reduction", reduction.value)
    elif path == api.SOME_MODULE and len(site.positional()) < 2:
        state = replace(state, device=Anywhere())  # an activation, or a pooling layer
    elif path in api.WITHOUT_PARAMETERS or _is_without_affine(path, site) or _UNKNOWN_LOSS.search(path):
        state = replace(state, device=Anywhere())  # also of a loss that this version of PyTorch has not
    elif path in api.CONTAINERS:
        whole = frame.fresh(site.node, _container(frame, path, site), text)
        placements.built_with(frame, whole, site.node)
        return whole
    return frame.fresh(site.node, state, text)


def _device_of_parts(frame: Frame, path: str, site: CallSite, device: Device) -> Device:
    """Where a module is that is made of others, which it copies or keeps, and of what it makes itself on a device."""
    states = [frame.state(one.value) for one in site.arguments if isinstance(one.value, Object)]
    places = [
        state.device
        for state in states
        if state.kind == "module" and not all(isinstance(leaf, Anywhere) for leaf in leaves(state.device))
    ]
    if not places or any(place != places[0] for place in places):
        return UNKNOWN_DEVICE if places else device
    return places[0] if path in api.MADE_OF_COPIES or places[0] == device else UNKNOWN_DEVICE


def _is_shape(argument: Argument) -> bool:
    """`nn.Embedding(*matrix.shape)`: numbers."""
    match argument.node.value:
        case (
            cst.Attribute(attr=cst.Name(value="shape"))
            | cst.Call(func=cst.Attribute(attr=cst.Name(value="size")))
        ):
            return True
        case _:
            return False


def _is_without_affine(path: str, site: CallSite) -> bool:
    """Whether a normalisation is told to hold nothing, or holds nothing because it is not told to."""
    switches = api.AFFINE.get(path)
    return switches is not None and not any(
        default if (told := site.get(index, name)) is None else told.value != Literal(value=False)
        for name, index, default in switches
    )


def _loss_device(frame: Frame, site: CallSite) -> Device:
    for name in api.LOSS_BUFFERS:
        argument = site.keyword(name) or (site.get(0, name) if name == "weight" else None)
        if argument is not None and argument.value != NONE:
            if tensor_values.scalar_ness(argument.value) is True:
                return UNKNOWN_DEVICE  # a 0-dim weight is used pointwise: it may be on the CPU
            return tensor_values.tensor_device(frame, argument.value) or UNKNOWN_DEVICE
    return UNKNOWN_DEVICE if site.has_star() else Anywhere()


def _container(frame: Frame, path: str, site: CallSite) -> State:
    parts: list[Value] = [argument.value for argument in site.positional()]
    names = [f"[{index}]" for index in range(len(parts))]
    unseen = site.has_unknown_star()
    starred = [a.value.element for a in site.arguments if a.star == "*" and isinstance(a.value, Many)]
    if unseen and len(starred) == 1 and all(a.keyword is None and a.star != "**" for a in site.arguments):
        # `nn.Sequential(first, *layers, last)`
        after = [a.value for a in site.arguments[len(parts) + 1 :]]
        unseen, parts, names = False, [*parts, join_all([*starred, *after])], [*names, ANY]
    elif len(parts) == 1:
        match parts[0]:
            case Items(items):
                parts, names = list(items), [f"[{index}]" for index in range(len(items))]
            case Entries(entries=entries) as given:
                unseen = unseen or (given.open and isinstance(given.default, Unknown))
                parts, names = [value for _, value in entries], [f"[{key!r}]" for key, _ in entries]
                if given.open:
                    parts, names = [join_all(given.values())], [ANY]
            case Many(element):
                parts, names = [element], [ANY]
            case Object() as given if path != "torch.nn.Sequential":
                whole = frame.state(given).element
                unseen = True
                parts, names = ([] if whole == UNKNOWN else [whole]), [ANY]
            case Object():
                pass
            case _:
                unseen = True
    if path in api.PARAMETER_CONTAINERS:
        parts = [replace(part, parameter=True) if isinstance(part, Tensor) else part for part in parts]
    attributes = dict(zip(names, parts, strict=False))
    if path == "torch.nn.Sequential" and len(parts) > 1 and names[0] != "[0]":
        # an OrderedDict: its parts have numbers and names
        attributes = {f"[{index}]": part for index, part in enumerate(parts)}
        attributes |= {name[2:-2]: part for name, part in zip(names, parts, strict=True)}
    devices: list[Device] = []
    for part in [one for held in parts for one in each_of(held)]:
        if isinstance(part, Object):
            device = frame.state(part).device
            if frame.state(part).kind != "module":
                unseen = True
            elif not all(isinstance(leaf, Anywhere) for leaf in leaves(device)):
                devices.append(device)
        elif isinstance(part, Tensor) and path in api.PARAMETER_CONTAINERS:
            devices.append(part.device)
        else:
            unseen = True
    if unseen:
        device = UNKNOWN_DEVICE
    elif not devices:
        device = Anywhere()
    else:
        device = devices[0] if all(other == devices[0] for other in devices) else UNKNOWN_DEVICE
    registered = frozenset(name for name, part in attributes.items() if moves_with_owner(frame, part))
    return State("module", device, path, attributes=attributes, registered=registered)


def call_module(frame: Frame, thing: Object, site: CallSite) -> Value:
    """The result of calling a module whose `forward` cannot be read: its inputs must be where it is."""
    state = frame.state(thing)
    if check_late(frame, thing, site.node):
        return Tensor(state.device, scalar=None, batch=True)
    if _is_divided(frame, state) or _begins_with_a_move(frame, state):
        return frame.result_of(site.node)
    is_loss = state.api in api.LOSSES
    if is_loss and len(site.positional()) > 3 and state.api not in api.HOST_TOLERANT_LOSSES:
        return frame.result_of(
            site.node
        )  # one of several losses, and none that is called like this: not this one
    if not state.moves_inputs and state.api not in api.HOST_TOLERANT_LOSSES:
        callee = Callee(site.callee, state.device, thing, is_loss=is_loss)
        check_model_call(frame, site, callee)
        state = frame.state(thing)
    if not all(isinstance(leaf, Anywhere) for leaf in leaves(state.device)):
        # what a module of unknown class returns may be a container of tensors
        unread = not state.api.startswith("torch.nn.") and not library_facts.gives_tensor(frame, thing)
        return Tensor(
            _where_inputs_are(frame, state.device, site),
            scalar=is_loss and _is_reduced(state),
            batch=unread,
            guess=unread,
            dims=_dimensions(frame, thing, site),
        )
    for argument in site.arguments:
        device = tensor_values.tensor_device(frame, argument.value)
        if device is not None:
            if isinstance(argument.value, Tensor) and _keeps_dimensions(frame, thing):
                return Tensor(device, scalar=argument.value.scalar, dims=argument.value.dims)
            return Tensor(device, scalar=is_loss and _is_reduced(state))
    return frame.result_of(site.node)


def _where_inputs_are(frame: Frame, device: Device, site: CallSite) -> Device:
    """Where a module is that the caller has put somewhere: where the function brings its inputs, or it raises."""
    if not isinstance(device, Symbol):
        return device
    for argument in site.arguments:
        given = tensor_values.tensor_device(frame, argument.value)
        there = [] if given is None else [leaf for leaf in leaves(given) if isinstance(leaf, Accelerator)]
        if given is not None and there and all(map(_was_moved_there, there)):
            return given
    return device


def _was_moved_there(place: Accelerator) -> bool:
    return place.origin is not None and place.origin.root().what == "moved"


def check_inputs(frame: Frame, thing: Object, site: CallSite) -> None:
    """A module of a library runs, `model.generate(ids)`: its inputs must be where it is, whatever is known of what it gives."""
    state = frame.state(thing)
    if not state.moves_inputs:
        check_model_call(frame, site, Callee(site.callee, state.device, thing))


def _begins_with_a_move(frame: Frame, state: State) -> bool:
    """Whether the first part of a container, or each of many, brings what it is given to itself: `nn.Sequential(*[Stage(b) for ...])`."""
    first = next((held for name, held in state.attributes.items() if name.startswith("[")), None)
    model = frame.state(first).model if isinstance(first, Object) else None
    forward = None if model is None or not state.api.startswith("torch.nn.") else model.find("forward")
    return forward is not None and brings_what_it_is_given(forward)


def _is_divided(frame: Frame, state: State) -> bool:
    """Whether the parts of a container were moved one by one: `for layer in net.children(): layer.to(device)`."""
    if state.api not in api.CONTAINERS:
        return False
    parts = [part for name in state.registered if isinstance(part := state.attributes.get(name), Object)]
    found = [one for one in map(frame.state, parts) if not isinstance(one.device, Anywhere)]
    return bool(found) and all(one.moved and one.device != state.device for one in found)


def _dimensions(frame: Frame, thing: Object, site: CallSite) -> int:
    """How many dimensions a layer's output has at least: as many as its input, where it computes along the last one or item by item."""
    given = site.positional()
    before = given[0].value.dims if len(given) == 1 and isinstance(given[0].value, Tensor) else 0
    return before if before and _keeps_dimensions(frame, thing) else 0


def _keeps_dimensions(frame: Frame, thing: Object) -> bool:
    state = frame.state(thing)
    if state.api == "torch.nn.Sequential":
        parts = state.attributes.values()
        return bool(parts) and all(
            isinstance(part, Object) and _keeps_dimensions(frame, part) for part in parts
        )
    return state.api in api.KEEPS_DIMENSIONS


def _is_reduced(loss: State) -> bool | None:
    """Whether a loss gives one number; None when that is not known."""
    match loss.attributes.get("reduction"):
        case None | Literal(value="mean" | "sum"):
            return True
        case Literal(value="none"):
            return False
        case _:
            return None


def call_part(frame: Frame, thing: Object, site: CallSite) -> Value:
    """The result of calling a part of a module that cannot be read: tensors where its inputs are."""
    if is_module_like(frame, thing):
        check_part(frame, thing, site)
    check_inputs_together(frame, thing, site)
    unstated_devices.note_given(frame, site.callee, site)
    for argument in site.arguments:
        escape(frame, argument.value)
    found = output_of(frame, site)
    if found is not None:
        return found
    result = frame.result_of(site.node)
    owner = None if frame.function is None else frame.function.receiver
    there = frame.state(owner).device if isinstance(owner, Object) else None
    if (is_module_like(frame, thing) or is_module_like(frame, Object((), site.callee))) and isinstance(
        there, Symbol
    ):
        frame.set_state(result, State("unknown", there))  # if it is a tensor
    return result


def output_of(frame: Frame, site: CallSite) -> Tensor | None:
    """What a module that cannot be read returns: tensors where its inputs are; None when it is not known where those are."""
    for argument in site.arguments:
        given = argument.value
        values = given.values() if isinstance(given, Entries) else [given]
        for value in values:
            if not (isinstance(value, Tensor) or tensor_values.frame_moved(frame, value)):
                continue
            device = tensor_values.tensor_device(frame, value)
            if device is not None and any(isinstance(leaf, (Symbol, Accelerator)) for leaf in leaves(device)):
                return Tensor(device, scalar=None, batch=True, guess=True)
    return None


def _load(frame: Frame, thing: Object, site: CallSite) -> None:
    """`load_state_dict(state)`, which copies; with `assign=True` the tensors of the state take the place of the parameters."""
    assigns, given = site.get(2, "assign"), site.get(0, "state_dict")
    if assigns is None or assigns.value == Literal(False):
        return
    held = UNKNOWN if given is None else given.value
    held = held.default if isinstance(held, Entries) and not held.entries else held
    if assigns.value == Literal(True) and isinstance(held, Tensor):
        move(frame, thing, held.device)
    else:
        forget_device(frame, thing)


def _device_so_far(frame: Frame, thing: Object) -> Device:
    """Where the parameters of a module are; of one that is being built, `next(self.parameters())`, those that it has by then."""
    state = frame.state(thing)
    if not isinstance(state.device, Anywhere) or state.moved or not frame.building():
        return state.device
    return parameters_device(frame, state)


def call_module_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value | None:
    """The result of a method that every module has; None when it is none of them."""
    state = frame.state(thing)
    match name:
        case "parameters" | "buffers":
            return Many(Tensor(_device_so_far(frame, thing), parameter=name == "parameters"))
        case "named_parameters" | "named_buffers":
            held = Tensor(_device_so_far(frame, thing), parameter=name == "named_parameters")
            return Many(Items((UNKNOWN, held)))
        case "state_dict":
            return Entries((), Tensor(state.device))
        case "register_buffer" | "register_parameter":
            return _register(frame, thing, site)
        case "add_module" | "register_module":
            return _register(frame, thing, site)
        case "append" | "extend" | "insert":
            return _append(frame, thing, site)
        case "update" if state.api in api.CONTAINERS and state.api.endswith("Dict"):
            return _update(frame, thing, site)
        case "children" | "named_children":
            return module_containers.children(frame, thing, named=name == "named_children")
        case "modules" | "named_modules":
            return module_containers.modules(frame, thing, named=name == "named_modules")
        case "items" | "values" | "keys" if container_of(frame, thing) is not None:
            return module_containers.items(frame, thing, name)
        case "generate_square_subsequent_mask" if state.api == "torch.nn.Transformer":
            return torch_factories.factory(frame, f"{state.api}.{name}", site)
        case "apply" | "_apply":
            given = site.get(0, "fn")
            if given is None or not isinstance(given.value, Function) or not only_computes(given.value.node):
                forget_device(frame, thing, even_moved=False)
            return thing
        case "load_state_dict":
            _load(frame, thing, site)
            return UNKNOWN
        case "zero_grad":
            return UNKNOWN
        case "get_submodule":
            return attached_parts.part_of(frame, thing, frame.result_of(site.node))
        case "get_parameter" | "get_buffer":
            return Tensor(state.device)
        case _ if name in hooks.REGISTERS:
            return hooks.register(frame, thing, name, site)
        case "type" if state.kind == "module" and (given := site.get(0, "dst_type")) is not None:
            target = transfers.type_target(frame, given)
            if target == UNKNOWN_DEVICE:
                forget_device(frame, thing)
            elif target is not None:
                move(frame, thing, device_values.moved_to(frame, target, site.node))
            return thing
        case _ if name in api.MODULE_STAYS:
            return thing
        case _:
            return None


_REGISTERED_AS = ("tensor", "param", "module", "parameter")


def _register(frame: Frame, thing: Object, site: CallSite) -> Value:
    given = site.get(0, "name")
    # `parameter` is what GPyTorch, which overrides the method, calls it
    value = next((found for word in _REGISTERED_AS if (found := site.get(1, word)) is not None), None)
    if given is not None and value is not None:
        # under a name that is computed it is registered all the same
        attribute = name_given(site, 0) or f"[+{id(given.node)}{frame.round}]"
        state = frame.state(thing)
        if state.api in api.CONTAINERS and isinstance(value.value, Object):
            module_containers.append(frame, thing, value.value, value.node)
            state = frame.state(thing)
        elif isinstance(value.value, Object):
            note_late(frame, thing, value.value, value.node)
        held = value.value
        if isinstance(held, Tensor):
            # also what was kept under another name
            held = replace(held, device=without_attribute(held.device))
        state = state.with_attribute(attribute, held)
        if state.api == "torch.nn.Module" and isinstance(value.value, Tensor) and not state.moved:
            # it has nothing else: it is where its parts are
            state = replace(state, device=UNKNOWN_DEVICE)
        frame.set_state(thing, replace(state, registered=state.registered | {attribute}))
    return UNKNOWN


def is_list(frame: Frame, thing: Object) -> bool:
    """Whether a thing is one of PyTorch's lists of modules or parameters, which `+=` extends."""
    state = frame.state(thing)
    return state.model is None and state.api in api.CONTAINERS and not state.api.endswith("Dict")


def _append(frame: Frame, thing: Object, site: CallSite) -> Value:
    """A module list or sequential grows: what is appended moves with it from now on."""
    for argument in site.positional():
        value = argument.value
        added = value.items if isinstance(value, Items) else (value,)
        if isinstance(value, Many):
            added = (value.element,)
        for one in added:
            many = isinstance(value, Many)
            if isinstance(one, Object):
                module_containers.append(frame, thing, one, argument.node, many=many)
            elif isinstance(one, Tensor) and frame.state(thing).api in api.PARAMETER_CONTAINERS:
                held = [name for name in frame.state(thing).attributes if name.startswith("[")]
                # in a loop whose turns are not counted, the last stands for the rest
                key = ANY if many or frame.loops else f"[{len(held)}]"
                module_containers.put_parameter(frame, thing, key, one)
            else:
                module_containers.hold(frame, thing, f"[+{id(argument.node)}]", one)
    return thing


def _update(frame: Frame, thing: Object, site: CallSite) -> Value:
    """A module dict takes over the entries of a dict."""
    given = site.get(0, "modules")
    if given is not None and isinstance(given.value, Entries) and not given.value.open:
        for key, value in given.value.entries:
            module_containers.put(frame, thing, Literal(key), value)
    else:
        forget_device(frame, thing, even_moved=True)
        if given is not None and isinstance(given.value, Entries):
            module_containers.hold(frame, thing, f"[+{id(given.node)}]", join_all(given.value.values()))
    return NONE


def note_evidence(frame: Frame, thing: Object, method: str) -> None:
    """A method that only modules have was called: the thing is one."""
    state = frame.state(thing)
    if state.kind == "unknown" and method in api.MODULE_EVIDENCE:
        frame.set_state(thing, replace(state, kind="module"))


def _is_taken_out(node: cst.CSTNode) -> bool:
    """Whether what is moved is taken out of a container, `self.resident.pop(0).to("cpu")`: one of those that were used before.

    It is not said which, and whoever uses it again puts it back; who asks whether it is in there asks whether it was moved away.
    """
    match node:
        case cst.Call(func=cst.Attribute(value=taken)):
            while isinstance(taken, cst.Subscript):
                taken = taken.value
            return (
                isinstance(taken, cst.Call)
                and isinstance(taken.func, cst.Attribute)
                and taken.func.attr.value in ("pop", "popleft", "popitem")
            )
        case _:
            return False


def transfer(frame: Frame, thing: Object, name: str, site: CallSite) -> Value:
    """The effect and result of `.to(...)`, `.cuda()`, `.cpu()` on a thing that is not known to be a tensor."""
    state = frame.state(thing)
    target = transfers.transfer_target(frame, site, name, sure=state.kind == "module" or bool(state.api))
    if target is None:
        return thing
    device = device_values.moved_to(frame, target, site.node)
    if _is_taken_out(site.node):
        device = UNKNOWN_DEVICE
    frame.analysis.notes["moves a module", id(site.node)] = True
    attached_parts.forget(frame, thing)
    library_parts.forget_whole(frame, thing)
    whole = attached_parts.whole_of(frame, thing)
    if whole is not None and whole != thing:
        forget_device(frame, whole)  # some part of it goes elsewhere
    optimizers.note_move(frame, thing, site)
    discarded = frame.discarded is site.node
    built = state.api.rpartition(".")[2]
    looks_like_class = built[:1].isupper() or built == "from_pretrained"
    if library_facts.moves_by_copy(frame, thing):
        if discarded:
            discarded_transfers.discarded(frame, state.device, site, target)
        return frame.fresh(site.node, replace(state, device=device, moved=True), thing.text)
    if (
        discarded
        and state.kind == "unknown"
        and not state.api
        and not state.moved
        and discarded_transfers.discarded_unknown(frame, site, target)
    ):
        return thing  # a tensor stays where it is, wherever that may be
    if state.kind == "module" or discarded or looks_like_class:
        move(frame, thing, device)
        return thing
    if state.kind == "instance":
        return frame.result_of(site.node)
    # a tensor (then the receiver stays) or a module (then both are one): the result is known, the receiver is not
    copy = Object(("moved", thing.key, id(site.node)), thing.text)
    # a batch or a graph takes the tensors along that were made parts of it
    taken = {
        attribute: unknown_tensor() if isinstance(held, Tensor) else held
        for attribute, held in state.attributes.items()
    }
    frame.set_state(copy, replace(state, device=device, moved=True, attributes=taken))
    if not (isinstance(site.node, cst.Call) and thing.key[0] in ("parameter", "item", "global")):
        frame.set_state(thing, replace(state, device=UNKNOWN_DEVICE, moved=False))
    return copy

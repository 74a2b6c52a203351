"""What becomes an attribute of a module without being registered in it, and so does not move when the module does.

A plain tensor, or tensors and modules in a plain list, tuple or dict: `Module.to` leaves them where they are
(torch/nn/modules/module.py, `_apply` walks `_parameters`, `_buffers` and `_modules` only). The note is kept in the origin of
the device, so that whoever finds the thing at fault later knows where it was put away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import libcst as cst

from torchdev_lint.flow.activation.analysis import AttributeSite
from torchdev_lint.flow.activation.events import LateSubmodule, Place, UnregisteredModule, UnregisteredTensor
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    ATTRIBUTE,
    UNKNOWN_DEVICE,
    Anywhere,
    Conflict,
    Cpu,
    Device,
    Leaf,
    Level,
    Origin,
    UnknownDevice,
    conflict,
    describe,
    leaves,
    with_origin,
)
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    AnyOf,
    Api,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
    alternatives,
    each_of,
)
from torchdev_lint.flow.instances import held_helpers
from torchdev_lint.flow.instances.objects import forget_attributes, set_attribute
from torchdev_lint.flow.nn_modules.attached_parts import ATTACHED, SOMEWHERE, is_within, whole_of
from torchdev_lint.flow.nn_modules.hidden_modules import (
    are_attributes,
    hides_one,
    is_list_of_function,
    place_for_apply,
)
from torchdev_lint.flow.nn_modules.moved_again import place_behind
from torchdev_lint.flow.syntax.trees import dotted, holds, names_of_script, remembered, walk
from torchdev_lint.flow.telling.cures import target_expression
from torchdev_lint.flow.torch_calls import operands
from torchdev_lint.torch_api.modules import CONTAINERS, IN_PLACE_MOVES, PARAMETER_CONTAINERS

LATE = "late"
_MODULE_CONTAINERS = CONTAINERS - PARAMETER_CONTAINERS
_HOLDS_MODULES = "holds modules"
_HOLDS_TENSORS = "holds tensors"
_REGISTERED_AFTER = "registered after"
"""A note of the assignment of an attribute that is a container of PyTorch's from another one on."""


def noted(frame: Frame, holder: Value, name: str, value: Value) -> Value:
    """The value as it is kept under `holder.name`."""
    if isinstance(holder, Either):
        # the same thing becomes a part of whichever it is
        for one in (holder.then, holder.otherwise):
            value = noted(frame, one, name, value)
        return value
    if not isinstance(holder, Object) or frame.state(holder).kind != "module":
        return value
    if isinstance(value, Tensor) and frame.building() and _is_placeholder(frame, name, value):
        return replace(value, device=UNKNOWN_DEVICE)
    if isinstance(value, Tensor) and frame.building() and name in frame.state(holder).registered:
        return value  # the new value of a buffer
    key = (holder.key, name)
    if frame.assigning is not None:
        frame.analysis.attribute_sites.setdefault(key, AttributeSite(frame.assigning, name, frame.uid))
    site = frame.analysis.attribute_sites.get(key)
    if site is None:
        return value
    if isinstance(value, Object) and frame.state(value).api.startswith("torch.nn."):
        frame.analysis.notes["module at", id(site.node)] = frame.assigning is site.node
        if frame.assigning is not site.node and frame.state(value).api in _MODULE_CONTAINERS:
            frame.analysis.notes[_REGISTERED_AFTER, id(site.node)] = True
    elif frame.assigning not in (None, site.node) and frame.analysis.notes.get(("module at", id(site.node))):
        # that assignment registers; it is another branch that does not
        site = AttributeSite(frame.assigning, name, frame.uid)
        frame.analysis.attribute_sites[("again", (id(frame.assigning),)), name] = site
    elif frame.assigning not in (None, site.node) and _takes_data(frame.assigning, site):
        site = AttributeSite(frame.assigning, name, frame.uid, after=True)
        frame.analysis.attribute_sites[("again", (id(frame.assigning),)), name] = site
    if isinstance(value, Object):
        state = frame.state(value)
        if (
            frame.assigning is not None
            and frame.state(holder).moved
            and state.kind == "module"
            and not state.moved
        ):
            _mark_late(frame, value, _attached_by(frame, holder, frame.assigning))
        if frame.building():
            _mark_helper(frame, value, Origin(site.node, ATTRIBUTE, frame.uid, name=name))
        return value
    if not frame.building() and frame.assigning is not None:
        if _made_here(frame, value):
            return value  # the factory itself is at fault
        if isinstance(value, Tensor) and all(
            leaf.origin is not None and leaf.origin.passed(ATTRIBUTE) for leaf in leaves(value.device)
        ):
            return value  # made anew where the attribute was before
        site = AttributeSite(frame.assigning, name, frame.uid, late=True)
        # the `self` of a method that is read alone may have been moved
        if frame.state(holder).moved or holder.key[0] == "self":
            frame.analysis.attribute_sites[("late", (id(frame.assigning),)), name] = site
    elif frame.assigning is not None and frame.state(holder).moved:
        target = target_expression(frame, frame.state(holder).device)
        site = AttributeSite(frame.assigning, name, frame.uid, late=True, target=target)
        frame.analysis.attribute_sites[("late", (id(frame.assigning),)), name] = site
    return _mark(frame, value, Origin(site.node, ATTRIBUTE, frame.uid, name=name), inside=False)


def _takes_data(assigning: cst.CSTNode, first: AttributeSite) -> bool:
    """Whether a tensor is made of what was assigned first: `self.alpha = alpha`, and, of a list, `self.alpha = torch.tensor(alpha)`."""
    data, made = assigned_value(first.node, first.name), assigned_value(assigning, first.name)
    return (
        isinstance(data, cst.Name)
        and isinstance(made, cst.Call)
        and isinstance(made.func, cst.Attribute)
        and made.func.attr.value in _OF_DATA
        and any(isinstance(part, cst.Name) and part.value == data.value for part in walk(made))
    )


_OF_DATA = frozenset("tensor as_tensor asarray from_numpy Tensor FloatTensor DoubleTensor LongTensor".split())
"""What makes a tensor of numbers, lists and arrays."""


def _is_placeholder(frame: Frame, name: str, value: Tensor) -> bool:
    """Whether `torch.empty(1)` stands for what another method will keep there: nobody computes with what was never filled.

    A method that makes it and sets the attribute is no other: `__init__` leaves the work to it.
    """
    origins = [leaf.origin for leaf in leaves(value.device)]
    owner = None if frame.function is None else frame.function.owner
    if owner is None or not all(
        origin is not None
        and origin.what == "factory"
        and isinstance(origin.node, cst.Call)
        and isinstance(origin.node.func, cst.Attribute)
        and origin.node.func.attr.value == "empty"
        for origin in origins
    ):
        return False
    return any(
        isinstance(node, cst.AssignTarget)
        and isinstance(node.target, cst.Attribute)
        and dotted(node.target) == f"self.{name}"
        for method in owner.methods.values()
        if method.name.value != "__init__" and not any(_makes(method, origin) for origin in origins)
        for node in walk(method.body)
    )


def _makes(method: cst.FunctionDef, origin: Origin | None) -> bool:
    return origin is not None and holds(method.body, origin.node)


def note_late(frame: Frame, holder: Object, part: Object, node: cst.CSTNode) -> bool:
    """Whether a module that `node` puts into another one comes too late to be moved with it."""
    state = frame.state(part)
    if not frame.state(holder).moved or state.kind != "module" or state.moved or _is_late(state.device):
        return False
    _mark_late(frame, part, _attached_by(frame, holder, node))
    return True


def _attached_by(frame: Frame, holder: Object, node: cst.CSTNode) -> Origin:
    """What attaches a part too late: `node`, or the call that hands the module to another file's function once it was moved.

    Such a function is right for who calls it before the move.
    """
    entered = frame.entrance()
    caller = entered.caller
    if not frame.source.foreign or caller is None or not isinstance(entered.call, cst.Call):
        return Origin(node, LATE, frame.uid)
    origins = [leaf.origin for leaf in leaves(frame.state(holder).device)]
    before = all(origin is None or origin.root().frame < entered.uid for origin in origins)
    given = (one for value in entered.handed.values() for one in each_of(value) if isinstance(one, Object))
    if before and any(one == holder or is_within(frame, holder, one) for one in given):
        return Origin(entered.call, LATE, caller.uid)
    return Origin(node, LATE, frame.uid)


def attach(
    frame: Frame, holder: Value, name: Value, part: Value, node: cst.CSTNode, call: cst.CSTNode | None = None
) -> None:
    """`setattr(holder, name, part)`, which is `call`, and `holder._modules[name] = part`, whether the name is known or not."""
    kinds = list(alternatives(part))
    if isinstance(part, Either) and all(isinstance(one, Object) for one in kinds):
        part = kinds[0]  # whichever it is, `KINDS[kind](d)`, it comes at the same time
    if not isinstance(name, Literal):
        forget_attributes(frame, holder)
        _attach_somewhere(frame, holder, part, node)
        return
    outer = frame.assigning
    frame.assigning = call or outer
    kept = noted(frame, holder, str(name.value), part) if call and not isinstance(part, Object) else part
    set_attribute(frame, holder, str(name.value), kept)
    frame.assigning = outer
    if isinstance(holder, Object) and isinstance(part, Object):
        note_late(frame, holder, part, node)


def _attach_somewhere(frame: Frame, holder: Value, part: Value, node: cst.CSTNode) -> None:
    """Whatever it is called, it is a part of the whole, and comes too late if that was moved before."""
    whole = whole_of(frame, holder)
    if whole is None:
        return
    late = isinstance(part, Object) and note_late(frame, whole, part, node)
    state = frame.state(whole)
    if late:
        frame.analysis.notes[ATTACHED] = True
        state = replace(state.with_attribute(SOMEWHERE, part), registered=state.registered | {SOMEWHERE})
    elif SOMEWHERE in state.attributes:
        state = state.with_attribute(SOMEWHERE, UNKNOWN)  # what is put there now may take its place
    frame.set_state(whole, state)


def _mark_late(frame: Frame, thing: Object, origin: Origin) -> None:
    """Note that a module, with those of its parts that were not moved by themselves, was attached too late."""
    state = frame.state(thing)
    attributes = dict(state.attributes)
    frame.set_state(thing, replace(state, device=with_origin(state.device, origin, wrap=True)))
    for name in state.registered:
        held = attributes.get(name)
        if isinstance(held, Tensor):
            attributes[name] = replace(held, device=with_origin(held.device, origin, wrap=True))
        elif (
            isinstance(held, Object)
            and not frame.state(held).moved
            and not _is_late(frame.state(held).device)
        ):
            _mark_late(frame, held, origin)
    frame.set_state(thing, replace(frame.state(thing), attributes=attributes))


def _is_late(device: Device) -> bool:
    return any(leaf.origin is not None and leaf.origin.what == LATE for leaf in leaves(device))


def _places(frame: Frame, thing: Object) -> Iterator[Device]:
    """Where a module is; where its parts and tensors are, if they are not all in one place."""
    state = frame.state(thing)
    yield state.device
    if not any(isinstance(leaf, UnknownDevice) for leaf in leaves(state.device)):
        return
    for name in sorted(state.registered):
        held = state.attributes.get(name)
        if isinstance(held, Tensor):
            yield held.device
        elif isinstance(held, Object) and _is_late(frame.state(held).device):
            yield from _places(frame, held)


def _made_here(frame: Frame, value: Value) -> bool:
    if not isinstance(value, Tensor):
        return False
    return any(
        leaf.origin is not None and leaf.origin.root().frame == frame.uid for leaf in leaves(value.device)
    )


def _mark(frame: Frame, value: Value, origin: Origin, *, inside: bool) -> Value:
    match value:
        case Tensor(parameter=False):
            if inside:
                frame.analysis.notes[_HOLDS_TENSORS, id(origin.node)] = True
            return replace(value, device=_noted_once(value.device, origin))
        case Items(items):
            return Items(tuple(_mark(frame, item, origin, inside=True) for item in items))
        case Many(element):
            return Many(_mark(frame, element, origin, inside=True))
        case Entries(entries=entries, default=default):
            marked = tuple((key, _mark(frame, entry, origin, inside=True)) for key, entry in entries)
            return Entries(marked, _mark(frame, default, origin, inside=True), spare=value.spare)
        case Either(guard, then, otherwise):
            return Either(
                guard,
                _mark(frame, then, origin, inside=inside),
                _mark(frame, otherwise, origin, inside=inside),
            )
        case Object() if inside and frame.state(value).kind == "module":
            frame.analysis.notes[_HOLDS_MODULES, id(origin.node)] = True
            _mark_module(frame, value, origin)
            return value
        case AnyOf(things):
            for thing in things:
                _mark(frame, thing, origin, inside=inside)
            return value
        case _:
            return value


def _mark_helper(frame: Frame, thing: Object, origin: Origin) -> None:
    """Note it of the tensors that a plain object of the module's keeps."""
    kept = {
        name: replace(held, device=_noted_once(held.device, origin))
        for name, held in held_helpers.kept_tensors(frame, thing)
    }
    if kept:
        frame.analysis.notes[_HOLDS_TENSORS, id(origin.node)] = True
        state = frame.state(thing)
        frame.set_state(thing, replace(state, attributes={**state.attributes, **kept}))


def _mark_module(frame: Frame, thing: Object, origin: Origin) -> None:
    """Note it of a module in a plain container, and of what is registered in it: all of that stays behind."""
    state = frame.state(thing)
    attributes = dict(state.attributes)
    frame.set_state(thing, replace(state, device=_noted_once(state.device, origin)))
    for name in state.registered:
        held = attributes.get(name, UNKNOWN)
        if isinstance(held, Tensor):
            attributes[name] = replace(held, device=_noted_once(held.device, origin))
        # of a block that a loop builds over and over: one of those that it held in each turn
        for part in each_of(held):
            if (
                isinstance(part, Object)
                and frame.state(part).kind == "module"
                and not frame.state(part).moved
            ):
                _mark_module(frame, part, origin)
    frame.set_state(thing, replace(frame.state(thing), attributes=attributes))


def _noted_once(device: Device, origin: Origin) -> Device:
    known = all(leaf.origin is not None and leaf.origin.what == ATTRIBUTE for leaf in leaves(device))
    return device if known else with_origin(device, origin, wrap=True)


def attribute_site(frame: Frame, leaf: Leaf) -> AttributeSite | None:
    """The assignment by which a thing on the CPU became an unregistered attribute of a module."""
    origin = leaf.origin if isinstance(leaf, Cpu) else None
    while origin is not None:
        if origin.what == ATTRIBUTE:
            sites = [
                site
                for site in frame.analysis.attribute_sites.values()
                if site.node is origin.node
                and origin.name in ("", site.name)
                # `self.cells = [...]`, then `self.cells = nn.ModuleList(self.cells)`
                and (_REGISTERED_AFTER, id(site.node)) not in frame.analysis.notes
            ]
            # an assignment that is run when the module has been moved is cured as one, wherever else it is run
            return next((site for site in sites if site.late), sites[0] if sites else None)
        origin = origin.inner
    return None


def publish_kept_module(frame: Frame, node: cst.CSTNode, found: Conflict) -> bool:
    """Whether the tensor at fault is a parameter of a module in a plain container; then that container is published."""
    site = attribute_site(frame, found.right)
    if site is None or (_HOLDS_MODULES, id(site.node)) not in frame.analysis.notes:
        return False
    publish_module(frame, node, site, found, describe(found.left))
    return True


def forget_where(frame: Frame, thing: Value) -> None:
    """A tensor becomes an attribute under a computed name: it may replace a parameter that was elsewhere, and so all of them.

    `setattr(self, name, nn.Parameter(p.to(device)))`, for each of a module's parameters.
    """
    if isinstance(thing, Object) and frame.state(thing).kind == "module":
        frame.set_state(thing, replace(frame.state(thing), device=UNKNOWN_DEVICE))


def _was_brought_to_host(leaf: Leaf) -> bool:
    """Whether the program brought a tensor to the CPU before it kept it, `x.cpu()`: what computes with it there is likely there, too."""
    return leaf.origin is not None and leaf.origin.root().what == "moved"


def publish_tensor(
    frame: Frame,
    node: cst.CSTNode,
    site: AttributeSite,
    found: Conflict,
    *,
    met: str,
    met_device: str,
    target: str | None,
    use: tuple[Place, str] | None = None,
) -> None:
    """A tensor that is an unregistered attribute met one that is elsewhere; `use`: where it stands there, and where it should go."""
    if found.level != Level.CERTAIN and (
        _is_brought_from_outside(frame, site.name) or _was_brought_to_host(found.right)
    ):
        return
    value = assigned_value(site.node, site.name)
    origin = found.right.origin
    kept = (_HOLDS_TENSORS, id(site.node)) in frame.analysis.notes or (
        origin is not None and _is_display(value)
    )
    frame.analysis.publish(
        ("attribute", id(site.node), site.name),
        UnregisteredTensor(
            node=site.node,
            attribute=site.name,
            named=_named(frame, site),
            receiver=None if site.after else _receiver(site.node),
            value=None if kept else value,
            value_text="" if value is None else frame.analysis.text(value),
            late=site.late,
            target=target,
            meets=node,
            met=met,
            met_device=met_device,
            certain=found.level == Level.CERTAIN,
            needs_parentheses=value is not None and operands.needs_parentheses(value),
            listed=value
            if kept and not site.late and _stays_list_of_tensors(frame, value, site.name)
            else None,
            nn=name_of_nn(frame),
            use=use,
        ),
    )


def _is_brought_from_outside(frame: Frame, name: str) -> bool:
    """Whether who has the module puts what it keeps under this name there as well: `model.window = model.window.to(device)`."""
    brings = re.compile(
        rf"(?<![\w.])(?!self\.)\w[\w.]*\.{re.escape(name)}\s*=(?!=)[^\n]*(?:\.(?:to|cuda)\(|\bdevice\s*=)"
    )
    if frame.analysis.says(brings):
        return True
    return any(brings.search(text) for _, text in frame.analysis.imports.mentioning(f".{name} =") or ())


def _stays_list_of_tensors(frame: Frame, value: cst.BaseExpression | None, name: str) -> bool:
    """Whether a list of tensors is written out, and the file does nothing with it but read it, by this name."""
    match value:
        case cst.ListComp(elt=one):
            held = [one]
        case cst.List(elements=elements) if elements:
            held = [element.value for element in elements]
        case _:
            return False
    if any(_is_display(one) or isinstance(one, (cst.GeneratorExp, cst.SimpleString)) for one in held):
        return False
    changed = rf"\.{re.escape(name)}\b(?:\.(?:append|extend|insert|pop|clear|remove)\(|\[[^\]\n]*\]\s*=(?!=)|\s*\+=|\s*[+*])"
    return re.search(changed, frame.analysis.written) is None


def name_of_nn(frame: Frame) -> str | None:
    """What `torch.nn` is called here."""
    names = [name for name, held in frame.visible_names() if held == Api("torch.nn")]
    torch = [name for name, held in frame.visible_names() if held == Api("torch")]
    return names[0] if names else f"{torch[0]}.nn" if torch else None


_KEEPS_PARAMETERS = re.compile(
    r"\.(?:extend|append)\([^()\n]*\.parameters\(\)|\+=\s*(?:list\()?[\w.\[\]]+\.parameters\(\)"
)
_REGISTERS_THEM = re.compile(r"\bParameterList\(")
"""What keeps the parameters of modules in a list, and registers such a list."""


def publish_module(
    frame: Frame, node: cst.CSTNode, site: AttributeSite, found: Conflict, met_device: str
) -> None:
    """A module that is kept in a plain container was given an input that is elsewhere."""
    if found.level != Level.CERTAIN and site.name in frame.analysis.learn(
        _moved_one_by_one, frame.analysis.module
    ):
        return
    if frame.analysis.says(_KEEPS_PARAMETERS) and frame.analysis.says(_REGISTERS_THEM):
        return  # what moves are the parameters, in place: the modules have them as well
    value = assigned_value(site.node)
    if are_attributes(value):
        return
    container = "dict" if isinstance(value, (cst.Dict, cst.DictComp)) else "list"
    hidden = hides_one(value)
    learn = frame.analysis.learn
    wrapped = not hidden and (
        _is_display(value)
        or _is_listed(value)
        or learn(is_list_of_function, frame.analysis.module, site.node, value)
    )
    place = learn(place_for_apply, frame.analysis.module, site.node) if hidden else (None, "")
    frame.analysis.publish(
        ("attribute", id(site.node)),
        UnregisteredModule(
            node=site.node,
            attribute=site.name,
            receiver=_receiver(site.node),
            container=container,
            value=value if wrapped else None,
            nn=name_of_nn(frame),
            meets=node,
            met_device=met_device,
            apply_before=place[0],
            indentation=place[1],
        ),
    )


def check_late(frame: Frame, thing: Object, node: cst.CSTNode, seen: set[object] | None = None) -> bool:
    """Whether a module that is called has a part that was attached after the move and stayed behind.

    `seen`: the containers that were looked into; one may stand in several.
    """
    seen = set() if seen is None else seen
    if thing.key in seen:
        return False
    seen.add(thing.key)
    state = frame.state(thing)
    behind = False
    for name in state.registered:
        held = _late_if_any(frame, state.attributes.get(name))
        if held is None:
            continue
        api = frame.state(held).api
        if api in _MODULE_CONTAINERS:
            behind = check_late(frame, held, node, seen) or behind
        if api in _MODULE_CONTAINERS and api != "torch.nn.Sequential":
            continue  # nothing calls it
        found, late = None, None
        for device in _places(frame, held):
            late = next(
                (leaf.origin for leaf in leaves(device) if leaf.origin and leaf.origin.what == LATE), None
            )
            if late is None or all(isinstance(leaf, Anywhere) for leaf in leaves(device)):
                continue
            found = conflict(state.device, device, frame.env.path)
            if found is not None and found.level == Level.CERTAIN:
                break
        if found is None or late is None or found.level != Level.CERTAIN:
            continue
        behind = True
        value = assigned_value(late.node)
        holder = _handed_to(frame, late.node) if isinstance(late.node, cst.Arg) else None
        # a fix stands where the part is attached: the names of another activation, that of the call, mean nothing there
        there = frame if late.frame == frame.uid else frame.module_frame
        target = target_expression(there, state.device)
        if target is not None and there is not frame:
            bound_last = frame.analysis.learn(names_of_script, frame.source.module)
            target = None if target.partition(".")[0] in bound_last else target
        again = place_behind(frame, late.node, found.left)
        frame.analysis.publish(
            ("late", id(late.node)),
            LateSubmodule(
                node=late.node,
                attribute=_attached(frame, late.node, "" if name == SOMEWHERE else name),
                value=value,
                target=target or _beside_parts(holder or _receiver(late.node)),
                device=describe(found.right),
                module_device=describe(found.left),
                module=found.left,
                meets=node,
                needs_parentheses=value is not None and operands.needs_parentheses(value),
                by=_function_called(late.node),
                own=_is_own(holder, late.node) or _is_moved_in_file(frame, found.left),
                again=None if again is None else again.statement,
                move="" if again is None else again.move,
                indentation="" if again is None else again.indentation,
            ),
        )
    return behind


def _late_if_any(frame: Frame, held: Value | None) -> Object | None:
    """What a module holds; of several that a loop may have put there in turns, one that came too late, if all of them did."""
    if isinstance(held, AnyOf):
        things = [one for one in held.things if isinstance(one, Object)]
        late = len(things) == len(held.things) and all(_is_late(frame.state(one).device) for one in things)
        return things[0] if late else None
    return held if isinstance(held, Object) else None


def _function_called(node: cst.CSTNode) -> str:
    """The function of another file that attaches the part, where the call of it stands for that."""
    match node:
        case cst.Call(func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name))):
            return str(name)
        case _:
            return ""


def _attached(frame: Frame, node: cst.CSTNode, name: str) -> str:
    """What a part is called that may be no attribute of its own: `model[2]`, `nn.Linear(3, 2)` that is appended; empty: nothing short."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as target)]):
            return frame.analysis.text(target)
        case cst.Arg(value=value):
            text = frame.analysis.text(value)
            return text if len(text) <= 40 and "\n" not in text else ""
        case _:
            return name


def _beside_parts(holder: str | None) -> str | None:
    """Where the parts are that a model has already, when one more is attached to it; a part of one, `net.extras`, may have none yet."""
    if holder is None or holder == "self" or "." in holder.removeprefix("self."):
        return None
    return f"next({holder}.parameters()).device"


def _is_own(holder: str | None, node: cst.CSTNode) -> bool:
    """Whether the part is put into what the class keeps, `self.student.add_module(name, part)`: its methods are called in this order."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(value=value))]):
            holder = dotted(value)
        case _:
            pass
    return holder is not None and holder.startswith("self.")


def _is_moved_in_file(frame: Frame, whole: Leaf) -> bool:
    """Whether the file that is checked has moved the module itself: what it attaches afterwards comes too late for any caller."""
    root = None if whole.origin is None else whole.origin.root()
    return root is not None and root.what == "moved" and holds(frame.analysis.module, root.node)


def _handed_to(frame: Frame, node: cst.Arg) -> str | None:
    """The module that an argument is put into: `model.add_module(name, part)`, `setattr(model.get_submodule(path), name, part)`."""
    # the one that is checked, and another one that a script of the project calls
    for call in chain(walk(frame.source.module), walk(frame.analysis.module)):
        if not isinstance(call, cst.Call) or not any(one is node for one in call.args):
            continue
        if isinstance(call.func, cst.Attribute):
            return dotted(call.func.value)
        match call.args[0].value:
            case cst.Call(func=cst.Attribute(value=whole, attr=cst.Name(value="get_submodule"))):
                return dotted(whole)
            case holder:
                return dotted(holder)
    return None


def is_late(frame: Frame, leaf: Leaf) -> bool:
    """Whether a module is known to have been attached too late: what follows from it needs no report of its own."""
    origin = leaf.origin
    while origin is not None and origin.what != LATE:
        origin = origin.inner  # handed on as an argument
    return origin is not None and ("late", id(origin.node)) in frame.analysis.events


def assigned_value(node: cst.CSTNode, name: str = "") -> cst.BaseExpression | None:
    """The expression of an assignment with one target, or of an argument; of `self.a, self.b = a, b` what `name` is given."""
    match node:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Tuple(elements=targets))],
            value=cst.Tuple(elements=values),
        ) if len(targets) == len(values):
            for target, value in zip(targets, values, strict=True):
                if isinstance(target.value, cst.Attribute) and target.value.attr.value == name:
                    return None if isinstance(value, cst.StarredElement) else value.value
            return None
        case cst.Arg(value=value) if not _is_display(value):
            return value
        case cst.Call(args=[_, _, cst.Arg(value=value)]):
            return value  # of `setattr`
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() | cst.Subscript())], value=value):
            return value  # else it is not the value of the one thing that was assigned
        case cst.AnnAssign(value=value):
            return value
        case _:
            return None


def _receiver(node: cst.CSTNode) -> str | None:
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value=name)))]):
            return name
        case cst.Call(args=[cst.Arg(value=cst.Name(value=name)), _, _]):
            return name
        case _:
            return None


def _named(frame: Frame, site: AttributeSite) -> str:
    """How an attribute is called where it is set: of `setattr`, an expression."""
    node = site.node
    return frame.analysis.text(node.args[1].value) if isinstance(node, cst.Call) else f'"{site.name}"'


@remembered(cst.Module)
def _moved_one_by_one(module: cst.Module) -> frozenset[str]:
    """The attributes of which the file moves what they hold: `for block in self.blocks: block.to(device)`, `net.blocks[0].cuda()`."""
    found: set[str] = set()
    for node in walk(module):
        match node:
            case cst.For(target=target, iter=over, body=body):
                looped: cst.CSTNode = body
            case cst.ListComp(elt=looped, for_in=cst.CompFor(target=target, iter=over)):
                pass
            case cst.Call(
                func=cst.Attribute(
                    value=cst.Subscript(value=cst.Attribute(attr=cst.Name(value=name))),
                    attr=cst.Name(value=method),
                )
            ) if method in _MOVES:
                found.add(name)
                continue
            case _:
                continue
        names = {part.value for part in walk(target) if isinstance(part, cst.Name)}
        if any(_moves_any(part, names) for part in walk(looped)):
            found |= {part.attr.value for part in walk(over) if isinstance(part, cst.Attribute)}
    return frozenset(found)


_MOVES = IN_PLACE_MOVES | {"_apply"}


def _moves_any(node: cst.CSTNode, names: set[str]) -> bool:
    match node:
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=method))):
            return name in names and method in _MOVES
        case _:
            return False


def _is_listed(value: cst.BaseExpression | None) -> bool:
    """`list(members)`, `tuple(members)`."""
    match value:
        case cst.Call(func=cst.Name(value="list" | "tuple"), args=[cst.Arg(keyword=None, star="")]):
            return True
        case _:
            return False


def _is_display(value: cst.BaseExpression | None) -> bool:
    return isinstance(value, (cst.List, cst.ListComp, cst.Dict, cst.DictComp, cst.Tuple))

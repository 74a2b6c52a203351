"""The file's own classes: methods, attributes, what `__init__` leaves behind, and `self` read on its own."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.calling.functions import (
    bind_symbolically,
    call,
    can_follow,
    hand_over,
    is_half_built,
    run_body,
)
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    CPU,
    UNKNOWN_DEVICE,
    Accelerator,
    Anywhere,
    Cpu,
    Device,
    Symbol,
    leaves,
    with_origin,
)
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    Api,
    Class,
    DeviceValue,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Object,
    Partial,
    State,
    Tensor,
    Value,
    element_of,
)
from torchdev_lint.flow.execution import truths
from torchdev_lint.flow.instances import (
    confinement,
    conventions,
    dict_classes,
    kept_generators,
    list_classes,
    made_by_new,
    own_state,
    torch_bases,
)
from torchdev_lint.flow.instances.built_within import built_on_default_device
from torchdev_lint.flow.instances.never_built import cannot_be_built
from torchdev_lint.flow.instances.objects import escape, forget_attributes, forget_device, get_attribute, move
from torchdev_lint.flow.instances.parameter_places import parameters_device
from torchdev_lint.flow.libraries import library_facts
from torchdev_lint.flow.nn_modules import optimizers, placements
from torchdev_lint.flow.project import defaults_met
from torchdev_lint.flow.read_alone.evidence import sequence_parameters
from torchdev_lint.flow.syntax.trees import remembered, walk
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES

REPLACED = "replaced method"
"""Of methods in whose place the program has put something else: whatever calls it may give them other things than it was given."""


_KEEP_WHAT_THEY_ARE_GIVEN = sys.stdlib_module_names | {"torch", "builtins"}
"""Packages whose classes move no module that they are made with."""


@dataclass(eq=False)
class ClassModel:
    """A class of the file. `attributes` are the class's own (not the instances')."""

    name: str
    node: cst.ClassDef
    frame: Frame
    bases: tuple[Value, ...]
    methods: dict[str, cst.FunctionDef] = field(default_factory=dict)
    attributes: dict[str, Value] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    """The annotated names of a dataclass or NamedTuple, in order."""
    decorators: tuple[str, ...] = ()
    wrapped: dict[str, Function] = field(default_factory=dict)
    """Methods as decorators of the file have made them."""
    replaced: dict[str, Function] = field(default_factory=dict)
    """Methods that were put into the class when it was made: `cls.update = checked(cls.update)`."""
    setters: dict[str, cst.FunctionDef] = field(default_factory=dict)
    """What is run where an attribute of this name is set, by `@name.setter`."""
    metaclass: Value | None = None
    """What is given by `metaclass=`."""
    is_complete: bool = False
    """Whether the class was made: its body, and what runs when it has ended."""
    # What is asked of every call, found out once: the bases do not change, nor do the methods of a complete class.
    _lineage: tuple[ClassModel, ...] | None = None
    _imported_bases: tuple[str, ...] | None = None
    _is_module: bool | None = None

    def bases_in_file(self) -> list[ClassModel]:
        """The base classes that this file defines."""
        return [base.model for base in self.bases if isinstance(base, Class)]

    def lineage(self) -> tuple[ClassModel, ...]:
        """The class and all that it derives from in this file, each once, in the order in which names are looked for.

        Classes that derive from the same ones are met in very many ways.
        """
        if self._lineage is None:
            self._lineage = self._found_lineage()
        return self._lineage

    def _found_lineage(self) -> tuple[ClassModel, ...]:
        found: dict[int, ClassModel] = {}
        pending = [self]
        while pending:
            model = pending.pop()
            if id(model) not in found:
                found[id(model)] = model
                pending += reversed(model.bases_in_file())
        return tuple(found.values())

    def imported_bases(self) -> tuple[str, ...]:
        """The base classes from elsewhere, by path, of the class and of its bases in the file."""
        if self._imported_bases is None:
            self._imported_bases = tuple(
                base.path for model in self.lineage() for base in model.bases if isinstance(base, Api)
            )
        return self._imported_bases

    def has_unseen_base(self, beside: Collection[str] = ()) -> bool:
        """Whether a base class outside the file (other than nn.Module's like and object, and some others) may define anything."""
        return any(
            not isinstance(base, Class)
            and not (
                isinstance(base, Api)
                and base.path
                in (
                    "torch.nn.Module",
                    "builtins.object",
                    "abc.ABC",
                    "typing.Generic",
                    "typing.NamedTuple",
                    *beside,
                )
            )
            for model in self.lineage()
            for base in model.bases
        )

    def is_filled_by_others(self) -> bool:
        """Whether a base of another library begins the class, which may move what it is given: `class Mine(transformers.Trainer)`."""
        return any(
            not isinstance(base, (Class, Api))
            or (isinstance(base, Api) and base.path.partition(".")[0] not in _KEEP_WHAT_THEY_ARE_GIVEN)
            for model in self.lineage()
            for base in model.bases
        )

    @property
    def is_module(self) -> bool:
        """Whether the class derives from nn.Module, as far as the file shows."""
        if self._is_module is not None:
            return self._is_module
        found = self._derives_from_module()
        if found is None:  # not kept: whoever asks looks at the text, of which parts may be exchanged
            return any(model.has_unseen_base() and model._registers() for model in self.lineage())
        if self.is_complete:
            self._is_module = found
        return found

    def _derives_from_module(self) -> bool | None:
        """None if that depends on what is registered."""
        for path in self.imported_bases():
            if (
                path.startswith("torch.nn.")
                or path == "torch.jit.ScriptModule"
                or library_facts.is_module_class(self.frame.analysis.options.shelf, path)
            ):
                return True
        unseen = [model for model in self.lineage() if model.has_unseen_base()]
        if any(model.find("forward") is not None for model in unseen):
            return True
        return None if unseen else False

    def _registers(self) -> bool:
        """Whether `__init__` registers parameters or buffers."""
        initializer = self.find("__init__")
        return initializer is not None and _registers(initializer)

    @property
    def is_record(self) -> bool:
        """Whether `__init__` is generated from the fields."""
        return not _RECORD_DECORATORS.isdisjoint(self.decorators) or self.is_tuple or self._is_declared

    @property
    def _is_declared(self) -> bool:
        """Whether a base class of a library makes `__init__` from the annotations (https://docs.pydantic.dev/latest/concepts/models)."""
        return not _RECORD_BASES.isdisjoint(self.imported_bases())

    @property
    def is_enum(self) -> bool:
        """Whether its attributes are the members of an enumeration."""
        return any(path.startswith("enum.") for path in self.imported_bases())

    @property
    def has_members(self) -> bool:
        """Whether its attributes are members that are not what they are given: those of `class Kind(str, Enum)` are strings."""
        bases = self.imported_bases()
        return "enum.Enum" in bases and not any(base.startswith("builtins.") for base in bases)

    @property
    def is_tuple(self) -> bool:
        """Whether an instance is a tuple of its fields."""
        return any(path in ("typing.NamedTuple", "NamedTuple") for path in self.imported_bases())

    @property
    def is_optimizer(self) -> bool:
        """Whether the class derives from an optimizer of PyTorch's."""
        return any(
            path.startswith("torch.optim.")
            and not path.startswith(("torch.optim.lr_scheduler.", "torch.optim.swa_utils."))
            for path in self.imported_bases()
        )

    @property
    def is_autograd_function(self) -> bool:
        """Whether the class is a `torch.autograd.Function`, which is called by `apply`."""
        return "torch.autograd.Function" in self.imported_bases()

    def find(self, name: str) -> cst.FunctionDef | None:
        """The method of this name, here or in a base class of the file."""
        for model in self.lineage():
            if name in model.methods:
                return model.methods[name]
        return None

    def owner_of(self, node: cst.FunctionDef) -> ClassModel:
        """The class that defines the method."""
        if node in self.methods.values():
            return self
        for base in self.bases_in_file():
            if base.find(node.name.value) is node:
                return base.owner_of(node)
        return self

    def class_attribute(self, name: str) -> Value:
        """The value of a class attribute; unknown for a device that functions assign through the class.

        Who sets `Config.DEVICE = ...` may be any file of the project: what another file has there until then, the CPU, tells nothing.
        """
        if name in self.attributes:
            return self._own_attribute(name)
        held = (one._own_attribute(name) for one in self.lineage() if name in one.attributes)
        return next((value for value in held if value != UNKNOWN), UNKNOWN)

    def _own_attribute(self, name: str) -> Value:
        value = self.attributes[name]
        names_device = isinstance(value, DeviceValue) or DEVICE_NAME.search(name) is not None
        outside = names_device and (
            (self.frame.source.foreign and _is_the_cpu(value))
            or self.frame.analysis.learn(self._is_set_by_functions, name)
        )
        return UNKNOWN if outside else value

    def _is_set_by_functions(self, name: str) -> bool:
        return (self.name, name) in self._set_by_functions()

    def _set_by_functions(self) -> set[tuple[str, str]]:
        """(name, attribute) of what functions assign through a name (`Config.DEVICE = ...`), here and where it is used."""
        found: set[tuple[str, str]] = set()
        analysis = self.frame.analysis
        for module in (analysis.module, self.frame.source.module):
            key = ("set by functions", id(module))
            if key not in analysis.notes:
                analysis.notes[key] = _set_through_names(module)
            found |= analysis.notes[key]
        return found

    def function(self, node: cst.FunctionDef, name: str, receiver: Value | None) -> Function:
        """A method, bound when there is a receiver."""
        owner = self.owner_of(node)
        for model in self.lineage():
            if name in model.replaced:
                return replace(model.replaced[name], receiver=receiver)
            if model is owner:
                break
        wrapped = owner.wrapped.get(node.name.value)
        if wrapped is not None and owner.methods.get(node.name.value) is node:
            return replace(wrapped, receiver=receiver)
        return Function(node, name, owner.frame, receiver, owner, decorator_names(node))

    def replace_method(self, name: str, value: Value, *, sure: bool) -> None:
        """Something is assigned to the class under the name of a method; what cannot be read stands for any function."""
        method = self.find(name)
        if method is None:
            return
        self.frame.analysis.notes[REPLACED, id(method)] = True
        if not sure or not isinstance(value, Function) or value.receiver is not None:
            owner = self.owner_of(method)
            value = Function(method, name, owner.frame, None, owner, (*decorator_names(method), "?"))
        self.replaced[name] = value

    def setter(self, name: str, receiver: Value) -> Function | None:
        """What is run where an instance's attribute of this name is set, here or by a base class of the file."""
        for model in self.lineage():
            if name in model.setters:
                return Function(model.setters[name], name, model.frame, receiver, model)
            if name in model.methods:
                return None  # without one, here
        return None

    def is_made_by_others(self) -> bool:
        """Whether a metaclass says what calling the class gives: it may have moved the instance already."""
        return any(
            isinstance(model.metaclass, Class) and model.metaclass.model.find("__call__") is not None
            for model in self.lineage()
        )

    def moves_itself(self) -> bool:
        """Whether the class says for itself what moving means."""
        return any(self.find(name) is not None for name in (*IN_PLACE_MOVES, "_apply"))


def _is_the_cpu(value: Value) -> bool:
    return isinstance(value, DeviceValue | Literal) and isinstance(device_values.as_device(value), Cpu)


@remembered(cst.FunctionDef)
def _registers(initializer: cst.FunctionDef) -> bool:
    for node in walk(initializer.body):
        match node:
            case cst.Call(
                func=cst.Attribute(
                    value=cst.Name(value="self"),
                    attr=cst.Name(value="register_buffer" | "register_parameter" | "add_module"),
                )
            ):
                return True
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value="self")))],
                value=cst.Call(
                    func=cst.Name(value="Parameter") | cst.Attribute(attr=cst.Name(value="Parameter"))
                ),
            ):
                return True
            case _:
                pass
    return False


@remembered(cst.Module)
def _set_through_names(module: cst.Module) -> frozenset[tuple[str, str]]:
    return frozenset(_attributes_of_names(module))


def _attributes_of_names(module: cst.Module) -> Iterator[tuple[str, str]]:
    for function in walk(module):
        if isinstance(function, cst.FunctionDef):
            for node in walk(function.body):
                match node:
                    case cst.AssignTarget(
                        target=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=attribute))
                    ):
                        yield name, attribute
                    case _:
                        pass


def decorator_names(node: cst.FunctionDef | cst.ClassDef) -> tuple[str, ...]:
    """The last names of the decorators; marked for those that ask for an accelerator."""
    names = []
    for decorator in node.decorators:
        inner = decorator.decorator
        asks = isinstance(inner, cst.Call) and any(map(_asks_for_accelerator, inner.args))
        if isinstance(inner, cst.Call):
            inner = inner.func
        match inner:
            case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
                names.append(f"{name}(gpu)" if asks else name)
            case _:
                names.append("?")
    return tuple(names)


def _asks_for_accelerator(argument: cst.Arg) -> bool:
    """`@ray.remote(num_gpus=1)`: it is run where there is one."""
    match argument:
        case cst.Arg(keyword=cst.Name(value="num_gpus"), value=cst.Integer(value=count)):
            return count != "0"
        case cst.Arg(keyword=cst.Name(value="num_gpus"), value=cst.Float()):
            return True
        case _:
            return False


def instantiate(frame: Frame, model: ClassModel, site: CallSite) -> Value:
    """The result of calling a class of the file."""
    if frame.analysis.at_top:
        frame.analysis.built_at_top.add(id(model.node))
    if cannot_be_built(model):
        frame.leave()
        return UNKNOWN
    if dict_classes.is_type_of_dicts(model):
        from torchdev_lint.flow.execution.containers import dict_of, with_cell

        return with_cell(frame, site.node, dict_of(frame, site))
    kind = "module" if model.is_module else "instance"
    thing = made_by_new.instance(frame, model, site) or frame.fresh(
        site.node, State(kind, Anywhere() if kind == "module" else UNKNOWN_DEVICE, model=model), model.name
    )
    if model.is_record and model.find("__init__") is None:
        _fill_record(frame, thing, model, site)
        return thing
    initializer = model.find("__init__")
    if initializer is None and model.has_unseen_base():
        _take_declared(frame, thing, model, site)
    if initializer is None and model.is_filled_by_others():
        hand_over(frame, site)
    if dict_classes.kept_as(model) is not None:
        from torchdev_lint.flow.execution.containers import dict_of

        dict_classes.begin(frame, thing, dict_of(frame, site) if initializer is None else dict_classes.UNREAD)
    if list_classes.kept_as(model) is not None:
        from torchdev_lint.flow.execution.containers import list_of

        list_classes.begin(frame, thing, list_of(frame, site) if initializer is None else Items(()))
    if initializer is not None:
        function = model.function(initializer, "__init__", thing)
        followed = can_follow(frame, function)
        if not followed:
            list_classes.forget(frame, thing)
        if followed:
            first = frame.analysis.frames
            call(frame, function, site)
            frame.set_state(thing, replace(frame.state(thing), span=(first, frame.analysis.frames)))
        if not followed or is_half_built(frame, thing):
            frame.set_state(thing, replace(frame.state(thing), device=UNKNOWN_DEVICE, moved=False))
            return thing
    state = frame.state(thing)
    if kind == "module" and not state.moved:
        base = torch_bases.base_of(model)
        if base is not None and initializer is None:
            # what is made at a node is one thing: this is another
            apart = site.node.func if isinstance(site.node, cst.Call) else cst.Name("_")
            torch_bases.build(frame, thing, base, replace(site, node=apart))
            state = frame.state(thing)
        unseen = model.moves_itself() or (
            model.has_unseen_base() and torch_bases.made_by_base(frame, thing) is None
        )
        device = UNKNOWN_DEVICE if unseen else parameters_device(frame, state)
        made = device_values.built_on(frame, device, site.node)
        placements.note_built(frame, site.node)
        frame.set_state(thing, replace(state, device=made))
        if device != UNKNOWN_DEVICE or not placements.has_moved_part(frame, thing):
            placements.built_with(frame, thing, site.node)
    if model.is_optimizer:
        optimizers.adopt(frame, thing, site)
    if model.is_made_by_others():
        forget_device(frame, thing, even_moved=True)
    return thing


FIELD = "dataclasses.field"
FIELDS = frozenset(
    {
        FIELD,
        "pydantic.Field",
        "pydantic.fields.Field",
        "attr.ib",
        "attr.field",
        "attrs.field",
        "msgspec.field",
    }
)
"""Functions that say how a field of a record is made. Some take its default as the first argument; all take `default=`."""

_FACTORIES = ("default_factory", "factory")

_RECORD_DECORATORS = frozenset({"dataclass", "define", "attrs", "s"})
_RECORD_BASES = frozenset(
    {
        "msgspec.Struct",
        "pydantic.BaseModel",
        "pydantic.BaseSettings",
        "pydantic.main.BaseModel",
        "pydantic.v1.BaseModel",
        "pydantic_settings.BaseSettings",
        "sqlmodel.SQLModel",
    }
)


def _told_of_field(default: Value) -> dict[str, Value]:
    """What is said of a field: by `field(...)`, or by what stands there instead (https://docs.python.org/3/library/dataclasses.html)."""
    if isinstance(default, Partial) and default.function == Api(FIELD):
        told = dict(default.keywords)
        if default.positional:
            told.setdefault("default", default.positional[0])
        return told
    return {} if default == UNKNOWN else {"default": default}


def _built(frame: Frame, factory: Value, site: CallSite, index: int) -> Value:
    """What the factory of the field with this index makes for one more instance: a thing of its own, which no other field has."""
    from torchdev_lint.flow.calling.calls import call_value

    with frame.in_turn(-1 - index):
        return call_value(frame, factory, CallSite(site.node))


def _fill_record(frame: Frame, thing: Object, model: ClassModel, site: CallSite) -> None:
    """What the generated `__init__` of a dataclass or the `__new__` of a named tuple does."""
    rest: Value | None = None
    for argument in site.arguments:
        if argument.star and not isinstance(argument.value, (Items, Entries)):
            rest = element_of(argument.value)
    index = 0
    for number, name in enumerate(model.fields):
        told = _told_of_field(model.class_attribute(name))
        given = None if told.get("init") == Literal(value=False) else site.get(index, name)
        index += told.get("init") != Literal(value=False)
        value: Value = UNKNOWN
        if given is not None:
            value = given.value
        elif rest is not None:
            value = rest
        elif factories := [told[key] for key in _FACTORIES if key in told]:
            value = _built(frame, factories[0], site, number)
        elif "default" in told:
            value = told["default"]
        if value == UNKNOWN:  # not what the class holds under the name
            value = Object(("attr", thing.key, name), f"{thing.text}.{name}")
        frame.set_state(thing, frame.state(thing).with_attribute(name, value))
    finisher = model.find("__post_init__")
    if finisher is not None:
        call(frame, model.function(finisher, "__post_init__", thing), CallSite(site.node))


def _take_declared(frame: Frame, thing: Object, model: ClassModel, site: CallSite) -> None:
    """What an `__init__` that cannot be read is given by the name of something that the class holds: it most likely takes its place."""
    for argument in site.arguments:
        if argument.keyword and model.class_attribute(argument.keyword) != UNKNOWN:
            frame.set_state(thing, frame.state(thing).with_attribute(argument.keyword, argument.value))


def without_caller(definition: Frame) -> Environment:
    """Where something begins that `definition` defines and that is read on its own."""
    env = definition.env.inside(path=())
    if definition.parent is None:
        # What a caller is to have set is not known; a file that sets it does so before most of its functions are called.
        changed = definition.analysis.sets_default_device or env.default_device != CPU
        env.default_device = UNKNOWN_DEVICE if changed else CPU
    return env


_SYMBOLIC, _AT_FIRST = "self", "at first"


def symbolic_self(model: ClassModel) -> tuple[Object, Environment]:
    """`self` for a method read on its own, with the attributes that `__init__` gives it whatever the arguments.

    Attributes that other methods set or move are left unknown: when they run is not known. A module and what is
    registered in it is wherever it was moved to.
    """
    analysis = model.frame.analysis
    notes = analysis.notes
    known: tuple[Object, Environment] | None = notes.get((_SYMBOLIC, model))
    if known is not None:
        return known
    thing = Object(("self", id(model.node)), "self")
    definition = model.frame
    env = without_caller(definition)
    kind = "module" if model.is_module else "instance"
    start: Device = Symbol(("device", thing.key), "the module's device", assumed=True)
    env.set_state(thing, State(kind, start, model=model))
    if model.is_optimizer:
        env.set_state(thing, replace(env.state(thing), attributes=optimizers.held_by_base(thing)))
    notes[_SYMBOLIC, model] = (thing, env)
    scratch = Frame(definition.analysis, env, parent=definition)
    initializer = model.find("__init__")
    if initializer is not None:
        function = model.function(initializer, "__init__", thing)
        child = Frame(definition.analysis, scratch.env, parent=function.frame, function=function)
        child.env.names = bind_symbolically(function)
        child.env.names |= dict(sequence_parameters(definition, function))
        first = definition.analysis.frames - 1
        # while it is being built, everything is where it is made
        outer, definition.analysis.on_host = definition.analysis.on_host, True
        within = defaults_met.are_elsewhere(analysis, initializer) or analysis.learn(
            built_on_default_device, model.name, definition.source.module
        )
        if within:
            child.env.default_device = UNKNOWN_DEVICE
        _, end = run_body(child, function)
        definition.analysis.on_host = outer
        if end is not None:
            env = end.inside(path=())
            if within:
                env.default_device = definition.env.default_device
            scratch.env = env
        span = (first, definition.analysis.frames)
        scratch.set_state(thing, replace(scratch.state(thing), span=span))
    state = scratch.state(thing)
    arrays = {
        name
        for name, value in state.attributes.items()
        if isinstance(value, Object) and truths.is_of_array(scratch, value.key)
    }
    unstable = analysis.learn(own_state.unstable, model, initializer, state.attributes, arrays)
    plain = {name: value for name, value in state.attributes.items() if name not in state.registered}
    notes[_AT_FIRST, model] = analysis.learn(own_state.held_at_first, model, initializer, plain)
    attributes = {
        name: value
        for name, value in state.attributes.items()
        if name not in unstable and value not in (Items(()), Entries(()), Many(UNKNOWN))  # to be filled later
    }
    for name in unstable & set(state.attributes):
        kept = state.attributes[name]
        if isinstance(kept, Object) and scratch.state(kept).kind == "module":
            attributes[name] = Object(("attr", thing.key, name), f"self.{name}")
        elif (
            isinstance(kept, Object)
            and (of := scratch.state(kept).model) is not None
            and analysis.learn(own_state.is_only_asked, model, initializer, name, of)
        ):
            attributes[name] = kept
            forget_attributes(scratch, kept)  # what it holds may have been changed
    attributes |= kept_generators.held(scratch, model, thing, attributes)
    scratch.set_state(thing, replace(state, attributes=attributes))
    if kind != "module":
        # whoever holds the instance may have moved what it holds
        _build_later(scratch, model, thing, unstable, attributes)
        kept_here = {name for name in attributes if _stays_unmoved(scratch, model, name, attributes[name])}
        for name, held in attributes.items():
            if name not in kept_here:
                escape(scratch, held)
        _place_models(scratch, model, thing, kept_here)
    elif not state.moved:
        move(scratch, thing, start)
        scratch.set_state(thing, replace(scratch.state(thing), moved=False, device=start))
        for name in scratch.state(thing).registered:
            registered = attributes.get(name)
            if isinstance(registered, Object):
                scratch.set_state(registered, replace(scratch.state(registered), moved=False))
                _may_be_moved_alone(scratch, registered)
    notes[_SYMBOLIC, model] = known = (thing, scratch.env)
    return known


def _may_be_moved_alone(frame: Frame, part: Object) -> None:
    """A part that says for itself what moving means: whoever has the whole may have called that, too, `net.features.to(device)`."""
    state = frame.state(part)
    if state.model is None or not state.model.moves_itself():
        return
    attributes = {
        name: replace(held, device=UNKNOWN_DEVICE)
        if isinstance(held, Tensor) and name not in state.registered
        else held
        for name, held in state.attributes.items()
    }
    frame.set_state(part, replace(state, attributes=attributes))


def held_at_first(model: ClassModel) -> Mapping[str, Mapping[str, Value]]:
    """By method: attributes of `symbolic_self` when that runs for the first time."""
    held: Mapping[str, Mapping[str, Value]] = model.frame.analysis.notes.get((_AT_FIRST, model), {})
    return held


def _stays_unmoved(frame: Frame, model: ClassModel, name: str, held: Value) -> bool:
    """Whether a module that `__init__` built is still on the CPU in every method: nothing takes it out of the class."""
    if not isinstance(held, Object):
        return False
    learn = frame.analysis.learn
    if model.has_unseen_base() and (model.is_module or not learn(own_state.sets_device, model)):
        return False  # the base may well place what it knows of
    state = frame.state(held)
    return (
        state.kind == "module"
        and not state.moved
        and isinstance(state.device, Cpu)
        and state.device.origin is not None
        and state.device.origin.root().what == "made"
        and all(
            learn(
                confinement.is_confined,
                one.node,
                one.frame.source.module,
                name,
                _runs_only(frame, state.model),
            )
            for one in model.lineage()
        )
    )


def _runs_only(frame: Frame, model: ClassModel | None) -> frozenset[str]:
    """The methods of a module's class that nothing in it lets move the module."""
    if model is None or model.has_unseen_base() or model.moves_itself():
        return frozenset()
    return frame.analysis.learn(confinement.runs_only, [one.node for one in model.lineage()])


def _build_later(
    frame: Frame, model: ClassModel, thing: Object, names: set[str], attributes: dict[str, Value]
) -> None:
    """Add the modules that a method other than `__init__` builds, once, if they stay where they are."""
    for name in sorted(names):
        found = frame.analysis.learn(confinement.built_once, model.methods.values(), name)
        if found is None:
            continue
        method, made = found
        function = model.function(method, method.name.value, thing)
        child = Frame(frame.analysis, frame.env, parent=function.frame, function=function)
        child.env.names = bind_symbolically(function)
        outer, frame.analysis.on_host = frame.analysis.on_host, True
        value = child.evaluate(made)
        frame.analysis.on_host = outer
        if _stays_unmoved(frame, model, name, value):
            attributes[name] = value
            frame.set_state(thing, frame.state(thing).with_attribute(name, value))


def _placements(methods: list[cst.FunctionDef]) -> list[conventions.Placement]:
    return list(conventions.placements(methods))


def _place_models(frame: Frame, model: ClassModel, thing: Object, kept_here: set[str]) -> None:
    """The models that the methods of a plain class keep on a device of the class are there in each of them."""
    methods = [method for owner in (model, *model.bases_in_file()) for method in owner.methods.values()]
    for placement in frame.analysis.learn(_placements, methods):
        *path, name = placement.model.split(".")[1:]
        if name in kept_here:
            continue  # what it is given there does not take it there
        method = None if path else model.find(name)
        if method is not None and not method.decorators:
            continue  # no model, but a method that is given tensors (`self.update_actor(s)`)
        holder: Value = thing
        for part in path:
            holder = get_attribute(frame, holder, part, placement.node)
        device: Value = thing
        for part in placement.device.split(".")[1:]:
            device = get_attribute(frame, device, part, placement.node)
        place = device_values.as_device(device)
        if not isinstance(holder, Object) or not any(
            isinstance(leaf, Symbol | Accelerator) for leaf in leaves(place)
        ):
            continue
        held = frame.state(holder).attributes.get(name, UNKNOWN)
        if isinstance(held, Object) and frame.state(held).moved:
            continue
        if not isinstance(held, Object):
            if held != UNKNOWN:
                continue  # no module
            held = Object(("attr", holder.key, name), placement.model)
            frame.set_state(holder, frame.state(holder).with_attribute(name, held))
        there = (
            device_values.moved_to(frame, place, placement.node)
            if placement.direct
            else with_origin(place, None)
        )
        frame.set_state(held, replace(frame.state(held), kind="module"))
        move(frame, held, there)
        frame.set_state(held, replace(frame.state(held), device=there))

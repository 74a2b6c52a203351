"""Calls that leave out the device where the code around them has one for such things.

What is called is what the interpreter found that it is, also in other files (`note`). The rest is text: what the function does with
the device that it may be told (`device_takers`), what the calling function, its class, or another call of the same kind beside it has
at hand, and what becomes of the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import Event
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import DeviceNotPassed
from torchdev_lint.flow.domain.values import Class, Function
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.mistakes.forwarding import parameters, says_unused
from torchdev_lint.flow.project import reach
from torchdev_lint.flow.project.defaults_elsewhere import builds_elsewhere
from torchdev_lint.flow.project.project_calls import argument_given, calls_of
from torchdev_lint.flow.read_alone import device_takers
from torchdev_lint.flow.read_alone.device_takers import (
    ACCELERATOR,
    AS_GIVEN,
    CALLED,
    CHOSEN,
    CPU,
    NAMES,
    Taker,
    around,
    device_parameter,
    mentioned,
    placing,
    taker_of,
    where_to,
)
from torchdev_lint.flow.read_alone.evidence import TESTING, has_tests, tensor_parameters
from torchdev_lint.flow.read_alone.host_functions import HOST_CLASS, HOST_FILE
from torchdev_lint.flow.read_alone.written_evidence import path_of
from torchdev_lint.flow.syntax.trees import dotted, says_device, transfers, walk
from torchdev_lint.torch_api.modules import CONTAINERS, WITHOUT_PARAMETERS
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

_ASIDE = re.compile(
    r"(?i)(?:^|_)(?:test\w*|plot\w*|draw\w*|show|visuali[sz]\w*|save\w*|export\w*|dump\w*|collate\w*|log|print\w*|tokeni\w+|dataset\w*)(?:_|$)|"
    r"(?:data_?set|data_?loader|loader|sampler|logger|writer|tokenizer)$|^__(?:getitem|len)__$"
)
"""Functions and classes, by name, whose work is on the host."""
_TAKES_ALONG = re.compile(
    r"(?i)(?:^|_)(?:to|move|place|put|2)_?\w*(?:device|gpu|cuda)|^(?:prepare\w*|dispatch_model|load_state_dict)$"
)
"""Functions, by name, that move what they are given, or copy it to where something else is."""
_ON_HOST = re.compile(r"(?i)#.*\b(?:cpu|host)\b|[\"']cpu[\"']")
"""A statement that says, or of which a comment says, that the CPU is meant."""
_SAYS_DEVICE = re.compile(r"\bdevice\b|map_location")
_ENDS_ON_HOST = frozenset("to cuda cpu numpy item tolist to_empty type_as".split())


_CONVERTS = re.compile(r"(?i)(?:^|_)(?:convert\w*|as_?tensor|to_?tensor|ensure\w*|wrap)(?:_|$)")
"""Functions, by name, that leave what they are given where it is if nobody says where to put it."""
_SETTINGS = re.compile(r"(?i)(?:^|[._])(?:cfg|conf|config\w*|options|settings|args)$")


def _converts(function: Function, taker: Taker) -> bool:
    """Whether a function converts what it is given, to be moved only where it is told a device: `device=None`."""
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    parameter = parameters(node).get(taker.name)
    if parameter is None or not (
        isinstance(parameter.default, cst.Name) and parameter.default.value == "None"
    ):
        return False
    return _CONVERTS.search(function.name) is not None or any(
        isinstance(part, cst.Call)
        and _CONVERTS.search((dotted(part.func) or "").rpartition(".")[2]) is not None
        and any(dotted(one.value) == taker.name for one in part.args)
        for part in walk(node.body)
    )


def _sets_device(target: cst.BaseExpression, names: set[str]) -> bool:
    """Whether something is told its device from outside once it is made: `mesh = Mesh()`, `mesh.device = device`."""
    return (
        isinstance(target, cst.Attribute)
        and target.attr.value.lstrip("_") == "device"
        and dotted(target.value) in names
    )


@dataclass(frozen=True)
class _AtHand:
    """A device where a call leaves one out: an expression for it, what it is of, and where that is seen."""

    text: str
    how: str
    node: cst.CSTNode
    spread: bool = False
    """It is an entry of the dict `text`."""


def settle(analysis: Analysis, known: Sequence[Event], met: Sequence[Function]) -> Iterator[DeviceNotPassed]:
    """The calls of the file that leave out a device, less those of which more is known."""
    if (
        not analysis.says(_SAYS_DEVICE)
        or analysis.sets_default_device
        or not TESTING.isdisjoint(analysis.imported)
        or has_tests(analysis.module)
        or HOST_FILE.search("/".join(re.split(r"[/\\]", analysis.source.path)[-3:]))
    ):
        return
    told = {id(getattr(event, "node", None)) for event in known}
    for function in met:
        if isinstance(function.node, cst.FunctionDef) and not _is_aside(function):
            built = function.owner.name if function.owner is not None else ""
            for event in _Scope(analysis, function, function.node).left_out():
                if id(event.node) not in told and not (built and builds_elsewhere(analysis, built)):
                    told.add(id(event.node))
                    yield event


def _is_aside(function: Function) -> bool:
    if _ASIDE.search(function.name) is not None:
        return True
    owner = function.owner
    names = [] if owner is None else [owner.name, *(dotted(base.value) or "" for base in owner.node.bases)]
    return any(HOST_CLASS.search(name) or _ASIDE.search(name) for name in names)


@dataclass
class _Scope:
    """A function, and its calls."""

    analysis: Analysis
    function: Function
    node: cst.FunctionDef
    calls: list[cst.Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.calls = [
            one
            for one in walk(self.node.body, below=(cst.FunctionDef, cst.ClassDef))
            if isinstance(one, cst.Call)
        ]

    @property
    def owner(self) -> ClassModel | None:
        """The class of a method."""
        return self.function.owner

    def left_out(self) -> Iterator[DeviceNotPassed]:
        """The calls that leave out a device which is at hand."""
        asks = any(dotted(one.func) == "isinstance" for one in self.calls)
        for call in self.calls:
            if any(one.star for one in call.args):
                continue
            yield from self._of_project(call)
            if asks:
                yield from self._of_element(call)
        yield from self._layers()

    # -- functions and classes of the project ------------------------------------------------------------------------------

    def _of_project(self, call: cst.Call) -> Iterator[DeviceNotPassed]:
        called: tuple[tuple[Function, bool], ...] = self.analysis.notes.get((CALLED, id(call)), ())
        if not called or any(given for _, given in called):
            return
        # under another name something may have been given it before: `layer = partial(Scale, **options)`
        function = called[0][0]
        written = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        if isinstance(written, cst.Name) and written.value in (function.name, _name_of(function), "cls"):
            yield from self._of_function(call, function)

    def _of_function(self, call: cst.Call, function: Function) -> Iterator[DeviceNotPassed]:
        taker = taker_of(function)
        name = _name_of(function)
        if taker is None or _ASIDE.search(name) or _is_overwritten(self, call, function):
            return
        if _converts(function, taker) or self._is_about_settings(call):
            return
        if says_unused(function.frame.analysis, function.node):
            return
        near = self._at_hand(call, function, taker)
        if near is not None and near.how != "beside" and self._is_left_out_elsewhere(name):
            return
        if near is not None and self._stays(call, near, function, taker):
            yield self._event(call, name, taker.name, near, taker.parameter)

    def _is_left_out_elsewhere(self, name: str) -> bool:
        """Whether two or more calls in other files, and more than those that do otherwise, leave the device out, too: it works."""
        called = re.compile(rf"(?<![\w.])(?<!def ){re.escape(name)}\(([^()]*)\)")
        imported = re.compile(rf"\bimport\b(?:\s*\([^)]*|[^\n]*)\b{re.escape(name)}\b")
        given = [
            "device" in arguments
            for _, text in self.analysis.imports.mentioning(f"{name}(") or ()
            if imported.search(text)
            for arguments in called.findall(text)
        ]
        return given.count(False) > max(1, given.count(True))

    def _is_about_settings(self, call: cst.Call) -> bool:
        """Whether no more than a configuration is wanted of a call: `config = Model.restore(path, return_config=True)`."""
        return any(
            isinstance(node, cst.Assign)
            and node.value is call
            and any(_SETTINGS.search(dotted(one.target) or "") for one in node.targets)
            for node in walk(self.node.body)
        )

    def _at_hand(self, call: cst.Call, function: Function, taker: Taker) -> _AtHand | None:
        beside = self._beside(call, function, taker.name)
        if beside is not None:
            return beside
        if taker.left_out in (AS_GIVEN, CHOSEN) or taker.only_moves:
            return None
        if taker.only_loads and taker.left_out == CPU:
            return None  # what is loaded there is copied into a model
        return self._own() or self._of_class(call) or self._of_argument(call, taker)

    def _beside(self, call: cst.Call, function: Function, name: str) -> _AtHand | None:
        """What another call of the same function is told: here, or, of what `self` has, in another method."""
        for other in self.calls:
            known = self.analysis.notes.get((CALLED, id(other)), ())
            if any(given and one.node is function.node for one, given in known):
                given = argument_given(function.node, other, name)
                if given is not None and self._is_known_at(call, given):
                    return _AtHand(self.analysis.text(given), "beside", other)
        return None

    def _is_known_at(self, call: cst.Call, given: cst.BaseExpression) -> bool:
        """Whether an expression for a device has a value where a call stands."""
        text = dotted(given)
        if text is None:
            return False
        root = text.partition(".")[0]
        if root == "self" or root in parameters(self.node):
            return True
        for node in walk(self.node.body):
            if node is call:
                return False
            if isinstance(node, cst.AssignTarget) and dotted(node.target) == root:
                return next(_branches(self, call, node), None) is None
        return False

    def _own(self) -> _AtHand | None:
        """The function's own parameter, which it uses to put things somewhere."""
        declared = parameters(self.node)
        for name in NAMES:
            if name not in declared:
                continue
            if any(True for _ in placing(self.node.body, {name})):
                return _AtHand(name, "parameter", declared[name])
            kept = device_takers.stored(self.node, name) if self.function.name == "__init__" else set()
            if kept and (self._puts_on(kept) or not self._reads(kept)):
                return _AtHand(name, "parameter", declared[name])
        return None

    def _reads(self, texts: set[str]) -> bool:
        """Whether the class does anything with what it keeps."""
        written = "" if self.owner is None else self.analysis.text(self.owner.node)
        return any(re.search(rf"{re.escape(text)}\b(?!\s*(?::[^=\n]+)?=[^=])", written) for text in texts)

    def _of_class(self, call: cst.Call) -> _AtHand | None:
        """The device that the class keeps, and puts things on."""
        if self.owner is None or not {"staticmethod", "classmethod"}.isdisjoint(self.function.decorators):
            return None
        for text in ("self.device", "self._device"):
            place = self._set(text, call)
            if place is not None and self._puts_on({text}):
                return _AtHand(text, "class", place)
        return None

    def _set(self, text: str, call: cst.Call) -> cst.CSTNode | None:
        """Where the class is given its device, by whoever builds it: in `__init__`, before the call if that stands there."""
        assert self.owner is not None
        for model in self.owner.lineage():
            made = model.methods.get("__init__")
            if made is None:
                continue
            for node in walk(made.body):
                if node is call:
                    break
                if isinstance(node, cst.Assign) and any(dotted(one.target) == text for one in node.targets):
                    given = any(device_takers.mentioned([node.value], one) for one in parameters(made))
                    return node if given and where_to(node.value) != AS_GIVEN else None
        return None

    def _puts_on(self, texts: set[str]) -> bool:
        return self.owner is not None and any(
            True
            for model in self.owner.lineage()
            for method in model.methods.values()
            for _ in placing(method.body, texts)
        )

    def _of_argument(self, call: cst.Call, taker: Taker) -> _AtHand | None:
        """A tensor that is given to what works on an accelerator unless it is told otherwise."""
        if taker.left_out != ACCELERATOR:
            return None
        tensors = tensor_parameters(self.function.frame, self.function)
        for one in call.args:
            if isinstance(one.value, cst.Name) and one.value.value in tensors:
                return _AtHand(f"{one.value.value}.device", "argument", one)
        return None

    # -- what becomes of the result ----------------------------------------------------------------------------------------

    def _stays(self, call: cst.Call, near: _AtHand, function: Function, taker: Taker | None) -> bool:
        """Whether nothing shows that what the call gives is moved, is wanted on the CPU, or is told its device by other means."""
        inside: cst.CSTNode = call
        names: set[str] = set()
        for above in around(self.node, call):
            match above:
                case cst.Call():
                    direct = isinstance(inside, cst.Arg) and inside.value is call
                    if inside is not above.func and self._takes_along(above, near, direct):
                        return False
                case cst.Attribute(attr=cst.Name(value=name)) if name in _ENDS_ON_HOST:
                    return False
                case cst.If(test=test) | cst.IfExp(test=test) | cst.While(test=test):
                    if inside is not test and mentioned([test], near.text):
                        return False
                case cst.With(items=items) if any(
                    re.search(r"device", self.analysis.text(one)) for one in items
                ):
                    return False
                case cst.Assign(targets=targets):
                    names |= {text for one in targets if (text := dotted(one.target)) is not None}
                case cst.SimpleStatementLine() if _ON_HOST.search(self.analysis.module.code_for_node(above)):
                    return False
                case cst.Return():
                    names.add("")
                case _:
                    pass
            inside = above
        return not self._indexes(names) and not self._moves_later(names, near, call, function, taker)

    def _indexes(self, names: set[str]) -> bool:
        """Whether the result indexes something, and nothing else is done with it but to ask for its length: it may be on the CPU."""
        if not names or "" in names:
            return False
        uses = [
            use
            for node in walk(self.node)
            if dotted(node) in names
            and not isinstance(use := next(around(self.node, node), None), cst.AssignTarget)
        ]
        return any(isinstance(use, cst.Index) for use in uses) and all(
            isinstance(use, cst.Index) or (isinstance(use, cst.Arg) and self._asks_length(use))
            for use in uses
        )

    def _asks_length(self, given: cst.Arg) -> bool:
        asking = next(around(self.node, given), None)
        return isinstance(asking, cst.Call) and dotted(asking.func) == "len"

    def _takes_along(self, call: cst.Call, near: _AtHand, direct: bool) -> bool:
        """Whether a call moves what it is given, is told a device, or shows or keeps it on the host if it is given nothing but that."""
        name = (dotted(call.func) or "").rpartition(".")[2]
        if _TAKES_ALONG.search(name) or says_device(call.args) or (direct and _ASIDE.search(name)):
            return True
        return any(dotted(one.value) == near.text for one in call.args)

    def _moves_later(
        self, names: set[str], near: _AtHand, call: cst.Call, function: Function, taker: Taker | None
    ) -> bool:
        owner = self.owner
        bodies = [self.node.body]
        if owner is not None and any(name.startswith("self.") for name in names):
            bodies = [method.body for model in owner.lineage() for method in model.methods.values()]
            if any(_moves_itself(body) for body in bodies):
                return True
        for body in bodies:
            for node in walk(body):
                if isinstance(node, cst.Call) and node is not call:
                    mine = [name for name in names if name and mentioned([node], name)]
                    if mine and self._moves(node, mine, near):
                        return True
                elif isinstance(node, cst.AssignTarget) and _sets_device(node.target, names):
                    return True
        returned = "" in names or any(
            isinstance(node, cst.Return) and any(mentioned([node], name) for name in names if name)
            for node in walk(self.node.body)
        )
        builds = self.function.name == "__init__" and any(name.startswith("self.") for name in names)
        if not returned and not builds:
            return False
        if taker is not None and taker.later and function.owner is not None:
            return False  # what it keeps for its methods, no move changes
        return self._callers_move(owner.name if builds and owner is not None else self.function.name)

    def _moves(self, node: cst.Call, names: list[str], near: _AtHand) -> bool:
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _ENDS_ON_HOST:
            return any(mentioned([node.func.value], name) for name in names)
        given = any(mentioned([one], name) for one in node.args for name in names)
        direct = any(dotted(one.value) in names for one in node.args)
        return given and self._takes_along(node, near, direct)

    def _callers_move(self, name: str) -> bool:
        """Whether somebody in the project moves what a function gives, or an instance of a class."""
        frame = self.function.frame.module_frame
        for made, scope in calls_of(frame, name, ""):
            root: cst.CSTNode = self.analysis.module if scope is None else scope
            names: set[str] = set()
            for above in around(root, made):
                if isinstance(above, cst.Attribute) and above.attr.value in ("to", "cuda"):
                    return True
                if isinstance(above, cst.Assign):
                    names |= {text for one in above.targets if (text := dotted(one.target)) is not None}
            if names and any(mentioned([moved], one) for _, moved in transfers(root) for one in names):
                return True
        return False

    # -- methods of elements, by their name --------------------------------------------------------------------------------

    def _of_element(self, call: cst.Call) -> Iterator[DeviceNotPassed]:
        """`value.to_torch()` within `to_torch(x, dtype, device)`, where `value` was found to be of a class of the program."""
        match call.func:
            case cst.Attribute(value=receiver, attr=cst.Name(value=method)):
                thing = dotted(receiver)
            case _:
                return
        if (CALLED, id(call)) in self.analysis.notes or thing is None or thing in ("self", "cls"):
            return
        tests = [above.test for above in around(self.node, call) if isinstance(above, cst.If)]
        kind = next((kind for test in tests for kind in _is_instance(test, thing)), "")
        value = self.function.frame.lookup(kind) if kind.isidentifier() else None
        found = value.model.find(method) if isinstance(value, Class) else None
        if found is not None and isinstance(value, Class):
            taken = device_parameter(found)
            if taken is not None and argument_given(found, call, taken.name.value) is None:
                yield from self._of_function(call, value.model.function(found, method, None))
        elif kind and method == self.function.name and method not in TENSOR_NAMES and not call.args:
            own = self._own()
            if own is not None:
                yield self._event(call, method, own.text, own, own.node)

    # -- layers of PyTorch's -----------------------------------------------------------------------------------------------

    def _layers(self) -> Iterator[DeviceNotPassed]:
        """`nn.Linear(4, 2)` beside `nn.Linear(4, 4, device=device)`."""
        layers = [call for call in self.calls if _is_layer(self.function.frame, call)]
        told = {id(call): near for call in layers if (near := self._told(call)) is not None}
        rest = [call for call in layers if id(call) not in told and not any(one.star for one in call.args)]
        if len(told) < len(rest) or not rest:
            return
        if self.owner is not None and self.analysis.learn(_is_moved_whole, self.analysis, self.owner.name):
            return
        for call in rest:
            near = next((near for near in told.values() if self._is_known_at(call, _expression(near))), None)
            if near is not None and self._stays(call, near, self.function, None):
                yield self._event(call, self.analysis.text(call.func), "device", near, near.node)

    def _told(self, call: cst.Call) -> _AtHand | None:
        for one in call.args:
            text = dotted(one.value)
            if text is None:
                continue
            if one.keyword is not None and one.keyword.value == "device":
                return _AtHand(text, "beside", call)
            if one.star == "**" and self._holds_device(text):
                return _AtHand(text, "beside", call, spread=True)
        return None

    def _holds_device(self, text: str) -> bool:
        """Whether a dict of the function has a device: `factory_kwargs = {"device": device, "dtype": dtype}`."""
        return any(
            isinstance(node, cst.Assign)
            and dotted(node.targets[0].target) == text
            and re.search(r"""["']?\bdevice["']?\s*[:=]""", self.analysis.text(node.value)) is not None
            for node in walk(self.node.body)
        )

    def _event(
        self, call: cst.Call, name: str, keyword: str, near: _AtHand, parameter: cst.CSTNode
    ) -> DeviceNotPassed:
        written = f"**{near.text}" if near.spread else f"{keyword}={near.text}"
        whole = "" if call.args else f"{self.analysis.text(call.func)}({written})"
        return DeviceNotPassed(call, name, keyword, near.text, near.how, near.node, written, whole, parameter)


def _is_moved_whole(analysis: Analysis, name: str) -> bool:
    """Whether the programs that get to a class move whole models, so that its layers may be built anywhere: `model = model.to(device)`."""
    users = reach.users(analysis, name) if analysis.imports.in_program() else None
    around = None if users is None else reach.with_imported(analysis, users)
    return around is not None and any(
        word in text for path, text in around.items() if path != analysis.source.path for word in _MODEL_MOVES
    )


_MODEL_MOVES = ("model.to(", "net.to(", "network.to(", "model.cuda(", "net.cuda(", "network.cuda(")


def _expression(near: _AtHand) -> cst.BaseExpression:
    return cst.parse_expression(near.text)


def _branches(scope: _Scope, call: cst.Call, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The branches that an assignment stands in, and a call does not."""
    outside = {id(one) for one in around(scope.node, call)}
    yield from (
        one
        for one in around(scope.node, node)
        if id(one) not in outside
        and isinstance(one, (cst.If, cst.Else, cst.For, cst.While, cst.ExceptHandler))
    )


def _is_instance(test: cst.BaseExpression, thing: str) -> Iterator[str]:
    """The class that a test finds something to be an instance of."""
    for node in walk(test):
        match node:
            case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=one), cst.Arg(value=kind)]):
                name = dotted(kind)
                if dotted(one) == thing and name is not None:
                    yield name
            case _:
                pass


def _is_layer(frame: Frame, call: cst.Call) -> bool:
    path = path_of(frame, call.func)
    if path is None or not path.startswith("torch.nn.") or path.count(".") != 2:
        return False
    if not path.rpartition(".")[2][:1].isupper() or path in WITHOUT_PARAMETERS or path in CONTAINERS:
        return False
    plain = any(
        one.keyword is not None and one.keyword.value.endswith("affine") and dotted(one.value) == "False"
        for one in call.args
    )
    return not plain and not re.search(
        r"Parameter|Buffer|Module|DataParallel|Transformer(?:En|De)coder$", path
    )


def _moves_itself(body: cst.CSTNode) -> bool:
    return any(
        isinstance(node, cst.Call) and dotted(node.func) in ("self.to", "self.cuda", "self.to_empty")
        for node in walk(body)
    )


def _is_overwritten(scope: _Scope, call: cst.Call, function: Function) -> bool:
    """`super().__init__()`, where the class sets the device that its base keeps itself."""
    if (
        function.name != "__init__"
        or dotted(call.func) is not None
        or not isinstance(call.func, cst.Attribute)
    ):
        return False
    parameter = device_parameter(function.node)
    kept = set() if parameter is None else device_takers.stored(function.node, parameter.name.value)
    return any(
        isinstance(node, cst.AssignTarget) and dotted(node.target) in kept for node in walk(scope.node.body)
    )


def _name_of(function: Function) -> str:
    return (
        function.owner.name if function.name == "__init__" and function.owner is not None else function.name
    )

"""What the expressions of a function show of its tensors: which are made here, which come from elsewhere, and where the two meet."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

import libcst as cst

from torchdev_lint.flow.activation.frame import BUILTINS, Frame
from torchdev_lint.flow.read_alone.written_evidence import (
    DISTRIBUTION,
    GENERATOR,
    MAKES,
    PYRO_SAMPLE,
    holds_nothing,
    is_operation,
    path_of,
    typed,
)
from torchdev_lint.flow.read_alone.written_looks import NOTHING, ON_HOST, OPEN, Factory, Look, all_of
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.distributions import DRAWS
from torchdev_lint.torch_api.factories import CONVERTERS, HOST_FACTORIES, TAKES_DATA
from torchdev_lint.torch_api.tensor_methods import METADATA_ATTRIBUTES

_MOVES = frozenset({"to", "cuda", "type_as", "new_tensor", "xpu", "npu", "hpu"})

_READS = frozenset({"cpu", "numpy", "tolist", "item"})

_OF_SHAPE = frozenset({"view_as", "expand_as", "reshape_as"})

_ASKS = frozenset(
    {"size", "dim", "numel", "stride", "is_floating_point", "is_contiguous", "get_device", "element_size"}
)

_ADDS = frozenset({"append", "extend", "insert", "add", "appendleft", "update", "setdefault"})

_KEEP_PARTS = frozenset(
    {
        "list",
        "tuple",
        "reversed",
        "sorted",
        "enumerate",
        "zip",
        "sum",
        "max",
        "min",
        "dict",
        "set",
        "iter",
        "next",
    }
)

_NUMBERS = frozenset({"int", "float", "len", "bool", "round", "abs", "max", "min", "sum", "str"})

_FROM_HOST = re.compile(
    r"(?i)(?:^|[._])(?:np|numpy|json|pickle|random|pd|math|os|cv2|PIL|Image|re|yaml|csv|h5py|scipy|time|itertools|collections)\.|"
    r"(?:^|[._])tokeni[sz]er\.|(?:^|[._])(?:load\w*|read\w*|open|fetch\w*|tokeni[sz]\w*|parse\w*|encode_plus|collate\w*|to_numpy|dataset\w*|\w*loader)$"
)

_PLACES = re.compile(
    r"(?i)(?:^|_)(?:to_(?:device|cuda|gpu|dst\w*|same\w*)|to$|move\w*|convert\w*|cuda\w*|gpu|device\w*|place\w*|transfer\w*|match\w*|align\w*|expect\w*|cast\w*)(?:_|$)"
)
"""Functions, by name, that bring what they are given to where something else is, as far as anybody can see."""

_DTYPES = re.compile(
    r"(?i)(?:^|[._])(?:d?type|dt|half|bool|u?int\d*|long|short|bfloat16|float\d*|double|complex\d*|precision)$|dtype"
)


class Expressions:
    """The names of a function while its text is read, and what its expressions show."""

    frame: Frame
    names: dict[str, Look]
    sizes: dict[str, str]
    """The names that hold sizes of a tensor, and its name."""
    shown: set[str]
    """The names with which the function does what only tensors allow."""
    keyed: set[str]
    """The names of what has parts with names: `batch["image"]`."""
    on_host: set[str]
    """The names whose tensors it reads as NumPy's."""
    annotated: set[str]
    """The parameters that are tensors whatever is done with them."""
    in_module: bool
    factories: dict[int, Factory]

    @abstractmethod
    def bind(self, target: cst.BaseExpression, look: Look, value: cst.BaseExpression | None) -> None:
        """Give names to what an expression holds."""

    @abstractmethod
    def bind_each(self, target: cst.BaseExpression, iterable: cst.BaseExpression) -> None:
        """What a loop over something binds."""

    def told(self, text: str, look: Look) -> Look:
        """What is bound to a name of which the function shows that it holds a tensor."""
        if text in self.on_host and not look.made:
            return ON_HOST
        if look.open and not look.made and look.there is None and text in self.shown:
            return replace(look, there=text, open=False, held=look.held or text in self.keyed)
        return look

    def size_of(self, node: cst.BaseExpression) -> str | None:
        """The tensor that a size is computed from: `x.shape[0]`, `x.size(0) * 2`, `len(x)`, or a name for one of these."""
        for part in walk(node):
            match part:
                case cst.Attribute(value=base, attr=cst.Name(value="shape" | "size" | "numel")):
                    base = base.value if isinstance(base, cst.Subscript) else base
                    text = dotted(base)
                    look = self.look(base)
                    if text is not None and look.there is not None and not look.made:
                        return text
                case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=base)]):
                    look = self.look(base)
                    if (
                        isinstance(base, cst.Name)
                        and look.there is not None
                        and not look.made
                        and not look.held
                    ):
                        return base.value
                case cst.Name(value=name) if name in self.sizes:
                    return self.sizes[name]
                case _:
                    pass
        return None

    def look(self, node: cst.BaseExpression) -> Look:
        match node:
            case cst.Name(value=name):
                found = self.names.get(name)
                return found if found is not None else NOTHING
            case cst.Attribute():
                return self._attribute(node)
            case cst.Subscript(value=base, slice=slices):
                return self._item(node, base, slices)
            case cst.Call():
                return self._call(node)
            case cst.BinaryOperation(left=left, right=right):
                return self._operation(node, [self.look(left), self.look(right)])
            case cst.Comparison(
                left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]
            ):
                looks = [self.look(left), self.look(right)]
                if isinstance(operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn)):
                    return NOTHING
                return self._operation(node, looks)
            case cst.UnaryOperation(expression=inner):
                return NOTHING if isinstance(node.operator, cst.Not) else self.look(inner)
            case cst.IfExp(body=then, orelse=orelse):
                return self.look(then).joined(self.look(orelse))
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                return all_of(self.look(one.value) for one in elements).inside()
            case cst.Dict(elements=entries):
                return all_of(self.look(one.value) for one in entries).inside()
            case cst.ListComp() | cst.GeneratorExp() | cst.SetComp():
                return self._comprehension(node.for_in, [node.elt])
            case cst.DictComp():
                return self._comprehension(node.for_in, [node.value])
            case cst.Await(expression=inner):
                return self.look(inner)
            case cst.NamedExpr(target=target, value=value):
                look = self.look(value)
                self.bind(target, look, value)
                return look
            case cst.BooleanOperation(left=left, right=right):
                return self.look(left).joined(self.look(right))
            case _:
                return NOTHING

    def _comprehension(self, loop: cst.CompFor, parts: list[cst.BaseExpression]) -> Look:
        before = dict(self.names)
        inner: cst.CompFor | None = loop
        while inner is not None:
            self.bind_each(inner.target, inner.iter)
            for condition in inner.ifs:
                self.look(condition.test)
            inner = inner.inner_for_in
        look = all_of(self.look(part) for part in parts).inside()
        self.names = before
        return look

    def _attribute(self, node: cst.Attribute) -> Look:
        text = dotted(node)
        if text is not None and text in self.names:
            return self.names[text]
        base = self.look(node.value)
        if node.attr.value in METADATA_ATTRIBUTES or node.attr.value in ("device", "shape"):
            return NOTHING
        if base.made or (base.there is not None and not base.open):
            return base
        if base.host:
            return ON_HOST
        if base.open:
            return self.told(text or "", Look(open=True, root=base.root))
        return NOTHING

    def _item(
        self, node: cst.Subscript, base: cst.BaseExpression, slices: Sequence[cst.SubscriptElement]
    ) -> Look:
        held = self.look(base)
        for one in slices:
            for part in (one.slice.value,) if isinstance(one.slice, cst.Index) else ():
                index = self.look(part)
                if held.made and index.there is not None and not held.held:
                    self._meet(node, held, Look(there=index.there, root=index.root))
        return held

    def _operation(self, node: cst.CSTNode, looks: list[Look]) -> Look:
        for index, one in enumerate(looks):
            for other in looks[index + 1 :]:
                self._meet(node, one, other)
        if any(one.host and not one.made for one in looks):
            return ON_HOST  # it would raise, were one of the others elsewhere
        if sum(one != NOTHING for one in looks) > 1:
            # a tensor without dimensions goes along with the others
            looks = [replace(one, made=frozenset()) if one.scalar and one.made else one for one in looks]
        met = all_of(looks)
        return replace(met, held=False) if met != NOTHING else met

    def _meet(self, node: cst.CSTNode, left: Look, right: Look) -> None:
        for one, other in ((left, right), (right, left)):
            # what may be either of the two is another case of the same choice
            if one.made and other.there is not None and not other.made and not one.scalar:
                for made in one.made - other.made:
                    if not self.factories[made].scalar:
                        self.factories[made].meets.append((node, other))
            elif self.in_module and one.made and not one.scalar and other.open and other.root in self.names:
                root = self.names[other.root]
                for made in one.made - other.made:
                    if root.there is not None and isinstance(node, cst.AugAssign):
                        self.factories[made].meets.append((node, Look(there=other.root, root=other.root)))

    def _call(self, node: cst.Call) -> Look:
        function = node.func
        path = path_of(self.frame, function)
        if path in MAKES:
            return self._factory(node, path)
        if path in ("torch.autograd.Variable", "torch.nn.Parameter") and node.args:
            return self.look(node.args[0].value)
        drawn = self._drawn(node, path)
        if drawn is not None:
            return drawn
        arguments = [self.look(argument.value) for argument in node.args]
        if path is not None and is_operation(path):
            device = next(
                (a.value for a in node.args if a.keyword is not None and a.keyword.value == "device"), None
            )
            if device is not None:
                return Look(there=self.frame.analysis.text(device))
            met = self._operation(node, list(self._spread(node)))
            # PyTorch's own functions are given tensors
            return (
                replace(met, there="", open=False) if met.open and met.there is None and not met.made else met
            )
        if isinstance(function, cst.Name) and function.value in BUILTINS:
            return all_of(arguments).inside() if function.value in _KEEP_PARTS else NOTHING
        if isinstance(function, cst.Attribute):
            found = self._method(node, function, arguments)
            if found is not None:
                return found
        return self._given(node, dotted(function) or "", arguments)

    def _drawn(self, node: cst.Call, path: str | None) -> Look | None:
        """What is drawn from a distribution that is made on the spot: it is where the parameters are that this is given."""
        match node:
            case cst.Call(func=cst.Attribute(value=cst.Call() as made, attr=cst.Name(value=name))) if (
                name in DRAWS
            ):
                pass
            case cst.Call(args=[_, cst.Arg(value=cst.Call() as made), *_]) if path == PYRO_SAMPLE:
                pass
            case _:
                return None
        family = path_of(self.frame, made.func)
        if family is None or DISTRIBUTION.search(family) is None:
            return None
        return self._operation(made, list(self._spread(made)))

    def _spread(self, node: cst.Call) -> Iterator[Look]:
        """What a call is given, the parts of a list that is written out one by one."""
        for argument in node.args:
            listed = argument.value
            if isinstance(listed, (cst.List, cst.Tuple)):
                yield from (self.look(one.value) for one in listed.elements)
            else:
                yield self.look(listed)

    def _method(self, node: cst.Call, function: cst.Attribute, arguments: list[Look]) -> Look | None:
        name, base = function.attr.value, self.look(function.value)
        text = dotted(function.value)
        if name in _ADDS and text is not None and text in self.names and (base.held or not base.made):
            self.names[text] = self.names[text].joined(all_of(arguments).inside())
            return NOTHING
        if name in _READS:
            return ON_HOST
        if name in _MOVES:
            given = None if not node.args else self.frame.analysis.text(node.args[0].value)
            if name == "to" and given is not None and len(node.args) == 1 and _DTYPES.search(given):
                return base
            for made in base.made | base.passed:
                self.factories[made].moved = True
                self.factories[made].taken = self.factories[made].taken or name != "type_as"
            return Look(there=text or "", root=base.root) if base.made or base.there is not None else OPEN

        if name == "type" and node.args and (base.made or base.there is not None):
            given = self.frame.analysis.text(node.args[0].value)
            if "cuda" in given or (not given.startswith("torch.") and not given.endswith(".dtype")):
                for (
                    made
                ) in base.made:  # a tensor type's name says where: `x.type()`, `torch.cuda.FloatTensor`
                    self.factories[made].moved = self.factories[made].taken = True
                return Look(there=base.there or "", root=base.root)
        if name == "copy_":
            return base if base != NOTHING else OPEN  # from wherever what is copied is
        if base.host and not base.made:
            return ON_HOST
        if base.made or base.there is not None:
            if name in _ASKS:
                return NOTHING
            if name in _OF_SHAPE or name.startswith("index_put"):
                return base  # indices may be on the CPU
            if base.held and name in ("get", "pop", "items", "values", "keys", "setdefault", "copy"):
                return base
            return self._operation(node, [base, *arguments])
        return None

    def _given(self, node: cst.Call, name: str, arguments: list[Look]) -> Look:
        there = next((one for one in arguments if one.there is not None and not one.made), None)
        told = any(a.keyword is not None and DEVICE_NAME.search(a.keyword.value) for a in node.args)
        if told or _PLACES.search(name.rpartition(".")[2]):
            for one in arguments:
                for made in one.made:
                    self.factories[made].moved = self.factories[made].taken = True
            return OPEN
        for one in arguments:
            for made in one.made:
                self.factories[made].given.append((node, there))
        if _FROM_HOST.search(name):
            return ON_HOST
        if any(one.made for one in arguments) and not any(
            one.open or one.there is not None for one in arguments
        ):
            return Look(passed=frozenset(made for one in arguments for made in one.made))
        passed = frozenset(made for one in arguments for made in one.made | one.passed)
        return Look(open=True, root=None if there is None else there.root, passed=passed)

    def _factory(self, node: cst.Call, path: str) -> Look:
        device = next(
            (a for a in node.args if a.keyword is not None and a.keyword.value in ("device", "out")), None
        )
        if device is not None or any(a.star for a in node.args) or (path == GENERATOR and node.args):
            text = "" if device is None else self.frame.analysis.text(device.value)
            if device is not None and text.endswith(".device") and isinstance(device.value, cst.Attribute):
                beside = self.look(device.value.value)
                if beside.made or beside.host:
                    return beside  # on the device of what is made here itself
            return ON_HOST if "cpu" in text or device is None else Look(there=text)
        data = node.args[0].value if node.args else None
        if path == "torch.normal" and data is not None and self.look(data) != NOTHING:
            return self._operation(node, list(self._spread(node)))
        converted = False
        if path in TAKES_DATA and data is not None and path not in HOST_FACTORIES:
            look = self.look(data)
            if not look.held and (look.there is not None or look.made):
                if not self._by_use_only(data, look):
                    return look  # it is where its data is
                converted = path in CONVERTERS
        if holds_nothing(node):
            return NOTHING  # stands for what is not given
        if any(a.keyword is not None and a.keyword.value == "pin_memory" for a in node.args):
            return ON_HOST
        scalar = _is_scalar(path, data)
        known = self.factories.get(id(node))
        if known is None:
            near = {
                name: look for name, look in self.names.items() if look.there is not None and not look.made
            }
            of_type: str | None = None
            for argument in node.args:
                if argument.keyword is not None and argument.keyword.value == "dtype":
                    for text in typed(argument.value):
                        whole = argument.value
                        beside = self.look(whole.value) if isinstance(whole, cst.Attribute) else NOTHING
                        if beside.there is not None and not beside.made:
                            near[text], of_type = beside, text
            shaped = [a.value for a in node.args] if path not in TAKES_DATA else list(_counts(node))
            sized = next((of for part in shaped if (of := self.size_of(part)) is not None), None)
            self.factories[id(node)] = Factory(
                node, path, scalar or converted, near, of_type, sized, converted
            )
        return Look(made=frozenset({id(node)}), scalar=scalar)

    def _by_use_only(self, data: cst.BaseExpression, look: Look) -> bool:
        """Whether a name was taken for a tensor's only for what is done with it, perhaps after it was made one."""
        return isinstance(data, cst.Name) and look.there == data.value and data.value not in self.annotated


def _is_scalar(path: str, data: cst.BaseExpression | None) -> bool:
    if path == GENERATOR:
        return True
    if path in TAKES_DATA:
        return not isinstance(data, (cst.List, cst.Tuple, cst.ListComp, cst.Subscript)) and not (
            isinstance(data, cst.Call) and dotted(data.func) not in _NUMBERS
        )
    return isinstance(data, cst.Tuple) and not data.elements


def _counts(node: cst.Call) -> Iterator[cst.BaseExpression]:
    """How often something is repeated in a list that a tensor is made of: `torch.tensor([1] * x.shape[0])`."""
    for argument in node.args:
        for part in walk(argument.value):
            if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Multiply):
                if isinstance(part.left, cst.List):
                    yield part.right
                elif isinstance(part.right, cst.List):
                    yield part.left

"""A module is called: are its inputs where it is?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.conditions import Formula, negate
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Accelerator,
    Anywhere,
    Conflict,
    Cpu,
    Device,
    Leaf,
    Level,
    UnknownDevice,
    conflict,
    describe,
    is_brought,
    leaves,
)
from torchdev_lint.flow.domain.values import (
    NONE,
    DeviceValue,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.instances.objects import forget_device
from torchdev_lint.flow.mistakes import disagreeing_returns
from torchdev_lint.flow.mistakes.built_for_arguments import is_built_for
from torchdev_lint.flow.nn_modules import registration, seen_to_work
from torchdev_lint.flow.project import project_forwards, settings
from torchdev_lint.flow.read_alone.evidence import TESTING, in_a_test
from torchdev_lint.flow.read_alone.host_functions import may_take_from_host
from torchdev_lint.flow.syntax.naming import is_loss_name
from torchdev_lint.flow.syntax.trees import dotted, goes_to_cpu, last_name, walk
from torchdev_lint.flow.telling.attribution import host_was_chosen, report_at, worth_telling
from torchdev_lint.flow.telling.cures import Callee
from torchdev_lint.flow.telling.publication import (
    WANTED,
    publish_mixed,
    publish_model_call,
    publish_unmoved,
    publish_unregistered,
)
from torchdev_lint.flow.torch_calls.operands import Operand, operands_of
from torchdev_lint.torch_api.modules import WORDS


def check_model_call(frame: Frame, site: CallSite, callee: Callee) -> None:
    """Publish a `ModelCall` for each input that is certainly not where the module (or another input) is."""
    from torchdev_lint.flow.torch_calls.tensor_values import is_scalar

    if ("replaced", "forward") in frame.analysis.notes or ("replaced", "__call__") in frame.analysis.notes:
        return  # the program has put a method of its own into a class of PyTorch's, which may bring the inputs
    if len(site.arguments) > 1 and _is_sequential(frame, callee):
        return  # which takes one input: it is not what is called here
    if _transforms_pictures(frame, callee) or may_take_from_host(frame, callee.thing):
        return
    if _is_told_where(frame, site, callee):
        return
    if _was_told_where(frame, callee):
        callee = replace(callee, device=UNKNOWN_DEVICE)  # two inputs on two devices are still two
    inputs = [
        operand
        for argument in site.arguments
        if not _may_be_lengths(frame, argument, callee)
        and not _is_record(frame, argument, callee)
        and not _may_be_words(argument)
        and not _is_only_a_hint(frame, site, argument, callee)
        and not _is_left_unread(frame, argument, callee)
        and not _is_used_as_index(frame, argument, callee)
        and not _is_taken_apart(argument, callee)
        for operand in operands_of(frame, _without_positions(frame, argument, callee))
        if not is_scalar(operand.value) and not _is_placeholder(frame, operand, callee)
    ]
    if not all(isinstance(leaf, (Anywhere, UnknownDevice)) for leaf in leaves(callee.device)):
        for operand in inputs:
            found = settings.meeting(frame, callee.device, operand.device)
            if found is not None and found.level == Level.POSSIBLE and _may_be_brought(callee, found):
                continue
            if (
                found is not None
                and found.level != Level.NO
                and _brought_inside(frame, site, operand, callee)
            ):
                continue
            if found is not None and found.level != Level.NO:
                _input_elsewhere(frame, site, callee, operand, found)
            else:
                _note_wanted(frame, operand.device)
        return
    sure = all(isinstance(leaf, Anywhere) for leaf in leaves(callee.device))
    for index, operand in enumerate(inputs):
        for position, other in enumerate(inputs):
            found = settings.meeting(frame, other.device, operand.device)
            if found is None or found.level == Level.NO:
                continue
            # of two inputs, the one left on the CPU is at fault; of two on accelerators, the later one (the target)
            two_accelerators = isinstance(found.left, Accelerator) and isinstance(found.right, Accelerator)
            if not isinstance(found.right, Cpu) and not (two_accelerators and position < index):
                continue
            if registration.is_late(frame, found.right):
                continue  # what a part of the model gave that came too late, which is told
            if not sure and (
                not _is_sure_input(frame, operand, other, found) or _may_be_settings(callee, found.right)
            ):
                continue
            if not sure and (_may_be_brought(callee, found) or _brought_inside(frame, site, operand, callee)):
                continue
            report = report_at(frame, operand, found)
            if report is None or publish_unmoved(frame, site.node, report, found, other):
                break
            if not publish_unregistered(frame, site.node, found, other):
                if found.level == Level.CERTAIN:
                    beside = Callee(callee.text, other.device, None, is_loss=callee.is_loss)
                    publish_model_call(frame, site.node, report, beside, found, "input", other)
                else:
                    publish_mixed(frame, site.node, callee.text, report, found, other)
            break


def _is_told_where(frame: Frame, site: CallSite, callee: Callee) -> bool:
    """Whether a model that cannot be read is told a device along with its inputs, `model(None, ids, device)`: it brings them there.

    Unless what the project has of this name does not look at it.
    """
    if callee.thing is None or frame.state(callee.thing).model is not None or frame.state(callee.thing).api:
        return False
    if not any(isinstance(one.value, DeviceValue) or one.keyword == "device" for one in site.arguments):
        return False
    called = site.node.func if isinstance(site.node, cst.Call) else None
    method = called.attr.value if isinstance(called, cst.Attribute) else "forward"
    return not project_forwards.ignore_device(frame, method)


def _was_told_where(frame: Frame, callee: Callee) -> bool:
    """Whether a model that cannot be read was told a device when it was made, `VRNN(32, device).to(device)`: it may bring its inputs."""
    return callee.thing is not None and TOLD_DEVICE in frame.state(callee.thing).attributes


TOLD_DEVICE = "[told_device]"


def _is_taken_apart(argument: Argument, callee: Callee) -> bool:
    """Whether a loss is given several things as one, `self.module_loss((maps, labels), samples)`: it is one of the program's own.

    What it brings together, and what it brings along first, is not known.
    """
    return isinstance(argument.value, Items) and (callee.is_loss or is_loss_name(callee.text))


_TRANSFORMS = re.compile(r"(?i)(?:^|[._])(?:transforms?|augmentations?|preprocess)$")
"""Names of what prepares pictures: a `Sequential` of torchvision's transforms has no parameters, and is wherever its input is."""


def _transforms_pictures(frame: Frame, callee: Callee) -> bool:
    """Whether what is called is a transform of pictures, by its name, that was moved nowhere."""
    if callee.thing is None or _TRANSFORMS.search(callee.text) is None:
        return False
    state = frame.state(callee.thing)
    return state.model is None and not state.moved


def _may_be_words(argument: Argument) -> bool:
    """Whether a part of a batch of which only the loader is known may be a list of strings, by its name: `model(image, caption)`."""
    value, name = argument.value, dotted(argument.node.value) or ""
    return (
        isinstance(value, Tensor)
        and value.batch
        and WORDS.search(name.rpartition(".")[2]) is not None
        and all(
            leaf.origin is not None and leaf.origin.root().what == "loaded" for leaf in leaves(value.device)
        )
    )


def _is_only_a_hint(frame: Frame, site: CallSite, argument: Argument, callee: Callee) -> bool:
    """Whether attention is given a mask that it does not read: it is causal, no weights are wanted, and nothing is padded.

    Source: torch/nn/functional.py, `multi_head_attention_forward`.
    """
    if argument.node.keyword is None or argument.node.keyword.value != "attn_mask" or callee.thing is None:
        return False
    if frame.state(callee.thing).api != "torch.nn.MultiheadAttention":
        return False
    said = [None if one is None else one.value for one in map(site.keyword, ("is_causal", "need_weights"))]
    return said == [Literal(True), Literal(False)] and site.get(3, "key_padding_mask") is None


_OF_POLICIES = re.compile(r"(?:^|\.)(?:act|evaluate_actions|get_actions?|get_value)$")
_OF_RECURRENT = re.compile(r"(?i)hidden|hxs|rnn|recurrent|mask|done|carry|memory")


def _is_left_unread(frame: Frame, argument: Argument, callee: Callee) -> bool:
    """Whether a policy that cannot be read gets what recurrent ones compute with: the others take it, and never look at it."""
    if (
        callee.thing is None
        or frame.state(callee.thing).model is not None
        or not _OF_POLICIES.search(callee.text)
    ):
        return False
    return _OF_RECURRENT.search(_called(argument)) is not None


def _is_used_as_index(frame: Frame, argument: Argument, callee: Callee) -> bool:
    """Whether a module that cannot be read gets, by a name, what the function has indexed something with: an index may be on the CPU."""
    if (
        argument.keyword is None
        or callee.thing is None
        or frame.state(callee.thing).model is not None
        or not isinstance(argument.node.value, cst.Name)
        or frame.function is None
    ):
        return False
    name = argument.node.value.value
    return any(
        isinstance(part, cst.Subscript)
        and len(part.slice) == 1
        and isinstance(index := part.slice[0].slice, cst.Index)
        and dotted(index.value) == name
        for part in walk(frame.function.node.body)
    )


def _called(argument: Argument) -> str:
    """What an argument is called: by its keyword, or else by the last name in it."""
    return argument.keyword or (dotted(argument.node.value) or "").rpartition(".")[2]


def _is_sequential(frame: Frame, callee: Callee) -> bool:
    thing = callee.thing
    return (
        isinstance(thing, Object)
        and frame.state(thing).api == "torch.nn.Sequential"
        and frame.state(thing).model is None
    )


def _may_be_brought(callee: Callee, found: Conflict) -> bool:
    """Whether a model of which little is known may bring an input itself that is left where it comes from.

    `DataParallel` does, so that programs move the target and not the input. Losses do not.
    """
    root = None if found.right.origin is None else found.right.origin.root()
    loss = callee.is_loss or is_loss_name(callee.text)
    return root is not None and root.what == "left" and not loss


def _is_wrapped(frame: Frame, site: CallSite, callee: Callee) -> bool:
    """Whether the call itself asks the model for what it wraps, `model(x, model.module.classes)`.

    Then it is a `DataParallel` or the like, whatever the line that wraps it is under, and scatters its inputs from wherever they are
    (torch/nn/parallel/data_parallel.py).
    """
    return f"{callee.text}.module." in frame.analysis.text(site.node)


def _brought_inside(frame: Frame, site: CallSite, operand: Operand, callee: Callee) -> bool:
    """Whether the project's models of which this may be one bring the input themselves."""
    return any(
        argument.node is operand.node and project_forwards.bring(frame, site, argument, callee)
        for argument in site.arguments
    )


def _note_wanted(frame: Frame, given: Device) -> None:
    """Note of a transfer that a module is given what it moved: it is right, whoever else gets what comes of it."""
    for leaf in leaves(given):
        origin = None if leaf.origin is None or not isinstance(leaf, Accelerator) else leaf.origin.root()
        if origin is not None and origin.what == "moved":
            frame.analysis.notes[WANTED, id(origin.node)] = True


def check_inputs_together(frame: Frame, thing: Object, site: CallSite) -> None:
    """A model, layer or loss of which nothing is known is called: wherever it is, its inputs have to be together.

    Those that a test tries may well bring them together: it is not known to be wrong before it was seen to fail.
    """
    if not TESTING.isdisjoint(frame.analysis.imported) or _is_ctc(site) or _is_compiled(frame, site):
        return
    check_model_call(frame, site, Callee(site.callee, UNKNOWN_DEVICE, thing))


def _is_compiled(frame: Frame, site: CallSite) -> bool:
    """Whether a class of C++ is called, `model = torch.classes.engine.Decoder(...)`: it wants each input where it says."""
    name = site.callee.partition(".")[0]
    return frame.analysis.says(re.compile(rf"(?<![\w.]){re.escape(name)}\s*=\s*torch\.classes\."))


_LOSSES = re.compile(r"(?i)loss|criteri|ctc")


def _is_ctc(site: CallSite) -> bool:
    """Whether a loss gets the lengths of its input and its target, as CTC does: it brings its targets (ATen/native/LossCTC.cpp)."""
    if not _LOSSES.search(site.callee):
        return False
    names = [(dotted(one.node.value) or "").rpartition(".")[2] for one in site.arguments]
    return sum(LENGTHS.search(name) is not None for name in names) > 1


def _is_sure_input(frame: Frame, operand: Operand, other: Operand, found: Conflict) -> bool:
    """Whether what a module of unknown class is given must be where its other inputs are: tensors with dimensions.

    Where nothing says on which device the others are, only what was made for this very call counts, and what was left behind where the
    others were taken away.
    """
    origin = None if found.right.origin is None else found.right.origin.root()
    if found.level != Level.CERTAIN and (origin is None or origin.what not in ("factory", "left")):
        return False
    if not (_is_tensor(other.value, sure=found.level != Level.CERTAIN) or _is_moved(frame, other.value)):
        return False
    if LENGTHS.search((_name_of(operand) or "").rpartition(".")[2]) or _holds_lengths(operand.device):
        return False
    if goes_to_cpu(operand.node.value if isinstance(operand.node, cst.Arg) else operand.node):
        return False  # who brings it there for this very call knows that it is wanted there
    if (
        origin is not None
        and isinstance(origin.node, cst.Call)
        and _MAKES_INDEX.search(dotted(origin.node.func) or "")
    ):
        return False  # nothing but an index can come of it, and one on the CPU is taken anywhere
    return _has_dimensions(operand.value)


_MAKES_INDEX = re.compile(r"(?:^|\.)randperm$")
_MAKES_INTEGERS = re.compile(r"(?:^|\.)(?:Long|Int|Short|Byte|Bool)Tensor$")
_INTEGERS = frozenset("long int short bool uint8 int8 int16 int32 int64".split())


def _may_be_settings(callee: Callee, given: Leaf) -> bool:
    """Whether a model that cannot be read is given integers that were made for it, `torch.LongTensor(n, 3).fill_(0)`, `dtype=torch.int32`.

    They may say how much there is of something, or stand for what it does not look at; a loss computes with its classes.
    """
    made = None if given.origin is None else given.origin.root().node
    if callee.is_loss or is_loss_name(callee.text) or not isinstance(made, cst.Call):
        return False
    return _MAKES_INTEGERS.search(dotted(made.func) or "") is not None or any(
        one.keyword is not None and one.keyword.value == "dtype" and last_name(one.value) in _INTEGERS
        for one in made.args
    )


def _is_moved(frame: Frame, value: Value) -> bool:
    from torchdev_lint.flow.torch_calls.tensor_values import frame_moved

    return frame_moved(frame, value)


def _is_tensor(value: Value, *, sure: bool) -> bool:
    match value:
        case Tensor(guess=guess):
            return not (guess and sure)
        case Items(items):
            return bool(items) and all(_is_tensor(item, sure=sure) for item in items)
        case Many(element):
            return _is_tensor(element, sure=sure)
        case Either(_, then, otherwise):
            parts = [part for part in (then, otherwise) if part != NONE]
            return bool(parts) and all(_is_tensor(part, sure=sure) for part in parts)
        case _:
            return False


def _name_of(operand: Operand) -> str | None:
    if isinstance(operand.node, cst.Arg):
        return operand.node.keyword.value if operand.node.keyword is not None else dotted(operand.node.value)
    return dotted(operand.node)


def _has_dimensions(value: Value) -> bool:
    match value:
        case Tensor(scalar=scalar, guess=guess):
            return scalar is False and not guess
        case Items(items):
            return all(_has_dimensions(item) for item in items)
        case Many(element):
            return _has_dimensions(element)
        case Either(_, then, otherwise):
            parts = [part for part in (then, otherwise) if not isinstance(part, (Object, Literal))]
            return bool(parts) and all(_has_dimensions(part) for part in parts)
        case _:
            return False


def check_part(frame: Frame, thing: Object, site: CallSite) -> None:
    """A part of the module that is being read, of a class that cannot be read, is given first what was just made."""
    function = frame.function
    first = site.positional()[0] if site.positional() else None
    if function is None or first is None or not isinstance(function.receiver, Object):
        return
    if may_take_from_host(frame, thing):
        return
    whole = frame.state(function.receiver)
    for value, path in _ways(first.value, frame.env.path):
        origins = [leaf.origin for leaf in leaves(value.device)]
        if value.scalar is not False or host_was_chosen(path):
            continue
        if not all(o is not None and o.what == "factory" and o.frame == frame.uid for o in origins):
            continue
        operand = Operand(value, value.device, first.node)
        found = conflict(whole.device, value.device, path)
        if found is not None and found.level != Level.NO and isinstance(found.right, Cpu):
            _input_elsewhere(frame, site, Callee(site.callee, whole.device, thing), operand, found)
            return


def _ways(value: Value, path: tuple[Formula, ...]) -> Iterator[tuple[Tensor, tuple[Formula, ...]]]:
    """The tensors that a value may be, each with what holds then: one branch may have made what the other was given."""
    match value:
        case Tensor():
            yield value, path
        case Either(guard, then, otherwise):
            yield from _ways(then, (*path, guard))
            yield from _ways(otherwise, (*path, negate(guard)))
        case _:
            pass


def _input_elsewhere(frame: Frame, site: CallSite, callee: Callee, operand: Operand, found: Conflict) -> None:
    """An input and the module that is called with it are on different devices."""
    late = registration.is_late(frame, found.left) or registration.is_late(frame, found.right)
    if late or _is_wrapped(frame, site, callee):
        return
    if found.level != Level.CERTAIN and seen_to_work.is_noted(frame, site.node):
        return
    kept = registration.attribute_site(frame, found.left)
    if kept is not None:
        if found.level != Level.CERTAIN and not worth_telling(frame, found):
            return
        registration.publish_module(frame, site.node, kept, found, describe(found.right))
        return
    if found.level == Level.CERTAIN or is_built_for(frame, found):
        seen_to_work.note_failure(frame, site.node)
        report = report_at(frame, operand, found)
        module = Operand(operand.value, callee.device, site.node)
        if report is not None and not publish_unregistered(frame, site.node, found, module):
            publish_model_call(frame, site.node, report, callee, found, "model")
            if callee.thing is not None and is_brought(found.left):
                # no round of a loop gets past this call: what follows from it needs no report of its own
                forget_device(frame, callee.thing, even_moved=True)
    elif isinstance(found.right, Cpu) and isinstance(operand.value, (Tensor, Either)):
        # a part of the module that is being read: it is wherever the whole was moved to
        report = report_at(frame, operand, found)
        module = Operand(callee.thing or operand.value, callee.device, site.node)
        if report is not None and not publish_unregistered(frame, site.node, found, module):
            publish_mixed(frame, site.node, callee.text, report, found, module, module=callee)


LENGTHS = re.compile(
    r"(?i)(?:^|_)(?:len|lens|lengths?|seq_?lens?|sizes?|counts?|splits?|num|n)(?:$|_)|len(?:s|gths?)?$|s_per_\w"
)
"""Names that speak of lengths, or of how many go where: `tokens_per_expert`."""


def _may_be_lengths(frame: Frame, argument: Argument, callee: Callee) -> bool:
    """Whether a module whose `forward` is not known may want this argument on the CPU: `pack_padded_sequence` does."""
    if callee.thing is None or frame.state(callee.thing).api.startswith("torch.nn."):
        return False
    made = isinstance(argument.value, Tensor) and _holds_lengths(argument.value.device)
    return LENGTHS.search(_called(argument)) is not None or made


POSITIONS = re.compile(r"(?i)(?:^|_)(?:pos|positions?|idx|index|indices)$")
"""Names of what may do nothing but index what a module keeps, which the CPU's may."""


def _without_positions(frame: Frame, argument: Argument, callee: Callee) -> Argument:
    """`model(x, **inputs)`, `model(inputs)`: a dict of inputs without those that a module whose `forward` is not known may want on the
    CPU."""
    value = argument.value
    if not isinstance(value, Entries) or callee.thing is None:
        return argument
    if frame.state(callee.thing).model is not None:
        return argument
    kept = tuple(
        (name, entry)
        for name, entry in value.entries
        if not isinstance(name, str) or (POSITIONS.search(name) is None and LENGTHS.search(name) is None)
    )
    return Argument(replace(value, entries=kept), argument.node)


def _holds_lengths(device: Device) -> bool:
    """Whether a tensor was made of how much there is of something: `torch.tensor([x.size(1)])`, `torch.tensor([len(s) for s in batch])`."""
    origins = [leaf.origin for leaf in leaves(device)]
    made = [None if origin is None else origin.root().node for origin in origins]
    return all(
        isinstance(node, cst.Call)
        and (dotted(node.func) or "").rpartition(".")[2] in ("tensor", "as_tensor", "LongTensor", "IntTensor")
        and bool(node.args)
        and _counts(node.args[0].value)
        for node in made
    )


def _counts(node: cst.BaseExpression) -> bool:
    match node:
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            return bool(elements) and all(_counts(element.value) for element in elements)
        case cst.ListComp(elt=element) | cst.GeneratorExp(elt=element):
            return _counts(element)
        case cst.Call(func=cst.Name(value="len")) | cst.Call(func=cst.Attribute(attr=cst.Name(value="size"))):
            return True
        case cst.Subscript(value=cst.Attribute(attr=cst.Name(value="shape"))):
            return True
        case _:
            return False


def _is_placeholder(frame: Frame, operand: Operand, callee: Callee) -> bool:
    """Whether what cannot be read is given a tensor of no size, `torch.zeros(0)`, which stands for nothing there, or of one truth value,
    `torch.tensor([False])`, which TorchScript is given for a condition; or one zero where on another way something is computed."""
    if callee.thing is None or frame.state(callee.thing).model is not None:
        return False
    if frame.state(callee.thing).api.startswith("torch.nn."):
        return False
    found = list(leaves(operand.device))
    made = [None if leaf.origin is None else leaf.origin.root().node for leaf in found]
    on_host = [node for node, leaf in zip(made, found, strict=True) if isinstance(leaf, Cpu)]
    if 0 < len(on_host) < len(found) and all(map(_holds_one_zero, on_host)):
        return True
    return all(map(_holds_a_truth_value, made)) or all(
        isinstance(node, cst.Call) and disagreeing_returns.holds_nothing(node) for node in made
    )


def _is_record(frame: Frame, argument: Argument, callee: Callee) -> bool:
    """Whether a dict holds more than tensors and is given to what cannot be read: a pipeline takes from it what it needs."""
    if not isinstance(argument.value, Entries) or argument.star or callee.thing is None:
        return False
    if frame.state(callee.thing).model is not None:
        return False
    return any(not isinstance(item, (Tensor, Either)) for item in argument.value.values())


_KEEPS_APART = re.compile(
    r"(?i)(?:^|_)(?:release|free|clear|delete|del|unload|offload|save|store|dump|log|print)"
)
"""Functions, by name, that compute nothing with a model and what they are given beside it."""


def check_handed_together(frame: Frame, site: CallSite, callee: str) -> None:
    """A function that cannot be read gets a moved module and a tensor that is certainly elsewhere.

    The helpers of tests bring together what they are given. What is looked up or given out (`globals()[name](net, x)`) may be any
    function, the program's own as well, which moves what it gets.
    """
    from torchdev_lint.flow.torch_calls.tensor_values import is_scalar

    if in_a_test(frame) or _KEEPS_APART.search(callee.rpartition(".")[2]):
        return
    if isinstance(site.node, cst.Call) and isinstance(site.node.func, (cst.Subscript, cst.Call)):
        return

    models = [argument.value for argument in site.arguments if _is_moved_module(frame, argument.value)]
    if len(models) != 1 or not isinstance(models[0], Object):
        return
    thing = models[0]
    for argument in site.arguments:
        if not isinstance(argument.value, Tensor) or is_scalar(argument.value) or argument.value.batch:
            continue
        operand = Operand(argument.value, argument.value.device, argument.node)
        found = conflict(frame.state(thing).device, operand.device, frame.env.path)
        if found is not None and found.level == Level.CERTAIN:
            report = report_at(frame, operand, found)
            if report is not None:
                handed = Callee(callee, frame.state(thing).device, thing)
                publish_model_call(frame, site.node, report, handed, found, "model", together=callee)


def _is_moved_module(frame: Frame, value: Value) -> bool:
    if not isinstance(value, Object):
        return False
    state = frame.state(value)
    return state.moved and state.kind == "module" and not state.moves_inputs


def _holds_one_zero(node: cst.CSTNode | None) -> bool:
    match node:
        case cst.Call(
            args=[
                cst.Arg(
                    value=cst.List(
                        elements=[cst.Element(value=cst.Integer(value=zero) | cst.Float(value=zero))]
                    )
                ),
                *_,
            ]
        ):
            return float(zero) == 0
        case _:
            return False


def _holds_a_truth_value(node: cst.CSTNode | None) -> bool:
    match node:
        case cst.Call(
            args=[cst.Arg(value=cst.List(elements=[cst.Element(value=cst.Name(value=value))])), *_]
        ):
            return value in ("True", "False")
        case _:
            return False

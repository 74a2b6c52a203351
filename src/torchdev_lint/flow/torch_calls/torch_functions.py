"""Calls of imported functions: PyTorch's operations; the rest is unresolved."""

from __future__ import annotations

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import arrays, library_functions
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.calling.functions import following, hand_over, not_followed
from torchdev_lint.flow.domain.conditions import Atom
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Accelerator,
    Cpu,
    Origin,
    Symbol,
)
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Api,
    DeviceValue,
    Function,
    Items,
    Literal,
    Many,
    Object,
    Partial,
    Tensor,
    Truth,
    Value,
)
from torchdev_lint.flow.execution import truths
from torchdev_lint.flow.instances.objects import forget_device
from torchdev_lint.flow.libraries import library_calls
from torchdev_lint.flow.mistakes import host_arguments, literals, no_tensors, pinned_memory, unstated_devices
from torchdev_lint.flow.nn_modules import (
    checkpoints,
    copies,
    loaded_parts,
    loaders,
    model_calls,
    model_runs,
    modules,
    optimizers,
    parameter_groups,
    parametrizations,
    saved_files,
)
from torchdev_lint.flow.read_alone.evidence import TESTING
from torchdev_lint.flow.syntax.trees import dotted
from torchdev_lint.flow.torch_calls import (
    current_device,
    device_values,
    distributions,
    function_transforms,
    generators,
    gradients,
    operations,
    operator_calls,
    torch_devices,
    torch_factories,
    transfers,
)
from torchdev_lint.flow.torch_calls.operands import given_by
from torchdev_lint.flow.torch_calls.tensor_values import is_scalar, taken_for_tensor, tensor_device
from torchdev_lint.torch_api import callables, devices, factories, functions, libraries, operators
from torchdev_lint.torch_api import modules as module_api
from torchdev_lint.torch_api.checkpoints import LOADERS, MAPPED_LOADERS
from torchdev_lint.torch_api.generators import DRAWS_INDICES, HOST_ARGUMENTS, HOST_GENERATORS


def canonical(path: str) -> str:
    """One spelling for a name that PyTorch exports twice."""
    if path.startswith(_LAYERS):  # torch/nn/__init__.py exports all that the modules of this package define
        module, _, name = path.removeprefix(_LAYERS).rpartition(".")
        return path if module and not module.islower() else f"torch.nn.{name}"
    for old, new in _ALIASES:
        if path.startswith(old):
            return new + path.removeprefix(old)
    return path


_LAYERS = "torch.nn.modules."

_ALIASES = (
    ("torch.functional.", "torch."),
    ("torch.tensor.", "torch."),
)


def call_api(frame: Frame, path: str, site: CallSite) -> Value:
    """The result of calling an imported name."""
    path = canonical(path)
    name = path.rpartition(".")[2]
    if path in current_device.THREAD_STARTS:
        current_device.check_thread(frame, site)
    if path in libraries.LEAVES_PROGRAM:
        frame.leave()
        return UNKNOWN
    told = devices.AVAILABILITY_NAME.search(name)
    if told is not None and not path.startswith("torch.") and not site.arguments:
        return Truth(Atom("available", (told[1].lower(),), f"{name}()"))
    if path in MAPPED_LOADERS:
        checkpoints.note_unmapped(frame, site, MAPPED_LOADERS[path])
    if path in module_api.RUNS_ON_EXAMPLES:
        return model_runs.run(frame, path, site)
    if path in module_api.RUNS_ON_BATCHES:
        return model_runs.run_on_batches(frame, path, site)
    if path.startswith("torch"):
        no_tensors.check_call(frame, path, site)
        if name[:1].isupper():
            frame.analysis.instances.add(id(site.node))
        found = _torch(frame, path, site)
        if found is not None:
            return found
    arrays.note(frame, path, site)
    known = library_functions.asked(path, site) or library_calls.call_imported(frame, path, site)
    if known is not None:
        return known
    from torchdev_lint.flow.calling.calls import call_value

    known = library_functions.call(frame, path, site, call_value)
    if known is not None:
        return known
    if path in ("functools.partial", "partial") and site.positional():
        first, *rest = site.positional()
        named = [argument for argument in site.arguments if argument.keyword is not None]
        return Partial(
            first.value,
            tuple(argument.value for argument in rest),
            tuple((argument.keyword or "", argument.value) for argument in named),
            tuple(argument.node for argument in (*rest, *named)),
            frame.uid,
        )
    if path == "types.MethodType" and len(site.positional()) == 2:
        function, receiver = (argument.value for argument in site.positional())
        return replace(function, receiver=receiver) if isinstance(function, Function) else UNKNOWN
    if path in module_api.TRANSPARENT_WRAPPERS and site.positional():
        return site.positional()[0].value
    if path in module_api.COPIES and site.positional():
        return copies.copy(frame, site)
    if {path, name} & frame.analysis.options.tensor_constructors:
        return Tensor(Cpu(Origin(site.node, "made")))
    if {path, name} & frame.analysis.options.device_sources:
        return told_device(path)
    tokenized = tokenizer_result(site, name)
    return tokenized if tokenized is not None else unresolved(frame, path, site)


def told_device(path: str) -> DeviceValue:
    """The device that a function gives of which the configuration says so: the same at every call."""
    return DeviceValue(Symbol(("source", path.rpartition(".")[2]), f"{path}()"))


def tokenizer_result(site: CallSite, name: str) -> Value | None:
    """The result of a call with `return_tensors="pt"`; None for any other call."""
    argument = site.keyword(libraries.RETURN_TENSORS)
    if argument is None or not isinstance(argument.value, Literal) or argument.value.value != "pt":
        return None
    return Tensor(Cpu(Origin(site.node, "made")), mapping=name not in libraries.RETURNS_ONE_TENSOR)


def unresolved(frame: Frame, path: str, site: CallSite, *, brings: bool = False) -> Value:
    """A call of something that cannot be read: the shape of the seed bug is looked for, then nothing is known.

    `brings`: it is known to bring what it is given to where it is wanted.
    """
    name = path.rpartition(".")[2]
    told_device = any(_is_device_argument(argument) for argument in site.arguments)
    if (
        not brings
        and not name[:1].isupper()
        and not told_device
        and not callables.STORES_OR_INSPECTS.search(name)
    ):
        model_calls.check_handed_together(frame, site, site.callee)
    unstated_devices.note_given(frame, name, site)
    loaded_parts.hand_over(frame, site)
    known = frame.analysis.options.shelf.moves_nothing(path)
    hand_over(frame, site, leaves=known or libraries.moves_nothing(path))
    result = following(frame, frame.result_of(site.node, name if name[:1].isupper() else ""), site)
    moves = any(argument.keyword in libraries.PLACED_BY_LIBRARY for argument in site.arguments)
    if name[:1].isupper() or name == "from_pretrained" or moves or known:
        state = frame.state(result)
        # Told a device, it may bring there what it is given; but two inputs on two devices are still two.
        device = UNKNOWN_DEVICE if moves or told_device else state.device
        state = replace(state, api=path, moves_inputs=moves, device=device)
        told = told_device and name[:1].isupper()
        frame.set_state(result, state.with_attribute(model_calls.TOLD_DEVICE, UNKNOWN) if told else state)
    return result


def _is_device_argument(argument: Argument) -> bool:
    if isinstance(argument.value, DeviceValue):
        return True
    if argument.keyword is not None and devices.DEVICE_NAME.search(argument.keyword):
        return True
    text = dotted(argument.node.value)
    return text is not None and bool(devices.DEVICE_NAME.search(text.rpartition(".")[2]))


_SHARDS = frozenset("fully_shard parallelize_module distribute_module".split())
"""Functions that put the parameters of a module on the devices of a mesh (torch/distributed/fsdp/_fully_shard/_fully_shard.py)."""


def _torch(frame: Frame, path: str, site: CallSite) -> Value | None:
    """PyTorch's own names; None when the name is not special."""
    found = torch_devices.call(frame, path, site)
    if found is not None:
        return found
    if path == "torch.Generator":
        return generators.construct(frame, site)
    if path == "torch.Size":
        shape = site.get(0, "")
        return Items((), kind="tuple") if shape is None else shape.value  # a tuple of what it is given
    if path.startswith("torch.distributions."):
        return distributions.construct(frame, path, site)
    if path.startswith("torch.distributed.") and path.rpartition(".")[2] in _SHARDS:
        whole = site.get(0, "module")
        if whole is None or not isinstance(whole.value, Object):
            return None
        forget_device(frame, whole.value, even_moved=True)
        return whole.value
    if path == "torch.optim.swa_utils.AveragedModel":
        return copies.average(frame, site)
    if path.startswith("torch.optim."):
        parameter_groups.note(frame, path, site)
        return optimizers.build(frame, path, site)
    if path in HOST_GENERATORS:
        return generators.default(frame, site)
    if path in gradients.FUNCTIONS:
        gradients.check_call(frame, path, site)
    if path in HOST_ARGUMENTS:
        host_arguments.check_call(frame, path, site)
    if path in DRAWS_INDICES:
        generators.check(frame, site, frame.default_device(), draws_indices=True)
        generators.check_unstated(frame, site, path)
    if path in LOADERS:
        checkpoints.note(frame, path, site)
        return saved_files.load(frame, path, site) or loaded_parts.load(frame, path, site)
    if path in saved_files.SAVERS:
        return saved_files.save(frame, site)
    if path in factories.FACTORIES or path in factories.HOST_FACTORIES or path in factories.CONVERTERS:
        return torch_factories.factory(frame, path, site)
    if path in factories.LIKE:
        first = site.get(0, "input")
        like = first is not None and is_scalar(first.value)  # one of a 0-dim tensor is 0-dim
        dims = first.value.dims if first is not None and isinstance(first.value, Tensor) else 0
        argument = transfers.device_keyword(frame, site)
        if argument is not None and argument.value != NONE:
            there = device_values.as_device(argument.value)
            return Tensor(
                device_values.made_on(frame, there, site.node, following=True), scalar=like, dims=dims
            )
        device = None if first is None else tensor_device(frame, first.value)
        return Tensor(UNKNOWN_DEVICE if device is None else device, scalar=like, dims=dims)
    if path in factories.LEGACY_HOST_TYPES or path == factories.LEGACY_DEFAULT_TYPE:
        return torch_factories.legacy(frame, path, site)
    if path.startswith("torch.cuda.") and path.endswith("Tensor"):
        literals.see_needed(frame, site.node, path)
        return Tensor(Accelerator("cuda", None, Origin(site.node, "made")))
    if path in module_api.PARAMETER_TYPES:
        first = site.get(0, "data")
        device = None if first is None else tensor_device(frame, first.value)
        like = first is not None and is_scalar(first.value)
        dims = first.value.dims if first is not None and isinstance(first.value, Tensor) else 0
        return Tensor(UNKNOWN_DEVICE if device is None else device, scalar=like, parameter=True, dims=dims)
    if path in functions.FOLLOWS_ARGUMENT:
        return _following_argument(frame, path, site)
    if path == "torch.autograd.Variable" and site.positional():
        return site.positional()[0].value
    if modules.is_module_path(path):
        return modules.construct(frame, path, site)
    if path in module_api.TRANSPARENT_WRAPPERS and site.positional():
        return site.positional()[0].value
    if path in module_api.LOADERS:
        pinned_memory.check_loader(frame, site)
        return loaders.loader(frame, site)
    if path.startswith("torch.utils.data."):
        return loaders.dataset(frame, path, site)
    transformed = function_transforms.make(frame, path, site)
    if transformed is not None:
        return transformed
    if path in copies.FUNCTIONAL_CALLS:
        from torchdev_lint.flow.calling.calls import call_value

        return copies.call_with_parameters(frame, site, call_value)
    if path == parametrizations.REMOVES:
        return parametrizations.remove(frame, site)
    if path == parametrizations.REGISTERS:
        from torchdev_lint.flow.calling.calls import call_value

        registered = parametrizations.register(frame, site, call_value)
        if registered is not None:
            return registered
    if path in _CHECKPOINTS and site.positional():
        return _checkpoint(frame, path, site)
    return _operation(frame, path, site)


_CHECKPOINTS = frozenset(
    {"torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential"}
)
_OF_CHECKPOINTS = frozenset("use_reentrant preserve_rng_state context_fn determinism_check debug".split())


def _checkpoint(frame: Frame, path: str, site: CallSite) -> Value:
    """`checkpoint(function, *args)` and `checkpoint_sequential(functions, segments, input)`: the function is called.

    Source: torch/utils/checkpoint.py; the second call, in `backward`, is like the first.
    """
    from torchdev_lint.flow.calling.calls import call_value

    if site.has_star():
        return not_followed(frame, site)
    function = site.positional()[0]
    kept = [one for one in site.arguments if one is not function and one.keyword not in _OF_CHECKPOINTS]
    if path.endswith("_sequential"):
        given = site.get(2, "input")
        if not isinstance(function.value, Object) or given is None:
            return not_followed(frame, site)
        kept = [Argument(given.value, given.node)]
    return call_value(frame, function.value, replace(site, arguments=tuple(kept), receiver=None))


def _operation(frame: Frame, path: str, site: CallSite) -> Value | None:
    """A function of tensors: its operands must share a device, its result is there."""
    if path == "torch.is_tensor" and site.positional():
        value = site.positional()[0].value
        return Truth(truths.is_instance(frame, site.node, value, Api("torch.Tensor")))
    operator = operators.operator(path)
    if operator is not None:
        result = operator_calls.call(frame, operator, site)
        return frame.result_of(site.node) if result is None else result
    if not path.startswith(functions.OTHER_OPERATIONS):
        return None
    in_test = not TESTING.isdisjoint(frame.analysis.imported)
    apart = functions.MAY_BE_ELSEWHERE_FOR_FEW.get(path) if in_test else None
    left_out = None if apart is None else site.get(*apart)
    operands = [
        given
        for argument in site.arguments
        if not argument.star and argument != left_out
        for given in given_by(argument)
    ]
    operands[:1] = [replace(one, value=taken_for_tensor(frame, one.value)) for one in operands[:1]]
    name = path.rpartition(".")[2]
    result = operations.combine(frame, site.node, name, operands, [operators.SHARED] * len(operands))
    return result if isinstance(result, Tensor) else frame.result_of(site.node)


def _following_argument(frame: Frame, path: str, site: CallSite) -> Value:
    """A result that is where the tensors of one argument are."""
    position, name, kind = functions.FOLLOWS_ARGUMENT[path]
    given = site.get(position, name)
    device = None if given is None else tensor_device(frame, given.value)
    result = Tensor(UNKNOWN_DEVICE if device is None else device, scalar=kind == "scalar")
    if kind == "lengths":
        return Items((replace(result, scalar=False), Tensor(Cpu(Origin(site.node, "made")), scalar=False)))
    return Many(result) if kind == "tuple" else result

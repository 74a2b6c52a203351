"""Parts of a model that a library builds: `vgg19(pretrained=True).features` is a module with parameters, where the whole is.

Only what models have under such names since long (torchvision/models, timm/models, transformers' backbones): what else an attribute is,
a method, a setting or a layer that works anywhere, is not known.
"""

from __future__ import annotations

import re

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Cpu, leaves
from torchdev_lint.flow.domain.values import Object, State

_WITH_PARAMETERS = re.compile(r"features|classifier|fc|layer[1-4]|conv1|blocks|backbone|encoder|decoder")


def part(frame: Frame, thing: Object, state: State, name: str) -> Object | None:
    """The part of a library's model that has this name, which moves with the whole from now on; None where there may be none."""
    if (
        thing.key[0] != "made"
        or state.kind != "module"
        or state.model is not None
        or state.moves_inputs
        or not state.api
        or state.api.startswith("torch.")
        or _WITH_PARAMETERS.fullmatch(name) is None
        or not all(isinstance(leaf, Cpu) for leaf in leaves(state.device))
    ):
        return None
    found = Object(("attr", thing.key, name), f"{thing.text}.{name}" if thing.text else "")
    if frame.env.knows(found):
        return None
    frame.set_state(found, State("module", state.device, api=f"{state.api}.{name}"))
    held = {**state.attributes, name: found}
    frame.set_state(thing, replace(state, attributes=held, registered=state.registered | {name}))
    return found


def is_one(frame: Frame, thing: Object) -> bool:
    """Whether it is such a part: a slice of it is somewhere else only if it is."""
    state = frame.state(thing)
    return (
        thing.key[0] == "attr"
        and state.kind == "module"
        and state.model is None
        and state.api.rpartition(".")[2] == thing.key[-1]
        and _WITH_PARAMETERS.fullmatch(str(thing.key[-1])) is not None
    )


def forget_whole(frame: Frame, moved: Object) -> None:
    """A part of a library's model goes elsewhere: what runs of the rest, and where, only the library knows.

    (GPTQ's `opt_sequential` moves the embeddings and the first layer, from which a hook keeps the rest.)
    """
    key = moved.key
    while key[0] in ("attr", "item"):
        key = key[1]
    state = frame.state(Object(key))
    if (
        key != moved.key
        and not is_one(frame, moved)
        and moved.key[-1] not in ("weight", "bias")  # a copy of it
        and state.kind == "module"
        and state.model is None
        and not state.api.startswith("torch.")
    ):
        frame.set_state(Object(key), replace(state, device=UNKNOWN_DEVICE))

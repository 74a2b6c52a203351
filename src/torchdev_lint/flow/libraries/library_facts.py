"""What stub files say of the things in a program: which fact speaks of an object, a class or a call."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import Symbol
from torchdev_lint.flow.domain.values import Literal, Object
from torchdev_lint.stubs.facts import Fact, Handed
from torchdev_lint.stubs.shelf import Shelf

_NO_MODULE = re.compile(r"[a-z](?:Tokenizer(?:Fast)?|Processor|FeatureExtractor|Pipeline)(?:\.from_\w+)?$")
"""What a library calls a class, or its constructor, that prepares inputs or runs models: `ChronosPipeline.from_pretrained`."""


def class_of(frame: Frame, thing: Object) -> Fact | None:
    """The fact of the class or function that made an object."""
    api = frame.state(thing).api
    found = frame.analysis.options.shelf.classes(api) if api else ()
    return found[0] if found else None


def is_plain(frame: Frame, thing: Object) -> bool:
    """Whether an object is of a library's class that is no module, by a stub or its name: it moves with nobody."""
    fact = class_of(frame, thing)
    if fact is not None and fact.kind == "module":
        return False
    return (fact is not None and fact.kind == "plain") or _NO_MODULE.search(
        frame.state(thing).api
    ) is not None


def first(facts: Sequence[Fact], site: CallSite) -> Fact | None:
    """The first fact whose conditions this call fulfils."""
    return next((fact for fact in facts if all(_holds(site, *condition) for condition in fact.when)), None)


def _holds(site: CallSite, key: str, wanted: bool | int | float | str) -> bool:
    positional = site.positional()
    given = site.keyword(key)
    if key.isdigit() and int(key) < len(positional):
        given = positional[int(key)]
    return given is not None and isinstance(given.value, Literal) and given.value.value == wanted


def made_by_library(frame: Frame, thing: Object) -> str:
    """The path whose call gave the object, or the thing that it is an item or attribute of; or the class it is known as."""
    api = frame.state(thing).api
    owner = thing
    while not api and owner.key[0] in ("item", "attr"):
        owner = Object(owner.key[1])
        api = frame.state(owner).api
    if api or frame.state(thing).model is not None:
        return api
    name = thing.text.partition("[")[0].rpartition(".")[2]
    return frame.analysis.options.shelf.known_as(frame.analysis.imported, name) if name else ""


def is_of_library(frame: Frame, thing: Object) -> bool:
    """Whether it is an object of a class that stub files speak of, or something taken from one: one of several `Axes`."""
    made_by = made_by_library(frame, thing)
    return bool(made_by) and bool(frame.analysis.options.shelf.classes(made_by))


def device_of_library_object(frame: Frame, thing: Object, text: str) -> Symbol | None:
    """`accelerator.device`: a device that the program asked for by making the object."""
    fact = class_of(frame, thing)
    return Symbol(("device", thing.key), text) if fact is not None and fact.named_device else None


def is_module_class(shelf: Shelf, path: str) -> bool:
    """Whether a library's class is an nn.Module."""
    return any(fact.kind == "module" for fact in shelf.classes(path)[:1])


def has_device_property(shelf: Shelf, path: str) -> bool:
    """Whether the `device` of a library's module is a property that gives a `torch.device`."""
    return any(fact.device_property for fact in shelf.classes(path)[:1])


def handed_to_hook(shelf: Shelf, path: str, method: str) -> Handed | None:
    """What a hook is given that subclasses of the library's class define, as far as the library has brought it somewhere."""
    found = shelf.classes(path)
    return dict(found[0].hooks).get(method) if found else None


def gives_tensor(frame: Frame, thing: Object) -> bool:
    """Whether calling a library's module gives one tensor."""
    fact = class_of(frame, thing)
    return fact is not None and fact.returns == ("tensor",)


def moves_by_copy(frame: Frame, thing: Object) -> bool:
    """Whether `.to()` of a library's object gives a moved copy."""
    fact = class_of(frame, thing)
    return fact is not None and not fact.moves_in_place

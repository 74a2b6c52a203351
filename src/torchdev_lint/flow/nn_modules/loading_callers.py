"""How the code that loads a checkpoint is used: on the way to an accelerator, or after a training of the same run."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.nn_modules import loading_scopes
from torchdev_lint.flow.nn_modules.loading_onward import goes_on_to_use
from torchdev_lint.flow.nn_modules.saved_files import SAVERS
from torchdev_lint.flow.project.accelerator_uses import running_with, uses_any
from torchdev_lint.flow.project.project_calls import argument_given, made_by_others
from torchdev_lint.flow.project.settled_flags import settled_in
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, walk

_TRAINS = re.compile(r"(?i)(?:^|_)(?:train|fit|training)(?:_(?!dat|load|set|iter|trans)|$)")
"""Functions that train, by name; not those that make the data for it."""


def goes_on_with_accelerator(frame: Frame, call: cst.Call) -> bool:
    """Whether what runs along with the load, or with each call of its function, uses an accelerator, whatever the machine."""
    settled = frame.analysis.learn(settled_in, frame.analysis)
    scope = loading_scopes.scope_of(frame)
    if goes_on_to_use(frame, scope, call, settled) or _is_made_to_train(frame, settled):
        return True
    calls = [(scope, made) for made, scope in _calls(frame) if made is not call]
    return bool(calls) and all(goes_on_to_use(frame, scope, made) for scope, made in calls)


def follows_training(frame: Frame, call: cst.Call) -> bool:
    """Whether what loads comes after a call that trains, or so does every call of its function: `train(args)`, then `test(args)`.

    Or in a later round of a loop that trains in each. The cells of a notebook are run on different days.
    """
    scope = loading_scopes.scope_of(frame)
    if not (isinstance(scope, cst.Module) and frame.analysis.options.in_cells) and _trained_before(
        scope, call
    ):
        return True
    if _trained_in_first_round(frame, scope, call):
        return True
    calls = list(_calls(frame, elsewhere=frame.analysis.imports.in_program()))
    return bool(calls) and all(_comes_after_training(frame, scope, made) for made, scope in calls)


_MAX_CALLERS = 3
"""Callers of callers that are asked."""


def _comes_after_training(frame: Frame, scope: cst.CSTNode, call: cst.Call, depth: int = 1) -> bool:
    """Whether a call comes after one that trains, or so do all calls of the method that it stands in.

    `self.train()`, then `self.test()`, which loads what the run has saved.
    """
    if _trained_before(scope, call):
        return True
    owner = None if frame.function is None else frame.function.owner
    if (
        depth == _MAX_CALLERS
        or owner is None
        or not isinstance(scope, cst.FunctionDef)
        or owner.find(scope.name.value) is not scope
        or _TRAINS.search(scope.name.value) is not None  # what goes on with an earlier run
    ):
        return False
    calls = list(made_by_others(frame, scope, owner.name, elsewhere=frame.analysis.imports.in_program()))
    return bool(calls) and all(
        _comes_after_training(frame, module if around is None else around, made, depth + 1)
        for made, around, _, module in calls
    )


def follows_saving(frame: Frame, call: cst.Call) -> bool:
    """Whether each call of the function comes after one that saves under the name that it is given: `convert(path)`, then `pack(path)`.

    The cells of a notebook are run on different days.
    """
    function, path = frame.function, call.args[0].value
    if (
        frame.analysis.options.in_cells
        or function is None
        or not isinstance(function.node, cst.FunctionDef)
        or not isinstance(path, cst.Name)
    ):
        return False
    node = function.node
    calls = list(_calls(frame, elsewhere=False))
    return bool(calls) and all(
        (given := argument_given(node, made, path.value)) is not None
        and _saved_before(frame, scope, made, given)
        for made, scope in calls
    )


def _saved_before(frame: Frame, scope: cst.CSTNode, call: cst.Call, file: cst.BaseExpression) -> bool:
    name = frame.analysis.text(file)
    for node in running_with(scope, call, certain=False):
        if node is call:
            return False
        if isinstance(node, cst.Call) and any(
            frame.analysis.text(one.value) == name and _saves_to(frame, node, one) for one in node.args
        ):
            return True
    return False


def _saves_to(frame: Frame, call: cst.Call, argument: cst.Arg) -> bool:
    """Whether a call saves under the name that it is given: it does by itself, or is one of a function of the file that does."""
    called = dotted(call.func) or ""
    if called in SAVERS:
        return True
    return any(
        isinstance(line, cst.FunctionDef)
        and line.name.value == called
        and any(
            argument_given(line, call, parameter.name.value) is argument.value
            and _saves_under(line, parameter.name.value)
            for parameter in all_parameters(line.params)
        )
        for line in frame.analysis.module.body
    )


def _saves_under(function: cst.FunctionDef, parameter: str) -> bool:
    return any(
        isinstance(node, cst.Call)
        and dotted(node.func) in SAVERS
        and any(dotted(one.value) == parameter for one in node.args[1:])
        for node in walk(function.body)
    )


def _calls(
    frame: Frame, *, elsewhere: bool = True
) -> Iterator[tuple[cst.Call, cst.FunctionDef | cst.Module]]:
    """The calls of the function, and the outermost functions, or the files, that they stand in."""
    function = frame.function
    if function is None or not isinstance(function.node, cst.FunctionDef):
        return
    owner = "" if function.owner is None else function.owner.name
    if elsewhere or not owner:
        for call, scope, _, module in made_by_others(frame, function.node, owner, elsewhere=elsewhere):
            yield call, module if scope is None else scope


def _is_made_to_train(frame: Frame, settled: frozenset[str]) -> bool:
    """Whether an object loads where it is made, whose class trains on an accelerator, whatever the machine."""
    function = frame.function
    if function is None or function.owner is None or function.name != "__init__":
        return False
    methods = (line for line in function.owner.node.body.body if isinstance(line, cst.FunctionDef))
    return any(
        (_TRAINS.search(method.name.value) is not None or method.name.value == "run")
        and uses_any(method, None, settled=settled)
        for method in methods
    )


def _trained_before(scope: cst.CSTNode, call: cst.Call) -> bool:
    for node in running_with(scope, call, certain=False):
        if node is call:
            return False
        if isinstance(node, (cst.For, cst.While)) and loading_scopes.trains(node):
            return True
        if (
            isinstance(node, cst.Call)
            and _trains(node, (dotted(node.func) or "").rpartition(".")[2])
            and not any(part is call for part in walk(node))
        ):
            return True
    return False


def _trains(call: cst.Call, name: str) -> bool:
    """Whether a call of something of this name trains; a class of it, `Training(options)`, only begins to."""
    return _TRAINS.search(name) is not None and not name[:1].isupper() and not _is_switch(call)


def _trained_in_first_round(frame: Frame, scope: cst.CSTNode, call: cst.Call) -> bool:
    """Whether it is loaded in a loop, but not in its first round, that trains in each: `for stage in range(6): if stage != 0: ...`."""
    around = loading_scopes.calls_around(frame, scope, call)
    for node in walk(scope):
        if not isinstance(node, cst.For) or id(node) not in around or not isinstance(node.target, cst.Name):
            continue
        if not _counts_from_0(node.iter):
            continue  # a run that goes on with an earlier one begins later
        later = any(
            isinstance(part, cst.If)
            and id(part.body) in around
            and _is_past_first(part.test, node.target.value)
            for part in walk(node.body)
        )
        called = [
            (part, loading_scopes.name_of_call(part))
            for part in walk(node.body)
            if isinstance(part, cst.Call)
        ]
        if later and any(name == "backward" or _trains(part, name) for part, name in called):
            return True
    return False


def _counts_from_0(rounds: cst.BaseExpression) -> bool:
    match rounds:
        case cst.Call(func=cst.Name(value="range"), args=[_]):
            return True
        case cst.Call(func=cst.Name(value="range"), args=[cst.Arg(value=cst.Integer(value="0")), _]):
            return True
        case _:
            return False


def _is_past_first(test: cst.BaseExpression, count: str) -> bool:
    """Whether a test holds in no first round, whose number is 0: `stage`, `stage != 0`, `stage > 0`."""
    match test:
        case cst.Name(value=name):
            return name == count
        case cst.Comparison(
            left=cst.Name(value=name),
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.NotEqual() | cst.GreaterThan() | cst.GreaterThanEqual() as operator,
                    comparator=cst.Integer(value=least),
                )
            ],
        ):
            return name == count and (least == "0") != isinstance(operator, cst.GreaterThanEqual)
        case _:
            return False


def _is_switch(call: cst.Call) -> bool:
    """Whether a call only puts a module in the mode of training: `net.train()`, `net.train(False)`; not `trainer.train()`."""
    match call:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="train")), args=arguments):
            given = [one.value for one in arguments]
            return "trainer" not in (dotted(receiver) or "").lower() and (
                not given or (isinstance(given[0], cst.Name) and given[0].value in ("True", "False", "mode"))
            )
        case _:
            return False

"""Modules that move themselves in `__init__` before their parts are attached: `self.to(device)`, then `self.embed = nn.Embedding(...)`.

`Module.to` moves the parts that are there (torch/nn/modules/module.py, `_apply`); what is attached afterwards stays on the CPU until
somebody moves the module again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import UnmovedModule
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.read_alone.written_evidence import path_of
from torchdev_lint.flow.read_alone.written_modules import calls_made, is_told_where, makes_module, moves_it
from torchdev_lint.flow.syntax.trees import SCOPES, blocks, dotted, last_name, walk


def check(model: ClassModel) -> Iterator[UnmovedModule]:
    """A class: where its `__init__` moves the instance, and attaches parts with parameters afterwards only, or some of them."""
    initializer = model.methods.get("__init__")
    if initializer is None:
        return
    movers = [node for node in walk(model.node) if moves_it(node, "self")]
    own = [node for node in walk(initializer.body, below=SCOPES) if moves_it(node, "self")]
    if len(movers) != 1 or own != movers:
        return
    (mover,) = own
    afterwards = dropwhile(lambda node: node is not mover, walk(initializer.body, below=SCOPES))
    late = [
        made
        for made in calls_made(afterwards)
        if re.fullmatch(r"self\.\w+", made[0])
        and not is_told_where(model.frame, made[1])
        and _has_parameters(model, made[0], made[1])
    ]
    if late:
        assert isinstance(mover, cst.Call)
        (name, call, _), (_, _, last) = late[0], late[-1]
        again, behind = _again(model.frame, initializer, mover, last)
        yield UnmovedModule(mover, model.frame.analysis.text(mover), "early", call, name, again, behind)


def _again(
    frame: Frame, initializer: cst.FunctionDef, mover: cst.Call, last: cst.CSTNode
) -> tuple[str, cst.CSTNode | None]:
    """The move as it is to be written behind the last part, and the statement that this is; empty where they stand in no common block."""
    module, text = frame.analysis.module, frame.analysis.text
    found = (one for one in blocks(module, module.default_indent) if one[0][0] is initializer.body.body[0])
    block, indentation = next(found, ([], ""))
    attached = next(
        (
            line.body[-1]
            for line in block
            if isinstance(line, cst.SimpleStatementLine) and any(part is last for part in line.body)
        ),
        None,
    )
    for line in block if attached is not None else ():
        match line:
            case cst.SimpleStatementLine(body=[cst.Expr(value=value)]) if value is mover:
                return f"\n{indentation}{text(mover)}", attached
            case cst.If(
                test=test,
                body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Expr(value=value)])]),
                orelse=None,
            ) if value is mover:
                inner = f"{indentation}{module.default_indent}{text(mover)}"
                return f"\n{indentation}if {text(test)}:\n{inner}", attached
            case _:
                pass
    return "", None


def _has_parameters(model: ClassModel, name: str, call: cst.Call) -> bool:
    """Whether what is attached is a module with parameters: by what it is, or a class of elsewhere whose instance the methods call."""
    frame = model.frame
    if makes_module(frame, call) or _holds_modules(frame, call):
        return True
    path = path_of(frame, call.func)
    return (
        last_name(call.func)[:1].isupper()
        and model.is_module
        and not (path or "").startswith("torch.")
        and any(
            isinstance(node, cst.Call) and dotted(node.func) == name
            for method in model.methods.values()
            if method.name.value != "__init__"
            for node in walk(method.body)
        )
    )


def _holds_modules(frame: Frame, call: cst.Call) -> bool:
    """`nn.ModuleList([Block(cfg) for _ in range(n)])`: of layers that are made on the spot."""
    path = path_of(frame, call.func)
    return path in ("torch.nn.ModuleList", "torch.nn.Sequential") and any(
        isinstance(part, cst.Call) and last_name(part.func)[:1].isupper()
        for argument in call.args
        for part in walk(argument)
    )

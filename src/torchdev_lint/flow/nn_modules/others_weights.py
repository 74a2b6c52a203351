"""Weights that others have published, as far as the program says so: by an address, a name, a table, documentation, an option.

Where those were saved is not in the program; whoever publishes weights sees to it, as a rule, that everybody can load them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument
from torchdev_lint.flow.domain.conditions import atoms
from torchdev_lint.flow.domain.values import Api, Literal, Value
from torchdev_lint.flow.nn_modules import fetched_files, loading_scopes
from torchdev_lint.flow.project.project_calls import argument_given, calls_by_others
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, walk
from torchdev_lint.torch_api import checkpoints as api

_NOT_TELLING = frozenset(
    "self cls args opt opts cfg config conf hparams params os path join str Path osp torch load".split()
)


def are_addressed(frame: Frame, address: Argument) -> bool:
    """Whether what is given to a function that downloads weights is known to be others', or not to be known in the program."""
    return (
        _is_published(frame, address.value)
        or _names_file(address.node.value)
        or _is_of_library(frame, address.node.value)
    )


def is_at(frame: Frame, address: Argument) -> bool:
    """Whether weights are loaded from one address that the program says, of which nobody knows where they were saved.

    PyTorch's own are on the CPU (`torchvision.models`).
    """
    value = address.value
    return (
        isinstance(value, Literal)
        and str(value.value).startswith(("https://", "http://"))
        and "//download.pytorch.org/" not in str(value.value)
        and "//s3.amazonaws.com/pytorch/" not in str(value.value)
    )


def are_named(frame: Frame, path: cst.BaseExpression, words: Sequence[str], name: str) -> bool:
    """Whether what is loaded is called what others have trained.

    `words`: of the path (`words_of`); `name`: the path where it is known, else empty.
    """
    tested = [atom.text for fact in frame.env.path for atom in atoms(fact)]
    function = "" if frame.function is None else frame.function.name.replace("from_pretrained", "")
    return (
        any(api.OF_OTHERS.search(word) for word in (*words, *tested, function, name.rpartition("/")[2]))
        or fetched_files.are_of_either_format(frame, path)
        or api.NAME_OR_PATH.search(dotted(path) or "") is not None
        or _is_backbone(frame, path)
        or _is_published_by_default(frame, path)
        or _is_given_as_published(frame, path)
        or _is_in_folder_of_others(frame, path)
    )


MAX_DEPTH = 3
"""Callers of callers."""


def _is_given_as_published(frame: Frame, path: cst.BaseExpression) -> bool:
    """Whether whoever calls the function calls the file what others have trained: `def load(path)`, and `load(args.pretrained)`."""
    function = frame.function
    if (
        function is None
        or not isinstance(function.node, cst.FunctionDef)
        or not isinstance(path, cst.Name)
        or frame.source.foreign
    ):
        return False
    owner = "" if function.owner is None else function.owner.name
    return frame.analysis.learn(_all_give_published, frame, function.node, owner, path.value, 0)


def _all_give_published(frame: Frame, node: cst.FunctionDef, owner: str, parameter: str, depth: int) -> bool:
    """Whether each call does, or hands on what its function says to be that, or is given as such itself; somebody has to call it."""
    given = [
        (argument_given(node, call, parameter), scope) for call, scope in calls_by_others(frame, node, owner)
    ]
    return bool(given) and all(
        value is not None
        and (any(map(api.OF_OTHERS.search, words_of(value))) or _hands_on(frame, value, scope, depth))
        for value, scope in given
    )


def _hands_on(frame: Frame, value: cst.BaseExpression, scope: cst.FunctionDef | None, depth: int) -> bool:
    if scope is None or not isinstance(value, cst.Name) or depth >= MAX_DEPTH:
        return False
    return _is_told_published(scope, value.value) or (
        any(line is scope for line in frame.analysis.module.body)
        and _all_give_published(frame, scope, "", value.value, depth + 1)
    )


def are_to_be_had(
    frame: Frame, scope: cst.CSTNode, path: cst.BaseExpression, words: Sequence[str], name: str
) -> bool:
    """Whether the program says where what is loaded is to be had by everybody: on the web, or beside it."""
    return (
        _has_address(frame, words)
        or any(_is_shipped(frame, word) for word in words)
        or _is_beside(frame, path, words)
        or _says_where_to_get(frame)
        or fetched_files.are_fetched(frame, path, words)
        or _is_looked_up(frame, scope, path)
        or any(api.PUBLISHED_NAME.search(word) for word in (*words, name))
        or (isinstance(path, cst.Name) and _has_address_by_default(frame, path.value))
    )


def is_address(frame: Frame, path: Argument) -> bool:
    """Whether what is loaded is said to come from the web: by an address, or something called one."""
    known = path.value.value if isinstance(path.value, Literal) else ""
    return str(known).startswith("http") or "url" in frame.analysis.text(path.node).lower()


def _has_address_by_default(frame: Frame, name: str) -> bool:
    """The same of a parameter, or of what a parameter names and the function opens."""
    if frame.function is None:
        return False
    opened = _opened(frame.function.node, name)
    names = [name, *(file.value for file in opened if isinstance(file, cst.Name))]
    return any(_is_address_by_default(frame, one) for one in names)


def fetches(frame: Frame, call: cst.Call) -> bool:
    """Whether a call brings a file from the web."""
    name = loading_scopes.name_of_call(call)
    if api.FETCHES.search(name) is not None:
        return True
    if name.startswith("download") and "cache" in name:
        return True
    return "download" in name and any(
        api.ADDRESS.search(frame.analysis.text(argument)) is not None for argument in call.args
    )


def words_of(path: cst.BaseExpression) -> list[str]:
    """The names and strings in an expression for a file, the last first."""
    words: list[str] = []
    for node in walk(path):
        match node:
            case cst.Name(value=word) if word not in _NOT_TELLING:
                words.append(word)
            case cst.SimpleString():
                words.append(str(node.raw_value))
            case cst.FormattedStringText(value=word):
                words.append(word)
            case _:
                pass
    return words[::-1]


def _is_published(frame: Frame, value: Value) -> bool:
    """Whether the weights are files that somebody put on the web, as far as the file names any: known to load without a GPU or not,
    but not by what is in the program."""
    if isinstance(value, Literal):
        return str(value.value).startswith(("https://", "http://"))
    return any(
        isinstance(node, cst.SimpleString) and api.WEIGHTS_URL.match(str(node.raw_value))
        for node in walk(frame.analysis.module)
    )


def _is_of_library(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an address is looked up in a table of torchvision's: `model_urls["resnet50"]`."""
    match node:
        case cst.Subscript(value=cst.Name(value=table)):
            held = frame.lookup(table)
            return isinstance(held, Api) and held.path.startswith("torchvision.")
        case cst.Subscript(value=cst.Attribute() as table):
            library = (dotted(table) or "").partition(".")[0]
            held = frame.lookup(library)
            return isinstance(held, Api) and held.path.startswith("torchvision")
        case _:
            return False


def _names_file(node: cst.BaseExpression) -> bool:
    """Whether an address is put together of a server and the name of a file: `urljoin(SERVER, "vocab.pt")`."""
    return any(api.WEIGHTS_FILE.search(word) for word in words_of(node))


def _is_in_folder_of_others(frame: Frame, path: cst.BaseExpression) -> bool:
    """Whether a path is put together of a folder that says so: `os.path.join(zoo, name)`, and `zoo = "model_zoo"`."""
    if not isinstance(path, cst.Name):
        return False
    return any(
        _is_of_others(frame, part)
        for node in loading_scopes.telling_nodes(frame, loading_scopes.scope_of(frame))
        if isinstance(node, cst.Assign) and [dotted(one.target) for one in node.targets] == [path.value]
        for part in walk(node.value)
    )


def _is_of_others(frame: Frame, part: cst.CSTNode) -> bool:
    """Whether a part of a path is called what others have trained, by what it is, holds, or is by default."""
    match part:
        case cst.SimpleString():
            return api.OF_OTHERS.search(str(part.raw_value)) is not None
        case cst.Name(value=name):
            held = dict(frame.visible_names()).get(name)
            return isinstance(held, Literal) and api.OF_OTHERS.search(str(held.value)) is not None
        case cst.Attribute(attr=cst.Name(value=option)):
            return frame.analysis.learn(_defaults_to_published, frame.analysis, option)
        case _:
            return False


def _is_published_by_default(frame: Frame, path: cst.BaseExpression) -> bool:
    """Whether the file is an option of the command line that is said to be weights of others: `args.path`, `args.dir + args.base`.

    Or a parameter whose default is an address.
    """
    match path:
        case cst.Attribute(attr=cst.Name(value=option)):
            return frame.analysis.learn(_defaults_to_published, frame.analysis, option)
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Divide(), right=right):
            return any(_is_published_by_default(frame, part) for part in (right, left))
        case cst.Name(value=name) if frame.function is not None:
            return (
                _is_address_by_default(frame, name)
                or _is_told_published(frame.function.node, name)
                or any(_is_published_by_default(frame, file) for file in _opened(frame.function.node, name))
            )
        case _:
            return False


def _is_backbone(frame: Frame, path: cst.BaseExpression) -> bool:
    """Whether a module fills itself when it is made, from a file that it need not be given: weights that it is to start from."""
    function = frame.function
    if (
        function is None
        or function.owner is None
        or not function.owner.is_module
        or function.name != "__init__"
        or "self.load_state_dict(" not in frame.analysis.text(function.node)
    ):
        return False
    return isinstance(path, cst.Name) and any(
        one.name.value == path.value and isinstance(one.default, cst.Name) and one.default.value == "None"
        for one in all_parameters(function.node.params)
    )


def _opened(function: cst.FunctionDef | cst.Lambda, name: str) -> Iterator[cst.BaseExpression]:
    """The file that a name stands for: `with open(path) as file`."""
    for node in walk(function.body):
        match node:
            case cst.WithItem(
                item=cst.Call(args=[cst.Arg(value=file), *_]),
                asname=cst.AsName(name=cst.Name(value=held)),
            ) if held == name and not (isinstance(file, cst.Name) and file.value == name):
                yield file
            case _:
                pass


def _is_told_published(function: cst.FunctionDef | cst.Lambda, name: str) -> bool:
    """Whether the documentation of the function says of the parameter that it is a file of others: `path: a pretrained model`."""
    told = (function.get_docstring() or "") if isinstance(function, cst.FunctionDef) else ""
    return any(
        re.match(rf"\s*(?:-\s*)?(?::param )?{re.escape(name)}\b", line) is not None
        and api.OF_OTHERS.search(line) is not None
        for line in told.splitlines()
    )


def _is_address_by_default(frame: Frame, name: str) -> bool:
    assert frame.function is not None
    parameters = frame.function.node.params
    for parameter in all_parameters(parameters):
        if parameter.name.value != name or parameter.default is None:
            continue
        value: object = None
        if isinstance(parameter.default, cst.SimpleString):
            value = parameter.default.raw_value
        elif isinstance(parameter.default, cst.Name):
            known = dict(frame.visible_names()).get(parameter.default.value)
            value = known.value if isinstance(known, Literal) else None
        return isinstance(value, str) and (
            api.WEIGHTS_URL.match(value) is not None or api.OF_OTHERS.search(value) is not None
        )
    return False


def _defaults_to_published(analysis: Analysis, option: str) -> bool:
    named = re.compile(rf"""['"]-*{option.replace("_", "[-_]")}['"]""")
    return analysis.says(named) and any(
        isinstance(node, cst.Call)
        and loading_scopes.name_of_call(node) == "add_argument"
        and any(_literal_text(one.value).lstrip("-").replace("-", "_") == option for one in node.args)
        and any(
            one.keyword is not None
            and one.keyword.value in ("default", "help")
            and (
                api.OF_OTHERS.search(_literal_text(one.value)) is not None
                or api.PUBLISHED_NAME.search(_literal_text(one.value)) is not None
            )
            for one in node.args
        )
        for node in walk(analysis.module)
    )


def _literal_text(node: cst.BaseExpression) -> str:
    return str(node.raw_value) if isinstance(node, cst.SimpleString) else ""


def _has_address(frame: Frame, words: Sequence[str]) -> bool:
    """Whether the file named is what an address in the program ends with."""
    files = tuple(f"/{word.rpartition('/')[2]}" for word in words if "." in word)
    return bool(files) and any(
        isinstance(node, cst.SimpleString)
        and api.WEIGHTS_URL.match(str(node.raw_value))
        and str(node.raw_value).endswith(files)
        for node in walk(frame.analysis.module)
    )


def _is_looked_up(frame: Frame, scope: cst.CSTNode, path: cst.BaseExpression) -> bool:
    """Whether a part of the path may be one of the names of published weights: `if name in PRETRAINED_ARCHIVES`."""
    held = {part.value for part in walk(path) if isinstance(part, cst.Name)}
    for node in loading_scopes.telling_nodes(frame, scope):
        match node:
            case cst.Comparison(
                left=cst.Name(value=name),
                comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=table)],
            ) if name in held and api.OF_OTHERS.search(dotted(table) or ""):
                return True
            case _:
                pass
    return False


def _is_shipped(frame: Frame, name: str) -> bool:
    """Whether a name at the top of the file is a path beside it: `Path(__file__).parent / "weights.pt"`, which every user gets."""
    return any(
        isinstance(node, cst.Assign)
        and any(dotted(target.target) == name for target in node.targets)
        and any(isinstance(part, cst.Name) and part.value == "__file__" for part in walk(node.value))
        for line in frame.analysis.module.body
        if isinstance(line, cst.SimpleStatementLine)
        for node in line.body
    )


def _is_beside(frame: Frame, path: cst.BaseExpression, words: Sequence[str]) -> bool:
    """Whether the function puts the path together of `__file__` and the name of a file, or of one of few."""
    if frame.function is None:
        return False
    held = {part.value for part in walk(path) if isinstance(part, cst.Name)}
    told = list(words)
    beside = "__file__" in held
    for node in loading_scopes.telling_nodes(frame, frame.function.node):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if (
                name in held
            ):
                told += words_of(value)
                beside = beside or any(
                    isinstance(part, cst.Name) and part.value == "__file__" for part in walk(value)
                )
            case _:
                pass
    return beside and any(map(_FILE_NAME.search, told))


_FILE_NAME = re.compile(r"\w[\w{}]*\.\w+$")


def _says_where_to_get(frame: Frame) -> bool:
    """Whether the documentation of the class or function gives the address of the weights."""
    function = frame.function
    owner = None if function is None else function.owner
    documented = [None if function is None else function.node, None if owner is None else owner.node]
    return any(
        isinstance(node, (cst.FunctionDef, cst.ClassDef))
        and api.TO_BE_DOWNLOADED.search(node.get_docstring() or "") is not None
        for node in documented
    )

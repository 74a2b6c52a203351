"""A text that was edited comes to what it would come to if nothing had been read before."""

from __future__ import annotations

import dataclasses
import difflib
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import libcst as cst
import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.memory import Memory
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.domain.values import Function, Literal, Object
from torchdev_lint.flow.incremental.journal import Journal, same
from torchdev_lint.flow.incremental.journal_tables import Group, Row, Table
from torchdev_lint.flow.incremental.layout import difference
from torchdev_lint.flow.incremental.observations import InterruptedReadingError, Observer
from torchdev_lint.lsp.analysis import Analysis
from torchdev_lint.lsp.knowledge import Known, know

pytestmark = pytest.mark.untraced

TESTS = Path(__file__).parents[2]
SOURCES = sorted([*TESTS.glob("fixtures/*/*.py"), *TESTS.glob("programs/*.py")])
DEFAULTS = Config(off_by_default=frozenset({"TDV101"}))
EVERYTHING = Config()

Found = tuple[list[Diagnostic], list[Known]]


class File:
    """A file that is edited, read with a memory and without."""

    def __init__(self, path: Path = Path("x.py"), config: Config = DEFAULTS) -> None:
        self.config = config
        self.path = path
        self.memory = Memory()
        self.text = ""

    def read(self, text: str) -> list[Diagnostic]:
        """What a text comes to, which has to be the same either way."""
        before, self.text = self.text, text
        remembered, afresh = self._found(self.memory), self._found(None)
        changed = difflib.unified_diff(before.split("\n"), text.split("\n"), lineterm="")
        assert remembered == afresh, "\n".join([str(self.path), *changed])
        return remembered[0]

    def edit(self, old: str, new: str) -> list[Diagnostic]:
        """The same, once something in it has been replaced."""
        assert self.text.count(old) == 1
        return self.read(self.text.replace(old, new))

    def _found(self, memory: Memory | None) -> Found:
        observer, sources = Observer(), DiskSources()
        found = check_source(self.text, str(self.path), self.config, sources, observer, memory)
        seen = know(cast("Analysis", SimpleNamespace(observer=observer, code=self.text)))
        return found, list(seen._known)

    def executed(self, change: Callable[[], object]) -> int:
        """How many parts were executed for a change; -1 when everything was read again."""
        before, whole = self.memory.counts.executed, self.memory.counts.whole
        change()
        return -1 if self.memory.counts.whole > whole else self.memory.counts.executed - before


def edited(text: str, chance: random.Random) -> str:
    """A text in which somebody has typed."""
    rows = text.split("\n")
    inside = [number for number, row in enumerate(rows) if row[:1] == " " and row.strip()]
    if not inside or chance.random() < 0.1:
        inside = [number for number, row in enumerate(rows) if row.strip()] or [0]
    at = chance.choice(inside)
    row = rows[at]
    indent = row[: len(row) - len(row.lstrip())]
    match chance.randrange(11):
        case 0:
            rows.insert(at, f"{indent}new = torch.zeros(3)")
        case 1:
            rows.insert(at, f"{indent}pass")
        case 2:
            del rows[at]
        case 3:
            rows.insert(at, chance.choice(["", "    ", indent]))
        case 4:
            rows.insert(at, f"{indent}# a comment")
        case 5:
            rows[at] = (
                row.replace(".to(device)", "", 1).replace(".cuda()", "", 1).replace(".to(x.device)", "", 1)
            )
        case 6:
            rows[at] = row.replace('"cuda"', '"cpu"').replace("self.", "self.new_", 1)
        case 7:
            other = chance.choice(inside)
            rows[at], rows[other] = rows[other], rows[at]
        case 8:
            word = chance.choice(row.replace("(", " ").replace(".", " ").split() or ["x"])
            return text.replace(word, word + "_2") if word.isidentifier() else text
        case 9:
            rows[at:at] = [f"{indent}def new(y):", f"{indent}    return y.cuda() + torch.ones(2)", ""]
        case _:
            rows[at] = row + "  # " + row.strip()
    return "\n".join(rows)


@pytest.mark.parametrize("part", range(4))
def test_random_edits_come_to_what_a_fresh_reading_comes_to(part: int) -> None:
    chance = random.Random(part)
    again = 0
    for path in chance.sample(SOURCES, 8):
        file = File(path, EVERYTHING)
        text = path.read_text(encoding="utf-8")
        file.read(text)
        for _ in range(4):
            changed = edited(text, chance)
            file.read(changed)
            if _parses(changed):
                text = changed
        again += file.memory.counts.again
    assert again > 10, "next to nothing was remembered"


def _parses(text: str) -> bool:
    try:
        cst.parse_module(text)
    except cst.ParserSyntaxError:
        return False
    return True


PROGRAM = """\
import torch
from torch import nn

LIMIT = 3


def helper(x):
    return torch.zeros(LIMIT)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.table = torch.ones(2)

    def forward(self, x):
        return self.layer(x) + 1

    def other(self, x):
        return x


def use(x: torch.Tensor):
    return x.cuda() + helper(x)


def unrelated(x):
    return x
"""


def test_only_what_looked_at_an_edit_is_executed() -> None:
    file = File()
    file.read(PROGRAM)
    assert (
        file.executed(
            lambda: file.edit("    return x\n\n\ndef use", "    y = x\n        return y\n\n\ndef use")
        )
        == 1
    )
    assert file.executed(lambda: file.edit("self.layer(x) + 1", "self.layer(x) + 2")) <= 2
    whole = file.memory.counts.whole
    assert whole == 1


def test_lines_between_functions_touch_nothing_but_themselves() -> None:
    file = File()
    file.read(PROGRAM)
    assert file.executed(lambda: file.edit("\n\ndef use", "\n\n# a comment\n\ndef use")) == 0
    # the definition, who runs the function, the function; and who looks through all names
    assert file.executed(lambda: file.edit("def use", "def new(x):\n    return x\n\n\ndef use")) <= 6
    assert file.executed(lambda: file.edit("def new(x):\n    return x\n\n\n", "")) <= 3
    assert file.executed(lambda: file.edit("def helper(x)", "def helper(x, y=1)")) < 8
    assert file.memory.counts.parsed == 1


def test_the_top_level_is_taken_up_where_it_looked_at_an_edit() -> None:
    file = File()
    text = PROGRAM.replace("LIMIT = 3\n", "LIMIT = 3\nprint(LIMIT)\n")
    text += "\n\ndef main():\n    y = torch.ones(2)\n    return use(y)\n\n\nfirst = main()\nsecond = main()\n"
    before = file.read(text)
    # the two calls; use, its caller
    assert file.executed(lambda: file.edit("x.cuda() + helper(x)", "x.cuda() + helper(x).cuda()")) <= 6
    assert file.text != text
    assert file.read(text) == before
    assert file.executed(lambda: file.edit("first = main()\n", "first = main()\nthird = first\n")) <= 6
    assert file.memory.counts.whole == 1


def test_a_reading_that_is_interrupted_loses_nothing() -> None:
    file = File()
    text = PROGRAM + "\n\nvalue = use(torch.ones(2))\nother = use(torch.ones(3))\n"
    file.read(text)
    for number, statements in enumerate([1, 3, 5, 8]):
        left = iter(range(statements))
        observer = Observer(lambda left=left: next(left, None) is not None)  # type: ignore[misc]
        changed = text.replace("return torch.zeros(LIMIT)", f"return torch.zeros({number})")
        with pytest.raises(InterruptedReadingError):
            check_source(changed, str(file.path), file.config, DiskSources(), observer, file.memory)
        file.read(changed.replace("def unrelated", "def related"))
    assert file.memory.counts.whole == 1


def test_who_calls_an_edited_function_is_read_again() -> None:
    file = File()
    assert [one.code for one in file.read(PROGRAM)] == ["TDV004"]
    assert file.edit("torch.zeros(LIMIT)", "torch.zeros(LIMIT, device='cuda')") == []
    assert [one.code for one in file.edit("torch.zeros(LIMIT, device='cuda')", "torch.zeros(3)")] == [
        "TDV004"
    ]
    assert file.memory.counts.whole == 1


def test_a_text_that_does_not_parse_loses_nothing() -> None:
    file = File()
    file.read(PROGRAM)
    assert [one.code for one in file.edit("    return x\n\n\ndef use", "    return (x\n\n\ndef use")] == [
        "TDV999"
    ]
    assert file.executed(lambda: file.edit("return (x\n", "return (x)\n")) == 1


@pytest.mark.parametrize(
    ("program", "old", "new"),
    [
        pytest.param(
            "import torch\nCACHE = None\n\ndef fill():\n    global CACHE\n    CACHE = torch.zeros(2)\n\n"
            "def use(x: torch.Tensor):\n    return x.cuda() + CACHE\n",
            "torch.zeros(2)",
            "torch.zeros(2).cuda()",
            id="a global that a function assigns",
        ),
        pytest.param(
            "import torch\nclass Config:\n    table = None\n\ndef fill():\n    Config.table = torch.zeros(2)\n\n"
            "def use(x: torch.Tensor):\n    return x.cuda() + Config.table\n",
            "torch.zeros(2)",
            "torch.zeros(2).cuda()",
            id="an attribute of a class that a function assigns",
        ),
        pytest.param(
            "import torch\ndef outer():\n    kept = torch.zeros(2)\n    def fill():\n        nonlocal kept\n        kept = helper()\n"
            "    def use(x: torch.Tensor):\n        return x.cuda() + kept\n    return fill, use\n\n"
            "def helper():\n    return torch.zeros(3).cuda()\n",
            ".cuda()\n",
            "\n",
            id="a name of the function around",
        ),
        pytest.param(
            "import torch\nfrom torch import nn\nclass Part(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.kept = torch.zeros(2)\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.part = Part()\n    def forward(self, x):\n        return x.cuda() + self.part.kept\n",
            "torch.zeros(2)",
            "nn.Parameter(torch.zeros(2))",
            id="what another class's __init__ leaves",
        ),
        pytest.param(
            "import torch\nclass Trainer:\n    def __init__(self, model, device):\n        self.model = model\n"
            "        self.device = device\n    def setup(self):\n        self.model.to(self.device)\n"
            "    def run(self):\n        return self.model(torch.zeros(2))\n",
            "self.model.to(self.device)",
            "pass",
            id="what another method shows",
        ),
        pytest.param(
            "import torch\ndef _private(x: torch.Tensor):\n    return x + torch.zeros(2)\n\n"
            "def caller(y):\n    return _private(y.cuda())\nDEVICE = 'cuda'\n",
            "y.cuda()",
            "y.cpu()",
            id="what is handed over",
        ),
    ],
)
def test_what_a_function_leaves_behind_counts(program: str, old: str, new: str) -> None:
    file = File()
    before = file.read(program)
    after = file.edit(old, new)
    assert after != before
    assert file.read(program) == before
    assert file.read(program.replace(old, new)) == after
    assert file.memory.counts.whole == 1


def test_another_file_that_changes_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("import torch\ndef make():\n    return torch.zeros(2)\n")
    file = File(tmp_path / "main.py")
    text = (
        "import torch\nfrom helpers import make\n\ndef use(x: torch.Tensor):\n    return x.cuda() + make()\n"
    )
    first = file.read(text)
    assert len(first) == 1
    file.read(text + "\ndef more(x):\n    return x\n")
    (tmp_path / "helpers.py").write_text("import torch\ndef make():\n    return torch.zeros(2).cuda()\n")
    assert file.read(text) == []


def test_a_tree_with_an_exchanged_body_is_that_of_the_text() -> None:
    chance = random.Random(5)
    exchanged = 0
    for path in chance.sample(SOURCES, 20):
        file = File(path, EVERYTHING)
        text = path.read_text(encoding="utf-8")
        for _ in range(4):
            file.text = text
            whole = file.memory.counts.parsed
            file._found(file.memory)
            exchanged += file.memory.counts.parsed == whole
            tree = file.memory._rereading._state.module  # type: ignore[union-attr]
            assert _drawn(tree) == _drawn(cst.parse_module(text))
            changed = edited(text, chance)
            text = changed if _parses(changed) else text
    assert exchanged > 20


def _drawn(node: object) -> object:
    """All that there is to a tree."""
    if isinstance(node, cst.CSTNode):
        kind: Any = next(
            (one for one in (cst.IndentedBlock, cst.Module) if isinstance(node, one)), type(node)
        )
        names = [field.name for field in dataclasses.fields(kind)]
        return kind, [_drawn(getattr(node, name)) for name in names]
    if isinstance(node, (list, tuple)):
        return [_drawn(one) for one in node]
    return repr(node)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("abc", "abc", (3, 3, 3)),
        ("abc", "abXc", (2, 2, 3)),
        ("", "new", (0, 0, 3)),
        ("aaa", "aa", (2, 3, 2)),
        ("abcdef", "abXYef", (2, 4, 4)),
    ],
)
def test_where_texts_differ(before: str, after: str, expected: tuple[int, int, int]) -> None:
    assert difference(before, after) == expected


def test_what_was_written_is_taken_back_and_done_again() -> None:
    journal = Journal()
    table, group = Table(journal, {"kept": 1}), Group(journal)
    step = journal.begin()
    assert table.get("kept") == 1
    table["new"] = 2
    table.setdefault("row", []).append("x")
    group.add("y")
    table.pop("kept")
    journal.step = None
    journal.undo()
    assert dict.items(table) == {"kept": 1}.items()
    assert set(group) == set()
    assert journal.replay(step)
    assert isinstance(table["row"], Row)
    assert (dict(table), set(group)) == ({"new": 2, "row": ["x"]}, {"y"})


def test_a_step_that_would_read_something_else_is_not_done_again() -> None:
    journal = Journal()
    table = Table(journal, {"read": 1})
    step = journal.begin()
    table["seen"] = table["read"]
    journal.step = None
    journal.undo()
    table["read"] = 3
    mark = len(journal.taken)
    assert not journal.replay(step)
    assert (dict(table), len(journal.taken)) == ({"read": 3}, mark)


def test_what_cannot_be_told_apart() -> None:
    node: Any = cst.Name("x")
    frame: Any = object()
    assert same(Literal(1, node), Literal(1, node))
    assert not same(Literal(1, node), Literal(1, cst.Name("x"))), "the node counts, which `==` leaves out"
    assert not same(Literal(1), Literal(value=True))
    assert same(Function(node, "f", frame), Function(node, "f", frame))
    assert not same(Function(node, "f", frame), Function(node, "f", cast("Any", object())))
    assert same((Object(("a",)), [1]), (Object(("a",)), [1]))
    assert not same(node, cst.Name("x"))


EDITS: list[tuple[str, list[str]]] = [
    ("nothing, then something", ["", "import torch\nx = torch.zeros(2)\n", ""]),
    (
        "comments before and behind",
        [
            "# first\n\nimport torch\n\n\ndef f(x):\n    return x.cuda() + torch.ones(2)\n\n\n# last\n",
            "# first\n\nimport torch\n\n\ndef f(x):\n    return x.cpu() + torch.ones(2)\n\n\n# last\n",
            "# the first\n\nimport torch\n\n\ndef f(x):\n    return x.cuda() + torch.ones(2)\n\n\n# the last\n",
            "import torch\n\n\ndef f(x):\n    return x.cuda() + torch.ones(2)\n",
        ],
    ),
    (
        "no line end",
        [
            "import torch\ny = torch.ones(2, device='cuda')",
            "import torch\ny = torch.ones(2, device='cuda') + torch.ones(2)",
            "import torch\ny = torch.ones(2, device='cuda') + torch.ones(2)\n",
        ],
    ),
    (
        "behind what leaves",
        [
            "import torch\nraise SystemExit\ny = torch.ones(2).cuda() + torch.ones(2)\n\n\ndef f(x):\n    return x\n",
            "import torch\nraise SystemExit\ny = torch.ones(2).cuda() + torch.ones(3)\n\n\ndef f(x):\n    return x\n",
            "import torch\nprint(torch)\ny = torch.ones(2).cuda() + torch.ones(3)\n\n\ndef f(x):\n    return x\n",
            "import torch\nraise SystemExit\ny = torch.ones(2).cuda() + torch.ones(3)\n\n\ndef f(x):\n    return x\n",
        ],
    ),
    (
        "another default device",
        [
            "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + torch.ones(2)\n\n\ntorch.set_default_device('cpu')\n",
            "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + torch.ones(2)\n\n\ntorch.set_default_device('cuda')\n",
            "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda() + torch.ones(2)\n\n\nprint('cuda')\n",
        ],
    ),
    (
        "what a constructor is given",
        [
            "import torch\nfrom torch import nn\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n\n\n"
            "class Shift(nn.Module):\n    def __init__(self, mean):\n        super().__init__()\n"
            "        self.mean = torch.as_tensor(mean).view(-1)\n\n    def forward(self, x):\n        return x - self.mean\n\n\n"
            f"Shift({given})\n"
            for given in ("torch.ones(2).to(device)", "[1.0, 2.0]", "torch.ones(2).to(device)")
        ],
    ),
    (
        "no default device any more",
        [
            f"import torch\n\n\ndef f(n):\n    return torch.ones(n)\n\n\ntorch.{name}('cuda')\nf(2)\n"
            for name in ("set_default_device", "see_default_device")
        ],
    ),
    (
        "the body of a decorator",
        [
            "import torch\ndevice = torch.device('cuda')\n\n"
            f"def move(f):\n    def g(x):\n        return f(x.to(device))\n    return {returned}\n\n"
            "@move\ndef add(x):\n    return x + torch.ones(2, device=device)\n\nadd(torch.ones(2))\n"
            for returned in ("g", "f", "g")
        ],
    ),
    (
        "comments that go from one line to the next",
        [
            "import torch\nx = torch.ones(2)\n# of y\ny = x.cuda()\nz = y + x\n",
            "import torch\nx = torch.ones(2)\n# of y\nz = y + x\n",
            "import torch\nx = torch.ones(2)\n# of y\n",
            "import torch\n# of y\n\n# and z\ny = torch.ones(2).cuda()\nz = y + torch.ones(2)\n",
            "# of y\n\n# and z\ny = torch.ones(2).cuda()\nz = y + torch.ones(2)\n",
        ],
    ),
]


@pytest.mark.parametrize("texts", [texts for _, texts in EDITS], ids=[name for name, _ in EDITS])
def test_edits_come_to_what_a_fresh_reading_comes_to(texts: list[str]) -> None:
    file = File(config=EVERYTHING)
    for text in texts:
        file.read(text)


def test_a_device_of_an_object_that_the_file_makes_further_down() -> None:
    path = next(path for path in SOURCES if path.stem == "lookalike_server_lazy_models")
    file = File(path, EVERYTHING)
    rows = path.read_text(encoding="utf-8").split("\n")
    file.read("\n".join(rows))
    for row, indent in ((40, "    "), (17, "            ")):
        rows[row:row] = [f"{indent}def new(y):", f"{indent}    return y.cuda() + torch.ones(2)", ""]
        file.read("\n".join(rows))

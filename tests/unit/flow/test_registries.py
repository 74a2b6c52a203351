"""Tables of classes that other files fill: the file is read that enters what is looked up."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.calling.registries import enters

TABLE = """
TABLE = {{}}


def entered(name):
    def enter(made):
        TABLE[name] = made
        return made
    return enter


def build(name, **options):
    return {looked_up}(**options)
"""
LOSSES = """
import torch
from torch import nn
from table import entered


{decorator}
class Weighted(nn.Module):
    def __init__(self, classes):
        super().__init__()
        {kept}

    def forward(self, scores, target):
        return (self.weights[target] * scores.sum(1)).mean()
"""
MAIN = """
import torch
from torch import nn
{imports}
from table import build

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Runner:
    def __init__(self):
        self.net = nn.Linear(4, 3).to(device)
        self.loss = build("{name}", classes=3){moved}

    def step(self, batch):
        x, y = (part.to(device) for part in batch)
        return self.loss(self.net(x), y)


Runner().step((torch.rand(2, 4), torch.zeros(2).long()))
"""
BUFFER = 'self.register_buffer("weights", torch.ones(classes))'


def _found(
    directory: Path,
    *,
    looked_up: str = "TABLE[name]",
    decorator: str = '@entered("weighted")',
    kept: str = BUFFER,
    name: str = "weighted",
    moved: str = "",
    imports: str = "import losses",
    more: dict[str, str] | None = None,
) -> list[tuple[str, str]]:
    (directory / ".git").mkdir()
    (directory / ".git" / "HEAD").touch()
    text = MAIN.format(name=name, moved=moved, imports=imports)
    files = {
        "table.py": TABLE.format(looked_up=looked_up),
        "losses.py": LOSSES.format(decorator=decorator, kept=kept),
        "main.py": text,
        **(more or {}),
    }
    for file, content in files.items():
        (directory / file).write_text(content, encoding="utf-8")
    config = Config(off_by_default=frozenset({"TDV101", "TDV105", "TDV106"}))
    found = check_source(text, str(directory / "main.py"), config, DiskSources())
    return [(one.code, text.splitlines()[one.range.start.row - 1].strip()) for one in found]


TOLD = [("TDV001", 'self.loss = build("weighted", classes=3)')]


@pytest.mark.parametrize("looked_up", ["TABLE[name]", "TABLE.get(name)"])
def test_a_class_that_is_entered_by_a_file_imported_for_that(tmp_path: Path, looked_up: str) -> None:
    """What it builds is known, and was never moved."""
    assert _found(tmp_path, looked_up=looked_up) == TOLD


def test_the_message_has_the_name_that_the_file_has_for_it(tmp_path: Path) -> None:
    """In the file of the class it is `self`."""
    _found(tmp_path)
    path = tmp_path / "main.py"
    found = check_source(path.read_text(encoding="utf-8"), str(path), Config(), DiskSources())
    assert [one.message.split(":")[0] for one in found] == ["the model `self.loss` is never moved"]


@pytest.mark.parametrize(
    "changed",
    [
        {"moved": ".to(device)"},
        {"kept": "self.weights = torch.ones(classes, device='cuda')"},
        {"name": "others"},
        {"decorator": '@entered("others")'},
        {"decorator": ""},
    ],
)
def test_what_is_moved_or_not_entered(tmp_path: Path, changed: dict[str, str]) -> None:
    """It is where it should be; or nobody knows what was meant."""
    assert _found(tmp_path, **changed) == []  # type: ignore[arg-type]


def test_two_files_that_enter_one_name(tmp_path: Path) -> None:
    """It is not known which of them the program imports, if it does not say so."""
    other = LOSSES.format(decorator='@entered("weighted")', kept=BUFFER)
    assert _found(tmp_path, imports="import plugins", more={"older.py": other}) == []


def test_one_file_that_enters_a_name_and_that_something_else_imports(tmp_path: Path) -> None:
    assert _found(tmp_path, imports="import plugins") == TOLD


def test_a_test_does_not_count(tmp_path: Path) -> None:
    """It enters what it needs under any name."""
    other = LOSSES.format(decorator='@entered("weighted")', kept=BUFFER)
    assert _found(tmp_path, more={"test_losses.py": other}) == TOLD


@pytest.mark.parametrize(
    ("text", "is_entered"),
    [
        ("@entered('a')\nclass A: ...", True),
        ('@table.entered("kind", "a")\n@dataclass\nclass A: ...', True),
        ('@entered(name="a")\ndef make(): ...', True),
        ("@register\nclass a: ...", True),
        ("@LOSSES.register_module()\nclass a(Base): ...", True),
        ("@dataclass\nclass a: ...", False),
        ("class a: ...", False),
        ("entered('a')\nclass A: ...", False),
        ("# @entered('a')\nclass A: ...", False),
        ("@entered('ab')\nclass A: ...", False),
        ("@entered('a')\nx = 1", False),
        ("    @entered('a')\n    class A: ...", False),
    ],
)
def test_what_enters_something(text: str, is_entered: bool) -> None:
    """A decorator above a class or function, by a name that it is given or by the thing's own."""
    assert enters(text, "a") == is_entered

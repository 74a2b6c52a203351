"""Registries: dicts that files fill which are imported for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.activation.analysis import Source
from torchdev_lint.flow.project.projects import Project

TABLE = """
import torch

ENCODERS = {}


def ramp(n, device=None):
    return torch.arange(n, device=device).float()


def encoder(name=None):
    def enter(cls):
        ENCODERS[name or cls.__name__] = cls
        return cls
    return enter


def build(name, *given):
    if name not in ENCODERS:
        raise KeyError(name)
    return ENCODERS[name](*given)


def find(name):
    return ENCODERS.get(name)
"""
ANGLES = """
import torch
from torch import nn

from parts.table import encoder, ramp


@encoder("angles")
class Angles(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.rates = {rates}

    def forward(self, x):
        return torch.sin(x * self.rates)


@encoder()
class Plain(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.proj = nn.Linear(n, n)

    def forward(self, x):
        return self.proj(x)
"""
SCRIPT = """
import torch
{imports}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = {built}{moved}
print(net(torch.ones(2, 4).to(device)))
"""


def _found(directory: Path, files: dict[str, str], checked: str) -> list[str]:
    (directory / ".git").mkdir()
    (directory / ".git" / "HEAD").touch()
    (directory / "parts").mkdir()
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    path = directory / checked
    config = Config(off_by_default=frozenset({"TDV101", "TDV105", "TDV106"}))
    found = check_source(path.read_text(encoding="utf-8"), str(path), config, DiskSources())
    return [one.code for one in found]


def _files(package: str, imports: str, built: str, moved: str = "", rates: str = "ramp(n)") -> dict[str, str]:
    return {
        "parts/__init__.py": package,
        "parts/table.py": TABLE,
        "parts/angles.py": ANGLES.format(rates=rates),
        "run.py": SCRIPT.format(imports=imports, built=built, moved=moved),
    }


@pytest.mark.parametrize(
    ("package", "imports"),
    [
        ("from . import angles\nfrom .table import build, find\n", "from parts import build, find"),
        ("from .angles import Plain\nfrom .table import build, find\n", "from parts import build, find"),
        ("from .angles import *\nfrom .table import build, find\n", "from parts import build, find"),
        ("", "import parts.angles\nfrom parts.table import build, find"),
        ("", "from parts import angles\nfrom parts.table import build, find"),
    ],
)
@pytest.mark.parametrize(
    ("built", "moved", "found"),
    [
        ('build("Plain", 4)', "", ["TDV001"]),
        ('find("Plain")(4)', "", ["TDV001"]),
        ('build("Plain", 4)', ".to(device)", []),
        ('build("Other", 4)', "", []),
    ],
)
def test_a_file_that_is_imported_to_be_entered(
    tmp_path: Path, package: str, imports: str, built: str, moved: str, found: list[str]
) -> None:
    """What it enters is found under its name."""
    assert _found(tmp_path, _files(package, imports, built, moved), "run.py") == found


@pytest.mark.parametrize(
    ("package", "rates", "found"),
    [
        ("from . import angles\nfrom .table import build\n", "ramp(n)", ["TDV006"]),
        ("from . import angles\nfrom .table import build\n", "nn.Parameter(ramp(n))", []),
        ("from .table import build\n", "ramp(n)", []),
    ],
)
def test_what_it_enters_is_run_by_the_script(
    tmp_path: Path, package: str, rates: str, found: list[str]
) -> None:
    """The file that is checked is the one that is entered; where nobody imports it, nobody runs it."""
    files = _files(package, "from parts import build", 'build("angles", 4)', ".to(device)", rates)
    assert _found(tmp_path, files, "parts/angles.py") == found


def test_a_file_that_nobody_imports(tmp_path: Path) -> None:
    files = _files("", "from parts.table import build", 'build("Plain", 4)')
    assert _found(tmp_path, files, "run.py") == []


def test_the_first_that_was_entered_stays(tmp_path: Path) -> None:
    """Nothing is read for a name that is there."""
    files = _files(
        "from . import angles\nfrom .table import build, encoder\n",
        "from parts import build, encoder\nencoder('Plain')(lambda n: torch.nn.Linear(n, n).to(device))",
        'build("Plain", 4)',
    )
    assert _found(tmp_path, files, "run.py") == []


@pytest.mark.parametrize(("held", "is_read"), [("", True), ("'plain': make", True), ("'lr': 0.1", False)])
def test_what_has_files_read(tmp_path: Path, held: str, is_read: bool) -> None:
    """Options are not entered by other files: a key that they lack has nothing read."""
    text = f"import torch\nimport more\n\ndef make():\n    return 1\n\nTABLE = {{{held}}}\nfound = TABLE.get('late')\n"
    files = {"run.py": text, "more.py": "late = 1\n"}
    read: list[str] = []
    load = Project._load

    def noting(self: Project, file: str) -> Source | None:
        read.append(Path(file).name)
        return load(self, file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Project, "_load", noting)
        _found(tmp_path, files, "run.py")
    assert ("more.py" in read) is is_read

"""Stub files: the user's own, and what is said of mistakes in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from torchdev_lint.config import Config, ConfigError
from torchdev_lint.config_file import config_in
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.prefilter import may_matter
from torchdev_lint.engine.settings import Settings
from torchdev_lint.stubs import shelf as shelves
from torchdev_lint.stubs.reading import StubError, parse_library, read_library
from torchdev_lint.stubs.shelf import Shelf, shelf, shipped

OWN = """
library = "mylib"

[[function]]
names = ["text.encode"]
returns = "cpu-tensor"

[[function]]
names = ["text.*"]
when = { as_tensor = true }
returns = ["cpu-tensor", "host"]

[[function]]
names = ["save_arrays"]
reads-on-host = true

[[class]]
names = ["Backbone"]
kind = "module"

[[class]]
names = ["Service"]
moves-inputs = true
"""
PROGRAM = """
import torch
import mylib
from mylib.text import encode, tokens
d = torch.device("cuda")
net = mylib.Backbone().to(d)
net(encode("a"))
net(tokens("a", as_tensor=True)[0])
net(tokens("a"))
mylib.Service().to(d)(encode("a"))
mylib.save_arrays(torch.zeros(3, device=d))
class Own(mylib.Backbone):
    def vector(self):
        return self.weight.numpy()
"""


def test_a_users_stub_file_is_used(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(OWN)
    (tmp_path / "pyproject.toml").write_text('[tool.torchdev-lint]\nstubs = ["my.toml"]\n')
    config = config_in(str(tmp_path))
    assert config is not None
    config = replace(config, ignore=("TDV101",))
    found = check_source(PROGRAM, "program.py", config)
    assert [(one.code, one.range.start.row) for one in found] == [
        ("TDV001", 7),
        ("TDV001", 8),
        ("TDV010", 11),
    ]
    assert check_source(PROGRAM, "program.py", Config(ignore=("TDV101",))) == []


def test_a_users_facts_go_before_the_shipped_ones(tmp_path: Path) -> None:
    own = tmp_path / "timm.toml"
    own.write_text('library = "timm"\n[[function]]\nnames = ["create_model"]\nmoves-inputs = true\n')
    program = 'import timm\nimport torch\nm = timm.create_model("x").to("cuda")\nm(torch.zeros(3))\n'
    assert [one.code for one in check_source(program, "p.py", Config(ignore=("TDV101",)))] == ["TDV001"]
    assert check_source(program, "p.py", Config(stubs=(str(own),), ignore=("TDV101",))) == []


def test_an_alias_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('library = "theirlib"\nalias-of = "mylib"\n')
    (tmp_path / "my.toml").write_text(OWN + '\n[[class]]\nnames = ["More"]\nkind = "module"\n')
    own = shelf((str(tmp_path / "a.toml"), str(tmp_path / "my.toml")))
    assert own.classes("theirlib.More") == own.classes("mylib.More") != ()
    assert own.classes("theirlib.Less") == ()


def test_aliases_of_each_other_end() -> None:
    first = parse_library('library = "a"\nalias-of = "b"', "a.toml")
    second = parse_library('library = "b"\nalias-of = "a"', "b.toml")
    assert Shelf((first, second)).called("a.f") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "stub.toml: not valid TOML: "),
        ("", "stub.toml: 'library' must be the name that is imported, such as 'mylib', not None"),
        (
            'library = "a.b"',
            "stub.toml: 'library' must be the name that is imported, such as 'mylib', not 'a.b'",
        ),
        ('library = "a"\nfunctions = 1', "stub.toml: unknown key 'functions'; did you mean 'function'?"),
        ('library = "a"\nsource = 1', "stub.toml: 'source' must be a string, not 1"),
        ('library = "a"\nfunction = 1', "stub.toml: 'function' must be an array of tables: [[function]]"),
        ('[[function]]\nlibrary = "a"', "stub.toml: 'library' must be"),
        ('[[function]]\nreturns = "host"', "stub.toml: function 1: 'names' is missing"),
        ('[[function]]\nnames = "f"', "stub.toml: function 1: 'names' must be a list of names, not 'f'"),
        (
            '[[function]]\nnames = ["f"]\n[[function]]\nnames = ["f"]\nreturns = "gpu"',
            "stub.toml: function 2: 'returns' must be one of tensor, cpu-tensor, cpu-batch, cpu-mapping, at-receiver, receiver, module, "
            "host, or a list of these for a tuple, not 'gpu'",
        ),
        (
            '[[class]]\nnames = ["f"]\nmoves-input = true',
            "stub.toml: class 1: unknown key 'moves-input'; did you mean 'moves-inputs'?",
        ),
        (
            '[[class]]\nnames = ["f"]\nkind = "thing"',
            "stub.toml: class 1: 'kind' must be one of plain, module, mapping, loader, not 'thing'",
        ),
        (
            '[[method]]\nnames = ["f"]\nfollows = "tensor"',
            "stub.toml: method 1: 'follows' must be the position and the name of an argument, such as [0, \"tensor\"], not 'tensor'",
        ),
        (
            '[[method]]\nnames = ["f"]\nreads-on-host = "yes"',
            "stub.toml: method 1: 'reads-on-host' must be true, false or \"lists\", not 'yes'",
        ),
        ('[[class]]\nnames = ["f"]\nhooks = 1', "stub.toml: class 1: 'hooks' must be a table of methods"),
        (
            '[[class]]\nnames = ["f"]\nhooks = { run = { model = 0 } }',
            "stub.toml: class 1: 'hooks' must be a table of methods and the positions (after self) of their batches, or a table of those",
        ),
        (
            '[[class]]\nnames = ["f"]\nneeds = { on_end = 1 }',
            "stub.toml: class 1: 'needs' must be a table of methods and the methods that they need, not {'on_end': 1}",
        ),
        (
            '[[class]]\nnames = ["f"]\nneeds = "step"',
            "stub.toml: class 1: 'needs' must be a table of methods",
        ),
        ('[[class]]\nnames = ["f"]\nruns = "train"', "stub.toml: class 1: 'runs' must be a list of names"),
        ('[[class]]\nnames = ["f"]\ndrives = [0, "model"]', "stub.toml: class 1: unknown key 'drives'"),
        ('[[class]]\nnames = ["f"]\nhooks = { run = { modul = 1 } }', "stub.toml: class 1: 'hooks' must be"),
        (
            '[[class]]\nnames = ["f"]\nhooks = { run = { tensors = [true] } }',
            "stub.toml: class 1: 'hooks' must",
        ),
        ('[[function]]\nnames = ["f"]\nwhen = 1', "stub.toml: function 1: 'when' must be a table of keyword"),
        (
            '[[class]]\nnames = ["f"]\nmoves-inputs = 1',
            "stub.toml: class 1: 'moves-inputs' must be true or false",
        ),
        ('[[function]]\nnames = ["f"]\nmakes = 1', "stub.toml: function 1: 'makes' must be a name, not 1"),
    ],
)
def test_mistakes_are_told_in_one_line(text: str, message: str) -> None:
    whole = text if text in ("", "x = ") or "library" in text else 'library = "a"\n' + text
    with pytest.raises(StubError) as raised:
        parse_library(whole, "stub.toml")
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StubError, match=r"absent\.toml: cannot be read: No such file"):
        read_library(str(tmp_path / "absent.toml"))
    (tmp_path / "latin.toml").write_bytes(b'library = "\xe9"')
    with pytest.raises(StubError, match=r"latin\.toml: not valid UTF-8 at byte 11"):
        read_library(str(tmp_path / "latin.toml"))


def test_a_mistake_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchdev-lint]\nstubs = ["sub/my.toml"]\n')
    with pytest.raises(ConfigError, match=r"sub.my\.toml: cannot be read"):
        Settings().for_directory(str(tmp_path))


def test_files_that_only_mention_a_users_library_are_read(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(OWN)
    config = Config(stubs=(str(tmp_path / "my.toml"),))
    assert may_matter(b"import mylib", config)
    assert not may_matter(b"import others", config)
    assert may_matter(b'tok("a", return_tensors="pt")', Config())


@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped_files_are_in_order(name: str) -> None:
    library = read_library(str(Path(shelves.__file__).parent / "data" / f"{name}.toml"))
    assert library.name == name
    assert library.source.startswith("https://")
    assert library.alias_of or library.functions or library.classes or library.moves_nothing


def test_only_the_files_of_imported_libraries_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = shelves.read_library
    monkeypatch.setattr(shelves, "read_library", lambda path: seen.append(Path(path).stem) or original(path))
    shelves._shipped_library.cache_clear()
    program = (
        "import einops\nimport torch\nimport unknown_library\neinops.rearrange(torch.zeros(3), 'a -> a 1')\n"
    )
    config = Config()
    shelves.shelf.cache_clear()
    check_source(program, "p.py", config)
    assert seen == ["einops"]


def test_a_library_may_leave_everything_where_it_is(tmp_path: Path) -> None:
    own = tmp_path / "kept.toml"
    own.write_text('library = "kept"\nmoves-nothing = true\n')
    assert Shelf((read_library(str(own)),)).moves_nothing("kept.watch")
    assert not Shelf().moves_nothing("kept.watch")
    own.write_text('library = "kept"\nmoves-nothing = 1\n')
    with pytest.raises(StubError, match="'moves-nothing' must be true or false, not 1"):
        read_library(str(own))

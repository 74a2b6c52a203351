"""Inference across the files of a project: small trees on disk, checked as a run checks them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.project import projects

Check = Callable[..., "list[str]"]

HEAD = "import torch\nfrom torch import nn\n"
NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(9, 4)

        def forward(self, ids):
            return self.embed(ids)
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def diagnostics(root: Path, name: str = "main.py", *, alone: bool = False) -> list[Diagnostic]:
    path = root / name
    sources = None if alone else DiskSources()
    return check_source(
        path.read_text(), str(path), Config(root=str(root), select=("ALL",), ignore=("TDV101",)), sources
    )


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Writes the files, checks one of them, and gives `CODE row` for each finding."""

    def run(files: dict[str, str], name: str = "main.py") -> list[str]:
        (tmp_path / "pyproject.toml").touch()
        write(tmp_path, files)
        return [f"{one.code} {one.range.start.row}" for one in diagnostics(tmp_path, name)]

    return run


MAIN = """
    import torch
    {imports}

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = {net}().to(device)
    ids = torch.tensor([[1, 2]])
    net(ids)
"""

IMPORTS = {
    "from": ("from net import Net", "Net", "net.py", {}),
    "renamed": ("from net import Net as N", "N", "net.py", {}),
    "module": ("import net as library", "library.Net", "net.py", {}),
    "package": ("import lib.net", "lib.net.Net", "lib/net.py", {"lib/__init__.py": ""}),
    "namespace package": ("import lib.net", "lib.net.Net", "lib/net.py", {}),
    "from a namespace package": ("from lib import net as n", "n.Net", "lib/net.py", {}),
    "src layout": ("from lib.net import Net", "Net", "src/lib/net.py", {"src/lib/__init__.py": ""}),
    "re-export": ("from lib import Net", "Net", "lib/net.py", {"lib/__init__.py": "from .net import Net"}),
    "re-exported star": (
        "from lib import Net",
        "Net",
        "lib/net.py",
        {"lib/__init__.py": "from .net import *"},
    ),
    "star": ("from lib.net import *", "Net", "lib/net.py", {"lib/__init__.py": ""}),
    "only for types": (
        "from lib import Net",
        "Net",
        "lib/net.py",
        {
            "lib/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .net import Net\n"
        },
    ),
    "tried": (
        "try:\n        from net import Net\n    except ImportError:\n        Net = None",
        "Net",
        "net.py",
        {},
    ),
}


@pytest.mark.parametrize("form", IMPORTS)
def test_every_form_of_import(check: Check, form: str) -> None:
    imports, net, where, more = IMPORTS[form]
    text = MAIN.format(imports=imports, net=net)
    row = textwrap.dedent(text).splitlines().index("ids = torch.tensor([[1, 2]])") + 1
    assert check({"main.py": text, where: NET, **more}) == [f"TDV001 {row}"]


@pytest.mark.parametrize(
    "written", ["from . import made", "from lib import made", "from . import made as made"]
)
@pytest.mark.parametrize("used", ["import lib\nx = lib.made.t", "from lib import made\nx = made.t"])
def test_a_module_that_its_package_imports(check: Check, written: str, used: str) -> None:
    files = {"lib/__init__.py": written + "\n", "lib/made.py": "import torch\nt = torch.ones(2)\n"}
    assert check({**files, "main.py": f"import torch\n{used} + torch.ones(2, device='cuda')\n"}) == [
        "TDV004 3"
    ]


def test_without_sources_a_file_is_on_its_own(tmp_path: Path) -> None:
    write(tmp_path, {"main.py": HEAD + "from made import t\nx = torch.ones(2, device='cuda') + t\n"})
    write(tmp_path, {"made.py": "import torch\nt = torch.ones(2)\n"})
    assert diagnostics(tmp_path, alone=True) == []
    assert [one.code for one in diagnostics(tmp_path)] == ["TDV004"]


def test_a_device_of_another_file_may_be_set_by_a_third(check: Check) -> None:
    """`Config.DEVICE = torch.device("cuda:0")` stands in whatever file selects it; a device that is chosen there is known."""
    config = "import torch\nclass Config:\n    DEVICE = torch.device({})\n"
    made = "from config import Config\nimport torch\ndef tensor(n):\n    return torch.ones(n, 2).to(Config.DEVICE)\n"
    main = "import torch\nfrom made import tensor\ndef run(n, k):\n    return torch.ones(2, device='cuda') + tensor(n).view(-1, 2)\n"
    chosen = "'cuda' if torch.cuda.is_available() else 'cpu'"
    for named, found in (("'cpu'", []), (chosen, ["TDV005 4"])):
        text = main if named == "'cpu'" else main.replace(", device='cuda'", "")
        assert check({"config.py": config.format(named), "made.py": made, "main.py": text}) == found


def test_notes_name_the_other_file(tmp_path: Path) -> None:
    write(tmp_path, {"main.py": HEAD + "from made import t\nd = 'cuda'\nx = torch.ones(2, device=d) + t\n"})
    write(tmp_path, {"made.py": "import torch\n\nt = torch.ones(2)\n"})
    (found,) = diagnostics(tmp_path)
    elsewhere = [(note.path, note.range.start.row) for note in found.related if note.path is not None]
    assert elsewhere == [(str(tmp_path / "made.py"), 3)]
    assert found.fix is not None
    assert [edit.range.start.row for edit in found.fix.edits] == [5]


def test_a_function_is_followed_with_the_callers_values(check: Check) -> None:
    helpers = """
        import torch

        def positions(like, n):
            return torch.arange(n)

        def positions_there(like, n):
            return torch.arange(n, device=like.device)
    """
    main = """
        import torch
        from helpers import positions, positions_there

        x = torch.ones(4, device="cuda")
        good = x + positions_there(x, 4)
        bad = x + positions(x, 4)
    """
    assert check({"main.py": main, "helpers.py": helpers}) == ["TDV004 7"]


def test_the_fault_of_an_argument_is_reported_at_the_call(check: Check) -> None:
    helpers = """
        def add(a, b):
            return inner(a, b)

        def inner(a, b):
            return a + b
    """
    main = """
        import torch
        import helpers

        x = torch.ones(4, device="cuda")
        y = torch.ones(4)
        helpers.add(x, y)
    """
    assert check({"main.py": main, "helpers.py": helpers}) == ["TDV005 6"]


STEPS = """
    import torch
    from torch.nn import functional as F

    def step(model, batch):
        return model(batch["ids"])

    def mix(batch):
        return batch["a"] + batch["b"]

    def run(model, items):
        for item in items:
            model(item)

    def smooth(x, kernels):
        flat = [kernel.float() for kernel in kernels]
        return F.conv1d(x, weight=kernels[0].reshape(1, 1, -1), padding=len(flat[0]))

    def bring(model, batch):
        batch = {name: value.to("cuda") for name, value in batch.items()}
        return model(batch["ids"])

    def another(model, batch):
        table = [torch.ones(2, 3)]
        return model(table[0])
"""
HANDED = {
    "a dict": ('batch = {"ids": torch.ones(2, 3), "n": 3}\nsteps.step(model, batch)', ["TDV001 5"], None),
    "what makes a dict": (
        'def made():\n    return {"ids": torch.ones(2, 3)}\nsteps.step(model, made())',
        ["TDV001 7"],
        "{k: v.to(next(model.parameters()).device) for k, v in made().items()}",
    ),
    "a dict by keyword": (
        'batch = {"ids": torch.ones(2, 3)}\nsteps.step(batch=batch, model=model)',
        ["TDV001 5"],
        "{k: ",
    ),
    "a dict that is written out": (
        'steps.mix({"a": torch.ones(2, 3), "b": torch.ones(2, 3, device="cuda")})',
        ["TDV005 5"],
        None,
    ),
    "a list": (
        "steps.run(model, [torch.ones(2, 3) for _ in range(9)])",
        ["TDV001 5"],
        ".to(next(model.parameters()).device)",
    ),
    "a list that has a name": (
        "xs = [torch.ones(2, 3) for _ in range(9)]\nsteps.run(model, xs)",
        ["TDV001 5"],
        "[t.to(",
    ),
    "a list of one": (
        "def f():\n    return torch.ones(3)\ndef g(x: torch.Tensor):\n    return steps.smooth(x, [f()] * (x.ndim - 2))",
        ["TDV105 8"],
        None,
    ),
    "what is moved there": ('steps.bring(model, {"ids": torch.ones(2, 3)})', [], None),
    "what is not at fault": ('steps.another(model, {"ids": torch.ones(2, 3)})', [], None),
    "a dict behind a star": ('steps.step(*(model, {"ids": torch.ones(2, 3)}))', [], None),
}


@pytest.mark.parametrize("name", HANDED)
def test_what_is_handed_over_inside_of_something_is_reported_at_the_call(tmp_path: Path, name: str) -> None:
    program, expected, written = HANDED[name]
    (tmp_path / "pyproject.toml").touch()
    head = 'import torch\nfrom torch import nn\nimport steps\nmodel = nn.Linear(3, 3).to("cuda")\n'
    write(tmp_path, {"main.py": head + program + "\n", "steps.py": STEPS})
    found = diagnostics(tmp_path)
    assert [f"{one.code} {one.range.start.row}" for one in found] == expected
    for one in found:
        assert (one.fix is None) == (written is None)
        assert one.fix is None or written in "".join(edit.content for edit in one.fix.edits)


def test_a_function_that_moves_the_model_but_not_its_input(check: Check) -> None:
    helpers = """
        def run(net, ids, device):
            net.to(device)
            return net(ids)
    """
    main = """
        import torch
        from torch import nn
        from helpers import run

        run(nn.Linear(2, 2), torch.ones(2), torch.device("cuda"))
    """
    assert check({"main.py": main, "helpers.py": helpers}) == ["TDV001 6"]


def test_the_fault_of_another_file_is_reported_there_only(check: Check) -> None:
    helpers = """
        import torch

        def broken(n):
            return torch.ones(n, device="cuda") + torch.ones(n)
    """
    main = """
        import torch
        from helpers import broken

        broken(3)
    """
    files = {"main.py": main, "helpers.py": helpers}
    assert check(files) == []
    assert check(files, "helpers.py") == ["TDV005 5"]


def test_a_helper_that_moves_is_known_to(check: Check) -> None:
    helpers = """
        def to_device(batch, device):
            if isinstance(batch, (list, tuple)):
                return [to_device(x, device) for x in batch]
            return batch.to(device)
    """
    main = """
        import torch
        from torch import nn
        from helpers import to_device

        net = nn.Linear(2, 2).to("cuda")
        net(to_device(torch.ones(2), "cuda"))
        net(torch.ones(2))
    """
    assert check({"main.py": main, "helpers.py": helpers}) == ["TDV001 8"]


def test_classes_inherit_across_files(check: Check) -> None:
    base = """
        from torch import nn

        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(2, 2)

            def forward(self, x):
                return self.inner(x)
    """
    main = """
        import torch
        from base import Base

        class Net(Base):
            pass

        net = Net().to("cuda")
        net(torch.ones(2))
    """
    assert check({"main.py": main, "base.py": base}) == ["TDV001 9"]


def test_a_base_class_that_brings_inputs_along_itself(check: Check) -> None:
    base = """
        from torch import nn

        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(2, 2)

            def forward(self, x):
                return self.inner(x.to(self.inner.weight.device))
    """
    main = """
        import torch
        from base import Base

        class Net(Base):
            def forward(self, x):
                return super().forward(x)

        net = Net().to("cuda")
        net(torch.ones(2))
    """
    assert check({"main.py": main, "base.py": base}) == []


def test_a_device_of_another_file(check: Check) -> None:
    main = """
        import torch
        from torch import nn
        from settings import DEVICE, HOST

        net = nn.Linear(2, 2).to(DEVICE)
        net(torch.ones(2, device=DEVICE))
        net(torch.ones(2, device=HOST))
    """
    settings = """
        import torch

        DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        HOST = "cpu"
    """
    assert check({"main.py": main, "settings.py": settings}) == ["TDV001 8"]


def test_what_functions_rebind_is_not_what_the_import_left(check: Check) -> None:
    state = """
        import torch

        TABLE = torch.zeros(3)
        KEPT = torch.zeros(3)

        def init(device):
            global TABLE
            TABLE = TABLE.to(device)
    """
    main = """
        import torch
        import state

        x = torch.ones(3, device="cuda")
        x + state.TABLE
        x + state.KEPT
    """
    assert check({"main.py": main, "state.py": state}) == ["TDV004 7"]


def test_what_is_assigned_through_the_module_is_unknown(check: Check) -> None:
    main = """
        import torch
        import state

        x = torch.ones(3, device="cuda")
        state.TABLE = state.TABLE.to("cuda")
        x + state.TABLE
    """
    assert check({"main.py": main, "state.py": "import torch\nTABLE = torch.zeros(3)\n"}) == []


def test_an_object_of_another_file_is_moved_for_all(check: Check) -> None:
    main = """
        import torch
        from shared import net

        def start():
            net.to("cuda")
            net(torch.ones(2, device="cuda"))
            net(torch.ones(2))

        start()
    """
    shared = "from torch import nn\nnet = nn.Linear(2, 2)\n"
    assert check({"main.py": main, "shared.py": shared}) == ["TDV001 8"]


def test_an_object_of_another_file_moved_in_one_branch(check: Check) -> None:
    main = """
        import torch
        from shared import net
        from flags import flag

        if flag():
            net.to("cuda")
            x = torch.ones(2, device="cuda")
        else:
            x = torch.ones(2)
        net(x)
        net(torch.ones(2))
    """
    shared = "from torch import nn\nnet = nn.Linear(2, 2)\n"
    assert check({"main.py": main, "shared.py": shared}) == ["TDV001 12"]


def test_importing_may_set_the_default_device(check: Check) -> None:
    main = """
        import torch
        import setup_cuda

        x = torch.ones(3, device="cuda") + torch.ones(3)
    """
    files = {"main.py": main, "setup_cuda.py": "import torch\ntorch.set_default_device('cuda')\n"}
    assert check(files) == []


def test_what_only_the_main_program_does_is_not_done_by_an_import(check: Check) -> None:
    other = """
        import torch

        table = torch.zeros(3)

        if __name__ == "__main__":
            table = table.to("cuda")
    """
    main = "import torch\nfrom other import table\nx = torch.ones(3, device='cuda') + table\n"
    assert check({"main.py": main, "other.py": other}) == ["TDV004 3"]


def test_cycles(check: Check) -> None:
    main = """
        import torch
        from a import helper

        def there():
            return torch.ones(2, device="cuda")

        x = helper() + torch.ones(2)
    """
    a = """
        import main
        import b

        def helper():
            return b.helper()
    """
    b = """
        from a import helper as again
        from main import there
        from b import itself as itself

        def helper():
            return there()
    """
    assert check({"main.py": main, "a.py": a, "b.py": b}) == ["TDV005 8"]


def test_two_names_of_two_files_are_two_things(check: Check) -> None:
    """`device` is not bound in either file: nothing says that they are the same."""
    main = """
        import torch
        from other import make

        x = torch.ones(2, device=device) + make()
    """
    other = "import torch\n\ndef make():\n    return torch.ones(2, device=device)\n"
    assert check({"main.py": main, "other.py": other}) == []


def test_names_that_are_not_found_stay_what_they_were(check: Check) -> None:
    main = """
        import torch
        from package import Missing, build
        import package.absent as absent

        net = Missing().to("cuda")
        net(torch.ones(2))
        absent.run()
    """
    found = check({"main.py": main, "package/__init__.py": "def __getattr__(name):\n    return 1\n"})
    assert found == ["TDV001 7"]


def test_a_file_that_does_not_parse(check: Check) -> None:
    main = "import torch\nfrom other import thing\nthing(torch.ones(2))\n"
    assert check({"main.py": main, "other.py": "def broken(:\n"}) == []


def test_a_function_that_a_decorator_replaces_is_not_followed(check: Check) -> None:
    main = """
        import torch
        from other import make

        x = torch.ones(2, device="cuda") + make()
    """
    other = """
        import torch
        from hidden import on_gpu

        @on_gpu
        def make():
            return torch.ones(2)
    """
    assert check({"main.py": main, "other.py": other}) == []


def test_a_configured_constructor_is_not_looked_for(tmp_path: Path) -> None:
    write(tmp_path, {"main.py": HEAD + "from made import t\nx = torch.ones(2, device='cuda') + t()\n"})
    write(tmp_path, {"made.py": "def t():\n    return something()\n"})
    config = Config(root=str(tmp_path), tensor_constructors=("made.t",), ignore=("TDV101",))
    path = tmp_path / "main.py"
    found = check_source(path.read_text(), str(path), config, DiskSources())
    assert [one.code for one in found] == ["TDV004"]


def test_an_empty_list_is_there_to_be_filled(check: Check) -> None:
    main = """
        import torch
        from registry import HOOKS

        x = torch.ones(2)
        for hook in HOOKS:
            x = hook(x)
        torch.ones(2, device="cuda") + x
    """
    assert check({"main.py": main, "registry.py": "HOOKS = []\n"}) == []


def test_configured_roots(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "", "python/lib.py": "import torch\nt = torch.ones(2)\n"})
    write(tmp_path, {"main.py": "import torch\nfrom lib import t\nx = torch.ones(2, device='cuda') + t\n"})
    path = tmp_path / "main.py"
    for src, codes in ((("python",), ["TDV004"]), (("src",), [])):
        config = Config(root=str(tmp_path), src=src, ignore=("TDV101",))
        found = check_source(path.read_text(), str(path), config, DiskSources())
        assert [one.code for one in found] == codes


def test_the_number_of_files_is_bounded(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "MAX_MODULES", 3)
    chain = {f"m{n}.py": f"from m{n + 1} import t\n" for n in range(9)}
    main = "import torch\nfrom m{} import t\nx = torch.ones(2, device='cuda') + t\n"
    last = "import torch\nt = torch.ones(2)\n"
    assert check({"main.py": main.format(7), **chain, "m9.py": last}) == ["TDV004 3"]
    assert check({"main.py": main.format(0), **chain, "m9.py": last}) == []


NETS = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = 1
            self.layer = self.build()

        def build(self):
            return nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(x)

        def generate(self, x):
            return self.layer(x)

    def forecast(net, x):
        return net(x)

    class Data:
        def __init__(self, **given):
            self.held = dict(**given)

        def __getitem__(self, key):
            return self.held[key]

        def cat(self, other):
            for key, value in other.held.items():
                self.held[key] = value
"""

MEET = {
    "a part is called": """
        class Sampler(nn.Module):
            def __init__(self):
                super().__init__()
                self.decoder = nets.Net()

            def sample(self, count, device=None):
                start = torch.full((1, count), 3)
                return self.decoder(start) + torch.rand(count, device=device)
    """,
    "a moved model is called": """
        net = nets.Net().to("cuda")
        net(torch.ones(2, 4))
    """,
    "a method of a moved model": """
        net = nets.Net().to("cuda")
        net.generate(torch.ones(2, 4))
    """,
    "a model and its input are handed to a function": """
        net = nn.Linear(4, 4).to("cuda")
        nets.forecast(net, torch.ones(2, 4))
    """,
    "an item of an instance": """
        def keep(parts, device=None):
            data = nets.Data()
            for part in parts:
                data.cat(part)
            scores = 1 / data["areas"]
            scores = scores.to(data["boxes"].device)
            return torch.stack([scores, torch.zeros(len(data["boxes"]))])
    """,
}


@pytest.mark.parametrize("budget", [0, 3, 6, 9, 12, 15, 20, 400])
@pytest.mark.parametrize("name", MEET)
def test_what_the_file_shows_alone_is_found_with_whatever_is_read_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, budget: int
) -> None:
    monkeypatch.setattr(projects, "BUDGET", budget)
    monkeypatch.setattr(projects, "BUDGET_PER_LINE", 0)
    (tmp_path / "pyproject.toml").touch()
    main = "import torch\nfrom torch import nn\nimport nets\n" + textwrap.dedent(MEET[name])
    write(tmp_path, {"main.py": main, "nets.py": NETS})
    found = {(one.code, one.range.start.row) for one in diagnostics(tmp_path, alone=True)}
    assert found
    assert {(one.code, one.range.start.row) for one in diagnostics(tmp_path)} == found


BRINGING = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 4)
    def generate(self, ids):
        {line}
        return self.up(ids)
    def forward(self, ids, other=None):
        {line}
        return self.up(ids)
"""
BRINGS = {
    "with to": ("ids = ids.to(self.up.weight.device)", []),
    "as a tensor": ("ids = torch.as_tensor(ids, device=self.up.weight.device)", []),
    "as a tensor where it is": ("ids = torch.as_tensor(ids)", ["TDV001"]),
    "something else": ("x = self.up.weight.to(ids.dtype)", ["TDV001"]),
}


@pytest.mark.parametrize("budget", [3, 6, 9, 400])
@pytest.mark.parametrize("call", ["net.generate", "net"])
@pytest.mark.parametrize(("line", "found"), BRINGS.values(), ids=BRINGS)
def test_a_method_that_brings_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, found: list[str], call: str, budget: int
) -> None:
    """So much of it is seen even where there is nothing left to read it."""
    monkeypatch.setattr(projects, "BUDGET", budget)
    monkeypatch.setattr(projects, "BUDGET_PER_LINE", 0)
    (tmp_path / "pyproject.toml").touch()
    main = f"import torch\nimport nets\nnet = nets.Net().to('cuda')\n{call}(torch.ones(2, 4))\n"
    write(tmp_path, {"main.py": main, "nets.py": BRINGING.format(line=line)})
    assert [one.code for one in diagnostics(tmp_path)] == found


PLACES = {
    "parts of it are bounds": ("y = self.up(rows)[places[0] : places[1]]", "net(rows, places)", []),
    "they are gone through": ("y = [self.up(rows)[one] for one in places]", "net(rows, places=places)", []),
    "it is computed with": ("y = self.up(rows) * places[0] + places", "net(rows, places)", ["TDV001"]),
    "a part of the other one": ("y = self.up(rows[0]) * places", "net(rows, places)", ["TDV001"]),
}


@pytest.mark.parametrize(("line", "call", "found"), PLACES.values(), ids=PLACES)
def test_a_module_that_is_not_followed_may_only_use_parts_of_an_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, call: str, found: list[str]
) -> None:
    monkeypatch.setattr(projects, "BUDGET", 2)
    monkeypatch.setattr(projects, "BUDGET_PER_LINE", 0)
    (tmp_path / "pyproject.toml").touch()
    main = f"""
        import torch
        import nets
        def run():
            rows, places = torch.rand(2, 4, device="cuda"), torch.tensor([0, 1])
            net = nets.Net().to("cuda")
            return {call}
        """
    other = f"""
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.up = nn.Linear(4, 4)
            def forward(self, rows, places):
                {line}
                return y
        """
    write(tmp_path, {"main.py": textwrap.dedent(main), "nets.py": textwrap.dedent(other)})
    assert [one.code for one in diagnostics(tmp_path)] == found


@pytest.mark.parametrize(("line", "found"), [("labels = to_device(labels, rows)", []), ("pass", ["TDV001"])])
def test_a_module_that_is_not_followed_may_bring_the_argument_that_it_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, found: list[str]
) -> None:
    monkeypatch.setattr(projects, "BUDGET", 2)
    monkeypatch.setattr(projects, "BUDGET_PER_LINE", 0)
    (tmp_path / "pyproject.toml").touch()
    main = """
        import torch
        import nets
        def run():
            rows, labels = torch.rand(2, 2, device="cuda"), torch.randint(0, 2, (2,))
            miner = nets.Miner()
            return miner(rows, labels)
        """
    other = f"""
        from torch import nn
        class Miner(nn.Module):
            def forward(self, rows, labels):
                {line}
                return self.mine(rows, labels)
        """
    write(tmp_path, {"main.py": textwrap.dedent(main), "nets.py": textwrap.dedent(other)})
    assert [one.code for one in diagnostics(tmp_path)] == found


def test_the_work_in_other_files_is_bounded_and_the_file_itself_read_to_the_end(check: Check) -> None:
    other = "def deep(n):\n" + "".join(f"    n = f{i}(n)\n" for i in range(400)) + "    return n\n"
    other += "".join(f"def f{i}(n):\n    n = n + 1\n    return n\n" for i in range(400))
    main = "import torch\nfrom other import deep\n"
    main += "deep(torch.ones(2))\n" * 20 + "torch.ones(2, device='cuda') + torch.ones(2)\n"
    assert check({"main.py": main, "other.py": other}) == ["TDV005 23"]


class TestDiskSources:
    def test_a_file_is_parsed_once(self, tmp_path: Path) -> None:
        file = tmp_path / "a.py"
        file.write_text("x = 1\r\n")
        sources = DiskSources()
        assert sources.text(str(file)) == "x = 1\n"
        assert sources.tree(str(file)) is sources.tree(str(file))

    def test_a_file_that_changes_is_read_again(self, tmp_path: Path) -> None:
        file = tmp_path / "a.py"
        file.write_text("x = 1\n")
        sources = DiskSources()
        sources.tree(str(file))
        file.write_text("x = 1 + 1\n")
        assert sources.text(str(file)) == "x = 1 + 1\n"
        tree = sources.tree(str(file))
        assert tree is not None
        assert tree.code == "x = 1 + 1\n"

    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        sources = DiskSources()
        (tmp_path / "latin.py").write_bytes(b"x = '\xff'\n")
        (tmp_path / "broken.py").write_text("x = (\n")
        for name in ("absent.py", "latin.py", "broken.py"):
            assert sources.tree(str(tmp_path / name)) is None
        assert sources.text(str(tmp_path / "latin.py")) is None

    def test_what_is_too_long_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("torchdev_lint.engine.sources.MAX_BYTES", 10)
        (tmp_path / "a.py").write_text("x = 1  # and so on\n")
        assert DiskSources().text(str(tmp_path / "a.py")) is None

    def test_old_trees_go(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("torchdev_lint.engine.sources.MAX_KEPT", 20)
        sources = DiskSources()
        for name in "abc":
            (tmp_path / f"{name}.py").write_text(f"{name} = 1234\n")
        a, b, c = (str(tmp_path / f"{name}.py") for name in "abc")
        first, second = sources.tree(a), sources.tree(b)
        sources.tree(c)
        assert sources.tree(b) is second
        assert sources.tree(a) is not first

    def test_trees_that_were_asked_for_once_go_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("torchdev_lint.engine.sources.MAX_KEPT", 20)
        sources = DiskSources()
        for name in "abcd":
            (tmp_path / f"{name}.py").write_text(f"{name} = 1234\n")
        a, b, c, d = (str(tmp_path / f"{name}.py") for name in "abcd")
        first = sources.tree(a)
        assert sources.tree(a) is first
        second = sources.tree(b)
        sources.tree(c)
        assert sources.tree(a) is first
        # what was let go once counts, too
        again = sources.tree(b)
        assert again is not second
        sources.tree(d)
        assert sources.tree(b) is again

    def test_texts_alone_count_little(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("torchdev_lint.engine.sources.MAX_KEPT", 20)
        sources = DiskSources()
        for name in "abcd":
            (tmp_path / f"{name}.py").write_text(f"{name} = 1234\n")
        first = sources.tree(str(tmp_path / "a.py"))
        for name in "bcd":
            sources.text(str(tmp_path / f"{name}.py"))
        assert sources.tree(str(tmp_path / "a.py")) is first


@pytest.mark.timeout(120)
def test_stars_of_stars_are_searched_once(check: Check) -> None:
    """Each module has the stars of all before it, as fastai does: the ways to the first one double with each."""
    chain = {
        f"lib/m{number}.py": "".join(f"from .m{before} import *\n" for before in range(number))
        + f"x{number} = {number}\n"
        for number in range(26)
    }
    main = """
        import torch
        from lib.m25 import *

        for number in range(len(str(x3))):
            a = torch.ones(2, device="cuda") + cpu
            print(isinstance(a, int), undefined, undefined_too)
        b = torch.ones(2, device="cuda") + late
    """
    chain["lib/m0.py"] = "import torch\ncpu = torch.ones(2)\n"
    chain["lib/m1.py"] = "from .m0 import *\nlate = torch.zeros(2)\n"
    assert check({**chain, "lib/__init__.py": "", "main.py": main}) == ["TDV004 6", "TDV004 8"]


REBINDS = [
    "def prepare():\n    global DEVICE\n    DEVICE = 'cuda'\n",
    "def prepare():\n    try:\n        global DEVICE\n        DEVICE = 'cuda'\n    finally:\n        pass\n",
    "def prepare():\n    try:\n        pass\n    except OSError:\n        global DEVICE\n        DEVICE = 'cuda'\n",
    "def prepare(kind):\n    match kind:\n        case 1:\n            global DEVICE\n            DEVICE = 'cuda'\n",
    "def prepare(kind):\n    if kind:\n        pass\n    else:\n        global DEVICE, OTHER\n        DEVICE = OTHER = 'cuda'\n",
]


@pytest.mark.parametrize("rebinds", ["", *REBINDS])
def test_a_name_that_a_function_of_its_file_gives_another_value(check: Check, rebinds: str) -> None:
    main = """
        import torch
        from helper import DEVICE
        x = torch.zeros(2, device=DEVICE)
        y = x + torch.ones(2, device="cuda")
    """
    assert check({"helper.py": f"DEVICE = 'cpu'\n{rebinds}", "main.py": main}) == (
        [] if rebinds else ["TDV004 5"]
    )


def test_files_that_import_a_name_from_each_other(check: Check) -> None:
    files = {
        "a.py": "from b import made",
        "b.py": "from a import made",
        "main.py": "import torch\nfrom a import made\nx = made()\ny = torch.ones(2).cuda() + torch.ones(2)\n",
    }
    assert check(files) == ["TDV005 4"]


def test_a_default_device_that_another_file_sets_or_may_set(check: Check) -> None:
    main = """
        import torch
        import helper
        from lib import context
        x = torch.ones(2, device="cuda")
        y = x + torch.ones(2)
        with context():
            z = x + torch.ones(3)
    """
    found = {
        "": ["TDV005 6", "TDV005 8"],
        "torch.set_default_device('cpu')": ["TDV005 6", "TDV005 8"],
        "torch.set_default_device('cuda')": [],
        "def prepare():\n    torch.set_default_device('cuda')": ["TDV005 6"],
    }
    for text, expected in found.items():
        assert check({"helper.py": f"import torch\n{text}\n", "main.py": main}) == expected, text


def test_what_is_put_into_a_package_without_a_file(check: Check) -> None:
    main = """
        import torch
        import parts
        from missing import *
        parts.device = "cuda"
        x = torch.zeros(2, device=parts.device)
        y = x + torch.ones(2).cpu()
        z = torch.ones(2).cuda() + torch.ones(2)
    """
    assert check({"parts/net.py": "", "main.py": main}) == ["TDV005 8"]

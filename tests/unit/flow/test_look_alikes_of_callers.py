"""Pairs of look-alikes of who gets to a function or a module: what is right in one project, beside what is wrong in another."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources


def _checked(root: Path, files: dict[str, str], name: str = "model.py") -> list[str]:
    """The findings of a file in a repository with these files."""
    (root / ".git").mkdir(parents=True)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(textwrap.dedent(text))
    text = (root / name).read_text()
    told = findings(text, str(root / name), Config(root=str(root)), sources=DiskSources())
    return [one.code for one in told if one.code not in ("TDV018", "TDV101", "TDV103", "TDV104", "TDV106")]


MODEL = """
import torch
from torch import nn
class Basis(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("basis", torch.eye(size))
    def transform(self, wave):
        return nn.functional.conv1d(wave.cuda(), self.basis.cuda()).cpu()
class Spectrum(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = Basis(size)
        self.register_buffer("bands", torch.eye(size))
    def forward(self, wave):
        there = self.inner.transform(wave)
        return torch.matmul(self.bands, there)
"""
ON_HOST = """
import numpy as np
from model import Spectrum
class Features:
    def __init__(self):
        self.spectrum = Spectrum(80)
"""
RUN = "from features import Features\nFeatures().spectrum.transform(3)\n"
TRAIN = """
import torch
from features import Features
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
REACHED = {
    "by a program of the CPU": ({"preprocess.py": RUN}, []),
    "by one that speaks of accelerators": (
        {"train.py": TRAIN + "model = Features().spectrum.to(device)\n"},
        ["TDV105"],
    ),
    "by both": ({"preprocess.py": RUN, "train.py": TRAIN + "Features()\n"}, ["TDV105"]),
    "by one that names the CPU": (
        {
            "preprocess.py": RUN
            + "import torch\ndevice = torch.device('cpu')\nFeatures().spectrum.to(device)\n"
        },
        [],
    ),
    "by one that hands it to what moves it": (
        {
            "preprocess.py": "from features import Features\nfrom training import train\ntrain(Features())\n",
            "training.py": "def train(what):\n    what.spectrum.cuda()\n",
        },
        ["TDV105"],
    ),
    "by one that leaves that to a library": (
        {"fit.py": "from pytorch_lightning import Trainer\n" + RUN + "Trainer().fit(Features())\n"},
        ["TDV105"],
    ),
    "by one that looks things up": (
        {
            "preprocess.py": RUN,
            "train.py": "import features\ndef made(args):\n    module = features\n    return getattr(module, args.name)().cuda()\n",
        },
        ["TDV105"],
    ),
    "by nothing that runs": ({"other.py": "from features import Features\n"}, ["TDV105"]),
    "by a table of classes": (
        {
            "preprocess.py": RUN,
            "zoo.py": "from features import Features\nTABLE = {'features': Features}\n",
            "train.py": "from zoo import TABLE\nTABLE['features']().spectrum.cuda()\n",
        },
        ["TDV105"],
    ),
    "by a notebook": (
        {"preprocess.py": RUN, "show.ipynb": '{"x": "Features().spectrum.cuda()"}'},
        ["TDV105"],
    ),
    "as a library": (
        {"preprocess.py": RUN, "setup.py": "from setuptools import setup\nsetup(name='spectra')\n"},
        ["TDV105"],
    ),
    "with tools that are configured": (
        {"preprocess.py": RUN, "pyproject.toml": "[tool.ruff]\nline-length = 100\n"},
        [],
    ),
}


@pytest.mark.parametrize(("files", "found"), REACHED.values(), ids=REACHED)
def test_who_gets_to_a_module(tmp_path: Path, files: dict[str, str], found: list[str]) -> None:
    """A module that nothing in the program ever puts on an accelerator is on the CPU."""
    assert _checked(tmp_path, {"model.py": MODEL, "features.py": ON_HOST, **files}) == found


@pytest.mark.parametrize(
    ("before", "found"), [("", []), ("@TABLE.register\n", ["TDV105"])], ids=["by its name", "by a registry"]
)
def test_a_module_that_is_registered(tmp_path: Path, before: str, found: list[str]) -> None:
    """What is found by what it was registered as may be used by whoever knows that."""
    model = MODEL.replace("class Spectrum", f"from table import TABLE\n{before}class Spectrum")
    files = {"model.py": model, "features.py": ON_HOST, "preprocess.py": RUN}
    assert _checked(tmp_path, files) == found


def test_a_module_that_moves_itself(tmp_path: Path) -> None:
    model = MODEL.replace("self.inner = Basis(size)", "self.inner = Basis(size)\n        self.device = None")
    files = {"model.py": model, "features.py": ON_HOST, "preprocess.py": RUN}
    assert _checked(tmp_path, files) == ["TDV105"]


ACTOR = """
import torch
from torch import nn
class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, state):
        return self.layer(state).argmax().numpy()
"""


SETUP = {"setup.py": "from setuptools import setup\nsetup(name='spectra')\n"}
FITTED = "import torch\nfrom model import Actor\ndef fit(x):\n    Actor().layer(x).sum().backward()\n"
TRAINED = {
    "on the CPU only": (SETUP | {"fit.py": FITTED}, []),
    "on a device that a file names": (
        SETUP | {"fit.py": FITTED, "run.py": "import torch\ndevice = 'cuda'\n"},
        ["TDV010"],
    ),
    "by nobody": (SETUP, ["TDV010"]),
    "by what a library puts there": (SETUP | {"fit.py": f"import lightning\n{FITTED}"}, ["TDV010"]),
}


@pytest.mark.parametrize(("files", "found"), TRAINED.values(), ids=TRAINED)
def test_a_library_that_trains_its_modules(tmp_path: Path, files: dict[str, str], found: list[str]) -> None:
    """One that trains, and speaks of devices nowhere, does that on the CPU."""
    assert _checked(tmp_path, {"model.py": ACTOR, **files}) == found


@pytest.mark.parametrize(("move", "found"), [("", []), (".cuda()", ["TDV010"])])
def test_who_gets_to_what_is_read(tmp_path: Path, move: str, found: list[str]) -> None:
    worker = f"from model import Actor\ndef work():\n    return Actor(){move}\nif __name__ == '__main__':\n    work()\n"
    assert _checked(tmp_path, {"model.py": ACTOR, "worker.py": worker}) == found


PATCH = """
import torch
MEAN, STD = torch.tensor([0.5, 0.5, 0.5]), torch.tensor([0.2, 0.2, 0.2])
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def scaled(patch: torch.Tensor):
    return (torch.tanh(patch) - MEAN[:, None]) / STD[:, None]
def placed(image, patch):
    image[:, 3:] = scaled(patch)
    return image
"""
MOVED = {
    "what the callers move": ("patched = placed(image, patch)\n    net(patched.to(device))", []),
    "what they move at once": ("net(placed(image, patch).to(device))", []),
    "what they bring there by a function": (
        "patched = placed(image, patch)\n    patched, patch = to_cuda(patched, patch)\n    net(patched)",
        [],
    ),
    "what they put together and move": (
        "rows = torch.stack([placed(one, patch) for one in image])\n    net(rows.to(device))",
        [],
    ),
    "what they put together at once": (
        "net(torch.cat([placed(image, patch), placed(image, patch)]).to(device))",
        [],
    ),
    "what they bring there with others": (
        "rows = torch.stack([placed(one, patch) for one in image])\n    rows, patch = to_device((rows, patch))\n    net(rows)",
        [],
    ),
    "what they put together and use": (
        "rows = torch.stack([placed(one, patch) for one in image])\n    net(rows)",
        ["TDV105", "TDV105"],
    ),
    "what is asked of it, and moved": (
        "sizes = torch.stack([placed(one, patch).sum() for one in image if len(placed(one, patch))])\n    net(sizes.to(device))",
        ["TDV105", "TDV105"],
    ),
    "what they show": (
        "patched = placed(image, patch)\n    show_on_device(patched)\n    net(patched)",
        ["TDV105", "TDV105"],
    ),
    "what they bring there by a function before": (
        "patched = to_cuda(patch)\n    patched = placed(image, patched)\n    net(patched)",
        ["TDV105", "TDV105"],
    ),
    "what they use as it is": ("net(placed(image, patch))", ["TDV105", "TDV105"]),
    "what they bring to the CPU": ("net(placed(image, patch).cpu())", ["TDV105", "TDV105"]),
    "what was there before": (
        "patch = patch.to(device)\n    net(placed(image, patch).to(device))",
        ["TDV004", "TDV004"],
    ),
}


@pytest.mark.parametrize(("use", "found"), MOVED.values(), ids=MOVED)
def test_what_becomes_of_the_result(tmp_path: Path, use: str, found: list[str]) -> None:
    """What a function computes for all its callers to move is on the CPU until then."""
    model = f"{PATCH}def attack(net, image, patch):\n    {use}\n"
    assert _checked(tmp_path, {"model.py": model}) == found


BRANCH = """
import torch
from torch import nn
class Pooling(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
    def pooled(self, x: torch.Tensor):
        if self.kind == "avg":
            pool = nn.AvgPool1d(2)
        else:
            pool = nn.Conv1d(3, 3, 2)
        return pool(x)
"""
MADE = {
    "as all say": ("Pooling('avg')", []),
    "as one says": ("Pooling('avg'), Pooling('conv')", ["TDV001"]),
    "as somebody says": ("Pooling(args.kind)", ["TDV001"]),
    "by a table": ("{'pooling': Pooling, 'avg': Pooling('avg')}", ["TDV001"]),
    "by a class of its own": ("Pooling('avg')\nclass Own(Pooling):\n    pass", ["TDV001"]),
}


@pytest.mark.parametrize(("made", "found"), MADE.values(), ids=MADE)
def test_a_way_that_nobody_takes(tmp_path: Path, made: str, found: list[str]) -> None:
    """What is only done for an option that no construction names is done for nobody."""
    use = f"import torch\nfrom model import Pooling\ndevice = torch.device('cuda')\nlayers = {made}\n"
    use += "def run(batch):\n    return layers.pooled(batch)\n"
    assert _checked(tmp_path, {"model.py": BRANCH, "use.py": use}) == found


DEFAULT = """
import torch
def weighted(x: torch.Tensor, weights=None):
    if weights is None:
        weights = torch.ones(len(x), 3)
    return x * weights
"""
GIVEN = {
    "by everybody": ("weighted(y, y + 1)", []),
    "by keyword": ("weighted(y, weights=[y])", []),
    "not by everybody": ("weighted(y, y + 1), weighted(y)", ["TDV005"]),
    "by whoever it is handed to": ("weighted(y, y + 1), map(weighted, y)", ["TDV005"]),
}


@pytest.mark.parametrize(("calls", "found"), GIVEN.values(), ids=GIVEN)
def test_a_default_that_nobody_needs(tmp_path: Path, calls: str, found: list[str]) -> None:
    use = f"import torch\nfrom model import weighted\ny = torch.ones(3, 3).cuda()\nprint({calls})\n"
    assert _checked(tmp_path, {"model.py": DEFAULT, "use.py": use}) == found


@pytest.mark.parametrize(("name", "found"), [("setup.py", ["TDV005"]), ("install.py", [])])
def test_a_default_of_a_library(tmp_path: Path, name: str, found: list[str]) -> None:
    """Whoever installs a library may leave out what it never leaves out itself."""
    use = "import torch\nfrom model import weighted\ny = torch.ones(3, 3).cuda()\nprint(weighted(y, y + 1))\n"
    setup = "from setuptools import setup\nsetup(name='weights')\n"
    assert _checked(tmp_path, {"model.py": DEFAULT, "use.py": use, name: setup}) == found


ROUNDED = """
import torch
def one_hot(logits: torch.Tensor, eps=0.0):
    best = (logits == logits.max(1, keepdim=True)[0]).float()
    if eps == 0.0:
        return best
    return torch.eye(logits.shape[1])[[0, 1]]
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [("one_hot(y)", []), ("one_hot(y, eps=0.5)", ["TDV105"]), ("one_hot(y, args.eps)", ["TDV105"])],
)
def test_a_result_that_nobody_gets(tmp_path: Path, call: str, found: list[str]) -> None:
    """What a function only returns for a number that nobody gives."""
    use = f"import torch\nfrom model import one_hot\ny = torch.ones(3, 3).cuda()\nprint({call} + y)\n"
    assert _checked(tmp_path, {"model.py": ROUNDED, "use.py": use}) == found


SIZES = """
import torch
device = torch.device("cuda")
def checked(tensor, wanted):
    for size, one in zip(tensor.{}, wanted):
        if isinstance(one, torch.Tensor):
            print(torch.equal(torch.as_tensor(size), one))
        elif isinstance(size, torch.Tensor):
            print(torch.equal(size, torch.as_tensor(one)))
"""


@pytest.mark.parametrize(("of", "found"), [("shape", []), ("parts", ["TDV005"])])
def test_sizes_that_are_tensors(tmp_path: Path, of: str, found: list[str]) -> None:
    """Where a function is traced, they are tensors of the CPU."""
    assert _checked(tmp_path, {"model.py": SIZES.format(of)}) == found


DECLARED = """
import torch
def parsed(lines, device=None):
    return torch.tensor([float(line) for line in lines])
def read(path, device=None):
    return parsed(open(path), device)
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [("read('a.txt')", []), ("read('a.txt', 'cuda')", ["TDV017"]), ("parsed([], device=where)", ["TDV017"])],
)
def test_a_device_that_nobody_gives(tmp_path: Path, call: str, found: list[str]) -> None:
    use = f"import torch\nfrom model import parsed, read\nwhere = torch.device('cuda')\ntable = {call}\n"
    assert _checked(tmp_path, {"model.py": DECLARED, "use.py": use}) == found


TABLE = """
import torch
def table(initial: torch.Tensor, size=None):
    if size is not None:
        found = torch.empty(size, initial.size(1))
    else:
        found = initial
    return found
"""


@pytest.mark.parametrize(
    ("use", "found"),
    [("nn.Parameter(table(initial))", []), ("table(initial)", ["TDV105"])],
    ids=["registered", "as it is"],
)
def test_what_becomes_a_parameter(tmp_path: Path, use: str, found: list[str]) -> None:
    """What all callers register in a module moves with it."""
    layer = f"""
        from torch import nn
        from model import table
        class Layer(nn.Module):
            def __init__(self, initial):
                super().__init__()
                self.weights = {use}
                self.cuda()
        """
    assert _checked(tmp_path, {"model.py": TABLE, "layer.py": layer}) == found


PADDED = """
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def padded(x: torch.Tensor):
    return torch.cat([x, torch.zeros(3, 1)], 1)
"""
BATCHES = {
    "as they come": ("", []),
    "that were moved": ("x = x.to(device)", ["TDV005"]),
    "that a function moved": ("x, y = to_device([x, y])", ["TDV005"]),
    "that a function may have moved": ("x = ready(x, device)", ["TDV005"]),
    "that were changed to another type": ("x = x.to(torch.float32)", []),
    "that a function moved in place": ("move(x)", ["TDV005"]),
    "whose parts were moved": ("for i in range(3): x[i] = x[i].to(device)", ["TDV005"]),
}


@pytest.mark.parametrize(("before", "found"), BATCHES.values(), ids=BATCHES)
def test_batches_of_a_loader(tmp_path: Path, before: str, found: list[str]) -> None:
    """What a loader gives is on the CPU until it is moved."""
    loop = f"    for x, y in train_loader:\n        {before}\n        x = padded(x)\n"
    use = f"from model import device, padded\ndef train(train_loader):\n{loop}"
    assert _checked(tmp_path, {"model.py": PADDED, "use.py": use}) == found


def test_batches_of_a_prepared_loader(tmp_path: Path) -> None:
    loop = "    loader = runner.prepare(loader)\n    for x, y in loader:\n        padded(x)\n"
    use = f"from model import padded\ndef train(loader, runner):\n{loop}"
    assert _checked(tmp_path, {"model.py": PADDED, "use.py": use}) == ["TDV005"]


SAMPLERS = """
import torch
from torch import nn
def drawn(size, low=0, device="cpu"):
    values = torch.empty(size, device=device)
    return values.uniform_(low, 1)
def brought(values, device=None):
    return torch.tensor(values).to(device)
def beside(x):
    return torch.ones(3).to(x.device)
def chosen(size, device="cpu"):
    if size > 3:
        return torch.zeros(size)
    return torch.ones(size, device=device)
def around(size):
    return around(size) if size else drawn(1)
def shifted(x: torch.Tensor):
    return x + torch.ones(3)
def moved_on(x):
    return shifted(2 * x)
def color(size, device):
    amount = {made}
    return moved_on(amount)
"""
SAMPLED = {
    "on the CPU by default": ("drawn(3)", []),
    "on the CPU by name": ("drawn(3, device='cpu')", []),
    "brought nowhere": ("brought([1, 2, 3])", []),
    "beside what was made there": ("beside(drawn(3))", []),
    "beside what was made elsewhere": ("beside(drawn(3, 0, device))", ["TDV005"]),
    "beside who knows what": ("beside(unknown)", ["TDV005"]),
    "on each way": ("chosen(3)", []),
    "on the device that is given": ("drawn(3, 0, device)", ["TDV005"]),
    "on the device that is named": ("drawn(3, device=device)", ["TDV005"]),
    "with what may name one": ("drawn(3, **options)", ["TDV005"]),
    "brought to a device": ("brought([1, 2, 3], device)", ["TDV005"]),
    "elsewhere on one way": ("chosen(3, 'cuda')", ["TDV005"]),
    "by who knows whom": ("unknown(3)", ["TDV005"]),
}


@pytest.mark.parametrize(("made", "found"), SAMPLED.values(), ids=SAMPLED)
def test_what_functions_make_for_each_other(tmp_path: Path, made: str, found: list[str]) -> None:
    """A function is given what another one makes on the CPU, through a third one."""
    use = "import torch\nfrom model import color\ndevice = torch.device('cuda')\nprint(color(3, device))\n"
    files = {"model.py": SAMPLERS.format(made=made), "use.py": use}
    assert _checked(tmp_path, files) == found


def test_what_a_function_of_another_file_makes(tmp_path: Path) -> None:
    """A project has one function of that name, or the file imports it by its name; else it is not known which of two it is."""
    made, shifting = SAMPLERS.format(made="drawn(3)").split("def brought")
    model = "import torch\nfrom draw import drawn\ndef shifted" + shifting.split("def shifted")[1]
    use = "import torch\nfrom model import color\ndevice = torch.device('cuda')\nprint(color(3, device))\n"
    assert _checked(tmp_path / "one", {"model.py": model, "use.py": use, "draw.py": made}) == []
    files = {"model.py": model, "use.py": use, "draw.py": made, "again.py": made}
    assert _checked(tmp_path / "two", files) == []
    del files["use.py"]  # which shows that what it does is right
    files["model.py"] = model.replace("import drawn", "import *")
    assert _checked(tmp_path / "some", files) == ["TDV005"]


PRIVATE = """
import torch
def _counted(ids: torch.Tensor):
    return torch.bincount(ids + torch.zeros(4))
def split(triples):
    return _counted(triples)
"""
MODULES_OWN = """
import torch
class Layer(torch.nn.Module):
    def {name}(self, x: torch.Tensor):
        return x + torch.zeros(4)
"""
HELPERS = {
    "by what prepares data": (PRIVATE, {}, []),
    "by a module as well": (
        PRIVATE,
        {
            "counts/head.py": "from counts.model import _counted\nclass Head(nn.Module):\n"
            "    def forward(self, x): return _counted(x)\n"
        },
        ["TDV005"],
    ),
    "by what knows of devices as well": (
        PRIVATE,
        {"counts/run.py": "from counts.model import _counted\ndef run(x, device):\n    return _counted(x)\n"},
        ["TDV005"],
    ),
    "in a notebook as well": (
        PRIVATE,
        {"run.ipynb": '{"cells": [{"cell_type": "code", "source": "_counted(x)"}]}'},
        ["TDV005"],
    ),
    "beside modules": (PRIVATE + "class Head(torch.nn.Module): pass\n", {}, ["TDV005"]),
    "by nobody, who may do it by its name": (
        PRIVATE.partition("def split")[0] + "def use(m, n): return getattr(m, n)",
        {},
        ["TDV005"],
    ),
    "by nobody": (PRIVATE.partition("def split")[0], {}, []),
    "by PyTorch, as a method of a module": (MODULES_OWN.format(name="_call_impl"), {}, ["TDV005"]),
    "by nobody, a method of a module": (MODULES_OWN.format(name="_call_other"), {}, []),
    "by nobody but a comment": (PRIVATE.partition("def split")[0] + "# _counted(ids)\n", {}, []),
    "under a public name": (PRIVATE.replace("_counted", "counted"), {}, ["TDV005"]),
}


@pytest.mark.parametrize(("model", "files", "found"), HELPERS.values(), ids=HELPERS)
def test_a_private_helper(tmp_path: Path, model: str, files: dict[str, str], found: list[str]) -> None:
    """Nobody but the library itself calls it, and nothing of that has to do with models."""
    other = "import torch\ndevice = torch.device('cuda')\n"
    setup = "from setuptools import setup\nsetup(name='counts')\n"
    files = {
        "counts/__init__.py": "",
        "counts/model.py": model,
        "setup.py": setup,
        "other.py": other,
        **files,
    }
    assert _checked(tmp_path, files, "counts/model.py") == found


WALKER = """
import torch


class Walker:
    def __init__(self, width=0.1):
        self.width = width

    def propose(self, x):
        return x.detach() + self.width * torch.randn(x.shape)

    def walk(self, start, steps):
        x = start
        for _ in range(steps):
            x = self.propose(x)
        return x
"""
WALKS = """
import torch
from model import Walker

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fit(w):
    w = w.to(device).requires_grad_()
    w.pow(2).sum().backward()
    return (w - w.grad).detach(){brought}


{before}
{guard}
    mode = fit(torch.ones(3))
    begin = mode + {scale}
    print(Walker().walk(begin, 3))
"""


@pytest.mark.parametrize("guard", ['if __name__ == "__main__":', "if True:"])
@pytest.mark.parametrize(
    ("brought", "scale", "before", "found"),
    [
        (".cpu()", "torch.rand(3)", "", []),
        (".cpu()", "1.0", "begin = torch.ones(3, device=device)", []),
        (".to(device)", "1.0", "", ["TDV005"]),
        (".to(device)", "1.0", "begin = torch.ones(3)", ["TDV005"]),
        (".cpu()", "1.0", "print(Walker().walk(torch.ones(3, device=device), 1))", ["TDV005"]),
    ],
)
def test_who_calls_is_the_script(
    tmp_path: Path, guard: str, brought: str, scale: str, before: str, found: list[str]
) -> None:
    """What a script assigns at its top, or as the script, is what it hands over: of the host only, or what was brought elsewhere."""
    script = WALKS.format(guard=guard, brought=brought, scale=scale, before=before)
    assert _checked(tmp_path, {"model.py": WALKER, "walks.py": script}) == found

"""What a project has to show before a load without `map_location` is spoken of: pairs of projects that differ in that alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

LOAD = """\
import torch
from net import Net
def restored(path):
    net = Net()
    net.load_state_dict(torch.load(path))
    return net
"""
NET = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, path=""):
        super().__init__()
        self.layer = nn.Linear(3, 3)
"""
TRAIN = """\
import torch
from net import Net
from run import restored
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def main(path):
    net = restored(path).to(device)
    trained(net)
    torch.save(net.state_dict(), path)
def trained(net):
    net(torch.ones(3)).sum().backward()
main("a.pt")
"""
ELSEWHERE = TRAIN.replace("from run import restored\n", "").replace("restored(path)", "Net()")
"""A training that does not load."""

KEYED = LOAD.replace("torch.load(path)", 'torch.load(path)["generator"]')
NAMED = LOAD.replace("torch.load(path)", 'torch.load("weights/vocoder_v1.pt")')
WRITES = TRAIN.replace("state_dict(), path", 'state_dict(), "out/net.pt"')
FILLED = NET.replace("class", "import copy\nclass") + "        self.load_state_dict(torch.load(path))\n"
GPU = TRAIN.replace('torch.device("cuda" if torch.cuda.is_available() else "cpu")', '"cuda"')
CHOICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
SET = TRAIN.replace(f"device = {CHOICE}", "from settings import device")
PLACED = NET + "        self.layer.cuda()\n"
FLAG = "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
COMPILES = (
    "from torch.utils.cpp_extension import load\n"
    'fused = load(\n    "fused",\n    sources=["fused.cpp", "fused.cu"],\n)\n'
)

CASES: list[tuple[str, dict[str, str], list[str]]] = [
    ("somebody calls it", {}, ["TDV009"]),
    ("nothing trains", {"train.py": TRAIN.replace(".backward()", "")}, []),
    ("a library trains", {"train.py": TRAIN.replace(".backward()", ""), "fit.py": "net = torch.Trainer().net"}, ["TDV009"]),
    ("nobody calls it", {"train.py": ELSEWHERE}, []),
    ("a comment names it", {"train.py": ELSEWHERE + "# restored(path)\n"}, []),
    ("others may install it", {"train.py": ELSEWHERE, "setup.py": "setup()\n"}, ["TDV009"]),
    ("it is told of", {"train.py": ELSEWHERE, "README.md": "Then `python run.py`."}, ["TDV009"]),
    ("a README of other things", {"train.py": ELSEWHERE, "README.md": "Then `python train.py`."}, []),
    ("it is registered", {"train.py": ELSEWHERE, "run.py": LOAD.replace("def ", "@command\ndef ")}, ["TDV009"]),
    ("a file that calls itself", {"train.py": ELSEWHERE, "run.py": LOAD + "restored('a')\n"}, ["TDV009"]),
    (
        "a base class calls it",
        {"train.py": ELSEWHERE, "run.py": "from x import Base\n" + LOAD.replace("def restored(", "class A(Base):\n  def restored(self, ")},
        ["TDV009"],
    ),
    ("keys that nobody writes", {"run.py": KEYED}, []),
    (
        "keys that the training writes",
        {"run.py": KEYED, "train.py": TRAIN.replace("net.state_dict(),", '{"generator": net.state_dict()},')},
        ["TDV009"],
    ),
    (
        "keys of a library that trains",
        {"run.py": KEYED, "fit.py": "import torch\nfrom pytorch_lightning import Trainer\n"},
        ["TDV009"],
    ),
    ("names of parameters", {"run.py": KEYED.replace("generator", "layer.weight")}, ["TDV009"]),
    ("a name that nobody writes", {"run.py": NAMED, "train.py": WRITES}, []),
    ("who saves is told the name", {"run.py": NAMED}, ["TDV009"]),
    (
        "who saves has put the name together",
        {"run.py": NAMED, "train.py": WRITES.replace('"out/net.pt"', "path").replace("    torch", "    path = f'{path}.pt'\n    torch")},
        [],
    ),
    ("a name that is written", {"run.py": NAMED, "train.py": WRITES.replace("net.pt", "vocoder_v1.pt")}, ["TDV009"]),
    (
        "a name that others load",
        {"run.py": NAMED, "train.py": WRITES + 'torch.load("vocoder_v1.pt", "cpu")\n'},
        [],
    ),
    ("the file insists on a GPU", {"run.py": LOAD.replace("return net", "return net, Net().cuda()")}, []),
    (
        "the file asks first",
        {"run.py": LOAD.replace("return net", "return net, Net().cuda() if torch.cuda.is_available() else net")},
        ["TDV009"],
    ),
    ("a default is others' to change", {"run.py": LOAD.replace("(path)", "(path, device='cuda')", 1)}, ["TDV009"]),
    ("the file insists on a numbered GPU", {"run.py": LOAD.replace("return net", "return net, Net().cuda(GPU)")}, []),
    ("all who call it insist", {"train.py": GPU.replace("(device)", '("cuda")')}, []),
    ("what they import chooses", {"train.py": SET, "settings.py": FLAG, "net.py": PLACED}, ["TDV009"]),
    (
        "nothing on the way chooses",
        {"train.py": SET.replace("from settings import device", "device = where()"), "net.py": PLACED},
        [],
    ),
    ("who calls it asks for the GPU at once", {"train.py": TRAIN + "torch.cuda.current_device()\n"}, []),
    ("the file has one GPU", {"run.py": LOAD.replace("def ", "device = torch.device('cuda:0')\ndef ", 1)}, []),
    ("one of several", {"run.py": LOAD.replace("def ", "device = torch.device('cuda:1')\ndef ", 1)}, ["TDV009"]),
    ("kernels are compiled on import", {"net.py": COMPILES + NET}, []),
    (
        "kernels are compiled on demand",
        {"net.py": "def kernels():\n    " + COMPILES.replace("\n", "\n    ") + "\n" + NET},
        ["TDV009"],
    ),
]  # fmt: skip


def _told(root: Path, files: dict[str, str], checked: str) -> list[str]:
    (root / ".git").mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    text = (root / checked).read_text()
    told = findings(text, str(root / checked), Config(root=str(root)), sources=DiskSources())
    return [one.code for one in told if one.code == "TDV009"]


@pytest.mark.parametrize(("files", "found"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_a_project_shows(tmp_path: Path, files: dict[str, str], found: list[str]) -> None:
    assert _told(tmp_path, {"run.py": LOAD, "net.py": NET, "train.py": TRAIN, **files}, "run.py") == found


GAN = """\
import torch
from torch import nn
class Game:
    def __init__(self, args):
        self.net = nn.Linear(3, 3)
        if args.gpu_mode:
            self.net.cuda()
    def train(self):
        self.net(torch.ones(3)).sum().backward()
        self.save("a")
    def save(self, path):
        torch.save(self.net.state_dict(), path + "/net.pt")
    def restore(self, path):
        self.net.load_state_dict(torch.load(path + "/net.pt"))
"""


@pytest.mark.parametrize(("game", "found"), [(GAN, ["TDV009"]), (GAN.replace('self.save("a")', "pass"), [])])
def test_a_class_that_saves_as_it_works(tmp_path: Path, game: str, found: list[str]) -> None:
    """That nobody calls what loads is said of nothing whose file is written."""
    assert (
        _told(tmp_path, {"game.py": game, "main.py": "import torch\nfrom game import Game\n"}, "game.py")
        == found
    )


@pytest.mark.parametrize(
    ("table", "found"), [("models.resnet.model_urls", []), ("mine.resnet.urls", ["TDV009"])]
)
def test_a_table_of_torchvision(table: str, found: list[str]) -> None:
    text = f"""\
import torchvision.models as models
import torch.utils.model_zoo as model_zoo
def made(net, size):
    net.load_state_dict(model_zoo.load_url({table}["resnet" + str(size)]))
"""
    assert [one.code for one in findings(text, "run.py", Config())] == found


@pytest.mark.parametrize(
    ("net", "found"),
    [
        (FILLED, []),
        (
            FILLED.replace("self.load", "self.fill(path)\n    def fill(self, path):\n        self.load"),
            ["TDV009"],
        ),
        (FILLED + "    def keep(self, path):\n        torch.save(self.state_dict(), path)\n", ["TDV009"]),
    ],
    ids=["when it is made", "when it is asked to", "what it saves itself"],
)
def test_a_module_that_fills_itself(tmp_path: Path, net: str, found: list[str]) -> None:
    files = {"net.py": net + "        self.where = torch.cuda.is_available()\n", "train.py": TRAIN}
    assert _told(tmp_path, files, "net.py") == found


def test_a_file_alone() -> None:
    """What is missing can only be missing in a project: each of these is told where nothing is known of one."""
    for text in (KEYED, NAMED, LOAD):
        assert [one.code for one in findings(text, "run.py", Config())] == ["TDV009"]


RUNNER = """\
import torch
from torch import nn
class Runner:
    def __init__(self, path):
        self.model = nn.Linear(3, 3)
        if torch.cuda.is_available():
            self.model.cuda()
        self.model.load_state_dict(torch.load(path)["model"])
    def run(self, rows):
        for row in rows:
            {line}
            self.model(row).sum().backward()
    def keep(self, path):
        torch.save({{"model": self.model.state_dict()}}, path)
"""
RUN = (
    "import sys\nfrom net import Runner\nrunner = Runner(sys.argv[1])\nrunner.run([])\nrunner.keep('a.pt')\n"
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("row = row.cuda()", []),
        ("row = row.cuda() if torch.cuda.is_available() else row", ["TDV009"]),
        ("row = row.flatten()", ["TDV009"]),
    ],
)
def test_a_class_that_is_made_to_train(tmp_path: Path, line: str, found: list[str]) -> None:
    """Where its training uses an accelerator, whatever the machine, nobody makes one without."""
    files = {"net.py": RUNNER.format(line=line), "train.py": RUN}
    assert _told(tmp_path, files, "net.py") == found


@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("net = Net()\nnet.load_state_dict(torch.load(sys.argv[1]))\nprint(net.layer.weight)\n", ["TDV009"]),
        (
            "def made(path):\n    net = Net()\n    net.load_state_dict(torch.load(path))\n    return net\n",
            [],
        ),
    ],
    ids=["a script", "a file of networks"],
)
def test_a_file_that_defines_a_network(tmp_path: Path, load: str, found: list[str]) -> None:
    files = {
        "net.py": f"import sys\n{NET}{load}",
        "train.py": TRAIN,
        "use.py": "from net import made\nmade('b')\n",
    }
    assert _told(tmp_path, files, "net.py") == found

"""What a fifty-seventh and a fifty-eighth batch of repositories, and a round of programs, taught: look-alikes beside mistakes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

Checked = Callable[[Path, dict[str, str], str], list[str]]
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "copies of a layer that is told its device": (
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                layer = nn.TransformerEncoderLayer(8, 2{0})
                self.parts = [nn.TransformerEncoder(layer, num_layers=2) for _ in range(3)]

            def forward(self, x):
                for part in self.parts:
                    x = part(x)
                return x

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = Net(device).to(device)
        net(torch.randn(5, 2, 8, device=device))
        """,
        [(", device=device", []), ("", ["TDV007"])],
    ),
    "one number in one place of an array": (
        """
        import numpy as np
        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        scores = np.zeros(10)
        labels = np.array([1, 2, 3])
        for j, x in enumerate(torch.randn(3, 8, device=device)):
            scores[{0}] = torch.cosine_similarity(x.unsqueeze(0), x.unsqueeze(0))
        """,
        [
            ("labels[j]", []),
            ("torch.tensor([1, 2, 3])[j]", []),
            ("labels[j:]", ["TDV010"]),
            ("labels", ["TDV010"]),
            ("[j]", ["TDV010"]),
        ],
    ),
    "functions of NumPy's that only index": (
        """
        import numpy as np
        import torch

        x = torch.rand(4, 3, device="cuda")
        i = np.zeros((4, 1), dtype=int)
        print({0})
        """,
        [
            ("np.take_along_axis(x, i, axis=1)", []),
            ("np.hsplit(x, [1])", []),
            ("np.array_equiv(x, i)", []),
            ("np.tril_indices_from(x)", []),
            ("np.take(x, i, axis=1)", ["TDV010"]),
            ("np.take_along_axis(i, [x[0]], axis=1)", ["TDV010"]),
        ],
    ),
    "the type of what is on the first GPU": (
        """
        import argparse
        import torch

        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", default="cuda")
        args = parser.parse_args()
        device = {0}
        like = torch.zeros(3, device=device)
        noise = torch.randn(3).type(like.type())
        """,
        [
            ('torch.device("cuda:0" if torch.cuda.is_available() else "cpu")', []),
            ('torch.device("cuda" if torch.cuda.is_available() else "cpu")', []),
            ("torch.device(args.gpu)", ["TDV016"]),
        ],
    ),
    "a checkpoint of an earlier round": (
        """
        import torch
        from torch import nn
        from lib import first, train

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(2, 2).to(device)
        for stage in range({2}6):
            if {0}:
                net.load_state_dict(torch.load(f"stage{{stage - 1}}.pt"))
            {1}(net, f"stage{{stage}}.pt")
        """,
        [
            (("stage != 0", "train", ""), []),
            (("stage", "train", ""), []),
            (("stage > 0", "train", ""), []),
            (("stage >= 1", "train", ""), []),
            (("stage >= 0", "train", ""), ["TDV009"]),
            (("stage != 3", "train", ""), ["TDV009"]),
            (("net", "train", ""), ["TDV009"]),
            (("stage != 0", "evaluate", ""), ["TDV009"]),
            (("stage != 0", "train", "0, "), []),
            (("stage != 0", "train", "first, "), ["TDV009"]),
        ],
    ),
    "an option that is compared with what is given": (
        """
        import argparse
        import torch

        def main(args, kind):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            x = torch.ones(3, device=device)
            y = torch.ones(3)
            if args.loss {0}:
                y = y.to(device)
            print(x + y)

        parser = argparse.ArgumentParser()
        parser.add_argument("--loss", default="mse")
        main(parser.parse_args(), input())
        """,
        [("== kind", []), ("== 'mse'", []), ("!= 'mse'", ["TDV005"])],
    ),
    "a model out of sight that is told a device": (
        """
        import torch
        from nets import Vrnn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = Vrnn(32{0}).to(device)
        model(torch.ones(3, 32))
        """,
        [(", device", []), (", device=device", []), ("", ["TDV001"])],
    ),
    "weights of one key": (
        """
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(2, 2).to(device)
        mean = torch.load("mean.pt", map_location={0})
        now = net.state_dict()
        for name in mean:
            mean[name] = {1}
        """,
        [
            (("'cpu'", "mean[name] + (now[name] - mean[name]) / 3"), ["TDV004"]),
            (("'cpu'", "0.9 * mean[name] + 0.1 * now[name]"), ["TDV004"]),
            (("device", "mean[name] + (now[name] - mean[name]) / 3"), []),
            (("'cpu'", "mean[name] + (now[name].cpu() - mean[name]) / 3"), []),
            (("'cpu'", "now[name] * mean['decay']"), []),
        ],
    ),
    "pictures that a pipeline gives": (
        """
        import numpy as np
        import torch
        from diffusers import StableDiffusionPipeline

        class Painter:
            def __init__(self):
                self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                self.pipe = StableDiffusionPipeline.from_pretrained("x").to(self.device)
            def paint(self, text):
                pictures = self.made(text)
                return [self.small(pictures[i]) for i in range(len(pictures))]
            def small(self, picture):
                return np.array(picture.resize((128, 128)))
            def made(self, text):
                {0}
                return output.images
        """,
        [
            ("output = self.pipe(prompt=[text], num_inference_steps=3)", []),
            ("output = self.pipe(prompt=[text], output_type='pil')", []),
        ],
    ),
    "a device that is asserted": (
        """
        import torch
        from sklearn.linear_model import LogisticRegression
        from torch import nn

        HOST = torch.device("cpu")

        class Probe(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.device = torch.device(config.device)
                {0}
                self.estimator = LogisticRegression()
            def fit(self, x, y):
                x = x.to(device=self.device)
                self.estimator.fit(x, y)
        """,
        [
            ("assert self.device == HOST, self.device", []),
            ("assert self.device == torch.device('cpu')", []),
            ("assert self.device == torch.device('cuda')", ["TDV010"]),
            ("assert self.device != HOST", ["TDV010"]),
        ],
    ),
    "a part of a module that one branch moves": (
        """
        import torch
        from torch import nn
        from lib import weights

        class Words({0}):
            def __init__(self, config, use_cuda):
                super().__init__()
                if config.pretrained:
                    self.embedding = nn.Embedding.from_pretrained(weights(config))
                    self.embedding.cuda()
                else:
                    self.embedding = nn.Embedding(config.words, 8)
            def forward(self, x):
                return self.embedding(x)
        """,
        [("nn.Module", []), ("object", ["TDV021"])],
    ),
    "a string that nobody reads": (
        """
        import torch

        def work(x):
            first, other = x, None
            second = "cuda:1"
            return first{0}
        """,
        [("", []), (".to(second)", ["TDV002"])],
    ),
    "a program that begins CUDA": (
        """
        import torch
        from torch import nn

        {0}
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(2, 2)
        net.load_state_dict(torch.load("model.pth"))
        """,
        [("torch.cuda.init()", []), ("", ["TDV009"])],
    ),
}


def _told(text: str, path: str = "program.py") -> list[str]:
    """The codes of what is found, by default."""
    found = check_source(textwrap.dedent(text), path, Config())
    return [one.code for one in found if one.code not in OFF_BY_DEFAULT]


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str) -> None:
    text, ways = CASES[name]
    for way, found in ways:
        parts = (way,) if isinstance(way, str) else way
        assert _told(text.format(*parts)) == found, parts


MODEL = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)
    def loss(self, x: torch.Tensor):
        y = self.net(x)
        return {used}
    def slope(self, y: torch.Tensor):
        return torch.autograd.grad(y, y, grad_outputs=torch.ones(y.shape) * y)[0]
"""
RUN = """\
import torch
from model import Net
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
print(net.loss(torch.ones(3, 2, device=device)){after})
"""


STEEPEST = "def steepest(net, y):\n    return net.slope(y).max()\n"


@pytest.mark.parametrize(
    ("used", "after", "beside", "found"),
    [
        ("y.sum()", "", "", []),
        ("y.sum()  # self.slope(y)", "", "", []),
        ("y.sum()", "", "class Other:\n    def slope(self, y):\n        return y\n    def all(self):\n        return self.slope(1)\n", []),
        ("self.slope(y)", "", "", ["TDV005"]),
        ("y.sum()", ", net.slope", "", ["TDV005"]),
        ("y.sum()", ", getattr(net, 'slope')", "", ["TDV005"]),
        ("y.sum()", ", getattr(net, input())", "", ["TDV005"]),
        ("y.sum()", "", "from model import Net\nclass Own(Net):\n    def all(self, y):\n        return self.slope(y)\n", ["TDV005"]),
        ("y.sum()", ")\nfrom beside import steepest\nprint(steepest", STEEPEST, ["TDV005"]),
        ("y.sum()", "", STEEPEST, []),
    ],
    ids=[
        "nobody", "a comment", "a class of its own", "its class", "what has one", "by a string", "by a name that is typed", "an heir",
        "what is given one", "what is given another",
    ],
)  # fmt: skip
def test_methods_that_nobody_calls(
    checked: Checked, tmp_path: Path, used: str, after: str, beside: str, found: list[str]
) -> None:
    """A class of a program has an instance, and one of its methods no caller."""
    files = {"model.py": MODEL.format(used=used), "run.py": RUN.format(after=after), "beside.py": beside}
    assert checked(tmp_path, files, "model.py") == found


def test_a_class_that_nobody_makes_yet(checked: Checked, tmp_path: Path) -> None:
    """It is just being written, or a library's."""
    files = {
        "model.py": MODEL.format(used="y.sum()"),
        "run.py": "import torch, model\nx = torch.ones(3, device='cuda')\n",
    }
    assert checked(tmp_path, files, "model.py") == ["TDV005"]


def test_a_method_that_is_documented(checked: Checked, tmp_path: Path) -> None:
    """It is meant for others."""
    slope = "def slope(self, y: torch.Tensor):\n"
    text = MODEL.format(used="y.sum()").replace(slope, f'{slope}        """Where y goes."""\n')
    assert checked(tmp_path, {"model.py": text, "run.py": RUN.format(after="")}, "model.py") == ["TDV005"]


def test_methods_of_a_library(checked: Checked, tmp_path: Path) -> None:
    """Whoever installs it may call them."""
    files = {
        "model.py": MODEL.format(used="y.sum()"),
        "run.py": RUN.format(after=""),
        "setup.py": "from setuptools import setup\nsetup(name='nets')\n",
    }
    assert checked(tmp_path, files, "model.py") == ["TDV005"]


LOADS = """\
import torch
from net import network
net = network()
net.load_state_dict(torch.load("heat_{name}.pth"))
print(net(torch.ones(3, 2)))
"""
TRAINS = """\
import torch
from net import network
{place}
net = network(){moved}
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(3, 2){on}).sum().backward()
optimizer.step()
torch.save(net.state_dict(), "heat_{name}.pth")
"""
ELSEWHERE = {
    "place": 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    "moved": ".to(device)",
    "on": ", device=device",
}


@pytest.mark.parametrize(
    ("own", "other", "found"),
    [("pinn", "cnn", []), ("cnn", "cnn", ["TDV009"]), ("pinn", "pinn", ["TDV009"])],
    ids=["a program on the CPU", "one on a GPU", "both"],
)
def test_who_saves_a_file(checked: Checked, tmp_path: Path, own: str, other: str, found: list[str]) -> None:
    """Of several programs those count that name the file."""
    files = {
        "net.py": "from torch import nn\ndef network():\n    return nn.Linear(2, 2)\n",
        "plot.py": LOADS.format(name=own),
        "heat.py": TRAINS.format(name="pinn", place="", moved="", on=""),
        "cnn.py": TRAINS.format(name=other, **ELSEWHERE),
    }
    assert checked(tmp_path, files, "plot.py") == found


TRAINER = """\
import torch
class Trainer:
    def __init__(self, model, device):
        self.model, self.device = model.to(device), device
    def train(self):
        self.model.loss().backward()
        torch.save(self.model.state_dict(), "best.pth")
    def test(self):
        self.model.load_state_dict(torch.load("best.pth"))
        return self.model.score()
"""
MAIN = """\
import torch
from trainer import Trainer
from nets import model
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
trainer = Trainer(model(), device)
{first}
trainer.test()
"""


@pytest.mark.parametrize(
    ("first", "found"), [("trainer.train()", []), ("if input():\n    trainer.train()", ["TDV009"])]
)
def test_a_trainer_that_is_told_to_train_first(
    checked: Checked, tmp_path: Path, first: str, found: list[str]
) -> None:
    """In another file than that of its class."""
    files = {"trainer.py": TRAINER, "main.py": MAIN.format(first=first), "nets.py": "def model(): ...\n"}
    assert checked(tmp_path, files, "trainer.py") == found


BASE = """\
import torch
class Base:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.build()
"""
HEIR = """\
from base import Base
from torch import nn
class Gan(Base):
    def build(self):
        self.net = nn.Linear(2, 2).cuda()
    def step(self, x):
        return self.net(x{put})
"""


@pytest.mark.parametrize(("put", "found"), [(".cuda()", []), (".to(self.device)", ["TDV018"])])
def test_a_device_that_a_base_has_for_others(
    checked: Checked, tmp_path: Path, put: str, found: list[str]
) -> None:
    """Who never names it has not chosen it."""
    use = "from gan import Gan\nfrom data import batch\nGan().step(batch())\n"
    files = {"base.py": BASE, "gan.py": HEIR.format(put=put), "use.py": use, "data.py": "def batch(): ...\n"}
    assert checked(tmp_path, files, "gan.py") == found


NET = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)
    {own}
"""
GIVEN = """\
import torch
from net import {name}
def weights(model, n):
    return torch.zeros(n, 2).to(model.get_device())
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(weights({name}().to(device), 3))
"""


@pytest.mark.parametrize(
    ("own", "found"),
    [("def get_device(self):\n        return self.net.weight.device", []), ("pass", ["TDV012"])],
)
def test_a_method_that_gives_a_device(checked: Checked, tmp_path: Path, own: str, found: list[str]) -> None:
    """`get_device` of a class of the program is none of a tensor's."""
    files = {"net.py": NET.format(own=own), "run.py": GIVEN.format(name="Net")}
    assert checked(tmp_path, files, "run.py") == found


RESTORE = """\
import torch
def load_state_dict(module, path):
    state = torch.load(path)
    module.load_state_dict(state["model"])
"""
TRAIN = """\
import torch
{imports}
from nets import Net
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
net.loss().backward()
{use}
net.load_state_dict(other())
torch.save({{"model": net.state_dict()}}, "best.pt")
"""


@pytest.mark.parametrize(
    ("imports", "use", "found"),
    [
        ("", "", []),
        ("from restoring import load_state_dict", "load_state_dict(net, 'best.pt')", ["TDV009"]),
        ("import restoring as r", "r.load_state_dict(net, 'best.pt')", ["TDV009"]),
    ],
)
def test_a_function_that_has_the_name_of_a_method(
    checked: Checked, tmp_path: Path, imports: str, use: str, found: list[str]
) -> None:
    """`net.load_state_dict(...)` calls another one."""
    files = {
        "restoring.py": RESTORE,
        "train.py": TRAIN.format(imports=imports, use=use),
        "nets.py": "class Net: ...\n",
    }
    assert checked(tmp_path, files, "restoring.py") == found


FLAGGED = """\
import torch
from torch import nn
def test(net, x, early=False):
    other = {made}
    net.cuda()
    x = x.cuda()
    y = net(x)
    if early:
        y = {used}
    return y
"""


@pytest.mark.parametrize(
    ("made", "used", "code"),
    [("nn.Linear(2, 2)", "other(x)", "TDV001"), ("torch.ones(3, 2)", "other + x", "TDV005")],
)
@pytest.mark.parametrize(
    ("told", "taken"), [("", False), (", False", False), (", early=True", True), (", flag", True)]
)
def test_a_flag_that_nobody_gives(
    checked: Checked, tmp_path: Path, made: str, used: str, code: str, told: str, taken: bool
) -> None:
    """What is certain on a way that no call takes fails for nobody."""
    run = f"import torch, sys\nfrom lib import test\nfrom torch import nn\nflag = sys.argv\ntest(nn.Linear(2, 2), torch.ones(3, 2){told})\n"
    files = {"lib.py": FLAGGED.format(made=made, used=used), "run.py": run}
    assert checked(tmp_path, files, "lib.py") == ([code] if taken else [])


@pytest.mark.parametrize(("told", "found"), [("", []), (", early=True", ["TDV001"])])
def test_a_flag_that_nobody_gives_in_one_file(
    checked: Checked, tmp_path: Path, told: str, found: list[str]
) -> None:
    """Nor is the module told that would be run there (TDV021)."""
    text = FLAGGED.format(made="nn.Linear(2, 2)", used="other(x)")
    text += f"print(test(nn.Linear(2, 2), torch.ones(3, 2){told}))\n"
    text = text.replace("test(", "scored(")  # what tests is passed over
    assert checked(tmp_path, {"run.py": text}, "run.py") == found


INFORMER = """\
import torch
from torch import nn
class Informer(nn.Module):
    def __init__(self, device=None):
        super().__init__()
        self.encoder = nn.MultiheadAttention(8, 2, device=device)
        self.decoder = nn.MultiheadAttention(8, 2, device=device)
        self.out = nn.Linear(8, 1)
    def forward(self, x):
        return self.out(self.decoder(x, x, self.encoder(x, x, x)[0])[0])
"""
BUILDS = """\
import torch
from informer import Informer
from trainer import Trainer
Trainer(Informer(torch.device("cuda"))).run()
"""
MOVES = "class Trainer:\n    def __init__(self, model):\n        self.model = model{moved}\n    def run(self): ...\n"


@pytest.mark.parametrize(("moved", "found"), [('.to("cuda")', []), ("", ["TDV020"])])
def test_layers_of_what_is_moved_whole(
    checked: Checked, tmp_path: Path, moved: str, found: list[str]
) -> None:
    """A program that moves its models may build them anywhere."""
    files = {"informer.py": INFORMER, "main.py": BUILDS, "trainer.py": MOVES.format(moved=moved)}
    assert checked(tmp_path, files, "informer.py") == found

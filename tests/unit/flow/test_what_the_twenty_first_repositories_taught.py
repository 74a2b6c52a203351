"""What repositories taught that nobody had read (the twenty-first to twenty-third batch, docs/precision.md), each idiom right and wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from torchdev_lint.flow.project.accelerator_programs import does_without, sets_current

Checked = Callable[[Path, dict[str, str], str], list[str]]


def notebook(*cells: str) -> str:
    """The text of a notebook with these code cells."""
    made = [
        {"cell_type": "code", "source": cell, "metadata": {}, "outputs": [], "execution_count": None}
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


# -- who calls a function in a notebook

PREDICTOR = """\
import torch

class Predictor:
    def __init__(self, size, device="cuda:0"):
        self.weights = torch.zeros(size, device=device)
"""
SETUP = "from setuptools import setup\nsetup(name='zoo')\n"
IMPORT = "import torch\nfrom zoo.predictor import Predictor\nhas_gpu = torch.cuda.is_available()"

NOTEBOOKS: dict[str, tuple[dict[str, str], list[str]]] = {
    "gives the device": (
        {"show.ipynb": notebook(IMPORT, "p = Predictor(3, device='cuda:0' if has_gpu else 'cpu')")},
        [],
    ),
    "is long": (
        {"show.ipynb": notebook(IMPORT, "p = Predictor(3, device='cpu')", "#" + 500_000 * "-")},
        [],
    ),
    "leaves it out": ({"show.ipynb": notebook(IMPORT, "p = Predictor(3)")}, ["TDV002"]),
    "and one leaves it out": (
        {
            "show.ipynb": notebook(IMPORT, "p = Predictor(3, device='cpu')"),
            "again.ipynb": notebook(IMPORT, "Predictor(4)"),
        },
        ["TDV002"],
    ),
    "keeps the class": (
        {"show.ipynb": notebook(IMPORT, "p = Predictor(3, device='cpu')\nkinds = [Predictor]")},
        ["TDV002"],
    ),
    "cannot be read": (
        {
            "show.ipynb": notebook(IMPORT, "p = Predictor(3, device='cpu')"),
            "torn.ipynb": '{"cells": [{"source": "Predictor(3)',
        },
        ["TDV002"],
    ),
    "is not there": ({}, ["TDV002"]),
}


@pytest.mark.parametrize(("files", "found"), NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_a_notebook_calls(tmp_path: Path, checked: Checked, files: dict[str, str], found: list[str]) -> None:
    """A default that every call overrides is there for nobody, wherever the calls are."""
    told = {"zoo/__init__.py": "", "zoo/predictor.py": PREDICTOR, "setup.py": SETUP, **files}
    assert checked(tmp_path, told, "zoo/predictor.py") == found


# -- a model that a registry knows

EVALUATE = """\
import torch
from torch.utils.data import DataLoader
from registry import registry
from data import Pictures

def evaluate(args):
    model = registry.get(args.arch).from_config(args).to("cuda")
    for pictures, texts, labels in DataLoader(Pictures(), batch_size=2):
        {call}
"""
MODEL = """\
import torch
from torch import nn
from registry import registry

@registry.register
class Captioner(nn.Module):
    def generate(self, images, texts, beams=1):
        return self.decoder({used}, texts)

    def encode(self, *parts, **more):
        return parts
"""

METHODS: dict[str, tuple[str, str, list[str]]] = {
    "brings it": ("model.generate(pictures, texts)", "images.to(self.device)", []),
    "brings it by its name": ("model.generate(texts=texts, images=pictures)", "images.to(self.device)", []),
    "brings another": ("model.generate(texts, pictures)", "images.to(self.device)", ["TDV001"]),
    "uses it": ("model.generate(pictures, texts)", "images", ["TDV001"]),
    "that nobody defines": ("model.predict(pictures, texts)", "images.to(self.device)", ["TDV001"]),
    "that takes anything": ("model.encode(pictures, texts)", "images.to(self.device)", ["TDV001"]),
    "is called itself": ("model(pictures, texts)", "images.to(self.device)", ["TDV001"]),
    "that nobody defines, with labels": ("model.predict(pictures, labels)", "images", ["TDV001", "TDV001"]),
}


@pytest.mark.parametrize(("call", "used", "found"), METHODS.values(), ids=METHODS)
def test_a_method_of_the_projects_models(
    tmp_path: Path, checked: Checked, call: str, used: str, found: list[str]
) -> None:
    """A model of which the class is not known is most likely one of the project's, whose `generate` may move what it takes.

    `texts` may be a list of strings, of which nothing is told.
    """
    files = {"evaluate.py": EVALUATE.format(call=call), "models.py": MODEL.format(used=used)}
    assert checked(tmp_path, files, "evaluate.py") == found


PRETRAINED = """\
import torch
from transformers import AutoModel
from torch.utils.data import DataLoader
from data import Pictures

def evaluate(args):
    model = AutoModel.from_pretrained(args.name).to("cuda")
    for pictures, labels in DataLoader(Pictures(), batch_size=2):
        model.get_image_features(pictures)
"""


def test_a_method_of_a_librarys_model(tmp_path: Path, checked: Checked) -> None:
    """What the project's own models do says nothing of it."""
    model = MODEL.format(used="images").replace(
        "def encode(self, *parts", "def get_image_features(self, parts"
    )
    model = model.replace("return parts", "return parts.to(self.device)")
    assert checked(tmp_path, {"evaluate.py": PRETRAINED, "models.py": model}, "evaluate.py") == ["TDV001"]


# -- signs of doing without an accelerator that are none

OPTION = "parser.add_argument('--device', default='cuda:0')\n"
SIGNS: dict[str, bool] = {
    f"{OPTION}def main(args):\n    torch.cuda.set_device(args.device)\n": False,
    f"{OPTION}def main(\n    args,\n):\n\n    torch.cuda.set_device(args.device)\n": False,
    f"{OPTION}def main(args):\n    if args.device != 'x':\n        torch.cuda.set_device(args.device)\n": True,
    f"{OPTION}def main(args):\n    model.to(args.device)\n": True,
    f"{OPTION}def main(args):\n    torch.cuda.set_device(args.device)\n    x = 'cpu'\n": True,
    "if args.gpu == 'all':\n    pass": False,
    "if args.gpu == 'cpu':\n    pass": True,
    "if args.gpu == -1:\n    pass": True,
}


@pytest.mark.parametrize(("text", "without"), SIGNS.items(), ids=range(len(SIGNS)))
def test_signs_of_doing_without(text: str, without: bool) -> None:
    assert does_without(text) is without


def test_what_sets_the_current_one_whatever_is_so() -> None:
    assert sets_current("def f(gpu):\n    torch.cuda.set_device(gpu)\n")
    assert not sets_current("def f(gpu):\n    if gpu is not None:\n        torch.cuda.set_device(gpu)\n")
    assert not sets_current("torch.cuda.set_device(0)\n")


CURRENT = """\
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda:0")

def main(args):
    {first}
    net = torch.nn.Linear(3, 3).to(args.device)
    print(net(torch.zeros(3, device=args.device)))

main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("first", "found"), [("torch.cuda.set_device(args.device)", []), ("torch.manual_seed(0)", ["TDV002"])]
)
def test_an_option_for_the_current_one(
    tmp_path: Path, checked: Checked, first: str, found: list[str]
) -> None:
    """`torch.cuda.set_device` takes no CPU: whoever calls it whatever is so wants a GPU, and the first is as good as any."""
    assert checked(tmp_path, {"run.py": CURRENT.format(first=first)}, "run.py") == found


BLOCKS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.stacks, self.kept = [], []
        for _ in range(3):
            block = nn.Linear(3, 3)
            {kept}
            self.stacks.append(block)
        self.kept = {registered}
        self.to(device)

    def forward(self, x):
        for block in self.stacks:
            x = block(x)
        return x

Net("cuda")(torch.zeros(2, 3, device="cuda"))
"""


@pytest.mark.parametrize(
    ("kept", "registered", "found"),
    [
        ("self.kept.extend(block.parameters())", "nn.ParameterList(self.kept)", []),
        ("self.kept += list(block.parameters())", "nn.ParameterList(self.kept)", []),
        ("self.kept.extend(block.parameters())", "list(self.kept)", ["TDV007"]),
        ("self.kept.append(block.weight)", "nn.ParameterList(self.kept)", ["TDV007"]),
    ],
)
def test_modules_of_which_the_parameters_are_registered(
    tmp_path: Path, checked: Checked, kept: str, registered: str, found: list[str]
) -> None:
    """What moves a module moves its parameters in place (torch/nn/modules/module.py, `_apply`), so that whoever else has them sees it."""
    assert checked(tmp_path, {"net.py": BLOCKS.format(kept=kept, registered=registered)}, "net.py") == found


# -- a choice that is made by where a tensor is, or by the type of a device

BYPASSED = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
args = parser.parse_args()
x = torch.zeros(3)
y = torch.ones(3)
if {choice}:
    y = y.cuda()
net = torch.nn.Linear(3, 3).cuda()
"""


@pytest.mark.parametrize(("choice", "found"), [("x.is_cuda", []), ("args.cuda", ["TDV018"])])
def test_where_a_tensor_is_decides_nothing(
    tmp_path: Path, checked: Checked, choice: str, found: list[str]
) -> None:
    assert checked(tmp_path, {"run.py": BYPASSED.format(choice=choice)}, "run.py") == found


LOSS = """import torch

def loss(data, device):
    index = torch.cat([d.batch.cpu() for d in data]) if {host} else data.batch
    total = torch.zeros(len(data))
    total.index_add_(0, index, torch.ones(3))
    return total
"""


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("device.type == 'cuda'", []),
        ("device.type != 'cpu'", []),
        ("isinstance(data, list)", ["TDV005"]),
        ("len(data) > 3", ["TDV005"]),
    ],
)
def test_what_is_given_where_no_accelerator_is_wanted(
    tmp_path: Path, checked: Checked, host: str, found: list[str]
) -> None:
    """Whoever is told a device that is no accelerator is given nothing that is on one."""
    assert sorted(set(checked(tmp_path, {"loss.py": LOSS.format(host=host)}, "loss.py"))) == found

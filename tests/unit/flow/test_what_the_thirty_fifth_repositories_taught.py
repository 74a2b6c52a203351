"""What the repositories of the thirty-fifth batch taught, each kind of false alarm wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import libcst as cst
import pytest

from torchdev_lint.flow.instances.confinement import brings_what_it_is_given

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import numpy as np
import torch
from torch import nn
from transformers import CLIPModel, CLIPProcessor
from chronos import ChronosPipeline
"""

CASES: dict[str, tuple[str, Ways]] = {
    "what prepares inputs, or runs a model of its own, does not move with the module that keeps it": (
        """
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.clip = CLIPModel.from_pretrained("openai/clip")
                self.prepare = {0}.from_pretrained("openai/clip")

            def forward(self, images):
                return self.clip(**self.prepare(images))


        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = Both().to(device)
        model([torch.rand(3, 4, 4), torch.rand(3, 4, 4)])
        """,
        [("CLIPProcessor", []), ("ChronosPipeline", []), ("CLIPModel", ["TDV001"])],
    ),
    "a tensor whose copy was thrown away stays where it was, and is told of once": (
        """
        def accuracy(net, loader, config):
            device = torch.device("cuda:0" if torch.cuda.is_available() and config.cuda else "cpu")
            net.to(device)
            for inputs, labels in loader:
                {0}labels.to(device)
                prediction = net(inputs.to(device)).cpu().argmax(dim=1, keepdim=True)
                print(prediction.eq(labels.view_as(prediction)).sum().item())
        """,
        [("", ["TDV003"]), ("labels = ", ["TDV004"])],
    ),
    "a module takes what a part of it made to where it is itself": (
        """
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.series = nn.Linear(3, 3)

            def embed(self, values):
                device = next(self.parameters()).device
                return self.series(values).to(device)


        class Other:
            def __init__(self, net):
                self.net = net

            def embed(self, values):
                device = next(self.net.parameters()).device
                return {0}
        """,
        [("values.to(device)", []), ("self.net(values).to(device)", ["TDV001"])],
    ),
    "what an object computes and brings says nothing of an argument": (
        """
        class Sampler:
            def pairs(self, batch):
                return torch.cdist(batch, batch)

            def sample(self, batch, labels):
                if isinstance(labels, torch.Tensor):
                    labels = labels.detach().numpy()
                distances = {0}.detach().cpu().numpy()
                return labels[distances.argmax(0)]
        """,
        [("self.pairs(batch)", []), ("batch", ["TDV010"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    source, ways = CASES[name]
    told_each_way(START, source, ways)


BASE = """\
class Method:
    def __call__(self, features, labels):
        raise NotImplementedError
"""
READ = """\
import torch
from base import Method


class OpenMax(Method):
    def __call__(self, features: torch.Tensor, labels: torch.Tensor):
        weights = torch.ones(features.size(0), 3)
        return weights * features.mean(1, keepdim=True)


def beside(x: torch.Tensor, features: torch.Tensor):
    return x.to(features.device) - features
"""
SIBLING = """\
import torch
from base import Method


class Snatcher(Method):
    def __init__(self, net, device):
        self.net = net.to(device)
        self.device = device

    def {1}(self, features, labels):
        return self.net({0})
"""


@pytest.mark.parametrize(
    ("given", "method", "found"),
    [
        ("features.to(self.device)", "__call__", []),
        ("features.cuda()", "__call__", []),
        ("torch.from_numpy(features.numpy() * 2)", "__call__", []),
        ("features.to(torch.float32)", "__call__", ["TDV005"]),
        ("features.to(labels.device)", "__call__", ["TDV005"]),
        ("labels.to(self.device)", "__call__", ["TDV005"]),
        ("features.to(self.device)", "run", ["TDV005"]),
    ],
)
def test_a_class_beside_it_brings_the_argument(
    given: str,
    method: str,
    found: list[str],
    tmp_path: Path,
    checked: Callable[[Path, dict[str, str], str], list[str]],
) -> None:
    """The same method of a class with the same base says where what both are given comes."""
    files = {
        "base.py": BASE,
        "openmax.py": READ,
        "snatcher.py": SIBLING.format(given, method),
        "pyproject.toml": "",
    }
    assert checked(tmp_path, files, "openmax.py") == found


def test_a_base_from_elsewhere_says_nothing(
    tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """Any two classes may derive from one of a library."""
    files = {
        "openmax.py": READ.replace("from base", "from library"),
        "snatcher.py": SIBLING.format("features.cuda()", "__call__").replace("from base", "from library"),
        "pyproject.toml": "",
    }
    assert checked(tmp_path, files, "openmax.py") == ["TDV005"]


CAPTIONER = """\
def caption(model, images, device):
    model = model.to(device)
    return model.generate(images=images, device=device)
"""
MODELS = """\
from torch import nn


class Captioner(nn.Module):
    def generate(self, images, device):
        {0}
        return self.encoder(images)
"""
TRAIN = """\
import torch
from captioner import caption


def sample(model: torch.nn.Module, device: torch.device):
    image = torch.rand(1, 3, 8, 8)
    return caption(model, image, device)
"""


@pytest.mark.parametrize(
    ("line", "found"), [("images = images.to(device)", []), ("images = images.flatten(1)", ["TDV001"])]
)
def test_a_method_that_brings_its_input_is_called_in_another_file(
    line: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """The project's only method of this name is most likely the one that is called there."""
    files = {
        "captioner.py": CAPTIONER,
        "models.py": MODELS.format(line),
        "train.py": TRAIN,
        "pyproject.toml": "",
    }
    assert checked(tmp_path, files, "train.py") == found


@pytest.mark.parametrize(
    ("line", "brings"),
    [
        ("y = y.detach().cpu().numpy()", True),
        ("y = y.type(torch.cuda.LongTensor)", True),
        ("y = y.type(torch.float32)", False),
        ("z = self.table.cpu()", False),
    ],
)
def test_a_method_that_takes_its_input_to_the_host(line: str, brings: bool) -> None:
    """What is asked of a `forward` that is out of reach."""
    function = cst.parse_module(f"def forward(self, x, y):\n    {line}\n    return y\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert brings_what_it_is_given(function) is brings

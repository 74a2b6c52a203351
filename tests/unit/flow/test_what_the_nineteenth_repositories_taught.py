"""What thirty-seven repositories taught that nobody had read (the nineteenth batch, docs/precision.md), each idiom right and wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)
Checked = Callable[[Path, dict[str, str], str], list[str]]


def _told(text: str, path: str = "train.py") -> list[str]:
    return [one.code for one in findings(textwrap.dedent(text), path, DEFAULT)]


# -- classes that are asked for

READS = """\
import numbers
import numpy as np
import torch
from PIL import Image

def read(x):
    if {asked}:
        return np.array(x)
    return x

read(torch.zeros(3, device="cuda"))
"""


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("isinstance(x, Image.Image)", []),
        ("isinstance(x, (np.ndarray, numbers.Number))", []),
        ("isinstance(x, (np.ndarray, torch.Tensor))", ["TDV010"]),
        ("type(x) is not torch.Tensor", []),
        ("type(x) == np.ndarray", []),
        ("type(x) is torch.Tensor", ["TDV010"]),
        ("type(x).__name__ == 'ndarray'", []),
        ("type(x).__name__ == 'Tensor'", ["TDV010"]),
    ],
)
def test_what_no_tensor_is_an_instance_of(asked: str, found: list[str]) -> None:
    assert _told(READS.format(asked=asked)) == found


ASKED_TWICE = """\
import torch

def read(x):
    w = torch.zeros(3)
    if {asked}:
        w = w.cuda()
    if isinstance(x, torch.Tensor):
        return w + torch.ones(3).cuda()
"""


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("type(x) == torch.Tensor", []),
        ("type(x).__name__ == 'Tensor'", []),
        ("type(x).__name__ != 'Tensor'", ["TDV005"]),
        ("type(x) != torch.Tensor", ["TDV005"]),
    ],
)
def test_a_type_is_asked_for_in_two_ways(asked: str, found: list[str]) -> None:
    assert _told(ASKED_TWICE.format(asked=asked)) == found


def test_the_type_of_one_of_two() -> None:
    """A tensor if it was put there, else whatever was given."""
    text = """
    import torch
    def read(x, train):
        y = torch.zeros(3).cuda() if train else x
        w = torch.zeros(3)
        if {asked}:
            w = w.cuda()
        if train:
            return w + y
    """
    told = [
        _told(text.format(asked=asked)) for asked in ("type(y) == torch.Tensor", "type(y) != torch.Tensor")
    ]
    assert told == [[], ["TDV005"]]


@pytest.mark.parametrize("moved", ["x.to('cuda')", "x.cuda()"])
def test_what_was_moved_stays_so_where_its_type_is_asked_for(moved: str) -> None:
    """Neither arrays nor lists have these methods, whatever the other branch is for."""
    text = f"""
    import torch
    def read(x):
        x = {moved}
        if isinstance(x, torch.Tensor):
            return x
        return x + torch.ones(3)
    """
    assert _told(text) == ["TDV005"]


MOVED = """\
import numpy as np
import torch

class Attack:
    def __init__(self, model, device="cuda"):
        self.model, self.device = model, device

    def begin(self, image, often):
        if self.device == "cuda":
            image = {moved}
            self.model = self.model.cuda()
        if type(image).__name__ == "Tensor":
            image = image.float()
        elif {then}:
            image = torch.tensor(image)
        else:
            raise ValueError(image)
        self.image = image

    def run(self, image, often):
        self.begin(image, often)
        return perturbed(self.model, self.image)

def perturbed(model, x):
    model(x)
    return torch.tensor(x.detach().cpu().numpy()).to(x.device)

class Training:
    def __init__(self, model):
        self.model = model

    def step(self, x, often):
        attack = Attack(self.model)
        return self.model(attack.run(x, often))
"""


@pytest.mark.parametrize(
    ("moved", "then", "found"),
    [
        ("image.cuda()", "type(image).__name__ == 'ndarray'", []),
        ("image.cuda()", "type(image) is np.ndarray", []),
        ("image.cuda()", "isinstance(image, (list, np.ndarray))", []),
        ("image.cpu()", "often", ["TDV001"]),
    ],
)
def test_what_was_moved_is_no_array(moved: str, then: str, found: list[str]) -> None:
    """Neither arrays nor lists have a method `.cuda`."""
    assert _told(MOVED.format(moved=moved, then=then)) == found


@pytest.mark.parametrize("cast", ["float", "half", "double", "bfloat16"])
def test_a_cast_leaves_it_where_it_was_moved(cast: str) -> None:
    text = f"""
    import torch
    def loss(prediction, target):
        prediction = prediction.cuda()
        prediction = prediction.{cast}()
        return torch.nn.functional.mse_loss(prediction, target.cpu())
    """
    assert _told(text) == ["TDV004"]
    assert _told(text.replace("target.cpu()", "target.cuda()")) == []


TRIED = """\
import numpy as np
import torch

def logarithm(x):
    try:
        {tried}
    except Exception:
        y = np.log(x - 0.5)
    return y

logarithm(torch.ones(3).cuda())
"""


@pytest.mark.parametrize(
    ("tried", "found"),
    [
        ("y = torch.log(x - 0.5)", []),
        ("y = 1 - torch.log(x - 0.5)", []),
        ("y = known[x]", ["TDV010"]),
        ("y = torch.log(x)\n        y = known[y]", ["TDV010"]),
    ],
)
def test_what_works_for_tensors_is_tried_first(tried: str, found: list[str]) -> None:
    assert _told(TRIED.format(tried=tried)) == found


# -- where another thing is

PARTNERS = """\
import torch
from torch import nn
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

class Bias(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.bias = nn.Parameter(bias)
    def forward(self, x):
        return x + self.bias

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.deviation = nn.Linear(3, 3), Bias(torch.zeros(3))
    def forward(self, state):
        mean = self.mean(state)
        zeros = torch.zeros(mean.size())
        {moved}
        return mean, self.deviation(zeros)

class Agent:
    def __init__(self):
        self.actor = Policy().to(device)
    def act(self, state):
        return self.actor(state)
"""


@pytest.mark.parametrize(
    ("moved", "found"),
    [
        ("if state.is_cuda: zeros = zeros.cuda()", []),
        ("if state.dim(): zeros = zeros.float()", ["TDV005", "TDV001"]),
    ],
)
def test_moved_with_an_argument_that_went_through_the_module(moved: str, found: list[str]) -> None:
    assert _told(PARTNERS.format(moved=moved)) == found


ARRAYS = """\
import numpy as np
import torch

def variables(given, cuda):
    out = []
    for one in given:
        if {array}:
            one = torch.from_numpy(one)
        if not one.is_cuda and cuda:
            one = one.cuda()
        out.append(one)
    return out

class Net:
    def evaluate(self, x, y):
        x, y = variables((x, y.long()), self.cuda)
        return x.ne(y).sum()
"""


@pytest.mark.parametrize(("array", "found"), [("isinstance(one, np.ndarray)", []), ("len(one)", ["TDV004"])])
def test_who_hands_over_arrays_has_nothing_on_an_accelerator(array: str, found: list[str]) -> None:
    assert _told(ARRAYS.format(array=array)) == found


SAMPLED = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Agent:
    def __init__(self, memory):
        self.memory = memory
        self.net = nn.LSTM(3, 4).to(device)

    def learn(self):
        state, hidden = self.memory.sample(8)
        state = {state}.to(device)
        return self.net(state, hidden)
"""


@pytest.mark.parametrize(
    ("state", "found"),
    [("torch.FloatTensor(state)", []), ("torch.tensor(state[0])", []), ("state", ["TDV001"])],
)
def test_what_is_used_as_it_is_beside_arrays(state: str, found: list[str]) -> None:
    """Where tensors are made of the other parts, one that is none of them is a tensor, wherever that is."""
    assert _told(SAMPLED.format(state=state)) == found


# -- the first of several

PARALLEL = """\
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="no")
parser.add_argument("--custom-dp", action="store_true")
parser.add_argument("--often", action="store_true")
parser.add_argument("--device", default="cpu")
args = parser.parse_args()
net = torch.nn.Linear(3, 2).to(args.device)
if {asked}:
    net = net.to("cuda:0")
"""


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("args.mode == 'dp'", []),
        ("args.custom_dp", []),
        ("args.mode == 'up'", ["TDV002"]),
        ("args.often", ["TDV002"]),
    ],
)
def test_a_flag_for_data_parallel(asked: str, found: list[str]) -> None:
    assert _told(PARALLEL.format(asked=asked)) == found


@pytest.mark.parametrize(
    ("number", "found"), [("torch.cuda.device_count()", []), ("2", ["TDV002"]), ("workers", ["TDV002"])]
)
def test_a_function_that_divides_the_work(number: str, found: list[str]) -> None:
    text = f"""
    import torch
    from parallel import Divided
    def divided(net, workers):
        return Divided(net, device_ids=range({number})).to("cuda:0")
    """
    assert _told(text) == found


# -- defaults

SCENES = """\
from torch.utils.data import Dataset
class Scenes(Dataset):
    def __init__(self, path, device="cuda:0", size=3):
        self.path, self.device, self.size = path, device, size
"""
USES = """\
import torch
from scenes import Scenes
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scenes = Scenes("a", {given}**options)
"""


@pytest.mark.parametrize(("given", "found"), [("device=device, ", []), ("", ["TDV002"])])
def test_a_default_that_every_call_replaces(
    checked: Checked, tmp_path: Path, given: str, found: list[str]
) -> None:
    """What is handed over by its name stands there, whatever else is handed over in a dictionary."""
    files = {"run.py": USES.format(given=given), "scenes.py": SCENES}
    assert checked(tmp_path, files, "scenes.py") == found


@pytest.mark.parametrize(("name", "found"), [("size", []), ("scale", ["TDV010"])])
def test_a_size_is_copied_to_the_host(name: str, found: list[str]) -> None:
    text = f"""
    import numpy as np
    import torch
    wanted = torch.ones(3, device="cuda")
    np.random.exponential({name}=wanted.sum())
    """
    assert _told(text) == found


# -- what a cell before has saved

NETS = """\
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
class Net:
    def __init__(self, net):
        self.net = net.to(device)
    def fit(self, x):
        self.net(x.to(device)).sum().backward()
    def save(self, path):
        torch.save(self.net.state_dict(), path)
    def load(self, path):
        self.net.load_state_dict(torch.load(path))
"""
NET = "net = Net(made())"
CELLS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "saved before": ((NET, "net.save('a.pt')", "net.load('a.pt')"), []),
    "saved afterwards": ((NET, "net.load('a.pt')", "net.save('a.pt')"), ["TDV009"]),
    "another file": ((NET, "net.save('a.pt')", "net.load('b.pt')"), ["TDV009"]),
    "one of two": ((NET, "net.save('a.pt')", "net.load('a.pt')", "net.load('b.pt')"), ["TDV009"]),
    "never called": ((NET, "import pickle\npickle.load('a.pt')"), []),
    "handed over": ((NET, "run(net.load)"), ["TDV009"]),
    "called in a function": ((NET, "def again():\n    net.load('a.pt')"), ["TDV009"]),
}


@pytest.mark.parametrize(("cells", "found"), CELLS.values(), ids=CELLS)
def test_a_method_loads_what_a_cell_has_saved(cells: tuple[str, ...], found: list[str]) -> None:
    assert _told("".join(f"pass\n{cell}\n" for cell in (NETS, *cells)), "lesson.ipynb") == found

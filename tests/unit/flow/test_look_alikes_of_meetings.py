"""Pairs of look-alikes of tensors that meet: what keeps them together in one program, and is missing in another."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = "import torch\nfrom torch import nn\n"

PAIRS: dict[str, tuple[str, str]] = {
    "a state that follows a batch of which nothing is known": (
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--no-cuda", action="store_true")
        args = parser.parse_args()
        args.cuda = not args.no_cuda and torch.cuda.is_available()
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(1, 1)
            def forward(self, inputs, table):
                state = torch.zeros(inputs.size(0))
                if inputs.is_cuda:
                    state = state.cuda()
                state = state + self.inner(inputs)
                return state.matmul(table)
        table = torch.tensor([1.0])
        decoder = Decoder()
        if args.cuda:
            decoder.cuda()
            table = table.cuda()
        def train(loader):
            for data in loader:
                if args.cuda:
                    data = data.cuda()
                decoder(torch.autograd.Variable(data), table)
        train(load())
        """,
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--no-cuda", action="store_true")
        args = parser.parse_args()
        args.cuda = not args.no_cuda and torch.cuda.is_available()
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(1, 1)
            def forward(self, inputs, table):
                state = torch.zeros(inputs.size(0))
                if args.cuda:
                    state = state.cuda()
                state = state + self.inner(inputs)
                return state.matmul(table)
        table = torch.tensor([1.0])
        decoder = Decoder()
        if args.cuda:
            decoder.cuda()
        def train(loader):
            for data in loader:
                if args.cuda:
                    data = data.cuda()
                decoder(torch.autograd.Variable(data), table)
        train(load())
        """,
    ),
    "what comes of it is moved under a flag: it is on the CPU until then": (
        """
        class Policy:
            def joined(self, batch: dict):
                state = batch["state"].unsqueeze(-2)
                state = torch.cat([state, torch.eye(3)], dim=-1)
                if self.args.cuda:
                    state = state.cuda()
                return state
        """,
        """
        class Policy:
            def joined(self, batch: dict):
                state = batch["state"].unsqueeze(-2)
                both = torch.cat([state, torch.eye(3)], dim=-1)
                if self.args.cuda:
                    state = state.cuda()
                return both
        """,
    ),
    "a dict of labels whose items a loop replaces": (
        """
        class Data(torch.utils.data.Dataset):
            def __getitem__(self, index):
                return self.read(index)
        def train(model: nn.Module, gpu):
            model.cuda(gpu)
            criterion = nn.CrossEntropyLoss().cuda(gpu)
            for images, labels in torch.utils.data.DataLoader(Data(), batch_size=4):
                images = images.cuda(gpu)
                for name, _ in labels.items():
                    labels[name] = labels[name].cuda(gpu)
                criterion(model(images), labels)
        """,
        """
        class Data(torch.utils.data.Dataset):
            def __getitem__(self, index):
                return self.read(index)
        def train(model: nn.Module, gpu):
            model.cuda(gpu)
            criterion = nn.CrossEntropyLoss().cuda(gpu)
            for images, labels in torch.utils.data.DataLoader(Data(), batch_size=4):
                images = images.cuda(gpu)
                for name, _ in labels.items():
                    there = labels[name].cuda(gpu)
                criterion(model(images), labels)
        """,
    ),
    "the loss that takes its labels on the CPU": (
        """
        from warpctc_pytorch import CTCLoss
        def cost(scores, labels):
            criterion = CTCLoss().cuda()
            return criterion(scores.cuda(), torch.IntTensor(labels), torch.IntTensor([3]), torch.IntTensor([3]))
        """,
        """
        from torch.nn import CrossEntropyLoss
        def cost(scores, labels):
            criterion = CrossEntropyLoss().cuda()
            return criterion(scores.cuda(), torch.IntTensor(labels))
        """,
    ),
    "a learner whose callbacks are given it, with the model that it has stored": (
        """
        import fastcore.all as fc
        class Learner:
            def __init__(self, model, callbacks):
                fc.store_attr()
            def fit(self):
                for callback in self.callbacks:
                    callback(self)
        model = nn.Linear(2, 2)
        Learner(model, library.callbacks()).fit()
        model(torch.zeros(2, 2).cuda())
        """,
        """
        import fastcore.all as fc
        class Learner:
            def __init__(self, model, callbacks):
                fc.store_attr("callbacks")
            def fit(self):
                for callback in self.callbacks:
                    callback(self)
        model = nn.Linear(2, 2)
        Learner(model, library.callbacks()).fit()
        model(torch.zeros(2, 2).cuda())
        """,
    ),
    "a decorator names the entries of checkpoints that are converted": (
        """
        from library import entries
        @entries(source=("encoder.*.query.weight", "encoder.*.key.weight"), target="encoder.*.both.weight")
        def joined(q: torch.Tensor, k: torch.Tensor):
            return torch.cat((torch.empty(0, 4), q, k))
        """,
        """
        from library import entries
        @entries(source=("encoder.*.query", "encoder.*.key"), target="encoder.*.both")
        def joined(q: torch.Tensor, k: torch.Tensor):
            return torch.cat((torch.empty(0, 4), q, k))
        """,
    ),
    "a function that says by its name that it works on the CPU": (
        """
        def fetch_cpu(table: torch.Tensor, rows: int):
            return torch.cat((torch.empty(rows, 4), table))
        """,
        """
        def fetch_cuda(table: torch.Tensor, rows: int):
            return torch.cat((torch.empty(rows, 4), table))
        """,
    ),
    "a tensor of a number, by its documentation": (
        """
        class Sampler:
            def __init__(self, device):
                self.device = device
                self.model = load().to(self.device)
            def step(self, *, t, x):
                '''One step back.

                Args:
                    t (int): how many steps are left
                    x (torch.Tensor): the picture
                '''
                return self.model(x.to(self.device), time=torch.tensor(t))
        """,
        """
        class Sampler:
            def __init__(self, device):
                self.device = device
                self.model = load().to(self.device)
            def step(self, *, t, x):
                '''One step back.

                Args:
                    t (list[int]): how many steps are left
                    x (torch.Tensor): the picture
                '''
                return self.model(x.to(self.device), time=torch.tensor(t))
        """,
    ),
    "a tensor of a number, by its annotation": (
        """
        def step(model: nn.Module, x: torch.Tensor, t: int, device):
            model.to(device)
            return model(x.to(device), torch.tensor(t))
        """,
        """
        def step(model: nn.Module, x: torch.Tensor, t: list, device):
            model.to(device)
            return model(x.to(device), torch.tensor(t))
        """,
    ),
    "a builtin compared with a word": (
        """
        def masked(picture: torch.Tensor, kind, size):
            if kind == "plain":
                return picture
            elif type == "laplacian":
                return torch.cat([picture, torch.zeros(size)])
        """,
        """
        def masked(picture: torch.Tensor, kind, size):
            if kind == "plain":
                return picture
            elif kind == "laplacian":
                return torch.cat([picture, torch.zeros(size)])
        """,
    ),
    "a mock stands for what moves tensors": (
        """
        from unittest.mock import patch
        def test_prepared(wrapper):
            with patch.object(torch.Tensor, "cuda") as moving:
                moving.return_value = torch.zeros(3)
                found = torch.zeros(3).cuda()
                assert torch.equal(found, torch.zeros(3))
        """,
        """
        from unittest.mock import patch
        def test_prepared(wrapper):
            with patch.object(wrapper, "model") as moving:
                moving.return_value = torch.zeros(3)
                found = torch.zeros(3).cuda()
                assert torch.equal(found, torch.zeros(3))
        """,
    ),
    "an index that bounds a slice, too, is one number": (
        """
        def ranges(lengths: torch.Tensor, size: int):
            found = torch.zeros(len(lengths), size)
            for row in (lengths > 3).nonzero(as_tuple=True)[0]:
                length = lengths[row]
                found[0, length:] = found[0, length - 1]
            return found
        """,
        """
        def ranges(lengths: torch.Tensor, size: int):
            found = torch.zeros(len(lengths), size)
            for row in (lengths > 3).nonzero(as_tuple=True)[0]:
                length = lengths[row]
                found[0, 3:] = found[0, length - 1]
            return found
        """,
    ),
    "a module that transforms pictures has no parameters": (
        """
        from library import made
        class Composer(nn.Module):
            def __init__(self, configuration):
                super().__init__()
                self.transforms = nn.Sequential(*made(configuration))
                self.encoder = nn.Linear(3, 3)
            def forward(self, x: torch.Tensor, size: int):
                return self.encoder(x) + self.transforms(torch.rand(size))
        """,
        """
        from library import made
        class Composer(nn.Module):
            def __init__(self, configuration):
                super().__init__()
                self.decoder = nn.Sequential(*made(configuration))
                self.encoder = nn.Linear(3, 3)
            def forward(self, x: torch.Tensor, size: int):
                return self.encoder(x) + self.decoder(torch.rand(size))
        """,
    ),
    "a helper that draws": (
        """
        def preview(field: torch.Tensor, size):
            plot_grid(field[0], size)
        def plot_grid(field: torch.Tensor, size):
            picture.paint(torch.cat([field, torch.zeros(size)]))
        """,
        """
        def preview(field: torch.Tensor, size):
            bend_grid(field[0], size)
        def bend_grid(field: torch.Tensor, size):
            picture.paint(torch.cat([field, torch.zeros(size)]))
        """,
    ),
}


def _told(root: Path, files: dict[str, str], name: str) -> list[str]:
    """The findings of a file in a repository with these files."""
    (root / ".git").mkdir(parents=True)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(textwrap.dedent(text))
    found = findings(
        (root / name).read_text(), str(root / name), Config(root=str(root)), sources=DiskSources()
    )
    return [one.code for one in found if one.code in ("TDV001", "TDV004", "TDV005", "TDV006")]


@pytest.mark.parametrize(("right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_pair(tmp_path: Path, right: str, wrong: str) -> None:
    """Nothing is told of the one, something of the other."""
    assert _told(tmp_path / "right", {"model.py": HEAD + textwrap.dedent(right)}, "model.py") == []
    assert _told(tmp_path / "wrong", {"model.py": HEAD + textwrap.dedent(wrong)}, "model.py")


LIBRARY = "from setuptools import setup\nsetup(name='library')\n"
TRAINER = """
import torch
class Trainer:
    def __init__(self, generator, device):
        self.generator = generator.to(device)
    def validate(self, batch, device):
        table = torch.zeros(3)
        return self.generator(batch.to(device), table=table)
"""
OUTER = """
import torch
from torch import nn
class Generator(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x, table=None):
        return self.inner(x, table=table)
class Inner(nn.Module):
    def forward(self, x, table=None):
        if table is not None:
            BODY
        return x
"""
FORWARDS = {
    "that move it": ("x = x @ table[None].expand(3, -1).to(x.device)", []),
    "that replace it": ("table = table.to(x.device)\n            x = x @ table", []),
    "that do not read it": ("x = x + 1", []),
    "that read it as it is": ("x = x @ table[None].expand(3, -1)", ["TDV001"]),
    "that move something else": ("x = x.to(x.device) @ table", ["TDV001"]),
}


@pytest.mark.parametrize(("body", "found"), FORWARDS.values(), ids=FORWARDS)
def test_the_forwards_of_the_project(tmp_path: Path, body: str, found: list[str]) -> None:
    """A model that a constructor was given is one of the project's, by the keywords that it is called with."""
    files = {"trainer.py": TRAINER, "models.py": OUTER.replace("BODY", body)}
    assert _told(tmp_path, files, "trainer.py") == found


MEASURE = """
import torch
from torch import nn
def shape_of(module: nn.Module, shape):
    return module(torch.zeros(shape)).shape
"""
NET = """
import torch
from torch import nn
from measure import shape_of
class Net(nn.Module):
    def __init__(self, backbone, shape):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(shape_of(self.backbone, shape)[1], 2)
    def forward(self, x):
        return self.head(self.backbone(x))
    def other(self, shape):
        return SIZE
"""


@pytest.mark.parametrize(
    ("size", "found"), [("shape[1]", []), ("shape_of(self.backbone, shape)", ["TDV005"])]
)
def test_what_constructors_call(tmp_path: Path, size: str, found: list[str]) -> None:
    """They build on the CPU, in other files as well; what calls the same function later has moved models."""
    files = {"measure.py": MEASURE, "net.py": NET.replace("SIZE", size)}
    files["use.py"] = "import net\nnet.Net(None, (1, 3)).cuda()\n"
    assert _told(tmp_path, files, "measure.py") == found


PACKER = """
import torch
class Packer:
    def add(self, pack):
        pack = self.converted(pack)
        return self.padded(pack, 3)
    def converted(self, pack):
        made = {"ids": VALUE, "labels": torch.tensor(pack["labels"])}
        if self.masked:
            made["mask"] = torch.tensor(pack["mask"])
        return made
    def padded(self, pack: dict, count):
        return torch.cat([pack["ids"].unsqueeze(0), torch.zeros(1, count)])
"""


@pytest.mark.parametrize(
    ("value", "found"),
    [('torch.tensor(pack["ids"])', []), ('torch.tensor(pack["ids"]).to(self.device)', ["TDV005"])],
)
def test_what_another_method_gives(tmp_path: Path, value: str, found: list[str]) -> None:
    """A method hands over what another one has made, on the CPU or elsewhere."""
    files = {"setup.py": LIBRARY, "packing.py": PACKER.replace("VALUE", value)}
    assert _told(tmp_path, files, "packing.py") == found


GRID = """
from torchvision import transforms as T
def as_grid(image, size=8):
    transformation = T.Compose([T.Resize(size), T.ToTensor()])
    made = transformation(image)
    return made * 2.0 - 1.0
"""
MASK = """
import torch
from grid import as_grid as from_picture
class Threshold:
    def masked(self, picture: torch.Tensor):
        return torch.maximum(picture.abs(), torch.ones(picture.shape))
    def invoke(self, context):
        image = context.picture("name")
        return self.masked(GIVEN)
"""
PICTURES = {
    "a picture in another mode": ('context.tensors(image.convert("RGB"))', []),
    "what a function of another file makes of a picture": ("from_picture(image)", []),
    "a layer in another mode": ('context.tensors(image.convert("half"))', ["TDV005"]),
    "what another function makes": ("context.encode(image)", ["TDV005"]),
}


@pytest.mark.parametrize(("given", "found"), PICTURES.values(), ids=PICTURES)
def test_pictures_are_on_the_host(tmp_path: Path, given: str, found: list[str]) -> None:
    """And so are the tensors that are made of them."""
    files = {"setup.py": LIBRARY, "grid.py": GRID, "mask.py": MASK.replace("GIVEN", given)}
    assert _told(tmp_path, files, "mask.py") == found


TRIED = """
import pytest
import torch
from library import joined
@pytest.mark.parametrize("size, device", CASES)
def test_joined(size, device):
    parts = torch.randn(size)
    whole = joined(parts).to(device)
    assert torch.allclose(whole + torch.zeros(size, device=device), parts)
"""


@pytest.mark.parametrize(
    ("cases", "found"),
    [
        ('[(3, "cpu"), (5, torch.device("cpu")), (7, None)]', []),
        ('[(3, "cpu"), (5, "cuda")]', ["TDV005"]),
        ("[(size, device) for size in (3, 5) for device in devices]", ["TDV005"]),
    ],
)
def test_what_a_test_is_run_with(tmp_path: Path, cases: str, found: list[str]) -> None:
    """Where no case names another device than the CPU, everything is there."""
    assert _told(tmp_path, {"check_it.py": TRIED.replace("CASES", cases)}, "check_it.py") == found


INDEXED = """
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
mask = torch.zeros(3, dtype=torch.bool).to(device)
found = torch.tensor([])
found = torch.cat([found, FIRST])
"""


@pytest.mark.parametrize(
    ("first", "rows"), [("torch.arange(3)[mask]", [6]), ("torch.arange(3, device=device)[mask]", [5])]
)
def test_one_mistake_is_told_once(first: str, rows: list[int]) -> None:
    """What a table of the CPU gives for an index of the accelerator is nowhere: the program does not get that far."""
    told = findings(INDEXED.replace("FIRST", first), "program.py", Config())
    assert [one.range.start.row for one in told] == rows


AGENT = """
import torch
class Agent:
    def action_weights(self, seen):
        weights = self.policy(seen)
        return weightsBACK
    def choose_action(self, weights: torch.Tensor, count):
        return torch.softmax(weights, dim=-1) + torch.ones(count)
"""
ROLLOUT = """
class Rollout:
    def __init__(self, agents):
        self.agents = agents
    def step(self, seen):
        weights = self.agents.action_weights(seen)
        return self.agents.choose_action(weights[0], 3)
"""
AGENTS = {
    "on the CPU": (".cpu()", {}, []),
    "as they are": ("", {}, ["TDV005"]),
    "to a method that another class has, too": (
        ".cpu()",
        {"other.py": "class Other:\n    def choose_action(self, x): return x\n"},
        ["TDV005"],
    ),
}


@pytest.mark.parametrize(("back", "files", "found"), AGENTS.values(), ids=AGENTS)
def test_methods_with_a_name_of_their_own(
    tmp_path: Path, back: str, files: dict[str, str], found: list[str]
) -> None:
    """Who calls one is known without naming its class."""
    files = {"setup.py": LIBRARY, "agent.py": AGENT.replace("BACK", back), "rollout.py": ROLLOUT, **files}
    assert _told(tmp_path, files, "agent.py") == found


SEARCH = """
import torch
def search(features, count, device):
    table = torch.from_numpy(features).share_memory_()
    options = {"table": TABLE, "count": count}
    return compared(**options)
def compared(table: torch.Tensor, count):
    return torch.cat([table.abs(), torch.zeros(count)])
"""


@pytest.mark.parametrize(("table", "found"), [("table", []), ("table.to(device)", ["TDV005"])])
def test_what_is_handed_over_in_a_dict(tmp_path: Path, table: str, found: list[str]) -> None:
    """What stands under a parameter's name is what it is given."""
    files = {"setup.py": LIBRARY, "search.py": SEARCH.replace("TABLE", table)}
    assert _told(tmp_path, files, "search.py") == found


DETECTION = """
import torch
def detect(config, boxes, size):
    scale = torch.tensor([1.0, 2.0]).repeat(size)
    if config.GPU_COUNT:
        scale = scale.cuda()
        boxes = boxes.cuda()
    else:
        boxes = boxes[0].cuda()
    return boxes / scale
"""
CONFIGURATION = """
from model import detect
class Config:
    GPU_COUNT = 1
class Large(Config):
    # GPU_COUNT = 0
    GPU_COUNT = COUNT
detect(Large(), load(), 3)
"""


@pytest.mark.parametrize(("count", "found"), [("8", []), ("0", ["TDV005"]), ("counted()", ["TDV005"])])
def test_a_setting_that_is_always_the_same(tmp_path: Path, count: str, found: list[str]) -> None:
    """What it decides is decided, as far as all of the program is in sight."""
    files = {"model.py": DETECTION, "config.py": CONFIGURATION.replace("COUNT = COUNT", f"COUNT = {count}")}
    files["use.py"] = "import torch\nprint(torch.cuda.is_available())\n"
    assert _told(tmp_path, files, "model.py") == found


CONVOLVED = """
import torch
from scipy.signal import convolve
def run(sound: torch.Tensor, room, steps):
    for step in range(steps):
        convolve(sound, room)
        sound = torch.zeros(5, device=WHERE)
"""


@pytest.mark.parametrize(("where", "found"), [('"cuda"', ["TDV010"]), ('"cpu"', [])])
def test_what_is_certain_stands_over_what_is_possible(where: str, found: list[str]) -> None:
    """An argument may be anywhere in the first turn of a loop; in the next one it is known where it is."""
    told = findings(CONVOLVED.replace("WHERE", where), "program.py", Config())
    assert [one.code for one in told if one.code == "TDV010"] == found

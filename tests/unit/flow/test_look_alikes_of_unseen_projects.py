"""Pairs of look-alikes from the ninth batch of repositories that no study had looked at: what is right, beside what is wrong."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.torch_api.modules import DEVICE_POSITIONS

HEAD = """\
import os
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
"""
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'

PAIRS: dict[str, tuple[str, str]] = {
    "an import that may fail is asked for first": (
        """
        from sklearn.metrics import roc_auc_score
        try:
            import torch
        except ImportError:
            torch = None
        def scored(truth, scores):
            if torch is not None and isinstance(truth, torch.Tensor):
                truth = truth.detach().cpu().numpy()
            if torch is not None and isinstance(scores, torch.Tensor):
                scores = scores.detach().cpu().numpy()
            return roc_auc_score(truth, scores)
        scored(torch.ones(3, 1, device=device), torch.ones(3, 1, device=device))
        """,
        """
        from sklearn.metrics import roc_auc_score
        try:
            import torch
        except ImportError:
            torch = None
        def scored(truth, scores):
            if torch is not None and isinstance(truth, torch.Tensor):
                truth = truth.detach().numpy()
            return roc_auc_score(truth, scores)
        scored(torch.ones(3, 1, device=device), torch.ones(3, 1, device=device))
        """,
    ),
    "a count that is zero by default": (
        """
        class Model(nn.Module):
            def negatives(self, y: torch.Tensor, padding_count=None):
                high = y.size(1) - (padding_count or 0)
                return torch.arange(y.size(0)).unsqueeze(1) * high
            def forward(self, y: torch.Tensor, padding_count: torch.Tensor = None):
                return self.negatives(y, padding_count)
        """,
        """
        class Model(nn.Module):
            def negatives(self, y: torch.Tensor, padding=None):
                high = y.size(1) - padding
                return torch.arange(y.size(0)).unsqueeze(1) * high
            def forward(self, y: torch.Tensor, padding: torch.Tensor):
                return self.negatives(y, padding)
        """,
    ),
    "a sequence of layers takes one input": (
        """
        class Packing(nn.Module):
            def forward(self, x, lengths):
                return nn.utils.rnn.pack_padded_sequence(x, lengths.cpu())
        class Model(nn.Module):
            def __init__(self, packs):
                super().__init__()
                self.encoder = Packing() if packs else nn.Sequential(nn.Linear(3, 3), nn.ReLU())
            def forward(self, features):
                sizes = torch.tensor([3, 2, 1]) * 2
                return self.encoder(features, sizes)
        model = Model(True).to(device)
        model(torch.ones(3, 3, device=device))
        """,
        """
        class Packing(nn.Module):
            def forward(self, x, lengths):
                return x * lengths
        class Model(nn.Module):
            def __init__(self, packs):
                super().__init__()
                self.encoder = Packing()
            def forward(self, features):
                sizes = torch.tensor([3, 2, 1]) * 2
                return self.encoder(features, sizes)
        model = Model(True).to(device)
        model(torch.ones(3, 3, device=device))
        """,
    ),
    "a result whose numbers are computed one at a time": (
        """
        class Recall:
            def ranked(self, ranks, answers: torch.Tensor):
                found = torch.zeros(answers.size(0), dtype=torch.long)
                for i in range(answers.size(0)):
                    found[i] = int(ranks[i, answers[i]])
                return found
        where = torch.ones(2, device=device)
        """,
        """
        class Recall:
            def ranked(self, ranks, answers: torch.Tensor):
                found = torch.zeros(answers.size(0), dtype=torch.long)
                for i in range(answers.size(0)):
                    found[i:] = 1
                return found
        where = torch.ones(2, device=device)
        """,
    ),
    "an argument that is brought along for one use": (
        """
        def aligned(logits: torch.Tensor, lengths: torch.Tensor):
            logits = logits.masked_fill(masked(lengths.to(logits.device)), 0.0)
            return logits[(torch.arange(3)[:, None] + lengths) % 3]
        """,
        """
        def aligned(logits: torch.Tensor, lengths: torch.Tensor):
            logits = logits.masked_fill(masked(lengths), 0.0)
            return logits[(torch.arange(3)[:, None] + lengths) % 3]
        """,
    ),
    "the state of a scheduler has no tensors": (
        """
        def resume(scheduler, path):
            state_dict = torch.load(path)
            scheduler.load_state_dict(state_dict)
        """,
        """
        def resume(optimizer, path):
            state_dict = torch.load(path)
            optimizer.load_state_dict(state_dict)
        """,
    ),
    "a scheduler's state beside that of a model": (
        """
        def resume(scheduler, path):
            scheduler.load_state_dict(torch.load(path))
        """,
        """
        def resume(net, scheduler, path):
            checkpoint = torch.load(path)
            net.load_state_dict(checkpoint["net"])
            scheduler.load_state_dict(checkpoint["scheduler"])
        """,
    ),
    "numbers under the name of a file": (
        """
        class Agent:
            def __init__(self):
                self.optim_t = 0
                self.net = nn.Linear(2, 2).to(device)
            def save_snapshot(self, folder):
                torch.save(self.optim_t, os.path.join(folder, "optim_t.pt"))
            def load_snapshot(self, folder):
                self.optim_t = torch.load(os.path.join(folder, "optim_t.pt"))
        """,
        """
        class Agent:
            def __init__(self):
                self.optim_t = nn.Linear(2, 2).to(device)
            def save_snapshot(self, folder):
                torch.save(self.optim_t, os.path.join(folder, "optim_t.pt"))
            def load_snapshot(self, folder):
                self.optim_t = torch.load(os.path.join(folder, "optim_t.pt"))
        """,
    ),
    "the best score under the name of a file": (
        """
        def best(folder, metric, score):
            torch.save({metric: score}, folder / "best_score.ckpt")
            return torch.load(other(folder) / "best_score.ckpt")[metric]
        """,
        """
        def best(folder, metric, net):
            torch.save({metric: net.to(device).state_dict()}, folder / "best_score.ckpt")
            return torch.load(other(folder) / "best_score.ckpt")[metric]
        """,
    ),
    "what is loaded through an opened file is published": (
        """
        class Scores:
            def __init__(self, path="https://example.org/inception.pt"):
                self.net = nn.Linear(2, 2)
                with open_remote(path, "rb") as file:
                    self.net.load_state_dict(torch.load(file))
                self.net.to(device)
        """,
        """
        class Scores:
            def __init__(self, path="runs/inception.pt"):
                self.net = nn.Linear(2, 2)
                with open_remote(path, "rb") as file:
                    self.net.load_state_dict(torch.load(file))
                self.net.to(device)
        """,
    ),
    "a default in the folder of what others have trained": (
        """
        class Encoder:
            def __init__(self, path="pretrain/encoder.pt"):
                self.net = nn.Linear(2, 2)
                self.net.load_state_dict(torch.load(path))
                self.net.to(device)
        """,
        """
        class Encoder:
            def __init__(self, path="runs/encoder.pt"):
                self.net = nn.Linear(2, 2)
                self.net.load_state_dict(torch.load(path))
                self.net.to(device)
        """,
    ),
    "documented as what others have trained": (
        """
        def encoder(path):
            \"\"\"Args:
                path (str): path of a pretrained model
            \"\"\"
            net = nn.Linear(2, 2)
            net.load_state_dict(torch.load(path))
            return net.to(device)
        """,
        """
        def encoder(path):
            \"\"\"Args:
                path (str): path of a model of ours
            \"\"\"
            net = nn.Linear(2, 2)
            net.load_state_dict(torch.load(path))
            return net.to(device)
        """,
    ),
    "all that is saved is brought to the CPU": (
        """
        class Learner:
            def state_dict(self):
                state = self.net.state_dict()
                return {"net": {k: v.cpu() if isinstance(v, torch.Tensor) else v for k, v in state.items()}}
            def save(self):
                torch.save(self.state_dict(), "weights.pt")
            def restore(self):
                self.load_state_dict(torch.load(f"{self.folder}/weights.pt"))
        """,
        """
        class Learner:
            def state_dict(self):
                state = self.net.to(device).state_dict()
                return {"net": {k: v for k, v in state.items()}}
            def save(self):
                torch.save(self.state_dict(), "weights.pt")
            def restore(self):
                self.load_state_dict(torch.load(f"{self.folder}/weights.pt"))
        """,
    ),
    "a function within one that saves": (
        """
        def league(policies, players, paths):
            def load_checkpoint(player, path):
                policies[player].load_state_dict(torch.load(path))
            for player, path in zip(players, paths):
                torch.save(policies[player].to(device).state_dict(), path)
            return load_checkpoint
        """,
        """
        def league(policies, players, paths):
            def load_checkpoint(player, path):
                policies[player].load_state_dict(torch.load(path))
            for player, path in zip(players, paths):
                policies[player].to(device)
            return load_checkpoint
        """,
    ),
    "a part of what is filled goes on to a GPU": (
        """
        def inference(task, path):
            checkpoint = torch.load(path)
            task.load_state_dict(checkpoint["state_dict"])
            task.model.eval().cuda()
        """,
        """
        def inference(task, path):
            checkpoint = torch.load(path)
            task.load_state_dict(checkpoint["state_dict"])
            task.model.eval()
        """,
    ),
    "what is filled was built on a GPU": (
        """
        def loader(path):
            state = torch.load(path)
            net = Wrapped(Averaged(nn.Linear(2, 2).to("cuda")))
            net.load_state_dict(state["net"])
        """,
        """
        def loader(path):
            state = torch.load(path)
            net = Wrapped(Averaged(nn.Linear(2, 2).to(device)))
            net.load_state_dict(state["net"])
        """,
    ),
    "features are halved, too": (
        """
        class Buffer:
            def __init__(self, path, half):
                units = torch.load(path)
                self.units = units.half() if half else units
                self.where = device
        """,
        """
        class Buffer:
            def __init__(self, path, half):
                units = torch.load(path)
                self.units = units.eval() if half else units
                self.where = device
        """,
    ),
    "a class that is composed to a transform": (
        """
        from torchvision.transforms import Compose, Lambda
        class Packed(nn.Module):
            def forward(self, frames: torch.Tensor):
                return torch.index_select(frames, 1, torch.arange(3))
        prepare = Compose([Lambda(lambda x: x / 255.0), Packed()])
        """,
        """
        from torchvision.transforms import Compose, Lambda
        class Packed(nn.Module):
            def forward(self, frames: torch.Tensor):
                return torch.index_select(frames, 1, torch.arange(3))
        prepare = Compose([Lambda(lambda x: x / 255.0)])
        """,
    ),
    "a test that moves nothing there in the end": (
        """
        class TestSolver:
            def check(self, device):
                square = torch.ones(3, 3)
                square.to(device)
                return torch.matmul(square, square.T)
        """,
        """
        class TestSolver:
            def check(self, device):
                square = torch.ones(3, 3)
                square.to(device)
                return torch.matmul(square, torch.ones(3, 3, device=device))
        """,
    ),
    "a model that is let go beside what it was given": (
        """
        from accelerate.utils import release_memory
        def similarity(texts):
            net = nn.Linear(2, 2)
            inputs = torch.ones(2, 2, device=device)
            net.to(device)
            given = net(inputs).to("cpu")
            net.to("cpu")
            net, inputs = release_memory(net, inputs)
            return given
        """,
        """
        from accelerate.utils import compute
        def similarity(texts):
            net = nn.Linear(2, 2)
            inputs = torch.ones(2, 2, device=device)
            net.to(device)
            given = net(inputs).to("cpu")
            net.to("cpu")
            net, inputs = compute(net, inputs)
            return given
        """,
    ),
    "the default of a class for GPUs": (
        """
        class ClustersGPU:
            def __init__(self, count, device=torch.device("cuda:0")):
                self.centres = torch.zeros(count, 3, device=device)
        """,
        """
        class Clusters:
            def __init__(self, count, device=torch.device("cuda:0")):
                self.centres = torch.zeros(count, 3, device=device)
        """,
    ),
    "columns that were computed somewhere": (
        """
        class Experience(Dataset):
            def __init__(self, data):
                self.data = data
            def __getitem__(self, index):
                data = {}
                for key in self.data.keys():
                    data[key] = self.data[key][index]
                return data
        def learn(memories):
            net = nn.Linear(3, 3).cuda()
            data = {}
            data["seen"] = joined([memory["seen"] for memory in memories])
            net(data["seen"])
            for batch in DataLoader(Experience(data)):
                net(batch["seen"])
        """,
        """
        class Experience(Dataset):
            def __init__(self, data):
                self.data = data
            def __getitem__(self, index):
                data = {}
                for key in self.data.keys():
                    data[key] = self.data[key][index]
                return data
        def learn(memories):
            net = nn.Linear(3, 3).cuda()
            data = {}
            data["seen"] = torch.ones(3, 3)
            for batch in DataLoader(Experience(data)):
                net(batch["seen"])
        """,
    ),
    "kernels of FP8": (
        """
        import transformer_engine_extensions
        def scaled(x):
            return x.to("cuda:0") * 2
        """,
        """
        import engines_of_transformers
        def scaled(x):
            return x.to("cuda:0") * 2
        """,
    ),
    "the device of a layer by its position": (
        """
        class Linear8(nn.Linear):
            def __init__(self, width, height, bias=True, where=None):
                super().__init__(width, height, bias, where)
        net = nn.Sequential(*[nn.Sequential(Linear8(3, 3, where=device), nn.ReLU()) for _ in range(3)])
        net(torch.ones(3, 3, device=device))
        """,
        """
        class Linear8(nn.Linear):
            def __init__(self, width, height, bias=True, where=None):
                super().__init__(width, height, bias)
        net = nn.Sequential(*[nn.Sequential(Linear8(3, 3, where=device), nn.ReLU()) for _ in range(3)])
        net(torch.ones(3, 3, device=device))
        """,
    ),
    "an address of any kind of file": (
        """
        def zoo():
            net = nn.Linear(2, 2)
            net.load_state_dict(torch.hub.load_state_dict_from_url("https://example.org/zoo/x3d.pyth"))
            return net.to(device)
        """,
        """
        def zoo(place):
            net = nn.Linear(2, 2)
            net.load_state_dict(torch.hub.load_state_dict_from_url(place))
            return net.to(device)
        """,
    ),
    "an address whose file has its hash in its name": (
        """
        def zoo(place):
            net = nn.Linear(2, 2)
            net.load_state_dict(torch.hub.load_state_dict_from_url(place, check_hash=True))
            return net.to(device)
        """,
        """
        def zoo(place):
            net = nn.Linear(2, 2)
            net.load_state_dict(torch.hub.load_state_dict_from_url(place, progress=True))
            return net.to(device)
        """,
    ),
}


def _codes(program: str) -> list[str]:
    told = [
        finding.code
        for finding in findings(program, "program.py", Config(off_by_default=frozenset({"TDV106", "TDV107"})))
    ]
    return [code for code in told if code not in ("TDV101", "TDV018")]  # they speak of every `.cuda()` here


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(HEAD + DEVICE + textwrap.dedent(right)) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(HEAD + DEVICE + textwrap.dedent(wrong)) != []


def test_where_layers_take_a_device() -> None:
    """The positions are those of their signatures."""
    layers = pytest.importorskip("torch.nn")
    told = {
        path: list(inspect.signature(getattr(layers, path.rpartition(".")[2])).parameters).index("device")
        for path in DEVICE_POSITIONS
    }
    assert told == DEVICE_POSITIONS


LOADING = """
def restore(folder):
    net = nn.Linear(2, 2)
    net.load_state_dict(torch.load(folder + "/weights.pt"))
    return net.to(device)
"""


@pytest.mark.parametrize(("chosen", "found"), [(DEVICE, ["TDV009"]), ('device = torch.device("cuda")\n', [])])
def test_a_file_with_one_device(chosen: str, found: list[str]) -> None:
    """A machine without an accelerator does not run it."""
    restoring = "def restore(net, folder):\n    net.load_state_dict(torch.load(folder + '/weights.pt'))\n"
    assert _codes(HEAD + chosen + restoring) == found


def _in_project(tmp_path: Path, files: dict[str, str], checked: str) -> list[str]:
    (tmp_path / "pyproject.toml").touch()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    text = files[checked]
    told = findings(
        text,
        str(tmp_path / checked),
        Config(root=str(tmp_path), off_by_default=frozenset({"TDV106", "TDV107"})),
        sources=DiskSources(),
    )
    return [finding.code for finding in told]


USE = "import torch\nfrom net import restore\nrestore('runs')\n"
SAVING = (
    "import torch\ndef keep(net, path):\n    net.loss().backward()\n    torch.save(net.state_dict(), path)\n"
)
ADDRESS = 'WEIGHTS = "https://example.org/resolve/main/weights.pt?download=true"\n'


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, []),
        ({"train/learner.py": SAVING}, ["TDV009"]),
        ({"train/learner.py": SAVING, "models/hub.py": ADDRESS}, []),
        ({"train/learner.py": SAVING, "models/hub.py": ADDRESS, "models/keep.py": SAVING}, ["TDV009"]),
        ({"train/learner.py": SAVING, "train/hub.py": ADDRESS}, ["TDV009"]),
    ],
    ids=["nobody saves", "another saves", "to be had", "to be had, and saved", "to be had for another"],
)
def test_whose_weights_they_are(tmp_path: Path, files: dict[str, str], found: list[str]) -> None:
    """What nobody in the project saves was made by others, and so is what files beside it say where to get, unless it is saved there."""
    files = {"models/net.py": HEAD + DEVICE + LOADING, "use.py": USE, **files}
    assert _in_project(tmp_path, files, "models/net.py") == found


@pytest.mark.parametrize(
    ("saved", "found"),
    [("{k: v.cpu() for k, v in net.state_dict().items()}", []), ("net.state_dict()", ["TDV009"])],
)
def test_what_is_saved_beside(tmp_path: Path, saved: str, found: list[str]) -> None:
    saving = f"import torch\ndef keep(net, path):\n    net.loss().backward()\n    torch.save({saved}, path)\n"
    files = {"net.py": HEAD + DEVICE + LOADING, "learner.py": saving, "use.py": USE}
    assert _in_project(tmp_path, files, "net.py") == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("model_onnx.py", []),
        ("onnx_export.py", []),
        ("transforms.py", []),
        ("quest_trainset.py", []),
        ("network.py", ["TDV005"]),
    ],
)
def test_a_file_of_the_host(tmp_path: Path, name: str, found: list[str]) -> None:
    text = HEAD + "def sampled(frames: torch.Tensor):\n    return frames + torch.arange(3)\n" + DEVICE
    assert _in_project(tmp_path, {name: text}, name) == found


TASK = """\
import torch
class Task:
    def masked(self, spec: torch.Tensor):
        return self.joined(spec[0] * 2)
    def joined(self, spec: torch.Tensor):
        return torch.ones(3) * spec
where = torch.cuda.is_available()
"""


@pytest.mark.parametrize(
    ("name", "caller", "found"),
    [
        ("dataset.py", "def get(task, read):\n    return Task().masked(read(3))\n", []),
        ("loop.py", "def get(task, read):\n    return Task().masked(read(3))\n", ["TDV005"]),
        (
            "loop.py",
            "class Clips(Dataset):\n    def get(self, read):\n        return Task().masked(read(3))\n",
            [],
        ),
        (
            "loop.py",
            "class ClipDataset:\n    def get(self, read):\n        return Task().masked(read(3))\n",
            [],
        ),
        ("dataset.py", "def get(task, read):\n    return Task().masked(read(3).cuda())\n", ["TDV005"]),
    ],
)
def test_who_calls_from_the_host(tmp_path: Path, name: str, caller: str, found: list[str]) -> None:
    """Data sets hand over what they have read, through a method that hands it on."""
    files = {"task.py": TASK, name: "from task import Task\nfrom torch.utils.data import Dataset\n" + caller}
    assert _in_project(tmp_path, files, "task.py") == found


HELPER = """\
import os
import torch
FAST = os.environ.get("FAST", "no") == "yes"
def doubled(x):
    if FAST:
        net = torch.nn.Linear(3, 3).cuda()
        return net(x)
    return x * 2
"""


@pytest.mark.parametrize(("name", "found"), [("test_doubled", []), ("doubled_once", ["TDV001"])])
def test_a_test_that_leaves_a_switch_alone(tmp_path: Path, name: str, found: list[str]) -> None:
    """How a switch of another file stands is not known; the test passes as it stands."""
    using = f"import torch\nfrom helper import doubled\ndef {name}():\n    assert doubled(torch.ones(3)).sum() == 6\n"
    assert _in_project(tmp_path, {"use.py": using, "helper.py": HELPER}, "use.py") == found

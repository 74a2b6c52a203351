"""Pairs of look-alikes of what was told wrongly in the code that the linter was corrected with: the first is told, the second not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

Files = dict[str, str]
CHOICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'

PUBLISHED = 'from setuptools import setup\nsetup(name="layers", author="Somebody")\n'
TRAIN = f"""
import torch
from torch import nn

device = {CHOICE}

def train(net, path):
    net.to(device)
    net(torch.ones(1, 3, device=device)).sum().backward()
    torch.save(net.state_dict(), path)
"""

DETECTOR = """
import huggingface_hub
import torch
from torch import nn

class Detector:
    repository = "someone/weights"

    @classmethod
    def address(cls):
        return huggingface_hub.hf_hub_url(cls.repository, "detector.pth")

    @classmethod
    def load(cls, path):
        net = nn.Linear(3, 3)
        net.load_state_dict(torch.load(path))
        return net
"""
TRIED = """
import torch
from torch import nn

class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

if __name__ == "__main__":
    net = Detector()
    net.load_state_dict(torch.load("detector.pth"))
"""
ALIASED = """
import torch as th
from net import Net

def main(name):
    net = Net()
    net.load_state_dict(th.load(f"model_{name}.pth"))

main("a")
"""
NET = """
import torch as th
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)
"""
FITS = """
import torch as th
from net import Net

def main(name):
    net = Net()
    net(th.ones(1, 3)).sum().backward()
    th.save(net.state_dict(), f"model_{name}.pth")

main("a")
"""
RESUME = """
import os
import torch
from torch import nn

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:512"

def train(again):
    device = torch.device("cpu")
    net = nn.Linear(3, 3).to(device)
    if again:
        net.load_state_dict(torch.load("model.pt"))
    net(torch.ones(1, 3)).sum().backward()
    torch.save(net.state_dict(), "model.pt")

train(True)
"""
PACKS = f"""
import torch
from torch import nn

device = {CHOICE}

def convert(path):
    net = nn.Linear(3, 3).to(device)
    net(torch.ones(1, 3, device=device)).sum().backward()
    torch.save(net.state_dict(), path)

def pack(net, path):
    net.load_state_dict(torch.load(path))
    return net

def main(args):
    convert(args.path)
    pack(nn.Linear(3, 3), args.path)
"""
SHARDS = """
import torch
from safetensors.torch import load_file

def merged(net, path):
    if path.endswith(".safetensors"):
        state = load_file(path)
    else:
        state = torch.load(path)
    net.load_state_dict(state)
"""
CONTROL = """
import torch

def build(net, args):
    if args.net_name_or_path:
        net.load_state_dict(torch.load(args.net_name_or_path))
    return net
"""
BASE = """
import torch

class Agent:
    def __init__(self, options):
        if options["gpu"] >= 0:
            torch.cuda.set_device(options["gpu"])
"""
SEARCH = """
import torch
from base import Agent
from torch import nn

class Layer(nn.Module):
    def forward(self, x):
        mask = torch.eye(3)
        if x.is_cuda:
            mask = mask.cuda()
        return x + mask
"""
MESH = """
import numpy as np
import torch

class Mesh:
    def __init__(self, points, store_device="cpu"):
        self.store_device = store_device
        self.points = torch.as_tensor(points, device=store_device)

    @property
    def data(self):
        return np.asarray(self.points.ravel().numpy())
"""
SAMPLED = """
import torch

def sampled(values: torch.Tensor, scale: torch.Tensor):
    width, height = values.shape[-2:]
    return torch.as_tensor([width, height])[..., None] / scale

def taken(values, device):
    return values.to(device)
"""

MERGES = TRAIN + "from merge import merged\nmerged(nn.Linear(3, 3), path)\n"
BUILDS = TRAIN + "from build import build\nbuild(nn.Linear(3, 3), args)\n"
GIVES = """
from volume import sampled

def run(x, meta):
    scale = meta.scale
    sampled(x, scale)
"""

PROJECTS: dict[str, tuple[str, Files, Files]] = {
    "a class that says where its weights are to be had": (
        "detector.py",
        {"detector.py": DETECTOR.replace("huggingface_hub.hf_hub_url", "self.named"), "train.py": TRAIN},
        {"detector.py": DETECTOR, "train.py": TRAIN},
    ),
    "a file that another one fetches": (
        "model.py",
        {"model.py": TRIED, "detector.py": DETECTOR.replace("detector.pth", "net.pth"), "train.py": TRAIN},
        {"model.py": TRIED, "detector.py": DETECTOR, "train.py": TRAIN},
    ),
    "a script beside it that saves by another name of PyTorch": (
        "explain.py",
        {"explain.py": ALIASED, "net.py": NET, "fit.py": FITS.replace("Net()", "Net().to(where())"), "b/run.py": TRAIN},
        {"explain.py": ALIASED, "net.py": NET, "fit.py": FITS, "b/run.py": TRAIN},
    ),
    "a program for the CPU that goes on with its own file": (
        "run.py",
        {"run.py": RESUME.replace('torch.device("cpu")', CHOICE)},
        {"run.py": RESUME},
    ),
    "what the run has saved under that name": (
        "run.py",
        {"run.py": PACKS.replace("    convert(args.path)", "    if args.anew:\n        convert(args.path + 'x')")},
        {"run.py": PACKS},
    ),
    "files of either format": (
        "merge.py",
        {"merge.py": SHARDS.replace('path.endswith(".safetensors")', 'path.endswith(".npz")'), "train.py": MERGES},
        {"merge.py": SHARDS, "train.py": MERGES},
    ),
    "the name of a model, or where it is": (
        "build.py",
        {"build.py": CONTROL.replace("net_name_or_path", "net_path"), "train.py": BUILDS},
        {"build.py": CONTROL, "train.py": BUILDS},
    ),
    "a base that makes its GPU the current one": (
        "search.py",
        {"search.py": SEARCH, "base.py": BASE.replace("torch.cuda.set_device", "print"), "setup.py": PUBLISHED},
        {"search.py": SEARCH, "base.py": BASE, "setup.py": PUBLISHED},
    ),
    "a device that nobody gives": (
        "mesh.py",
        {"mesh.py": MESH, "show.py": "from mesh import Mesh\nMesh([1.0], store_device='cuda').data\n"},
        {"mesh.py": MESH, "show.py": "from mesh import Mesh\nMesh([1.0]).data\n"},
    ),
    "arguments that are called after the CPU": (
        "volume.py",
        {"volume.py": SAMPLED, "run.py": GIVES, "setup.py": PUBLISHED},
        {"volume.py": SAMPLED, "run.py": GIVES.replace("scale ", "scale_cpu ").replace("scale)", "scale_cpu)"), "setup.py": PUBLISHED},
    ),
}  # fmt: skip

TRIES = """
import torch

def try_out(Net):
    net = Net(3)
    x = torch.zeros(5, 3)
    if torch.cuda.is_available():
        x.cuda()
    return net(x)
"""
STEPS = """
import torch

def positions(sizes: torch.Tensor, steps: torch.Tensor | None = None):
    found = []
    for i in range(len(sizes)):
        step = 1.0
        if steps is not None:
            step = steps[i]
        found.append(torch.arange(4).view(1, -1) * step)
    return found
"""
GRADIENTS = f"""
import numpy as np
import torch

device = {CHOICE}

def gradients(x):
    given = x if isinstance(x, torch.Tensor) else torch.as_tensor(x)
    given = given.to(device)
    return given if isinstance(x, torch.Tensor) else given.cpu().numpy()

def compared(data):
    np.testing.assert_allclose(gradients(data["x"]), data["wanted"])
"""
RUNNER = """
import torch
from tensorrt_llm.runtime import ModelRunner

def generated(model: ModelRunner):
    return model.generate(torch.zeros(4, 3), torch.ones(4, 3).cuda())
"""
NEURON = """
import torch
try:
    from optimum.neuron import NeuronModelForCausalLM
except ImportError:
    NeuronModelForCausalLM = object

class Model(NeuronModelForCausalLM):
    def generate(self, input_ids: torch.Tensor):
        padding = torch.full((1, 3), 2)
        return torch.cat([input_ids, padding])
"""
PREFILLED = """
import torch
from exllamav3 import Model

def logits(model: Model, ids):
    given = torch.tensor(ids)
    return model.forward(given.view(1, -1)).float().cpu()
"""

SCALES = """
import torch
from torch import nn

class Scaled(nn.Module):
    def __init__(self, inner, scales):
        super().__init__()
        self.inner = inner
        self.scales = nn.Parameter(scales.data)

def apply(layer, sizes, inputs):
    scales = torch.ones(sizes)
    layer.to("cuda")
    scales.to("cuda")
    if sizes > 3:
        scale(layer, scales)
    layer = Scaled(layer, scales)
    inputs.div_(scales.view(1, -1).to(inputs.device))
    return layer

def scale(layer, scales: torch.Tensor):
    scales = scales.to(layer.weight.device)
    layer.weight.mul_(scales)
"""

PAIRS: dict[str, tuple[str, str]] = {
    "those that are given it bring it": (
        SCALES.replace("    scales = scales.to(layer.weight.device)\n", ""),
        SCALES,
    ),
    "it is read where it is": (
        SCALES.replace(".to(inputs.device)", ""),
        SCALES,
    ),
    "all that a function makes stays on the CPU": (
        TRIES.replace("Net(3)", "Net(3).cuda()"),
        TRIES,
    ),
    "what is given may have been moved": (
        TRIES.replace("(Net)", "(Net, other)").replace("net(x)", "other(x)"),
        TRIES,
    ),
    "numbers that tensors may stand for": (
        STEPS.replace("step = 1.0\n", "step = sizes[0]\n"),
        STEPS,
    ),
    "an array, given one": (
        GRADIENTS.replace("given if isinstance(x, torch.Tensor) else given.cpu().numpy()", "given"),
        GRADIENTS,
    ),
    "a runner that takes its inputs from the CPU": (RUNNER.replace("tensorrt_llm", "models"), RUNNER),
    "a base that takes its inputs from the CPU": (NEURON.replace("optimum.neuron", "models"), NEURON),
    "a model that takes its inputs from the CPU": (PREFILLED.replace("exllamav3", "models"), PREFILLED),
}


@pytest.mark.parametrize(("checked", "told", "silent"), PROJECTS.values(), ids=PROJECTS)
def test_projects(tmp_path: Path, checked: str, told: Files, silent: Files) -> None:
    assert _told_in(tmp_path / "told", told, checked)
    assert _told_in(tmp_path / "silent", silent, checked) == []


@pytest.mark.parametrize(("told", "silent"), PAIRS.values(), ids=PAIRS)
def test_files(told: str, silent: str) -> None:
    assert _told(told)
    assert _told(silent) == []


def _told_in(root: Path, files: Files, checked: str) -> list[str]:
    (root / ".git").mkdir(parents=True)
    (root / "b").mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    text = (root / checked).read_text()
    told = findings(text, str(root / checked), Config(root=str(root)), sources=DiskSources())
    return [one.code for one in told if one.code < "TDV100"]


def _told(program: str) -> list[str]:
    told = findings(textwrap.dedent(program), "program.py", Config())
    return [one.code for one in told if one.code < "TDV100"]

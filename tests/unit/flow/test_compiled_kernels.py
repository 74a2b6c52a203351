"""What a project compiles for GPUs: what imports it is for machines with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

RUN = """\
import torch
from ops.knn import nearest
def main(net, path, x):
    net.load_state_dict(torch.load(path))
    return nearest(net(x))
def start():
    return torch.zeros(3, device="cuda:0")
"""
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(ext_modules=[CUDAExtension(name="ops._knn", sources=["knn.cpp", "knn.cu"])])
"""
ATTEMPT = "try:\n    from . import _knn\nexcept ImportError:\n    {}\n\ndef nearest(x):\n    return _knn(x)\n"
BESIDE = (
    'from torch.utils.cpp_extension import load\nkernels = load(\n    "knn",\n    sources=["knn.cu"],\n)\n'
)
EITHER = SETUP.replace("setup(", 'if CPU_ONLY:\n    CppExtension("ops._knn", ["knn.cpp"])\nsetup(')

CASES: list[tuple[str, dict[str, str], list[str]]] = [
    ("at once", {"ops/knn.py": "import ops._knn as kernels\nnearest = kernels.run\n"}, []),
    ("by its last name", {"ops/knn.py": "from ._knn import nearest\n"}, []),
    ("in a function", {"ops/knn.py": "def nearest(x):\n    from . import _knn\n"}, ["TDV002", "TDV009"]),
    ("another of that name", {"ops/knn.py": "from knn._knn import nearest\n"}, ["TDV002", "TDV009"]),
    ("raises without", {"ops/knn.py": ATTEMPT.format("raise ImportError('build it first')")}, []),
    ("does without", {"ops/knn.py": ATTEMPT.format("_knn = slow")}, ["TDV002", "TDV009"]),
    (
        "compiles them then",
        {"ops/knn.py": ATTEMPT.format("from .jit import kernels as _knn"), "ops/jit.py": BESIDE},
        [],
    ),
    (
        "has others then",
        {"ops/knn.py": ATTEMPT.format("from .plain import _knn"), "ops/plain.py": "_knn = sorted\n"},
        ["TDV002", "TDV009"],
    ),
    (
        "compiled for the CPU as well",
        {"ops/knn.py": "import ops._knn as kernels\nnearest = kernels.run\n", "ops/setup.py": EITHER},
        ["TDV002", "TDV009"],
    ),
]


@pytest.mark.parametrize(("files", "found"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_kernels_for_gpus(tmp_path: Path, files: dict[str, str], found: list[str]) -> None:
    train = "import torch\nfrom run import main\nmain(make(), 'a', make())\nloss.backward()\ntorch.save(state, out)\n"
    everything = {"run.py": RUN, "train.py": train, "ops/setup.py": SETUP, "ops/__init__.py": "", **files}
    (tmp_path / ".git").mkdir()
    (tmp_path / "ops").mkdir()
    for name, text in everything.items():
        (tmp_path / name).write_text(text)
    path = str(tmp_path / "run.py")
    told = findings(RUN, path, Config(root=str(tmp_path)), sources=DiskSources())
    assert sorted(one.code for one in told if one.code != "TDV101") == found

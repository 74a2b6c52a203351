"""What projects of several files taught (the seventh and eighth batch, docs/programs.md), each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)
Checked = Callable[[Path, dict[str, str], str], list[str]]


# -- an option that is taken back where there is no accelerator

OPTIONS = """\
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", default=0, type=int)
args = parser.parse_args()
if not torch.cuda.is_available():
    args.gpu = None
net, criterion = nn.Linear(3, 2), nn.CrossEntropyLoss(weight=torch.ones(2))
if args.gpu is not None:
    net = net.cuda(args.gpu)
    {criterion}
x, y = torch.rand(4, 3), torch.zeros(4, dtype=torch.long)
if args.gpu is not None:
    x, y = x.cuda(args.gpu), y.cuda(args.gpu)
criterion(net(x), y).backward()
"""


@pytest.mark.parametrize(
    ("criterion", "found"), [("criterion = criterion.cuda(args.gpu)", []), ("pass", ["TDV001"])]
)
def test_an_option_is_what_it_was_where_nothing_took_it_back(criterion: str, found: list[str]) -> None:
    """What one branch sets to None is not None on the other one."""
    text = OPTIONS.format(criterion=criterion)
    assert [one.code for one in findings(text, "train.py", DEFAULT)] == found


# -- copies

COPIES = """\
import copy
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
{made}
x = torch.rand(4, 3)
{used}
"""


@pytest.mark.parametrize(
    ("made", "used", "found"),
    [
        ("net = nn.Linear(3, 2).to(device)\nmean = AveragedModel(net)", "mean(x.to(device))", []),
        (
            "net = nn.Linear(3, 2)\nmean = AveragedModel(net)\nnet.to(device)",
            "mean(x.to(device))",
            ["TDV001"],
        ),
        ("net = nn.Linear(3, 2)\nmean = AveragedModel(net, device)", "mean(x.to(device))", []),
        (
            "net = nn.Linear(3, 2)\nmean = AveragedModel(net)\nmean.update_parameters(net)",
            "net(x.to(device))",
            ["TDV001"],
        ),
        (
            "net = nn.Linear(3, 2).to(device)\nif torch.cuda.device_count() > 1:\n    net = nn.DataParallel(net)\n"
            "host = copy.deepcopy(net).cpu()",
            "net(x.to(device))",
            [],
        ),
    ],
)
def test_what_is_copied_is_moved_by_itself(made: str, used: str, found: list[str]) -> None:
    text = COPIES.format(made=made, used=used)
    assert [one.code for one in findings(text, "train.py", DEFAULT)] == found


# -- what scripts show

BIASED = """\
import torch
from torch import nn


class Biased(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
        self.bias = torch.zeros(n)

    def forward(self, x):
        return self.fc(x) + self.bias
"""
BUILT = """\
import torch
import model
from server import serve

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
{block}
serve(net)
"""


@pytest.mark.parametrize(
    ("block", "found"),
    [
        ("with torch.device(device):\n    net = model.Biased(3)", []),
        ("net = model.Biased(3).to(device)", ["TDV006"]),
    ],
)
def test_a_class_that_is_built_by_the_name_of_its_module(
    checked: Checked, tmp_path: Path, block: str, found: list[str]
) -> None:
    files = {"model.py": BIASED, "train.py": BUILT.format(block=block)}
    assert checked(tmp_path, files, "model.py") == found


JOINS = """\
import torch


def joined(x, y):
    B, C, H, W = x.size()
    z = torch.zeros(B, 2 * C, H, W)
    for i in range(W):
        z[:, :, :, i] = torch.cat((x[:, :, :, i], y[:, :, :, i]), 1)
    return z.view(B, -1)


def all_joined(layers):
    first, *others = layers.values()
    for other in others:
        first = joined(first, other)
    return first


def distances(x, mean):
    B, C, H, W = x.size()
    x = x.view(B, C, H * W)
    return (x - torch.from_numpy(mean)).norm(dim=1)
"""
JOINING = """\
import pickle
import torch
from utils.joins import all_joined, distances

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def extract(net, batches):
    kept = {{name: [] for name in "ab"}}
    for name in kept:
        for batch in batches:
            kept[name].append(net(batch.to(device)).detach(){brought})
    return {{name: torch.cat(parts, 0) for name, parts in kept.items()}}


def main():
    net = torch.nn.Conv2d(3, 3, 1)
    net.to(device)
    layers = extract(net, [torch.rand(4, 3, 5, 5)])
    with open("mean.pkl", "rb") as file:
        given = pickle.load(file)
    print(distances(all_joined(layers), *given))


{handed}
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("brought", "handed", "found"),
    [
        (".cpu()", "", []),
        (".cpu()", "from jobs import register\nfrom utils.joins import joined\nregister(joined)", ["TDV005"]),
        ("", "", ["TDV005"]),
    ],
)
def test_a_function_that_the_program_gives_what_is_on_the_host(
    checked: Checked, tmp_path: Path, brought: str, handed: str, found: list[str]
) -> None:
    """It may be given anything on its own, but what the scripts give it is on the CPU, and it is not handed to anybody else."""
    files = {"utils/joins.py": JOINS, "run.py": JOINING.format(brought=brought, handed=handed)}
    assert checked(tmp_path, files, "utils/joins.py") == found


RANKS = """\
import numpy as np


def rank(scores):
    scores = np.asarray(scores)
    return int((scores[1:] >= scores[0]).sum())
"""
EVALUATED = """\
import torch
from ranks import rank


def evaluate(model, data, device):
    return [rank(model(x.to(device)){brought}) for x in data]
"""
EVALUATES = """\
import torch
from evaluation import evaluate

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(3, 1).to(device)
with torch.no_grad():
    print(evaluate(net, [torch.rand(4, 3)], device))
"""


@pytest.mark.parametrize(("brought", "found"), [(".cpu()", []), ("", ["TDV010"])])
def test_what_another_file_reads_on_the_host(
    checked: Checked, tmp_path: Path, brought: str, found: list[str]
) -> None:
    files = {"ranks.py": RANKS, "evaluation.py": EVALUATED.format(brought=brought), "main.py": EVALUATES}
    assert checked(tmp_path, files, "evaluation.py") == found


# -- what the nineteenth batch of unseen repositories taught (docs/precision-batches.md)

SEEDED = """\
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device != "cpu":
    {body}
x = torch.rand(3, device=device)
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("torch.cuda.manual_seed(3)", []),
        ("torch.cuda.manual_seed(3); torch.cuda.empty_cache()", []),
        ("torch.cuda.synchronize()", ["TDV012"]),
        ("print('fast')", ["TDV012"]),
        ("torch.cuda.manual_seed(3)\nelse:\n    print('slow')", ["TDV012"]),
    ],
)
def test_a_comparison_that_decides_nothing(body: str, found: list[str]) -> None:
    """To seed the generators of GPUs that are not there does nothing."""
    assert [one.code for one in findings(SEEDED.format(body=body), "train.py", DEFAULT)] == found


MIXTURE = """\
import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.pi = nn.Parameter(torch.Tensor(3), requires_grad=False){filled}

    def forward(self, x):
        return self.fc(x) + self.pi
"""


@pytest.mark.parametrize(("filled", "found"), [(".fill_(0.5)", []), (" + 0.5", ["TDV006"])])
def test_a_parameter_that_is_filled_is_the_parameter(filled: str, found: list[str]) -> None:
    assert [one.code for one in findings(MIXTURE.format(filled=filled), "model.py", DEFAULT)] == found


# -- entries that a condition chooses

CHOSEN = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 2).to(device)
batch = {{"id": 7, "x": torch.rand(4, 3), "y": torch.rand(4, 2, device=device)}}
batch = {{k: {value} for k, v in batch.items() if {condition}}}
net(batch["x"])
"""


@pytest.mark.parametrize(
    ("value", "condition", "found"),
    [
        ("v", 'k != "id"', ["TDV001"]),
        ("v", 'k in ("x", "y") and k != "y"', ["TDV001"]),
        ("v.to(device)", 'k != "id"', []),
        ("v", "k != somebody.name", []),
        ("v", 'k == "y"', []),
        ("v", 'k == "z" if (v @ torch.rand(3, 2, device=device)).sum() > 0', []),
        ("v", 'k == "x" if (v @ torch.rand(3, 2, device=device)).sum() > 0', ["TDV005"]),
    ],
)
def test_entries_that_a_condition_chooses(value: str, condition: str, found: list[str]) -> None:
    text = CHOSEN.format(value=value, condition=condition)
    assert [one.code for one in findings(text, "train.py", DEFAULT)] == found

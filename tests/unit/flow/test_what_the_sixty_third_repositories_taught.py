"""What a sixty-third batch of repositories and a ninth list of bugs taught."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Checked = Callable[[Path, dict[str, str], str], list[str]]
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "results of one function, one of which is brought to the CPU": (
        """
        from somewhere import where

        class Trainer:
            def __init__(self, model):
                self.model = model.to(where)

            def predict(self, *given):
                return self.model(*given)

            def ranked(self, loader):
                for users, good, bad in loader:
                    one = self.predict(users, good){0}.numpy()
                    other = self.predict(users, bad).reshape(3, -1){1}.numpy()
                    yield one, other
        """,
        [
            ((".cpu()", ""), ["TDV010"]),
            (("", ".detach().cpu()"), ["TDV010"]),
            ((".cpu()", ".cpu()"), []),
            (("", ""), []),
        ],
    ),
    "results of two functions": (
        """
        from somewhere import predict, read

        def ranked(users, good, bad):
            return predict(users, good).cpu().numpy(), {0}(users, bad).numpy()
        """,
        [("predict", ["TDV010"]), ("read", [])],
    ),
    "what is read as an array": (
        """
        import numpy as np
        from somewhere import predict

        def ranked(users, good, bad):
            return predict(users, good).cpu().numpy(), {0}
        """,
        [("np.asarray(predict(users, bad).numpy())", ["TDV010"]), ("predict(users, bad).item()", [])],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_look_alikes_beside_mistakes(what: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way("", *CASES[what])


BY_DEFAULT = """\
import torch
from torch import nn

class Loss(nn.Module):
    def forward(self, inputs, targets, ignored{default}):
        return inputs[~torch.isin(targets, ignored)].sum()
"""


@pytest.mark.parametrize(
    ("default", "others", "found"),
    [
        ("=torch.tensor([0, 1])", {}, ["TDV105"]),
        ("=None", {}, []),
        ("", {}, []),
        ("=torch.tensor([0, 1])", {"run.py": "from loss import Loss\nLoss().forward(x, y, ignored=z)\n"}, []),
    ],
)
def test_a_tensor_by_default(
    tmp_path: Path,
    every_code: Callable[[Path, dict[str, str], str], list[str]],
    default: str,
    others: dict[str, str],
    found: list[str],
) -> None:
    files = {"loss.py": BY_DEFAULT.format(default=default), **others}
    assert every_code(tmp_path, files, "loss.py") == found


SAVES = """\
import sys
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"

def train(path, nets):
    kept = []
    for net in nets:
        net.to(device)
        net(torch.rand(3, device=device)).sum().backward()
        {brings}
        state = net.state_dict()
        kept.append(state)
    {more}
    torch.save(kept, path)

def show(path, net):
    net.load_state_dict(torch.load(path)[0])
    return net(torch.rand(3))

if __name__ == "__main__":
    nets = [torch.nn.Linear(3, 3)]
    if sys.argv[1] == "train":
        train("nets.pt", nets)
    else:
        show("nets.pt", nets[0])
"""


@pytest.mark.parametrize(
    ("brings", "more", "found"),
    [
        ("net.cpu()", "", []),
        ("net = net.to('cpu')", "", []),
        ("", "", ["TDV009"]),
        ("net.eval()", "", ["TDV009"]),
        ("nets[0].cpu()", "", ["TDV009"]),
        ("net.cpu()", "other = nets[1]\n    kept.append(other.state_dict())", ["TDV009"]),
        ("# net.cpu()", "", ["TDV009"]),
    ],
)
def test_states_that_are_taken_on_the_host(
    checked: Checked, tmp_path: Path, brings: str, more: str, found: list[str]
) -> None:
    assert checked(tmp_path, {"run.py": SAVES.format(brings=brings, more=more)}, "run.py") == found


LOSS = """\
import torch

class Hinge:
    def __call__(self, *given):
        return self.loss(*given)

    def loss(self, x, y):
        assert y.dim() == 1
        columns = torch.Tensor(y.unsqueeze(1)).long()
        return torch.gather(x, 1, columns).expand(*x.size())
"""
TRAINS = "import torch\nfrom pkg.loss import Hinge\nx = torch.rand(3){moved}\nhinge = Hinge()\nhinge(x, x)\n"


def _notebook(text: str) -> str:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


@pytest.mark.parametrize(
    ("moved", "helper", "found"),
    [
        ("", "", []),
        ('.to("cuda")', "", ["TDV005"]),
        ("", "net.cuda()\n", ["TDV005"]),
    ],
)
def test_what_only_notebooks_use(
    checked: Checked, tmp_path: Path, moved: str, helper: str, found: list[str]
) -> None:
    """A class that notebooks use is where they put things, as with scripts."""
    text = TRAINS.format(moved=moved) + ("import pkg.moves\n" if helper else "")
    files = {
        "pkg/__init__.py": "",
        "pkg/loss.py": LOSS,
        "pkg/moves.py": helper,
        "Train.ipynb": _notebook(text),
    }
    # elsewhere in the repository an accelerator is used
    files["net.py"] = "import torch\nnet = torch.nn.Linear(3, 3).cuda()\n"
    assert checked(tmp_path, files, "pkg/loss.py") == found


MAKES = """\
import torch
from torch import nn

def evaluate(width):
    return nn.Linear(width, 3).to("cuda")(torch.rand(3, width))

def main():
    {starts}
"""


@pytest.mark.parametrize("starts", ["evaluate(3)", "pass"])
def test_what_fails_wherever_it_is_called_from(checked: Checked, tmp_path: Path, starts: str) -> None:
    """A script of another file that runs into it takes nothing back."""
    files = {
        "nets.py": MAKES.format(starts=starts),
        "run.py": "import torch\nimport nets\nnets.evaluate(3)\n",
    }
    assert checked(tmp_path, files, "nets.py") == ["TDV001"]


LEFT = """\
import torch

class Masks:
    def __init__(self, width, device="cpu"):
        self.table = torch.ones(width, device=device)

def one(x, device):
    x = x.to(device)
    return x, Masks(3).table

def other(x):
    return x

if __name__ == "__main__":
    {starts}
"""


@pytest.mark.parametrize(("starts", "found"), [("one(1, 2)", ["TDV020"]), ("other(1)", [])])
def test_what_is_told_of_texts_only(checked: Checked, tmp_path: Path, starts: str, found: list[str]) -> None:
    """Of what a script does not run any more, what the text alone shows is not told either."""
    assert checked(tmp_path, {"run.py": LEFT.format(starts=starts)}, "run.py") == found


KEPT = """\
import torch
from torch import nn

class Meta(nn.Module):
    def __init__(self, models, device="cuda:0"):
        super().__init__()
        self.models = models
        self.device = device

    def forward(self, x):
        return torch.stack([model(x{at}) for model in self.models])
"""
USES_IT = "import torch\nfrom meta import Meta\nnet = Meta([]).to(torch.device('cpu'))\n{more}\n"


@pytest.mark.parametrize(
    ("at", "more", "found"),
    [
        ("", "print(net)", []),
        (".to(self.device)", "print(net)", ["TDV002"]),
        ("", "net(torch.zeros(3, device=net.device))", ["TDV002"]),
    ],
)
def test_a_default_that_is_kept_and_never_read(
    checked: Checked, tmp_path: Path, at: str, more: str, found: list[str]
) -> None:
    files = {"meta.py": KEPT.format(at=at), "run.py": USES_IT.format(more=more)}
    assert checked(tmp_path, files, "meta.py") == found


DICTS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
from somewhere import Data, brought

device = torch.device("cuda")
model = nn.Linear(3, 3).to(device)
for batch in DataLoader(Data(), batch_size=3):
    inputs = batch["samples"]
    {does}
    model({given})
"""


@pytest.mark.parametrize(
    ("does", "given", "found"),
    [
        ('inputs["text"] = brought(inputs["text"], device)', "**inputs", []),
        ("inputs[0] = 1.0", "inputs", ["TDV001"]),
        ("pass", "**inputs", ["TDV001"]),
    ],
)
def test_a_dict_in_a_batch(checked: Checked, tmp_path: Path, does: str, given: str, found: list[str]) -> None:
    assert checked(tmp_path, {"run.py": DICTS.format(does=does, given=given)}, "run.py") == found


LOOPS = """\
import torch
def train(loader, model, device):
    {loop}
        {moves}
        model(x, y).sum().backward()
"""


@pytest.mark.parametrize(
    ("loop", "moves", "found"),
    [
        ("for x, y in loader:", "x.to(device)", ["TDV003"]),
        ("for i, (x, y) in enumerate(train_loader):", "x.cuda(); y.cuda()", ["TDV003", "TDV003"]),
        ("for x, y in tqdm(val_dl):", "x.to(device)", ["TDV003"]),
        ("for x, y in loader:", "x = x.to(device)", []),
        ("for x, y in things:", "x.to(device)", []),
        ("for x, batch in loader:", "batch.to(device); y = 1", []),
        ("for x, y in loader:\n        y = chosen(y)", "y.to(device)", []),
        ("for y in loader:", "y.to(device); x = 1", []),
    ],
)
def test_parts_of_batches_that_are_moved_and_thrown_away(
    checked: Checked, tmp_path: Path, loop: str, moves: str, found: list[str]
) -> None:
    text = LOOPS.format(loop=loop, moves=moves).replace("train_loader:", "loader:")
    assert checked(tmp_path, {"run.py": text}, "run.py") == found

"""Calls that the file itself gets through on an accelerator; tensors of lengths; paths; dimensions that a call shows."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.registry import all_rules

HEAD = """\
import os
from pathlib import Path
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

CLASSIFY = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.rnn = nn.LSTM(4, 4, batch_first=True)
    def forward(self, ids, other):
        embedded = self.embedding(ids)
        {used}
        return self.rnn(embedded)[0]
def classify(model, words, where):
    model.eval()
    ids = torch.tensor(words).to(where).unsqueeze(0)
    with torch.no_grad():
        return model(ids, {other}).argmax()
{run}
"""

RUN = "print(classify(Reader().to(device), [1, 2], device).item())"
PACKS = "embedded = nn.utils.rnn.pack_padded_sequence(embedded, other, batch_first=True)"

UNREAD = """
import numpy as np
class Game:
    def encode(self, state): return np.stack([state == -1, state == 1]).astype(np.float32)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(18, 9))
    def forward(self, x):
        return self.body(x)
class Search:
    def __init__(self, game, model):
        self.game, self.model = game, model
    def choose(self, state):
        return self.model(torch.tensor(self.game.encode(state)).unsqueeze(0){there}).argmax(1)
net = Net().to(device)
print(Search(Game(), net).choose({state}))
"""

LAZY = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None
    def forward(self, x):
        x = x.flatten(1)
        if self.out is None:
            self.out = nn.Sequential(nn.Linear(x.shape[1], 8), nn.ReLU(), nn.Linear(8, 2)){there}
        return self.out(x)
{run}
"""

DRY = """
net = nn.Sequential(nn.Conv2d(3, 4, 3), Head())
net(torch.zeros(1, 3, 8, 8))
net.to(device)
for _ in range(3):
    net(torch.zeros(1, 3, 8, 8, device=device))
"""
CPU_ONLY = "net = Head()\nprint(net(torch.zeros(1, 3, 8, 8)).shape, device)"
NOT_DRY = "net = Head().to(device)\nnet(torch.zeros(1, 3, 8, 8, device=device))"

SAVED = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--out", default="runs")
args = parser.parse_args()
def fit(file):
    net = nn.Linear(4, 3).to(device)
    limits = {limits}
    torch.save({{"state": net.state_dict(), "limits": limits, "name": "best"}}, file)
class Tagger:
    def __init__(self, file):
        held = torch.load(file, map_location={where})
        self.net = nn.Linear(4, 3)
        self.net.load_state_dict(held["state"])
        self.net.to(device)
        self.limits = held["limits"]
    def __call__(self, x):
        return self.net(x.to(device)) > self.limits
fit({saved})
print(Tagger({loaded})(torch.rand(2, 4)))
"""

PSEUDO = """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
rows = torch.rand(64, 4)
kept = []
for (x,) in DataLoader(TensorDataset(rows), batch_size=8):
    out = net(x.to(device))
    {key}
    kept.append({taken})
"""


def _rows(code: str) -> int:
    text = HEAD + textwrap.dedent(code)
    compile(text, "snippet", "exec")
    return len({one.range.start.row for one in findings(text, "snippet.py", DEFAULT_RULES)})


@pytest.mark.parametrize(
    ("used", "other", "run", "count"),
    [
        # what nothing says of are lengths is on the host because the model that is run wants it there
        (PACKS, "torch.tensor([2])", RUN, 0),
        ("embedded = embedded + other.to(embedded.device)", "torch.ones(4)", RUN, 0),
        ("embedded = embedded + other", "torch.ones(4)", RUN, 1),
        (PACKS, "torch.tensor([2])", "", 1),
        # it is most likely the model of the file, which brings what it takes there
        ("embedded = embedded + other.to(embedded.device)", "torch.ones(4)", "", 0),
        ("embedded = embedded + other", "torch.ones(4)", "", 1),
        # lengths by what they are made of
        (PACKS, "torch.tensor([len(words)])", "", 0),
        (PACKS, "torch.LongTensor([ids.size(1)])", "", 0),
        (PACKS, "torch.tensor([len(words) * 0.5])", "", 1),
        ("embedded = embedded + other", "torch.tensor([len(words)])", RUN, 1),
    ],
)
def test_what_a_model_of_the_file_takes(used: str, other: str, run: str, count: int) -> None:
    assert _rows(CLASSIFY.format(used=used, other=other, run=run)) == count


@pytest.mark.parametrize(
    ("there", "state", "count"),
    [
        ("", "np.zeros(9)", 1),
        # where the input is cannot be seen from here: nothing is refuted
        ("", "unpickle('state')", 1),
        (".to(device)", "np.zeros(9)", 0),
    ],
)
def test_a_call_of_which_little_is_known_refutes_nothing(there: str, state: str, count: int) -> None:
    assert _rows("from pickles import unpickle" + UNREAD.format(there=there, state=state)) == count


@pytest.mark.parametrize(
    ("there", "run", "count"),
    [
        ("", DRY, 0),
        ("", CPU_ONLY, 1),
        ("", NOT_DRY, 1),
        ("", DRY + NOT_DRY, 1),
        (".to(x.device)", NOT_DRY, 0),
    ],
)
def test_what_is_built_at_the_first_call(there: str, run: str, count: int) -> None:
    assert _rows(LAZY.format(there=there, run=run)) == count


@pytest.mark.parametrize(
    ("limits", "where", "saved", "loaded", "count"),
    [
        ("torch.rand(3)", '"cpu"', 'Path(args.out) / "a.pt"', 'Path(args.out) / "a.pt"', 1),
        ("torch.rand(3)", "device", 'Path(args.out) / "a.pt"', 'Path(args.out) / "a.pt"', 0),
        ("0.5", '"cpu"', 'Path(args.out) / "a.pt"', 'Path(args.out) / "a.pt"', 0),
        ("torch.rand(3)", '"cpu"', 'Path(args.out) / "a.pt"', 'Path(args.out) / "b.pt"', 0),
        ("torch.rand(3)", '"cpu"', 'Path(args.out) / "a.pt"', 'Path("out") / "a.pt"', 0),
        ("torch.rand(3)", '"cpu"', 'Path(args.out) / "a.pt"', 'os.path.join(args.out, "a.pt")', 1),
        ("torch.rand(3)", '"cpu"', 'Path(args.out) / "x" / "a.pt"', 'Path(args.out, "x") / "a.pt"', 1),
        ("torch.rand(3)", '"cpu"', 'Path(args.out) / "x" / "a.pt"', 'Path(args.out) / "y" / "a.pt"', 0),
    ],
)
def test_what_is_saved_under_a_path_is_loaded_from_it(
    limits: str, where: str, saved: str, loaded: str, count: int
) -> None:
    assert _rows(SAVED.format(limits=limits, where=where, saved=saved, loaded=loaded)) == count


@pytest.mark.parametrize(
    ("key", "taken", "count"),
    [
        ("best, label = out.softmax(1).max(1)", "x[best > 0.4]", 1),
        ("best, label = out.softmax(1).cpu().max(1)", "x[best > 0.4]", 0),
        ("best = out.max(dim=1)", "x[best.values > 0.4]", 1),
        ("label = out.argmax(1)", "x[label == 1]", 1),
        ("label = out.argmax(1)", "x[(label == 1).cpu()]", 0),
        ("label = out.argmax(1)", "x.to(device)[label == 1]", 0),
        ("order = out.sum(-2)", "x[0][order.argsort()]", 1),
        # of a 0-dim tensor, a number is read, wherever it is
        ("first = out.argmax()", "x[first]", 0),
        ("first = out.argmax(1)[0]", "x[first]", 0),
        ("first = out.flatten().argmax(0)", "x[first]", 0),
        ("first = out.flatten().max(-1)[1]", "x[first]", 0),
    ],
)
def test_the_dimension_that_a_call_names_is_there(key: str, taken: str, count: int) -> None:
    assert _rows(PSEUDO.format(key=key, taken=taken)) == count

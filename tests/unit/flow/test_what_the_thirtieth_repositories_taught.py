"""What the thirtieth batch of repositories taught, each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]
Checked = Callable[[Path, dict[str, str], str], list[str]]

START = """\
import os
import torch
from torch import nn
from itertools import chain
from torch_geometric.data import Data
from torchaudio.models import RNNTBeamSearch, Conformer

"""

CASES: dict[str, tuple[str, Ways]] = {
    "graphs whose parts are moved in a loop over several lists": (
        """
        class Graph:
            def __init__(self, n):
                self.x = torch.rand(n, 4)


        def fit(train, test):
            net = nn.Linear(4, 2).cuda()
            for graph in {0}:
                {1}
            return [net(graph.x) for graph in train]


        fit([{2} for n in range(3)], [{2} for n in range(3)])
        """,
        [
            (("train + test", "graph.x = graph.x.cuda()", "Graph(n)"), []),
            (("chain(train, test)", "graph.x = graph.x.cuda()", "Graph(n)"), []),
            (("test + test", "graph.x = graph.x.cuda()", "Graph(n)"), ["TDV001"]),
            (("train + test", "graph.mean = graph.x.mean()", "Graph(n)"), ["TDV001"]),
            (("train", "graph.x = graph.x.cuda()", "Data(x=torch.rand(n, 4))"), []),
            (("train", "graph.mean = graph.x.mean()", "Data(x=torch.rand(n, 4))"), ["TDV001"]),
            (("test", "graph.x = graph.x.cuda()", "Data(x=torch.rand(n, 4))"), ["TDV001"]),
        ],
    ),
    "a program that hides its GPUs": (
        """
        os.environ["CUDA_VISIBLE_DEVICES"] = {0}
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        print(torch.rand(3, device=device).numpy())
        """,
        [('""', []), ('"-1"', []), ('"0"', ["TDV010"])],
    ),
    "what a library makes of a given module": (
        """
        class Recognizer(nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, frames, lengths):
                {0}
                return decoder(frames.cuda(), lengths)
        """,
        [
            ("decoder = RNNTBeamSearch(self.model, 3)", []),
            ("decoder = Conformer(80, 4, 144, 4, 31)", ["TDV001"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way(START, *CASES[name])


# -- words that go along with accelerators, in programs that use none

AGENT = """\
import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, state):
        return self.layer(state).argmax().numpy()
"""
RUN = "{}\nfrom agent import Agent\n\n\ndef run():\n    {}\n    return Agent()\n\n\nif __name__ == '__main__':\n    run()\n"


@pytest.mark.parametrize(
    ("imported", "done", "found"),
    [
        ("import torch", "torch.cuda.empty_cache() if torch.cuda.is_available() else None", []),
        ("import torch", "if torch.cuda.is_available(): torch.cuda.manual_seed_all(3)", []),
        ("import torch", "if torch.cuda.is_available(): torch.zeros(3).cuda()", ["TDV010"]),
        ("from training import fit", "trainer = fit()", []),
        ("from transformers import Trainer", "trainer = Trainer()", ["TDV010"]),
    ],
)
def test_what_programs_say_by_habit(
    imported: str, done: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    files = {
        "agent.py": AGENT,
        "training.py": "def fit():\n    return 3\n",
        "run.py": RUN.format(imported, done),
    }
    assert checked(tmp_path, files, "agent.py") == found

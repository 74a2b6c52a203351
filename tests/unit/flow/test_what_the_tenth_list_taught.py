"""What a tenth list of mined bugs and two rounds of programs taught: batches that get an item or an attribute, lengths from one caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

_TOKENS = """
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tokenizer = AutoTokenizer.from_pretrained("gpt2")

def predict(text):
    model = AutoModelForCausalLM.from_pretrained("gpt2"){0}
    batch = tokenizer(text, return_tensors="pt")
    {1}
    return {2}

predict("a")
"""

_GRAPHS = """
import torch
from torch_geometric.data import Data

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def split(data):
    data.held_out = data.edge_index[:, torch.randperm(4)]
    return data

data = split(Data(x=torch.randn(5, 3), edge_index=torch.zeros(2, 8, dtype=torch.long))){0}

def test():
    drawn = torch.randint(0, 5, data.held_out.size())
    return torch.cat([data.held_out, drawn{1}], dim=-1)

test()
"""

_LOADED = """
import torch
from torch import nn
from torch.utils.data import DataLoader
from datasets import load_dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def train(pairs):
    model = nn.Linear(3, 4).to(device)
    for batch in DataLoader(pairs):
        batch["image"] = batch["image"].to(device)
        {0}
        nn.functional.cross_entropy(model(batch["image"]), batch["label"])

train(load_dataset("digits", split="train").with_format("torch"))
"""

_LENGTHS = """
import torch
from torch import nn
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def collate(rows):
    return torch.zeros(2, 3, 4), torch.tensor([len(row) for row in rows])

class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Linear(4, 4)
        self.rnn = nn.LSTM(4, 5)

    def forward(self, x, widths):
        packed = nn.utils.rnn.pack_padded_sequence(self.cnn(x), widths // 2)
        return self.rnn(packed)[0]

def main(rows):
    net = Recogniser().to(device)
    for x, widths in DataLoader(rows, collate_fn=collate):
        net(x.to(device), {0})

main([[1]])
"""

_COMPARED = """
import torch

def compare(device, dtype=torch.float):
    x = torch.randn(4, dtype=dtype, device=device)
    y = x * x
    x = x.cuda()
    return torch.allclose(y, (x * x).cpu())

compare("cpu:0")
compare("{0}", torch.double)
"""

_HANDED_ON = """
import torch
from torch import nn
from torch.utils.data import DataLoader
from datasets import load_dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    def forward(self, *others, image, **named):
        y = self.first(image)
        for other in {0}:
            y = y + other
        return y

def train(rows):
    model = Sum().to(device)
    for batch in DataLoader(rows):
        batch["image"] = batch["image"].to(device)
        model(**batch)

train(load_dataset("digits", split="train").with_format("torch"))
"""

CASES: dict[str, tuple[str, Ways]] = {
    "an item of what a tokenizer gives": (
        _TOKENS,
        [
            (("", 'batch["input_ids"] = batch["input_ids"].to(device)', "model(**batch)"), ["TDV001"]),
            ((".to(device)", 'batch["labels"] = batch["input_ids"].clone()', "model(**batch)"), ["TDV001"]),
            (
                (
                    ".to(device)",
                    'batch["input_ids"] = batch["input_ids"].to(device)',
                    'model(batch["input_ids"], attention_mask=batch["attention_mask"])',
                ),
                ["TDV001"],
            ),
            (
                (
                    ".to(device)",
                    'batch["input_ids"] = batch["input_ids"].to(device); mask = batch.attention_mask',
                    'model(batch["input_ids"], attention_mask=mask)',
                ),
                ["TDV001"],
            ),
            # all that it has may be among the known ones
            ((".to(device)", 'batch["input_ids"] = batch["input_ids"].to(device)', "model(**batch)"), []),
            (
                (
                    ".to(device)",
                    'batch["labels"] = torch.zeros(3, device=device); batch = batch.to(device)',
                    "model(**batch)",
                ),
                [],
            ),
            (
                (
                    ".to(device)",
                    'batch["labels"] = torch.zeros(3, device=device); batch.to(device)',
                    'model(batch["input_ids"], labels=batch["labels"])',
                ),
                [],
            ),
        ],
    ),
    "an attribute of a graph": (
        _GRAPHS,
        [
            ((".to(device)", ""), ["TDV005"]),
            ((".to(device)", ".to(device)"), []),
            (("", ""), []),
        ],
    ),
    "an item of what a loader gives": (
        _LOADED,
        [
            ("pass", ["TDV004"]),
            ('batch["label"] = batch["label"].to(device)', []),
            ("for key in batch: batch[key] = batch[key].to(device)", []),
        ],
    ),
    "a batch that is taken apart": (
        _HANDED_ON,
        [
            ("named.values()", []),  # there may be none
            ("others", []),  # there are none
            ('(named["label"],)', ["TDV004"]),
        ],
    ),
    "a loader of what NumPy has made": (
        """
        import numpy as np
        import torch
        from torch import nn
        from torch.utils.data import DataLoader
        from architectures import encode

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        class Predictor:
            def fit(self, rows):
                encoded = []
                for row in rows:
                    encoded.append(encode(row))
                data = {0}
                self.model = nn.Linear(3, 4)
                self.model.to(device)
                for batch in DataLoader(data, batch_size=8, shuffle=True):
                    self.model(batch["operations"]{1})
        """,
        [
            (("np.array(encoded)", ""), ["TDV001"]),
            (("np.array(encoded)", ".to(device)"), []),
            (("np.array(encoded, dtype=object)", ""), []),
            (("encode(encoded)", ""), []),
        ],
    ),
    "a device that the file's own code only ever says is the CPU": (
        _COMPARED,
        [
            ("cpu:0", []),
            ("cuda:0", ["TDV002", "TDV004"]),
        ],
    ),
    "lengths that the file's own code leaves on the CPU": (
        _LENGTHS,
        [
            ("widths", []),
            ("widths.to(device)", ["TDV013"]),
        ],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_wrong_beside_right(what: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way("", *CASES[what])

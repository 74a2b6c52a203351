"""What the twenty-ninth batch of repositories taught, each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]
Checked = Callable[[Path, dict[str, str], str], list[str]]

START = """\
import argparse
from dataclasses import dataclass

import attr
import numpy as np
import torch
from attrs import define, field
from pictures import Whatever, classify, compute, rows, stats
from pydantic import BaseModel, Field
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)
"""

CASES: dict[str, tuple[str, Ways]] = {
    "what was put on a device is no array": (
        """
        def as_array(x):
            if isinstance(x, np.ndarray):
                return x
            return {0}


        volts = compute(rows(4)).to(device)
        print(np.percentile(as_array(volts), 5))
        """,
        [("x.detach().cpu().numpy()", []), ("x.detach()", ["TDV010"])],
    ),
    "nor is it on one way only": (
        """
        def as_array(x):
            if isinstance(x, np.ndarray):
                return x
            return {0}


        def spread(path):
            if path:
                return rows(path)
            return torch.ones(3, device=device)


        print(np.argsort(as_array(spread(stats()))))
        """,
        [("x.detach().cpu().numpy()", []), ("x.detach()", ["TDV010"])],
    ),
    "nor what a model gave out there": (
        """
        def quality(shown):
            if not isinstance(shown, np.ndarray):
                shown = {0}
            return np.clip(shown[0], 0, 1)


        model = classify().to(device)
        model.eval()
        quality(model(torch.rand(2, 3, device=device))[0])
        """,
        [("shown.detach().cpu().numpy()", []), ("shown.detach()", ["TDV010"])],
    ),
    "records that libraries make": (
        """
        {0}
        class Settings{1}:
            device: str = "cuda"
            width: int = 3


        settings = Settings({2})
        print(torch.ones(3, device=settings.device) + torch.zeros(3))
        """,
        [
            (("", "(BaseModel)", 'device="cpu"'), []),
            (("", "(BaseModel)", "width=4"), ["TDV005"]),
            (("@attr.s(auto_attribs=True)", "", 'device="cpu"'), []),
            (("@attr.s(auto_attribs=True)", "", ""), ["TDV005"]),
            (("@define", "", '"cpu"'), []),
            (("@define", "", ""), ["TDV005"]),
            (("@dataclass", "", "width=4"), ["TDV005"]),
            (("", "(Whatever)", 'device="cpu"'), []),
            (("", "(Whatever)", ""), ["TDV005"]),
        ],
    ),
    "what is given by stars is not the default": (
        """
        {0}
        class Settings{1}:
            device: str = "cuda:1"


        settings = Settings({2})
        print(torch.ones(3, device=settings.device) + torch.ones(3, device="cuda:0"))
        """,
        [
            (("", "(BaseModel)", "**stats()"), ["TDV002"]),
            (("@dataclass", "", "**stats()"), ["TDV002"]),
            (("@dataclass", "", ""), ["TDV002", "TDV004"]),
        ],
    ),
    "how a field of such a record is said": (
        """
        class Settings(BaseModel):
            device: str = {0}


        @define
        class Options:
            device: str = {1}


        settings, options = Settings({2}), Options()
        print(torch.ones(3, device=settings.device) + torch.zeros(3))
        print(torch.ones(3, device=options.device) * torch.zeros(3))
        """,
        [
            (('Field("cuda", description="where")', '"cpu"', ""), ["TDV005"]),
            (('Field(default="cuda")', '"cpu"', ""), ["TDV005"]),
            (('Field("cuda")', '"cpu"', 'device="cpu"'), []),
            (('Field(default_factory=lambda: "cpu")', 'field(default="cpu")', ""), []),
            (('"cpu"', 'field(default="cuda")', ""), ["TDV005"]),
            (('"cpu"', 'field(factory=lambda: "cpu")', ""), []),
        ],
    ),
    "a policy that is not recurrent does not look at its states": (
        """
        actor_critic, _ = torch.load(rows(3), weights_only=False)
        hidden, {0} = torch.zeros(1, 8), torch.zeros(1, 1)
        seen = torch.rand(1, 3).to(device)
        actor_critic.{1}(seen, hidden, {0})
        """,
        [
            (("masks", "act"), ["TDV009"]),
            (("goal", "act"), ["TDV001", "TDV009"]),
            (("masks", "forward"), ["TDV001", "TDV009"]),
        ],
    ),
    "a loss that is given lengths brings its targets itself": (
        """
        class Trainer:
            def __init__(self, loss=None):
                self.loss = nn.CTCLoss() if loss is None else loss

            def step(self, frames, {0}, {1}):
                out = net(frames.to(device))
                return self.loss(out, torch.ones(4, 5), {0}, {1})


        Trainer(stats()).step(torch.rand(4, 3), rows(4), rows(4))
        """,
        [(("frame_lens", "word_lens"), []), (("a", "b"), ["TDV001"])],
    ),
    "parts of a batch that stay where they came": (
        """
        def decode(batch):
            frames, words, lengths = batch
            frames = frames.{0}
            out = net(frames)
            starts = torch.cat((torch.zeros(1, dtype=torch.long), torch.cumsum(lengths, 0)))
            return [out[a] for a in starts]
        """,
        [("cuda()", ["TDV018"]), ("float()", ["TDV005"])],
    ),
    "what stars give is one thing wherever it goes": (
        """
        class Trainer:
            def __init__(self, model, rate=0.1, use_cuda=False):
                self.model, self.use_cuda = model, use_cuda
                if self.use_cuda:
                    self.model.cuda()

            def step(self, x):
                if {0}:
                    x = x.cuda()
                return self.model(x)


        parser = argparse.ArgumentParser()
        parser.add_argument("--use-cuda", action="store_true")
        trainer = Trainer(nn.Linear(3, 3), **stats(parser))
        trainer.step(torch.rand(4, 3))
        """,
        [("self.use_cuda", []), ("not self.use_cuda", ["TDV001"])],
    ),
    "numbers that a factory is given": (
        """
        def pairs(count, far, where):
            apart = torch.randint(0, {0}, (count,)) if where else far
            return torch.randint(0, 9, (count,)) - apart
        """,
        [("1 + far", []), ("3", ["TDV005"])],
    ),
    "a data set with a number": (
        """
        def padded({0}):
            for one in {0}:
                yield torch.cat([one.y, torch.zeros(3, dtype=torch.long)])
        """,
        [("dataset_1", []), ("answers", ["TDV005"])],
    ),
    "an array that is asked to be elsewhere": (
        """
        def masked(logits, mask):
            legal = torch.from_numpy(mask{0})
            return net(torch.rand(4, 3, device=device)) * legal
        """,
        [(", device=device", []), ("", ["TDV005"])],
    ),
    "who asks for an accelerator by its name": (
        """
        def resolve_device(asked):
            {0} = asked.strip().lower()
            if {0} in {{"cuda", "gpu"}}:
                {0} = "cuda:0"
            return {0}
        """,
        [("normalized", []), ("no_gpu", ["TDV002"])],
    ),
    "a default that is thrown away": (
        """
        def sample(net, count, device="cuda:0"):
            {0}
            return draw(net, count, device=stats(net).device)
        """,
        [("del device", []), ("print(device)", ["TDV002"])],
    ),
    "what a class sets on what its base has moved": (
        """
        class Anchored(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)
                self.anchors = torch.zeros(4, 3)

            def forward(self, x):
                return self.layer(x) + self.anchors

            def to(self, *args, **kwargs):
                moved = super().to(*args, **kwargs)
                moved.{0} = moved.{0}.to(*args, **kwargs)
                return moved
        """,
        [("anchors", []), ("others", ["TDV006"])],
    ),
    "a device that what is made has no need of": (
        """
        def mean_loss(losses, device):
            return torch.tensor(losses){0}


        mean_loss([1.0, 2.0], device)
        """,
        [(".mean()", []), ("", ["TDV017"])],
    ),
    "nor has a parameter of a module": (
        """
        class Scaled(nn.Module):
            def __init__(self, device="cpu"):
                super().__init__()
                self.scale = {0}

            def forward(self, x):
                return x * self.scale
        """,
        [("nn.Parameter(torch.ones(3) * 2)", []), ("torch.ones(3) * 2", ["TDV006", "TDV017"])],
    ),
    "a load in the branch for machines with an accelerator": (
        """
        class Predictor:
            def __init__(self, use_cuda=False):
                self.use_cuda = use_cuda
                self.net = nn.Linear(3, 3)
                if self.use_cuda:
                    self.net.cuda()

            def load(self, path):
                if not self.{0}:
                    held = torch.load(path, map_location="cpu")
                else:
                    held = torch.load(path)
                self.net.load_state_dict(held["model"])

            def train(self, x, path):
                self.net(x.cuda() if self.use_cuda else x).sum().backward()
                torch.save({{"model": self.net.state_dict()}}, path)
        """,
        [("use_cuda", []), ("verbose", ["TDV009"])],
    ),
    "a load where another one failed": (
        """
        def load(net, path):
            try:
                held = torch.load({0})
            except RuntimeError:
                held = torch.load(path)
            net.load_state_dict(held["model"])


        def train(net, x, path):
            net.to(device)(x.to(device)).sum().backward()
            torch.save({{"model": net.state_dict()}}, path)
        """,
        [('path, map_location="cpu"', []), ('path + ".old"', ["TDV009"])],
    ),
    "what NumPy reads as it was loaded": (
        """
        def show(path):
            costs = torch.load(path)
            print(costs["model"]{0}.numpy())


        def train(x, path):
            torch.save({{"model": net(x.to(device)).detach()}}, path)
        """,
        [("", []), (".cpu()", ["TDV009"])],
    ),
    "how many entries a sparse tensor has": (
        """
        rows_held = [row.{0}() for row in torch.rand(3, 3, device=device).to_sparse()]
        print(np.array(rows_held))
        """,
        [("_nnz", []), ("coalesce", ["TDV010"])],
    ),
    "a forward that is read for what derives from its class": (
        """
        class Stack(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.width = width

            def embed(self, x):
                return x

            def forward(self, x):
                return self.embed(x) + table(x.shape[1], self.width)


        class Encoder(Stack):
            def __init__(self, width):
                super().__init__(width)
                self.words = nn.Embedding(9, width)

            def embed(self, x):
                return {0}


        def table(rows, columns):
            return torch.zeros(rows, columns)
        """,
        [("self.words(x)", ["TDV004"]), ("x", [])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way(START, *CASES[name])


# -- programs of several authors in one repository

AGENT = """\
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, state):
        return self.layer(state).argmax().numpy()


def fit(agent, x):
    agent.layer(x).sum().backward()
"""
RUN = (
    "from {} import Agent\n\n\ndef run():\n    return Agent(){}\n\n\nif __name__ == '__main__':\n    run()\n"
)
LOOKS_UP = "import importlib\n\n\ndef find(name):\n    return importlib.import_module(name).Agent().cuda()\n"


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"second/run.py": RUN.format("theirs", ".cuda()")}, []),
        ({"second/run.py": RUN.format("first.agent", ".cuda()")}, ["TDV010"]),
        ({"second/zoo.py": LOOKS_UP}, []),
        ({"first/zoo.py": LOOKS_UP}, ["TDV010"]),
    ],
)
def test_programs_are_kept_apart(
    other: dict[str, str], found: list[str], checked: Checked, tmp_path: Path
) -> None:
    files = {"first/agent.py": AGENT, "first/run.py": RUN.format("agent", ""), **other}
    assert checked(tmp_path, files, "first/agent.py") == found


@pytest.mark.parametrize("place", ["agent.py", "run.py"])
@pytest.mark.parametrize(
    ("said", "found"), [("  # accelerates it", []), ("\n    print('device')", ["TDV010"])]
)
def test_a_comment_puts_nothing_anywhere(
    said: str, found: list[str], place: str, checked: Checked, tmp_path: Path
) -> None:
    files = {
        "setup.py": "from setuptools import setup\nsetup(name='agents')\n",
        "agent.py": AGENT.rstrip(),
        "run.py": "import torch\nfrom agent import Agent\n\n\ndef run(x):\n    Agent().layer(x).sum().backward()",
    }
    files[place] += said
    assert checked(tmp_path, {name: f"{text}\n" for name, text in files.items()}, "agent.py") == found


# -- a name that other things have as well

TRAIN = 'import torch\n\n\ndef train(net, device=torch.device("cuda:1")):\n    return net.to(device)\n'
MAIN = (
    "import argparse\n\nimport torch\nfrom parts.loop import train\n\nargs = argparse.ArgumentParser().parse_args()\n"
    'if {}:\n    train(torch.nn.Linear(3, 3), device=torch.device("cpu"))\n'
)


@pytest.mark.parametrize(("asked", "found"), [("args.train", []), ("callable(train)", ["TDV002"])])
def test_an_attribute_of_the_same_name(
    asked: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    files = {"parts/loop.py": TRAIN, "main.py": MAIN.format(asked)}
    assert checked(tmp_path, files, "parts/loop.py") == found


@pytest.mark.parametrize(("source", "found"), [("theirs", []), ("parts.loop", ["TDV002"])])
def test_a_function_of_the_same_name(source: str, found: list[str], checked: Checked, tmp_path: Path) -> None:
    other = f"import torch\nfrom {source} import train\n\nprint(torch.ones(3), [train])\n"
    files = {
        "first/parts/loop.py": TRAIN,
        "first/main.py": MAIN.format("args.fit"),
        "second/run.py": other,
    }
    assert checked(tmp_path, files, "first/parts/loop.py") == found

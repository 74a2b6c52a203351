"""Pairs of look-alikes from the eleventh batch of repositories, most of them lessons: what is right, beside what is wrong."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

FIRST = """
import os
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(2, 2).to(device)
"""

NOTEBOOKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "a file of the cell before, another file": (
        (
            """
            for epoch in range(3):
                if epoch > 1:
                    torch.save(net.state_dict(), "net.pt")
            """,
            'net.load_state_dict(torch.load("net.pt"))',
        ),
        (
            """
            for epoch in range(3):
                if epoch > 1:
                    torch.save(net.state_dict(), "net.pt")
            """,
            'net.load_state_dict(torch.load("best_net.pt"))',
        ),
    ),
    "what is saved before, and what is saved after": (
        ('torch.save(net.state_dict(), "net.pt")', 'net.load_state_dict(torch.load("net.pt"))'),
        ('net.load_state_dict(torch.load("net.pt"))', 'torch.save(net.state_dict(), "net.pt")'),
    ),
    "what a callback of a module for checkpoints keeps, what its reader is given": (
        (
            'keep = callbacks.checkpointers.Best(filepath="net.pt")',
            "Trial(net, callbacks=[keep]).run(3)",
            'net.load_state_dict(torch.load("net.pt"))',
        ),
        (
            'held = callbacks.checkpointers.found(filepath="net.pt")',
            "Trial(net, callbacks=[held]).run(3)",
            'net.load_state_dict(torch.load("net.pt"))',
        ),
    ),
    "a name that holds a path, one that is bound anew": (
        (
            'PATH = "net.pt"',
            "torch.save(net.state_dict(), PATH)",
            'net.load_state_dict(torch.load("net.pt"))',
        ),
        (
            'PATH = "net.pt"',
            "torch.save(net.state_dict(), PATH)",
            'PATH = "old.pt"',
            'net.load_state_dict(torch.load("old.pt"))',
        ),
    ),
    "a path that is put together": (
        (
            'torch.save(net.state_dict(), os.path.join(FOLDER, f"{NAME}.pt"))',
            'net.load_state_dict(torch.load(os.path.join(FOLDER, f"{NAME}.pt")))',
        ),
        (
            'torch.save(net.state_dict(), os.path.join(FOLDER, f"{NAME}.pt"))',
            'net.load_state_dict(torch.load(os.path.join(OTHER, f"{NAME}.pt")))',
        ),
    ),
    "a function that saves under a key, and one that is told where": (
        (
            """
            def update(state, net):
                torch.save(net.state_dict(), state["file"])
            """,
            "update(state, net)",
            "net.load_state_dict(torch.load(state['file']))",
        ),
        (
            """
            def update(file, net):
                torch.save(net.state_dict(), file)
            """,
            "file = state['file']",
            "net.load_state_dict(torch.load(file))",
        ),
    ),
    "a function that is told where by default": (
        (
            """
            def train(net, path="net.pt"):
                torch.save(net.state_dict(), path)
            """,
            "train(net)",
            'net.load_state_dict(torch.load("net.pt"))',
        ),
        (
            """
            def train(net, path="old_net.pt"):
                torch.save(net.state_dict(), path)
            """,
            "train(net)",
            'net.load_state_dict(torch.load("net.pt"))',
        ),
    ),
    "a path over several rows": (
        (
            'torch.save(net.state_dict(), os.path.join(FOLDER, "net.pt"))',
            "net.load_state_dict(torch.load(\n    os.path.join(\n        FOLDER, 'net.pt')))",
        ),
        (
            'torch.save(net.state_dict(), os.path.join(FOLDER, "net.pt"))',
            "net.load_state_dict(torch.load(\n    os.path.join(\n        OTHER, 'net.pt')))",
        ),
    ),
    "a program that trains, one that does not": (
        ("get_ipython()", 'net.load_state_dict(torch.load(folder + "/net.pt"))'),
        ("pass", 'net.load_state_dict(torch.load(folder + "/net.pt"))'),
    ),
    "a training that keeps its path": (
        ('model.fit(data, ckpt_path="best")', "net.load_state_dict(torch.load(model.ckpt_path))"),
        ('other.fit(data, ckpt_path="best")', "net.load_state_dict(torch.load(model.ckpt_path))"),
    ),
    "a file that is only there if an earlier run left one": (
        (
            """
            def train():
                torch.save(net.state_dict(), "net.pt")
            """,
            "train()",
            'net.load_state_dict(torch.load("net.pt"))',
        ),
        (
            """
            def train():
                torch.save(net.state_dict(), "net.pt")
            """,
            """
            if os.path.exists("net.pt"):
                net.load_state_dict(torch.load("net.pt"))
            """,
            "train()",
        ),
    ),
    "a class that saves where it begins, and one that is asked to": (
        (
            """
            class Finder:
                def __init__(self, net):
                    self.net = net
                    torch.save(net.state_dict(), "first.pt")
                def again(self):
                    self.net.load_state_dict(torch.load("first.pt"))
            """,
        ),
        (
            """
            class Finder:
                def __init__(self, net):
                    self.net = net
                def keep(self):
                    torch.save(self.net.state_dict(), "first.pt")
                def again(self):
                    self.net.load_state_dict(torch.load("first.pt"))
            """,
        ),
    ),
}


def _told(*cells: str, path: str = "lesson.ipynb") -> list[str]:
    text = "".join(f"pass\n{textwrap.dedent(cell)}\n" for cell in (FIRST, *cells))
    return [finding.code for finding in findings(text, path, Config())]


@pytest.mark.parametrize(("right", "wrong"), NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_what_cells_before_have_saved(right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    assert _told(*right) == []
    assert _told(*wrong) == ["TDV009"]


PROGRAMS: dict[str, tuple[str, str]] = {
    "a bag of tensors that is given what moves them": (
        """
        class Trainer:
            def fit(self, model, data):
                data.adjacent = torch.eye(data.x.shape[0])
                data.apply(lambda x: x.to(self.device))
                model = model.to(self.device)
                return model.loss(model(data.x), data.adjacent)
        """,
        """
        class Trainer:
            def fit(self, model, data):
                data.adjacent = torch.eye(data.x.shape[0])
                data.apply(lambda x: x.float())
                model = model.to(self.device)
                return model.loss(model(data.x), data.adjacent)
        """,
    ),
    "a call that fails wherever its tensors are": (
        """
        def padded(x, n):
            return torch.cat([torch.zeros(n, 3), x.cuda()], dims=-1)
        """,
        """
        def padded(x, n):
            return torch.cat([torch.zeros(n, 3), x.cuda()], dim=-1)
        """,
    ),
    "a tensor that the other branch brings to the CPU": (
        """
        def predicted(net, x, on_gpu):
            out = moved(x, on_gpu)
            return out.cpu().numpy() if on_gpu else out.numpy()
        def moved(x, option):
            return x.cuda() if wanted(option) else torch.ones(3).cuda()
        """,
        """
        def predicted(net, x, on_gpu):
            out = moved(x, on_gpu)
            return x.cpu().numpy() if on_gpu else out.numpy()
        def moved(x, option):
            return x.cuda() if wanted(option) else torch.ones(3).cuda()
        """,
    ),
    "a tensor that another branch brings to the CPU for another reason": (
        """
        def predicted(net, x, on_gpu):
            out = moved(x, on_gpu)
            return out.cpu().numpy() if on_gpu else out.numpy()
        def moved(x, option):
            return x.cuda() if wanted(option) else torch.ones(3).cuda()
        """,
        """
        def predicted(net, x, verbose):
            out = moved(x, verbose)
            return out.cpu().numpy() if verbose else out.numpy()
        def moved(x, option):
            return x.cuda() if wanted(option) else torch.ones(3).cuda()
        """,
    ),
    "one of the models that are published": (
        """
        def restored(net, name):
            if name in PRETRAINED_MODELS:
                name = fetched(PRETRAINED_MODELS[name])
            net.load_state_dict(torch.load(os.path.join(name, "model.bin")))
        """,
        """
        def restored(net, name):
            if name in OUR_MODELS:
                name = fetched(OUR_MODELS[name])
            net.load_state_dict(torch.load(os.path.join(name, "model.bin")))
        """,
    ),
    "a method that saves from the CPU": (
        """
        class Base:
            def save_network(self, network, path):
                torch.save(network.cpu().state_dict(), path)
                network.to(self.device)
            def load_network(self, network, path):
                network.load_state_dict(torch.load(path))
        """,
        """
        class Base:
            def save_network(self, network, optimizer, path):
                torch.save(network.state_dict(), path)
                torch.save(optimizer.state_dict(), path + ".optimizer")
                network.to(self.device)
            def load_network(self, network, path):
                network.load_state_dict(torch.load(path))
        """,
    ),
    "weights for another framework": (
        """
        def converted(path):
            weights = torch.load(path + "/model.pth")
            made = {}
            for key, value in weights.items():
                made[key] = np.transpose(value.detach().numpy())
            return made
        """,
        """
        def converted(path):
            weights = torch.load(path + "/model.pth")
            made = {}
            for key, value in weights.items():
                made[key] = np.transpose(value.detach().cpu().numpy())
            return made
        """,
    ),
    "weights for another framework, at once": (
        """
        def converted(path):
            weights = torch.load(path + "/model.pth")
            return {key: value.numpy() for key, value in weights.items()}
        """,
        """
        def converted(path, sizes):
            weights = torch.load(path + "/model.pth")
            return weights, {key: value.numpy() for key, value in sizes.items()}
        """,
    ),
}


@pytest.mark.parametrize(("right", "wrong"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs(right: str, wrong: str) -> None:
    head = "import os\nimport numpy as np\nimport torch\nfrom torch import nn\n"
    saving = "def kept(net, path):\n    torch.save(net.to(device).state_dict(), path)\n"
    saving = "" if "torch.save(" in right else saving
    right, wrong = (head + saving + textwrap.dedent(program) for program in (right, wrong))
    told, found = ([one.code for one in findings(text, "program.py", Config())] for text in (right, wrong))
    assert [code for code in told if not code.startswith("TDV1")] == []
    assert [code for code in found if not code.startswith("TDV1")] != []


RESUME = """\
import os, torch
def train(args, model):
    optimizer = torch.optim.AdamW(model.parameters())
    if os.path.isfile(os.path.join(args.folder, "optimizer.pt")):
        optimizer.load_state_dict(torch.load(os.path.join(args.folder, "optimizer.pt")))
    model.to(args.device)
    model.loss().backward()
    torch.save(model.state_dict(), args.out)
    {saving}
train(options(), network())
"""
KEEP = 'torch.save(optimizer.state_dict(), os.path.join(args.out, "optimizer.pt"))'


@pytest.mark.parametrize(
    ("saving", "beside", "found"),
    [
        (f"# {KEEP}", "", []),
        (KEEP, "", ["TDV009"]),
        ("pass", 'import torch\nNAME = "optimizer.pt"\n', ["TDV009"]),
        ("pass", 'import torch\nread(torch.load("optimizer.pt"))\n', []),
    ],
    ids=["commented out", "saved", "named by another file", "loaded by another file"],
)
def test_a_file_that_nobody_writes(tmp_path: Path, saving: str, beside: str, found: list[str]) -> None:
    """What is asked for first, and is never there, is never loaded."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "beside.py").write_text(beside)
    path, text = tmp_path / "run.py", RESUME.format(saving=saving)
    path.write_text(text)
    told = findings(
        text,
        str(path),
        Config(root=str(tmp_path), off_by_default=frozenset({"TDV107"})),
        sources=DiskSources(),
    )
    assert [finding.code for finding in told] == found

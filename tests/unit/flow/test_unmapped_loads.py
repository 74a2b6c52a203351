"""Loads without `map_location` of which nothing shows where the file was saved (TDV107): what is told, and what is not."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import os\nimport torch\nfrom torch import nn\n\n\n"


def _told(program: str, *rules: str) -> list[str]:
    config = Config(select=rules or ("TDV009", "TDV107"))
    return [one.code for one in findings(HEAD + textwrap.dedent(program), "program.py", config)]


FETCHED = """
def fetch(path, map_location=None):
    return torch.load(path, map_location=map_location)

def build(net, weights):
    net.load_state_dict(fetch({}))
    return net
"""

PAIRS: dict[str, tuple[str, str]] = {
    "what a helper fetches by an address": (
        FETCHED.format('"https://weights.example/net.pt"'),
        FETCHED.format('"net.pt"'),
    ),
    "what a helper fetches by something called one": (
        FETCHED.format("weights.url"),
        FETCHED.format("weights.path"),
    ),
    "a layer that saves itself, in a file that trains": (
        """
        class Head(nn.Module):
            def save(self, folder):
                torch.save(self.state_dict(), os.path.join(folder, "model.bin"))

            def restore(self, folder):
                self.load_state_dict(torch.load(os.path.join(folder, "model.bin")))

        def train(head, batches, optimizer):
            for x, y in batches:
                nn.functional.mse_loss(head(x), y).backward()
                optimizer.step()
        """,
        """
        class Head(nn.Module):
            def save(self, folder):
                torch.save(self.state_dict(), os.path.join(folder, "model.bin"))

            def restore(self, folder):
                self.load_state_dict(torch.load(os.path.join(folder, "model.bin")))
        """,
    ),
    "a program for a GPU, of one process or several": (
        """
        def resume(net, checkpoint):
            net.load_state_dict(torch.load(checkpoint)["model"])
            return net.cuda()
        """,
        """
        def resume(net, checkpoint, local_rank):
            net.load_state_dict(torch.load(checkpoint)["model"])
            return nn.parallel.DistributedDataParallel(net.cuda(), device_ids=[local_rank])
        """,
    ),
    "what a failure means": (
        """
        def restore(net, checkpoint, device):
            if torch.cuda.is_available():
                net.load_state_dict(torch.load(checkpoint))
            else:
                net.load_state_dict(torch.load(checkpoint, map_location="cpu"))
            return net.to(device)
        """,
        """
        def restore(net, checkpoint, device):
            try:
                net.load_state_dict(torch.load(checkpoint))
            except Exception:
                print("starting anew")
            return net.to(device)
        """,
    ),
    "a failure that is made good, or not": (
        """
        def restore(net, checkpoint, device):
            try:
                state = torch.load(checkpoint)
            except RuntimeError:
                state = torch.load(checkpoint, map_location="cpu")
            net.to(device).load_state_dict(state["model_state_dict"])
        """,
        """
        def restore(net, checkpoint, device):
            try:
                state = torch.load(checkpoint)
            except RuntimeError:
                raise SystemExit("no such file")
            net.to(device).load_state_dict(state["model_state_dict"])
        """,
    ),
    "what was saved in the line before": (
        """
        def check(traced, path, device):
            traced.save(path)
            return torch.jit.load(str(path)).to(device)
        """,
        """
        def check(traced, path, other, device):
            traced.save(other)
            return torch.jit.load(str(path)).to(device)
        """,
    ),
    "weights of others, with an address and without": (
        """
        ADDRESS = "https://models.example.org/pretrained.pth"

        class Backbone:
            def load_from_pretrained(self, device):
                self.net.to(device).load_state_dict(torch.load("folder/pretrained.pth"))
        """,
        """
        class Backbone:
            def load_from_pretrained(self, folder, device):
                self.net.to(device).load_state_dict(torch.load(folder + "/pretrained.pth"))
        """,
    ),
    "a helper that is told, or is not": (
        """
        def fetch(path, map_location=None):
            return torch.load(path, map_location=map_location)

        def restore(net, checkpoint, device):
            net.to(device).load_state_dict(fetch(checkpoint, device))
        """,
        """
        def fetch(path, map_location=None):
            return torch.load(path, map_location=map_location)

        def restore(net, checkpoint, device):
            net.to(device).load_state_dict(fetch(checkpoint))
        """,
    ),
    "a helper with a place of its own": (
        """
        def fetch(path, map_location=None):
            map_location = map_location or "cpu"
            return torch.load(path, map_location=map_location)

        def restore(net, checkpoint, device):
            net.to(device).load_state_dict(fetch(checkpoint))
        """,
        """
        class Files:
            def fetch(self, path, map_location=None):
                return torch.load(path, map_location=map_location)

            def restore(self, net, checkpoint, device):
                net.to(device).load_state_dict(self.fetch(checkpoint))
        """,
    ),
    "a scripted model": (
        """
        def scripted(path, device):
            return torch.jit.load(path, device)
        """,
        """
        def scripted(path, device):
            return torch.jit.load(path).to(device)
        """,
    ),
    "a loader of a library": (
        """
        from mmengine.runner.checkpoint import _load_checkpoint

        def weights(self, path):
            return _load_checkpoint(path, "cpu")["state_dict"]
        """,
        """
        from mmengine.runner.checkpoint import _load_checkpoint

        def weights(self, path):
            return _load_checkpoint(path)["state_dict"]
        """,
    ),
}


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right_ones_are_not_told(right: str, _wrong: str) -> None:
    assert _told(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_their_look_alikes_are(_right: str, wrong: str) -> None:
    assert _told(wrong) == ["TDV107"]


def test_what_is_borne_out_is_told_once() -> None:
    program = """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(2, 2).to(device)
        net.load_state_dict(torch.load("best.pt"))
        """
    assert _told(program) == ["TDV009"]


@pytest.mark.parametrize("rest", ["*more", "**more"])
def test_what_is_not_written_out_may_be_given(rest: str) -> None:
    program = f"""
        def scripted(path, more, device):
            return torch.jit.load(path, {rest}).to(device)
        """
    assert _told(program) == []

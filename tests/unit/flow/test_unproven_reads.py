"""Reads on the host of what may be anywhere (TDV108): what is told, and what is not."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import numpy as np\nimport torch\nimport matplotlib.pyplot as plt\nfrom torch import nn\n\n\n"


def _told(program: str) -> list[str]:
    config = Config(select=("TDV010", "TDV103", "TDV108"))
    return [one.code for one in findings(HEAD + textwrap.dedent(program), "program.py", config)]


PAIRS: dict[str, tuple[str, str]] = {
    "what a policy gives": (
        """
        def wrapped(forward_fn):
            def _forward(observation):
                action = forward_fn(observation).action.cpu()
                return action.squeeze(0).numpy()
            return _forward
        """,
        """
        def wrapped(forward_fn):
            def _forward(observation):
                action = forward_fn(observation).action
                return action.squeeze(0).numpy()
            return _forward
        """,
    ),
    "what is called a model, or anything": (
        """
        class Runner:
            def run(self, rows):
                found = self.lookup(rows)
                return found.detach().numpy()
        """,
        """
        class Runner:
            def run(self, rows):
                found = self.model(rows)
                return found.detach().numpy()
        """,
    ),
    "a name that is given an array, or is still the tensor": (
        """
        class Runner:
            def run(self, rows, to_array):
                depth = self.model(rows)
                depth = to_array(depth)
                return depth.numpy()
        """,
        """
        class Runner:
            def run(self, rows, to_array):
                depth = to_array(rows)
                depth = self.model(depth)
                return depth.numpy()
        """,
    ),
    "a conversion, or a move": (
        """
        class Runner:
            def run(self, rows, place):
                return self.model(rows).to(place).numpy()
        """,
        """
        class Runner:
            def run(self, rows, place):
                return self.model(rows).to(torch.float64).numpy()
        """,
    ),
    "a gradient": (
        """
        class Search:
            def slope(self, name):
                return self.held[name].grad.numpy(force=True)
        """,
        """
        class Search:
            def slope(self, name):
                return self.held[name].grad.numpy()
        """,
    ),
    "what a distribution gives, and what asks where it is": (
        """
        class Forecast:
            def mean(self):
                found = self.distribution.mean
                return found.cpu().numpy() if found.is_cuda else found.numpy()
        """,
        """
        class Forecast:
            @property
            def mean(self):
                return self.distribution.mean.numpy()
        """,
    ),
    "what a hook has kept": (
        """
        class Watch:
            def seen(self):
                return self.activation.detach().cpu().numpy()
        """,
        """
        class Watch:
            def seen(self):
                return self.activation.detach().numpy()
        """,
    ),
    "a dict of tensors, drawn by a function or by the module itself": (
        """
        def plot_target(ax, batch: dict[str, torch.Tensor]):
            ax.plot(torch.cat([batch["past"], batch["future"]]))
        """,
        """
        class Net(nn.Module):
            def plot_target(self, ax, batch: dict[str, torch.Tensor]):
                ax.plot(torch.cat([batch["past"], batch["future"]]))
        """,
    ),
    "in a data set, or in what runs it": (
        """
        class RowsDataset:
            def row(self, index):
                return self.model(index).numpy()
        """,
        """
        class Rows:
            def row(self, index):
                return self.model(index).numpy()
        """,
    ),
}


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right_ones_are_not_told(right: str, _wrong: str) -> None:
    assert _told(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_their_look_alikes_are(_right: str, wrong: str) -> None:
    assert _told(wrong) == ["TDV108"]


def test_what_is_known_is_told_by_the_rule_that_knows() -> None:
    program = """
        def scores(model: nn.Module, rows: torch.Tensor):
            model.cuda()
            return model(rows.cuda()).detach().numpy()
        """
    assert _told(program) == ["TDV010"]


def test_a_library_with_tensors_of_its_own() -> None:
    program = """
        import tensorflow as tf

        class Runner:
            def run(self, rows):
                return self.model(rows).numpy()
        """
    assert _told(program) == []


def test_a_file_that_never_names_torch() -> None:
    from torchdev_lint.engine.prefilter import may_matter

    assert may_matter(b"def shown(activation):\n    return activation.detach().numpy()\n", Config())
    assert may_matter(b"def shown(activation):\n    return activation.numpy()\n", Config())
    assert not may_matter(b"def shown(activation):\n    return activation.tolist()\n", Config())

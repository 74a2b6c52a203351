"""What a ninth round of blind programs and the thirty-seventh batch of repositories taught, each wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import numpy as np
import torch
from torch import nn
from torch.cuda import FloatTensor as OnGpu
"""

CASES: dict[str, tuple[str, Ways]] = {
    "what makes a stream gives no None": (
        """
        HAS_CUDA = torch.cuda.is_available()


        class Prefetcher:
            def __init__(self):
                self.stream = torch.cuda.Stream() if {0} else None
                self.mean = torch.zeros(3)
                if HAS_CUDA:
                    self.mean = self.mean.cuda()
                self.preload()

            def preload(self):
                self.batch = torch.ones(3)
                if self.stream is not None:
                    self.batch = self.batch.cuda()
                    self.center()
                else:
                    self.center()

            def center(self):
                self.batch = self.batch - self.mean


        Prefetcher()
        """,
        [("HAS_CUDA", []), ("HAS_CUDA and False", ["TDV004"])],
    ),
    "the type of tensors on a GPU asks where one is": (
        """
        def shown(image):
            image = image.cpu() if isinstance(image, {0}) else image
            return image.numpy()


        model = nn.Linear(3, 3)
        images = torch.rand(2, 3)
        if torch.cuda.is_available():
            model, images = model.cuda(), images.cuda()
        print(shown(model(images).data))
        """,
        [("OnGpu", []), ("torch.cuda.FloatTensor", []), ("list", ["TDV010"])],
    ),
    "what NumPy reads of an argument is on the CPU": (
        """
        def clipped(image):
            high = {0}(image, 95)
            return torch.clamp(image, torch.zeros(3), torch.as_tensor(high))
        """,
        [("np.percentile", []), ("torch.quantile", ["TDV005"])],
    ),
    "what NumPy reads in one branch says nothing of the other": (
        """
        def clipped(image, plain=False):
            {0}
                return np.clip(image, 0, 1)
            return torch.clamp(image, torch.zeros(3))
        """,
        [("if isinstance(image, np.ndarray):", ["TDV005"]), ("if plain:", ["TDV005"])],
    ),
    "so is what NumPy reads another shape of": (
        """
        def clipped(image):
            flat = image.reshape(image.shape[0], -1)
            low = torch.as_tensor({0})
            return torch.clamp(image, low)
        """,
        [("np.percentile(flat, 5, axis=1)", []), ("range(flat.shape[0])", ["TDV005"])],
    ),
}


@pytest.mark.parametrize(("code", "ways"), CASES.values(), ids=CASES)
def test_each_is_told_wrong_and_not_right(
    code: str, ways: Ways, told_each_way: Callable[[str, str, Ways], None]
) -> None:
    """Each way of writing it is told of where it is wrong, and only there."""
    told_each_way(START, code, ways)

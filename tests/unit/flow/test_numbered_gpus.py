"""Accelerators whose number a program has computed, known by what it is called: `net.to(gpu_ids[0])`."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = """\
import sys
import torch
from torch import nn
gpu_ids = [int(one) for one in sys.argv[1].split(",")]
ids = [int(one) for one in sys.argv[2].split(",")]
net = nn.Linear(3, 3)
x = torch.randn(2, 3)
"""
TOLD = {
    "one of a list": "net.to(gpu_ids[0])\nnet(x)\n",
    "by cuda": "net.cuda(gpu_ids[0])\nnet(x)\n",
    "one that is computed": "net.to(gpu_ids[len(sys.argv) % 2])\nnet(x)\n",
    "a name": "local_rank = int(sys.argv[3])\nnet.to(local_rank)\nnet(x)\n",
}
NOT_TOLD = {
    "the same": "net.to(gpu_ids[0])\nnet(x.to(gpu_ids[0]))\n",
    "the same by another name": "first = gpu_ids[0]\nnet.to(gpu_ids[0])\nnet(x.cuda(first))\n",
    "one for each": "net.to(gpu_ids[0])\nnet(x.to(gpu_ids[1]))\n",
    "the current one": "net.to(gpu_ids[0])\nnet(x.cuda())\n",
    "numbers of something else": "net.to(ids[0])\nnet(x)\n",
    "where there is one": "if gpu_ids:\n    net.to(gpu_ids[0])\n    x = x.to(gpu_ids[0])\nnet(x)\n",
}


def _told(program: str) -> list[str]:
    return [one.code for one in findings(HEAD + program, "a.py", Config(off_by_default=OFF_BY_DEFAULT))]


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_told(program: str) -> None:
    assert _told(program) == ["TDV001"]


@pytest.mark.parametrize("program", NOT_TOLD.values(), ids=NOT_TOLD)
def test_not_told(program: str) -> None:
    assert _told(program) == []

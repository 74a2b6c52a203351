"""Pairs of programs that differ in one thing: with it there is a finding, without it there is none.

What PyTorch does in the first is told of in the rule's documentation; the second is right, or nothing is known of it.
"""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

HEADER = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
BESIDE = "x = torch.ones(2, device='cuda')\n"
LOADED = "net = nn.Linear(2, 2)\n"
DRAWN = """\
from torch.utils.data import DataLoader
def f():
    return DataLoader([1, 2], shuffle=True, generator=torch.Generator('cuda'))
"""
PACKED = """\
from torch.nn.utils.rnn import pack_padded_sequence as pack
x = torch.ones(2, 2, 2, device='cuda')
"""

PAIRS: list[tuple[str, str, str, str]] = [
    # -- TDV005: what is evidently a tensor
    (
        "a tuple of tensors",
        "TDV005",
        "from typing import Tuple\ndef f(pair: Tuple[torch.Tensor, torch.Tensor]):\n    a, b = pair\n    return a + torch.zeros(3)\n",
        "from typing import Tuple\ndef f(pair: Tuple[float, float]):\n    a, b = pair\n    return a + torch.zeros(3)\n",
    ),
    (
        "an annotated name beside it",
        "TDV005",
        "def f(x):\n    n: int\n    size: int = x.shape[0]\n    y = torch.relu(x)\n    return y + torch.zeros(3)\n",
        "def f(x):\n    n: int\n    x: torch.Tensor = torch.ones(3)\n    y = torch.relu(x)\n    return y + torch.zeros(3)\n",
    ),
    (
        "a context of which nothing is known, where the file sets a default device",
        "TDV005",
        f"from lib import context\n{BESIDE}with context():\n    y = x + torch.zeros(2)\n",
        f"from lib import context\ndef prepare():\n    torch.set_default_device('cuda')\n{BESIDE}with context():\n"
        "    y = x + torch.zeros(2)\n",
    ),
    # -- TDV009: what is loaded
    (
        "a test loads what it saved",
        "TDV009",
        f"{LOADED}def read():\n    net.load_state_dict(torch.load('a.pt'))\n",
        f"{LOADED}def test_read():\n    net.load_state_dict(torch.load('a.pt'))\n",
    ),
    (
        "so does a class of tests",
        "TDV009",
        "class Reader:\n    def read(self, net):\n        net.load_state_dict(torch.load('a.pt'))\n",
        "class ReaderTest:\n    def read(self, net):\n        net.load_state_dict(torch.load('a.pt'))\n",
    ),
    (
        "a name that may be given",
        "TDV009",
        f"{LOADED}def read(path):\n    net.load_state_dict(torch.load(path + '.pt', map_location=None))\n",
        f"{LOADED}def read(path, place=None):\n    net.load_state_dict(torch.load(path + '.pt', map_location=place))\nread('a')\n",
    ),
    # -- TDV011: who draws
    (
        "indices that are drawn in a function that the module calls",
        "TDV011",
        f"{DRAWN}f()\n",
        DRAWN,
    ),
    # -- TDV012: what a device is taken for
    (
        "a device that is a string by default",
        "TDV012",
        "def f(device: torch.device):\n    return device == 'cuda'\n",
        "def f(device: torch.device = 'cpu'):\n    return device == 'cuda'\n",
    ),
    (
        "an index that is chosen again",
        "TDV012",
        "def f(index: int = None):\n    torch.cuda.set_device(index)\n    return torch.zeros(1).cuda(index) if index else torch.zeros(1)\n",
        "def f(index: int = None):\n    torch.cuda.set_device(index)\n    return torch.zeros(1).cuda(index if index else 0)\n",
    ),
    (
        "the number of what is not on the CPU",
        "TDV012",
        "x = torch.ones(2)\ny = torch.zeros(1, device=x.get_device())\n",
        f"{BESIDE}y = torch.zeros(1, device=x.get_device())\n",
    ),
    # -- TDV001, TDV004: what is called
    (
        "a chain of parts of which one is of the file",
        "TDV001",
        "class Own(nn.Module):\n    def forward(self, x):\n        return x * 2\nnet = nn.Sequential(Own(), nn.Linear(2, 2)).cuda()\n"
        "net(torch.ones(2))\n",
        "class Own(nn.Module):\n    def forward(self, x):\n        return x.cuda()\nnet = nn.Sequential(Own(), nn.Linear(2, 2)).cuda()\n"
        "net(torch.ones(2, device='cuda'))\n",
    ),
    # -- TDV002: which device is meant
    (
        "a parameter of a test that says when it is skipped",
        "TDV002",
        "import pytest\ncase = pytest.param(torch.zeros(1, device='cuda:1'))\n",
        "import pytest\nmark = pytest.mark.skipif(torch.cuda.device_count() < 2, reason='no')\n"
        "case = pytest.param(torch.zeros(1, device='cuda:1'), marks=mark)\n",
    ),
    # -- the same, of other rules
    (
        "a flag that is no tensor's",
        "TDV016",
        """\
def f(x: torch.Tensor):
    y = torch.zeros(2)
    if x.is_cuda:
        y = y.cuda()
    return x + y
""",
        """\
def f(args, x: torch.Tensor):
    y = torch.zeros(2)
    if args.is_cuda:
        y = y.cuda()
    return x + y
""",
    ),
    (
        "kinds of tensors, and other choices",
        "TDV016",
        """\
def f(x: torch.Tensor):
    kind = torch.cuda.FloatTensor if x.is_cuda else torch.FloatTensor
    return kind(2)
""",
        """\
def f(x: torch.Tensor):
    kind = torch.float16 if x.is_cuda else torch.float32
    made = torch.nn.Linear if x.is_cuda else torch.nn.Bilinear
    return made, kind
""",
    ),
    (
        "the name of a device that is not used as one",
        "TDV016",
        """\
def f(x: torch.Tensor):
    name = 'cuda' if x.is_cuda else 'cpu'
    return torch.zeros(2, device=name)
""",
        """\
def f(x: torch.Tensor):
    name = 'cuda' if x.is_cuda else 'cpu'
    print(name)
    return torch.zeros(2, device=x.device).to(torch.float16)
""",
    ),
    (
        "back to what is not named",
        "TDV016",
        """\
def f(x: torch.Tensor):
    return torch.from_numpy(x.cpu().numpy()).cuda()
""",
        """\
def f(x: torch.Tensor):
    return torch.from_numpy(F.relu(x).cpu().numpy()).cuda()
""",
    ),
    (
        "back to what was moved before",
        "TDV016",
        """\
def f(x):
    return torch.from_numpy(x.cpu().numpy()).cuda()
""",
        """\
def f(x):
    x = x.cuda()
    return torch.from_numpy(x.cpu().numpy()).cuda()
""",
    ),
    (
        "a parameter that holds something else by then",
        "TDV016",
        """\
def f(x: torch.Tensor):
    a = torch.full((2,), 1.0, device=x.device)
    b = torch.zeros(2)
    if torch.cuda.is_available():
        b = b.cuda()
    return a + b
""",
        """\
def f(x: torch.Tensor):
    x = x.cuda()
    a = torch.full((2,), 1.0, device=x.device)
    b = torch.zeros(2)
    if torch.cuda.is_available():
        b = b.cuda()
    return a + b
""",
    ),
    (
        "the type of a device that has no index",
        "TDV016",
        """\
def f(device: torch.device):
    device = device.type
    return device
""",
        """\
def f(device: torch.device):
    device = torch.device('cpu')
    device = device.type
    return device
""",
    ),
    (
        "a type of what may be no tensor",
        "TDV016",
        """\
def f(x: torch.Tensor):
    return torch.zeros(2).type(x.type())
""",
        """\
def f(x: torch.Tensor, y):
    return y.weight.type(x.type())
""",
    ),
    (
        "the type of what is there already",
        "TDV016",
        """\
def f(x: torch.Tensor):
    return torch.zeros(2).type(x.type())
""",
        """\
def f(x: torch.Tensor):
    return torch.zeros(2, device='cuda').type(x.type())
""",
    ),
    (
        "ranks on one machine",
        "TDV016",
        """\
import torch.distributed as dist
def f(size):
    return torch.tensor([size], device=dist.get_rank())
""",
        """\
import torch.distributed as dist
def f(size, local_rank):
    return torch.tensor([size], device=dist.get_rank())
""",
    ),
    (
        "ranks in a test",
        "TDV016",
        """\
import torch.distributed as dist
def f(size):
    return torch.tensor([size], device=f'cuda:{dist.get_rank()}')
""",
        """\
import torch.distributed as dist
def test_f(size):
    return torch.tensor([size], device=f'cuda:{dist.get_rank()}')
""",
    ),
    (
        "an option whose default is below 0, or is 0",
        "TDV012",
        """\
import argparse
p = argparse.ArgumentParser()
p.add_argument('--gpu', type=int, default=-1)
a = p.parse_args()
if a.gpu:
    torch.cuda.set_device(a.gpu)
""",
        """\
import argparse
names = open('a').read()
p = argparse.ArgumentParser()
p.add_argument(names, type=int, default=-1)
p.add_argument('--gpu', type=int, default=0)
a = p.parse_args()
if a.gpu:
    torch.cuda.set_device(a.gpu)
""",
    ),
    (
        "an index in another text",
        "TDV012",
        """\
def f(index: int = None):
    d = 'cuda:%d' % index
    if index:
        return torch.zeros(1, device=d)
""",
        """\
def f(index: int = None, other: int = 0):
    d = '%d items' % index
    e = 'cuda:%d' % other
    torch.device('cuda', other)
    if index:
        return torch.zeros(1, device=e)
""",
    ),
    (
        "an index that is counted down from",
        "TDV012",
        """\
def f(index: int = None):
    torch.cuda.set_device(index)
    if not index:
        return 1
""",
        """\
def f(index: int = None):
    torch.cuda.set_device(index)
    if -index:
        return 1
""",
    ),
    (
        "what is skipped for the module",
        "TDV002",
        """\
import pytest
def test_f():
    return torch.zeros(1, device='cuda:0')
""",
        """\
import pytest
def setup_module():
    if not torch.cuda.is_available():
        pytest.skip('no')
def test_f():
    return torch.zeros(1, device='cuda:0')
""",
    ),
    (
        "what is skipped for a fixture",
        "TDV002",
        """\
import pytest
@pytest.fixture
def gpu():
    return 1
def test_f(gpu):
    return torch.zeros(1, device='cuda:0')
""",
        """\
import pytest
@pytest.fixture
def gpu():
    if not torch.cuda.is_available():
        pytest.skip('no')
def test_f(gpu):
    return torch.zeros(1, device='cuda:0')
""",
    ),
    (
        "parameters that are on the CPU by their name",
        "TDV005",
        """\
def f(images):
    return torch.relu(images) + torch.zeros(3)
""",
        """\
def f(dataset):
    return torch.relu(dataset) + torch.zeros(3)
""",
    ),
    (
        "a default that is made on the CPU",
        "TDV005",
        """\
def f(x: torch.Tensor, y: torch.Tensor = None):
    if y is None:
        y = torch.ones(3, device=x.device)
    return y + torch.zeros(3)
""",
        """\
def f(x: torch.Tensor, y: torch.Tensor = None):
    if y is None:
        y = torch.ones(3)
    return y + torch.zeros(3)
""",
    ),
    (
        "a default that is made on the CPU, after something else",
        "TDV005",
        """\
def f(x: torch.Tensor, y: torch.Tensor = None):
    if y is None:
        print('none')
        y = x
    return y + torch.zeros(3)
""",
        """\
def f(x: torch.Tensor, y: torch.Tensor = None):
    if y is None:
        print('none')
        y = torch.ones(3)
    return y + torch.zeros(3)
""",
    ),
    (
        "lengths that are counted or handed in",
        "TDV013",
        """\
from torch.nn.utils.rnn import pack_padded_sequence as pack
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(4, 4)
    def forward(self, t):
        y = self.e(t)
        n = y.abs().sum(2).gt(0).sum(1)
        return pack(y, n)
""",
        """\
from torch.nn.utils.rnn import pack_padded_sequence as pack
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(4, 4)
    def forward(self, t, lens):
        y = self.e(t)
        n = lens + 1
        return pack(y, n)
""",
    ),
    (
        "lengths that may be a list",
        "TDV013",
        f"{PACKED}n = torch.tensor([2, 2]).cuda() if x.sum() > 90 else [2, 2]\npack(x, n)\n",
        f"{PACKED}n = torch.tensor([2, 2]) if x.sum() > 90 else [2, 2]\npack(x, n)\n",
    ),
]


@pytest.mark.parametrize(("rule", "code"), [pair[1:3] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_found(rule: str, code: str) -> None:
    found = check_source(HEADER + code, "program.py", Config(select=(rule,)))
    assert [one.code for one in found] == [rule]


@pytest.mark.parametrize(
    ("rule", "code"), [(rule, code) for _, rule, _, code in PAIRS], ids=[pair[0] for pair in PAIRS]
)
def test_not_found(rule: str, code: str) -> None:
    assert check_source(HEADER + code, "program.py", Config(select=(rule,))) == []


WRITTEN: list[tuple[str, str, list[str] | None]] = [
    # a model is loaded to where it is run, a dictionary to the CPU, from where it is copied
    (
        "TDV009",
        "model = torch.load('a.pt') if open('b') else None\nmodel.eval()\n",
        [', map_location="cuda" if torch.cuda.is_available() else "cpu"'],
    ),
    (
        "TDV009",
        "state = torch.load('a.pt').state_dict()\n",
        [', map_location="cuda" if torch.cuda.is_available() else "cpu"'],
    ),
    (
        "TDV009",
        "from lib import model\nstate = torch.load('a.pt')\nmodel.load_state_dict(state.get(input()))\n",
        [', map_location="cpu"'],
    ),
    # the move is written before what made the optimizer's state, unless it would mean something else there
    (
        "TDV014",
        "net = nn.Linear(2, 2)\nopt = torch.optim.Adagrad(net.parameters())\nnet.cuda()\nopt.step()\n",
        ["net.cuda()\n"],
    ),
    (
        "TDV014",
        "net = nn.Linear(2, 2)\nopt = torch.optim.Adagrad(net.parameters())\nother = net\nnet = other\nnet.cuda()\nopt.step()\n",
        None,
    ),
    (
        "TDV014",
        "net = nn.Linear(2, 2)\nif input():\n    opt = None\nelse:\n    opt = torch.optim.Adagrad(net.parameters())\n    net.cuda()\n"
        "    opt.step()\n",
        ["net.cuda()\n    "],
    ),
]


@pytest.mark.parametrize(("rule", "code", "written"), WRITTEN)
def test_what_is_written(rule: str, code: str, written: list[str] | None) -> None:
    (found,) = check_source(HEADER + code, "program.py", Config(select=(rule,)))
    edits = None if found.fix is None else [edit.content for edit in found.fix.edits if edit.content]
    assert edits == written


KEPT = """\
import torch
from torch import nn
from lib import changed
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.mem = torch.zeros(2)
    def reset(self):
        {0}
    def forward(self, x):
        return self.w * x + self.mem
"""


@pytest.mark.parametrize(
    "line", ["pass", "self.mem = torch.zeros_like(self.mem)", "self.mem = self.mem * 2", "self.mem += 1"]
)
def test_what_a_method_makes_of_itself_stays(line: str) -> None:
    found = check_source(KEPT.format(line), "program.py", Config(select=("TDV006",)))
    assert [(one.code, one.range.start.row) for one in found] == [("TDV006", 8)]


@pytest.mark.parametrize(
    "line",
    [
        "self.mem = self.mem.to('cuda')",
        "self.mem = self.mem.cuda()",
        "self.mem = self.mem.type_as(self.w)",
        "self.mem = self.mem * self.w",
        "self.mem = changed(self.mem)",
        "self.mem = changed()",
        "del self.mem",
    ],
)
def test_what_a_method_may_bring_elsewhere(line: str) -> None:
    assert check_source(KEPT.format(line), "program.py", Config(select=("TDV005", "TDV006"))) == []

"""What programs and projects taught whose authors knew nothing of the linter (docs/programs.md), each idiom wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.flow.domain.values import NUMBER, UNKNOWN, Value, is_number, join
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)
Checked = Callable[[Path, dict[str, str], str], list[str]]
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import copy, math, os
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset
from torch.distributions import Normal, kl_divergence
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


# what stands for {0}, and what is found then
CASES: dict[str, tuple[str, Ways]] = {
    "a part that nothing moves": (
        """
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.bag = nn.EmbeddingBag(10, 4)
            def _apply(self, fn, recurse=True):
                {0}
            def forward(self, ids, offsets):
                return self.bag(ids, offsets)
        class Tower(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.mlp = Table(), nn.Linear(4, 2)
            def forward(self, ids, offsets):
                return self.mlp(self.table(ids, offsets).to(device))
        Tower().to(device)(torch.tensor([1, 2]), torch.tensor([0]))
        """,
        [("return self", []), ("return super()._apply(fn, recurse)", ["TDV001"])],
    ),
    "what nothing moves is given what was moved": (
        """
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.bag = nn.Linear(4, 4)
            def _apply(self, fn, recurse=True):
                return self
            def forward(self, x):
                return self.bag(x)
        table = Table()
        table.to(device)
        table(torch.zeros(3, 4{0}))
        """,
        [("", []), (", device=device", ["TDV001"])],
    ),
    "state that a module takes along, after it was changed in place": (
        """
        class State:
            def __init__(self, **tensors):
                self.tensors = tensors
            def put(self, **new):
                for k, v in new.items():
                    self.tensors[k] = v
            def each(self, fn):
                self.tensors = {{k: fn(v) for k, v in self.tensors.items()}}
        class Stream(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.Linear(3, 3)
                fresh = State(tail=torch.zeros(3))
                fresh.each(lambda t: t.to(self.rnn.weight.device))
                self.state = fresh
            {0}
            def push(self, chunk):
                out = chunk + self.state.tensors["tail"]
                self.state.put(tail=chunk)
                return self.rnn(out)
        net = Stream().to(device)
        net.push(torch.zeros(3, device=device))
        net.cpu()
        net.push(torch.zeros(3))
        """,
        [
            (
                "def _apply(self, fn, recurse=True):\n"
                "                super()._apply(fn, recurse)\n"
                "                self.state.each(fn)\n"
                "                return self",
                [],
            ),
            ("pass", ["TDV001", "TDV004", "TDV005"]),
        ],
    ),
    "several distributions that a generator gives": (
        """
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.w, self.b = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))
                self.register_buffer("one", torch.ones(1))
                self.prior = Normal(torch.zeros(1), torch.ones(1))
            def posteriors(self):
                yield Normal(self.w, self.w.exp())
                yield Normal(self.b, self.b.exp())
            def kl(self):
                return sum(kl_divergence(q, {0}).sum() for q in self.posteriors())
        Layer().to(device).kl()
        """,
        [("self.prior", ["TDV004"]), ("Normal(0 * self.one, self.one)", [])],
    ),
    "a copy of a part of a checkpoint": (
        """
        class Average:
            def __init__(self, model):
                self.shadow = {{k: p.detach().clone() for k, p in model.named_parameters()}}
            def update(self, model):
                for k, p in model.named_parameters():
                    self.shadow[k].mul_(0.9).add_(p, alpha=0.1)
            def restore(self, state):
                self.shadow = {0}
        net = nn.Linear(3, 3).to(device)
        average = Average(net)
        average.restore(torch.load("last.pt", map_location="cpu"))
        average.update(net)
        """,
        [
            ('dict(state["shadow"])', ["TDV004"]),
            ('{k: v.to(device) for k, v in state["shadow"].items()}', []),
        ],
    ),
    "numbers of a list and 0-dim tensors": (
        """
        net = nn.Linear(3, 3).to(device)
        def step(t, y):
            return torch.cat([y, t.reshape(1, 1).expand(y.size(0), 1)], 1)
        def run(t, y, n=3):
            for a, b in zip(t[:-1], t[1:]):
                grid = torch.linspace(0, 1, n).tolist()
                for low, high in zip(grid[:-1], grid[1:]):
                    y = step(a + (b - a) * low, y)
            return y
        run(torch.linspace(0.0, 1.0, 5){0}, torch.rand(2, 3, device=device))
        """,
        [("", ["TDV005"]), (".to(device)", [])],
    ),
    "numbers that were read and computed": (
        """
        def scaled(x, total):
            mean = x.mean().item() * (x.size(0) - 1) + float("1.5")
            weight = torch.tensor(2.0{0}) * mean
            return total + weight.expand(3)
        scaled(torch.rand(3, device=device), torch.zeros(3, device=device))
        """,
        [("", ["TDV005"]), (", device=device", [])],
    ),
    "batches of which a function gives the first part to a model": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).to(device)
        mean = AveragedModel(net)
        mean.update_parameters(net)
        loader = DataLoader(TensorDataset(torch.rand(8, 3), torch.rand(8)), batch_size=4)
        update_bn({0})
        """,
        [
            ("loader, mean", ["TDV001"]),
            ("loader, mean, device=None", ["TDV001"]),
            ("loader, mean, device", []),
            ("loader, model=mean, device=device", []),
            ("((x.to(device), y) for x, y in loader), mean", []),
            ("[x for x, y in loader], mean", ["TDV001"]),
            ("loader, other", []),
        ],
    ),
    "a state that is replaced by a file, if there is one": (
        """
        class Average:
            def __init__(self, model):
                self.shadow = {{k: v.detach().clone() for k, v in model.state_dict().items()}}
            def update(self, model):
                for k, v in model.state_dict().items():
                    self.shadow[k].mul_(0.9).add_(v, alpha=0.1)
        def latest(folder):
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
            return os.path.join(folder, names[-1]) if names else None
        net = nn.Linear(3, 3).to(device)
        average = Average(net)
        last = latest("runs")
        if last{0}:
            average.shadow = torch.load(last, map_location={1})["shadow"]
        average.update(net)
        """,
        [
            (("", "'cpu'"), ["TDV004"]),
            (("", "device"), []),
            ((" and use_cpu", "'cpu'"), []),
        ],
    ),
    "a file in the place of what is not known": (
        """
        class Average:
            def __init__(self, model):
                self.shadow = {{k: {0} for k, v in model.state_dict().items()}}
            def update(self, model):
                for k, v in model.state_dict().items():
                    self.shadow[k].mul_(0.9).add_(v, alpha=0.1)
        net = nn.Linear(3, 3).to(device)
        average = Average(net)
        if os.path.exists("last.pt"):
            average.shadow = torch.load("last.pt", map_location="cpu")["shadow"]
        average.update(net)
        """,
        [("v.detach().clone()", ["TDV004"]), ("averages.made(v)", [])],
    ),
    "a loss that a class with bases never moves": (
        """
        class Base:
            def __init__(self, options):
                self.options = options
                self.device = torch.device(f"cuda:{{options.gpus[0]}}") if options.gpus else torch.device("cpu")
                self.names = []
            def losses(self):
                return {{name: float(getattr(self, {0} + name)) for name in self.names}}
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("real", torch.tensor(1.0))
                self.loss = nn.MSELoss()
            def target(self, x):
                return self.real.expand_as(x)
            def __call__(self, x):
                return self.loss(x, self.target(x))
        class Gan(Base):
            def __init__(self, options):
                Base.__init__(self, options)
                self.net = nn.Linear(3, 3).to(self.device)
                self.criterion = Loss(){1}
            def step(self, x):
                return self.criterion(self.net(x.to(self.device)))
        """,
        [
            (("'loss_'", ""), ["TDV001"]),
            (("f'loss_{1}_' + 'x'", ""), ["TDV001"]),
            (("'loss_%s' % 1", ""), ["TDV001"]),
            (("'loss_{}'.format(1)", ""), ["TDV001"]),
            (("'crit'", ""), ["TDV021"]),
            (("self.options.prefix", ""), ["TDV021"]),
            (("'loss_'", ".to(self.device)"), []),
        ],
    ),
    "what is saved was brought to the CPU by a helper": (
        """
        def to_host(obj):
            if torch.is_tensor(obj):
                return obj.detach(){0}
            return {{k: to_host(v) for k, v in obj.items()}}
        def save(path, model):
            torch.save({{"model": to_host(model.{1}())}}, path)
        def restore(path, model):
            model.load_state_dict(torch.load(path)["model"])
        net = nn.Linear(3, 3).to(device)
        restore("last.pt", net)
        save("last.pt", net)
        """,
        [
            ((".cpu()", "state_dict"), []),
            ((".clone()", "state_dict"), ["TDV009"]),
            ((".cpu()", "scores"), ["TDV009"]),
        ],
    ),
    "a generator and what another object keeps": (
        """
        class Sampler:
            def __init__(self, board):
                self.board, self.gen = board, torch.Generator()
            def drawn(self, x: torch.Tensor):
                return torch.multinomial({0}, 3, generator=self.gen)
        """,
        [
            ("self.board.score[self.board.easiest()].clamp(0)", []),
            ("torch.ones(3, device='cuda')", ["TDV011"]),
            ("x.softmax(1)", ["TDV011"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way(START, *CASES[name])


@pytest.mark.parametrize(("then", "otherwise"), [(NUMBER, UNKNOWN), (UNKNOWN, NUMBER)])
def test_a_number_on_one_way_only(then: Value, otherwise: Value) -> None:
    """What is unknown on the other way may be a tensor there."""
    assert is_number(join(None, NUMBER, NUMBER))
    assert not is_number(join(None, then, otherwise))


SMOOTH = """
import numpy as np
net = nn.Linear(3, 3).to(device)
history = {{"loss": [], "norm": []}}
for _ in range(3):
    history["loss"].append(net(torch.rand(2, 3, device=device)).sum().item())
    history["norm"].append(net.weight.norm())
def smooth(values):
    return np.asarray(values)
{read}
"""


@pytest.mark.parametrize(
    ("read", "fixed"),
    [("smooth(history['loss'])\nsmooth(history['norm'])", False), ("np.asarray(history['norm'])", True)],
)
def test_what_is_handed_over_may_be_numbers_for_another_caller(read: str, fixed: bool) -> None:
    """`[t.cpu() for t in values]` would break the call that hands over numbers."""
    found = findings(START + SMOOTH.format(read=read), "train.py", DEFAULT)
    assert [one.code for one in found] == ["TDV010"]
    assert (found[0].fix is not None) is fixed


@pytest.mark.parametrize(
    ("device", "edit"), [("", ", device=device"), (", device=None", None)], ids=["none", "an empty one"]
)
def test_update_bn_is_told_the_device(device: str, edit: str | None) -> None:
    """A loader has no `.to`: the function moves its batches itself if it is told where (torch/optim/swa_utils.py)."""
    text = f"""
mean = AveragedModel(nn.Linear(3, 3).to(device))
update_bn(DataLoader(TensorDataset(torch.rand(8, 3)), batch_size=4), mean{device})
"""
    found = findings(START + text, "train.py", DEFAULT)
    assert [one.code for one in found] == ["TDV001"]
    assert [one.content for one in found[0].fix.edits] == [edit] if edit else found[0].fix is None


# -- what a script brings about in another file

LAYERS = """\
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(9, 4)

    def forward(self, ids, lengths):
        return pack_padded_sequence(self.emb(ids), lengths, batch_first=True)
"""
BATCHES = """\
import torch

class Batch:
    def __init__(self, ids, lengths):
        self.ids, self.lengths = ids, lengths

    def to(self, device):
        for name in {names}:
            setattr(self, name, getattr(self, name).to(device))
        return self

def batches(rows):
    for _ in range(2):
        yield Batch(torch.tensor(rows), torch.tensor([len(row) for row in rows]))
"""
MAIN = """\
import torch
from batches import batches
from layers import Encoder

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
encoder = Encoder().to(device)
for batch in batches([[1, 2], [3, 4]]):
    batch.to(device)
    encoder(batch.ids, batch.lengths)
"""


@pytest.mark.parametrize(
    ("names", "found"), [('("ids",)', []), ('("ids", "lengths")', ["TDV013"])], ids=["ids", "lengths, too"]
)
def test_lengths_that_another_file_moves(
    tmp_path: Path, checked: Checked, names: str, found: list[str]
) -> None:
    files = {"layers.py": LAYERS, "batches.py": BATCHES.format(names=names), "main.py": MAIN}
    assert checked(tmp_path, files, "layers.py") == found


LOSSES = """\
import torch
from torch import nn

class Loss(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.register_buffer("real", torch.tensor(1.0))
        self.loss = {"squares": nn.MSELoss, "logits": nn.BCEWithLogitsLoss}[mode]()

    def target(self, x):
        return self.real.expand_as(x)

    def __call__(self, x):
        return self.loss(x, self.target(x))
"""
TRAINER = """\
import torch
from losses import Loss

class Trainer:
    def __init__(self, options):
        self.device = torch.device("cuda")
        self.net = torch.nn.Linear(3, 3).to(self.device)
        self.loss = Loss(options.mode){moved}

    def step(self, x):
        return self.loss(self.net(x.to(self.device)))
"""


@pytest.mark.parametrize(
    ("moved", "found"), [("", ["TDV001"]), (".to(self.device)", [])], ids=["not", "moved"]
)
def test_a_loss_of_another_file_that_meets_its_buffer(
    tmp_path: Path, checked: Checked, moved: str, found: list[str]
) -> None:
    """What meets in it are two inputs of a layer: at fault is the loss, which is never moved."""
    files = {"losses.py": LOSSES, "trainer.py": TRAINER.format(moved=moved)}
    assert checked(tmp_path, files, "trainer.py") == found

"""What mined bugs, a twelfth round of blind programs and the forty-second batch of repositories taught, each wrong and right."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Fix
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

CASES: dict[str, tuple[str, Ways]] = {
    "an attribute of a tensor is called": (
        """
        def halves(x: torch.Tensor):
            rows = x.view(-1, 2)
            return torch.zeros(2, device=rows.{0})
        """,
        [("device()", ["TDV012"]), ("device", [])],
    ),
    "whether an index is one is asked": (
        """
        def mapped(build, load):
            net = build()
            index = next(net.parameters()).get_device()
            print(torch.cuda.is_available())
            return load(map_location={0})
        """,
        [
            ("torch.device(index)", ["TDV012"]),
            ('"cpu" if index == -1 else torch.device(index)', []),
            ("torch.device(index) if index >= 0 else None", []),
        ],
    ),
    "what is registered under a computed name": (
        """
        def build(params):
            module = nn.Module()
            for name, tensor in params.items():
                parent = module
                for part in name.split(".")[:-1]:
                    parent = getattr(parent, part)
                {0}
            return module

        data = torch.randn(8, 4, device="cuda")
        print(torch.equal(dict(build({{"weight": data.clone()}}).named_parameters())["weight"], data))
        """,
        [("parent.register_parameter(name, nn.Parameter(tensor))", []), ("print(parent)", ["TDV004"])],
    ),
    "a buffer is loaded that the run has filled": (
        """
        from models import Net

        class Keeper:
            def __init__(self, path, device):
                self.model = Net(path).to(device)
                self.device = device

            def restore(self, state):
                {0}
                self.model.load_state_dict(torch.load(state)["model"])
        """,
        [("print(state)", ["TDV009"]), ("state.seek(0)", [])],
    ),
    "how many go where is wanted on the host": (
        """
        from experts import make_layer

        {0} = torch.tensor([16] * 8)
        layer = make_layer(8).cuda()
        print(layer(torch.randn(128, 16, device="cuda"), {0}))
        """,
        [("tokens_per_expert", []), ("splits", []), ("gates", ["TDV001"])],
    ),
    "a function of the items of a data set": (
        """
        def ranked(graph, lib):
            ranks = torch.tensor([[lib.rank(node)] for node in graph.nodes])
            graph.feature = torch.cat([graph.feature, ranks], dim=-1)

        def main(dataset, lib, loader, net):
            {0}
            for batch in loader:
                print(net.to(device)(batch.to(device)))
        """,
        [("ranked(dataset[0], lib)", ["TDV005"]), ("dataset.apply_transform(ranked, lib=lib)", [])],
    ),
    "a class that works for loaders, by its name": (
        """
        class {0}:
            def pack(self, samples):
                rows = []
                for sample in samples:
                    ids = sample["ids"].long()
                    rows.append(torch.cat([ids, torch.zeros(3, dtype=ids.dtype)]))
                return torch.cat(rows)

        def main(loader, net):
            for batch in loader:
                print(net.to(device)(batch.to(device)))
        """,
        [("Packer", ["TDV005"]), ("PairTaskEncoder", []), ("PairCheckpointSaverHF", [])],
    ),
    "a default tensor type that a method sets": (
        """
        class Learner:
            def __init__(self, data, kind):
                if kind == "gpu":
                    torch.set_default_tensor_type("torch.cuda.FloatTensor")
                    self.device = torch.device("cuda")
                else:
                    self.device = torch.device("cpu")
                self.net = nn.Linear(3, 3).to(self.device)
                self.rows = torch.as_tensor(data).type({0})

            def learn(self):
                return self.net(self.rows)

        print(Learner([[1.0, 2.0, 3.0]], "gpu").learn())
        """,
        [("torch.Tensor", []), ("torch.FloatTensor", ["TDV001"])],
    ),
    "a helper of parameters that are moved later": (
        """
        class Shadow:
            def __init__(self, weight):
                self.weight = weight
            def total(self):
                return self.weight + {0}

        layer = nn.Linear(3, 3)
        shadow = Shadow(layer.weight)
        layer.to(device)
        print(shadow.total())
        """,
        [("torch.ones(3, device=device)", []), ("torch.ones(3).to(device)", [])],
    ),
    "a helper of parameters that a module makes when it is built": (
        """
        class Shadow:
            def __init__(self, weight):
                self.weight = weight

        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(3))
                self.shadow = Shadow(self.weight)
            def forward(self, x):
                return x + self.shadow.weight

        print(Layer().to(device)({0}))
        """,
        [("torch.rand(3).to(device)", []), ("torch.rand(3, device=device)", [])],
    ),
}

OPTED: dict[str, tuple[str, str, Sequence[tuple[str, bool]]]] = {
    "what is drawn from a distribution that the CPU has": (
        "TDV106",
        """
        import torch
        import pyro
        import pyro.distributions as dist


        def step(energy, weights, name):
            weight = energy.new_zeros(3)
            share = (weights - weight).exp()
            return {0} < share
        """,
        [
            ('pyro.sample("share", dist.Uniform(torch.zeros(3), torch.ones(3)))', True),
            ("dist.Uniform(torch.zeros(3), torch.ones(3)).sample()", True),
            ("dist.Uniform(torch.tensor(0.0), torch.tensor(1.0)).sample()", False),
            ("dist.Uniform(energy.new_zeros(3), energy.new_ones(3)).sample()", False),
            ("torch.distributions.Uniform(torch.zeros(3), torch.ones(3)).sample().to(energy.device)", False),
        ],
    ),
    "an index stays while what came with it is moved": (
        "TDV004",
        """
        import torch


        class Search:
            def advance(self, scores, chosen):
                {0}


        """,
        [
            (
                "self.past = torch.cat([self.past[chosen.rows.long()], chosen.ids.view(-1, 1).to(self.past.device)], 1)",
                True,
            ),
            (
                "where = self.past.device; self.past = torch.cat([self.past[chosen.rows.view(-1)], chosen.ids.to(where)], 1)",
                True,
            ),
            (
                "self.past = torch.cat([self.past[chosen.rows.long().cpu()], chosen.ids.to(self.past.device)], 1)",
                False,
            ),
            ("self.past = torch.cat([self.past[chosen.rows], chosen.ids.to(self.past.device)], 1)", False),
            (
                "self.past = torch.cat([self.past[scores.rows.long()], chosen.ids.to(self.past.device)], 1)",
                False,
            ),
            (
                "where = scores.device; self.past = torch.cat([self.past[chosen.rows.view(-1)], chosen.ids.to(where)], 1)",
                False,
            ),
            ("chosen.table = chosen.table[chosen.rows.long()] + chosen.ids.to(chosen.table.device)", True),
            ("print(chosen[chosen.rows.long()], chosen.ids.to(chosen.device))", False),
        ],
    ),
    "a module is built of a tensor, and computes with it at once": (
        "TDV106",
        """
        from typing import Union

        import torch
        from torch import Tensor, nn


        class Score(nn.Module):
            def __init__(self, mean: Union[Tensor, float], last: float = 1.0):
                super().__init__()
                if not isinstance(mean, Tensor):
                    mean = torch.tensor([mean])
                {0}

            def marginal(self, times):
                return self.decay(times) * self.mean

            def decay(self, times):
                raise NotImplementedError
        """,
        [
            (
                'self.register_buffer("mean", mean.clone()); self.base = self.marginal(torch.tensor([last]))',
                True,
            ),
            (
                'self.register_buffer("mean", mean.cpu()); self.base = self.marginal(torch.tensor([last]))',
                False,
            ),
            (
                'self.register_buffer("mean", mean.clone()); self.base = self.marginal(torch.tensor(last))',
                False,
            ),
            (
                'self.register_buffer("mean", mean.clone()); self.base = self.decay(torch.tensor([last]))',
                False,
            ),
            (
                'self.register_buffer("mean", mean); self.base = self.marginal(torch.tensor([last], device=mean.device))',
                False,
            ),
            (
                'self.register_buffer("mean", torch.zeros(3)); self.base = self.marginal(torch.tensor([last]))',
                False,
            ),
        ],
    ),
    "an array meets what PyTorch computes with": (
        "TDV108",
        """
        import numpy as np
        import torch


        class Attack:
            def perturbation(self, x: torch.Tensor, mask, norm):
                grad = {0}
                if norm == 1:
                    grad = grad / torch.sum(grad.abs())
                return grad * mask.astype(np.float32)
        """,
        [
            ("self.estimator.loss_gradient(x)", True),
            ("self.estimator.loss_gradient(x).cpu()", False),
        ],
    ),
    "a module moves itself before its parts are there": (
        "TDV021",
        """
        import torch
        from torch import nn
        from somewhere import Block


        class Encoder(nn.Module):
            def __init__(self, cfg, move=True):
                super().__init__()
                self.cfg = cfg
                {0}

            def forward(self, x):
                return self.embed(x)
        """,
        [
            ("self.to(cfg.device); self.embed = nn.Embedding(10, 4)", True),
            ("self.to(cfg.device); self.embed = Block(cfg)", True),
            ("self.to(cfg.device); self.embed = nn.Sequential(Block(cfg), Block(cfg))", True),
            ("self.embed = nn.Embedding(10, 4); self.to(cfg.device)", False),
            ("self.to(cfg.device); self.embed = nn.Embedding(10, 4, device=cfg.device)", False),
            ("self.to(cfg.device); self.embed = nn.ReLU()", False),
            ("self.to(cfg.device); self.embed = nn.Embedding(10, 4); self.to(cfg.device)", False),
            ("self.to(torch.float16); self.embed = nn.Embedding(10, 4)", False),
        ],
    ),
    "what is made for an argument is on the current GPU": (
        "TDV109",
        """
        import torch


        def normed(x, weight, eps):
            x = x.view(-1, x.shape[-1])
            {0}
            return kernel(x, weight, out, eps)
        """,
        [
            ('out = torch.empty(x.shape, dtype=x.dtype, device="cuda")', True),
            ("out = torch.empty(x.shape, dtype=x.dtype, device=x.device)", False),
            ('x = x.cuda(); out = torch.empty(x.shape, dtype=x.dtype, device="cuda")', False),
            ('out = torch.empty(x.shape, dtype=torch.float32, device="cuda")', False),
        ],
    ),
    "weights of an address say where they go": (
        "TDV107",
        """
        from torch import nn
        from torch.hub import load_state_dict_from_url


        class Metric(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)
                self.load_state_dict(load_state_dict_from_url({0}))
        """,
        [
            ('"https://github.com/us/metric/releases/weights.pth"', True),
            ('"https://github.com/us/metric/releases/weights.pth", map_location="cpu"', False),
            ('"https://download.pytorch.org/models/vgg16-397923af.pth"', False),
            ('"https://github.com/us/metric/releases/weights.pth", check_hash=True', False),
        ],
    ),
    "an array meets what may be one, too": (
        "TDV108",
        """
        import numpy as np
        import torch


        class Attack:
            def perturbation(self, x: torch.Tensor, mask, norm):
                grad = self.estimator.loss_gradient(x)
                {0}
                return grad * mask.astype(np.float32)
        """,
        [("grad = grad / np.sum(grad)", False), ("if norm: grad = grad / torch.norm(grad)", True)],
    ),
}


def _told(code: str, *rules: str) -> list[str]:
    return [one.code for one in findings(textwrap.dedent(code), "net.py", Config(select=rules))]


@pytest.mark.parametrize(("rule", "code", "ways"), OPTED.values(), ids=OPTED)
def test_each_is_told_to_those_who_select_it(rule: str, code: str, ways: Sequence[tuple[str, bool]]) -> None:
    """Each way of writing it is told of where it is wrong, and only there."""
    for put, wrong in ways:
        assert bool(_told(code.replace("{0}", put), rule)) == wrong, put


@pytest.mark.parametrize(("text", "ways"), CASES.values(), ids=CASES)
def test_each_way(text: str, ways: Ways, told_each_way: Callable[[str, str, Ways], None]) -> None:
    """Each way of writing it is told of where it is wrong, and only there."""
    told_each_way(START, text, ways)


def _fix(code: str) -> Fix:
    (found,) = findings(START + textwrap.dedent(code), "net.py", Config())
    assert found.fix is not None
    return found.fix


GAUSSIAN = """
class Gaussian:
    def __init__(self, mu, rho):
        self.mu = mu
        self.rho = rho
        self.normal = torch.distributions.Normal(0, 1)
    def sample(self):
        noise = self.normal.sample(self.rho.size())
        return self.mu + self.rho * noise

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.rho = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))
    def forward(self, x):
        return x * Gaussian(self.mu, self.rho).sample()

print(Layer().to(device)(torch.rand(3).to(device)))
"""


def test_what_a_module_makes_of_its_parameters_is_where_it_runs() -> None:
    """Told where the helper mixes the two, not where the module uses what came of it."""
    (found,) = findings(START + GAUSSIAN, "net.py", Config())
    line = (START + GAUSSIAN).splitlines()[found.range.start.row - 1]
    assert (found.code, line.strip()) == ("TDV004", "return self.mu + self.rho * noise")


FOCAL = """
class Focal(nn.Module):
    def __init__(self, alpha=None):
        super().__init__()
        self.alpha = alpha
        if isinstance(alpha, float):
            self.alpha = torch.tensor([alpha, 1 - alpha])
    def forward(self, logits, target):
        return logits * {0}

print(Focal(0.25).to(device)(torch.rand(3, 2).to(device), torch.ones(3).long().to(device)))
"""


@pytest.mark.parametrize(
    ("used", "content"),
    [
        ("self.alpha.gather(0, target)[:, None]", [".to(target.device)"]),
        ("(self.alpha * logits)", [".to(logits.device)"]),
    ],
)
def test_what_cannot_be_registered_is_moved_where_it_is_used(used: str, content: list[str]) -> None:
    """An attribute that is assigned twice, or may be no tensor, is no buffer: it is brought to what it meets."""
    fix = _fix(FOCAL.replace("{0}", used))
    assert [edit.content for edit in fix.edits] == content


PIPELINE = """
class Pipeline:
    def __init__(self, net, scheduler):
        self.net, self.scheduler = net.eval(), scheduler

    @property
    def device(self):
        return next(self.net.parameters()).device

    def __call__(self, seed):
        g = torch.Generator()
        g.manual_seed(seed)
        x = torch.randn(3, generator=g, device=self.device)
        return self.scheduler.step(x, generator=g){0}

class Scheduler:
    def step(self, x, generator):
        return x + torch.randn(x.shape, generator=generator, device=x.device)

print(Pipeline(nn.Linear(3, 3).to(device), Scheduler())(3))
"""


def _generators(code: str) -> list[str | None]:
    told = findings(START + code, "net.py", Config(select=("TDV011",)))
    return [None if one.fix is None else one.fix.edits[0].content for one in told]


def test_a_generator_that_is_handed_on_is_made_where_it_draws() -> None:
    """It may be used more than once, unless something draws with it on the CPU."""
    on_device = "torch.Generator(device=self.device)"
    assert on_device in _generators(PIPELINE.replace("{0}", ""))
    assert on_device not in _generators(PIPELINE.replace("{0}", "[torch.randperm(3, generator=g)]"))


def test_a_generator_of_another_file_is_told_there(
    tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """Not where somebody calls what makes it and draws with it."""
    files = {
        "pipeline.py": (START + PIPELINE.replace("{0}", "")).partition("class Scheduler")[0],
        "scheduler.py": START
        + "class Scheduler"
        + PIPELINE.partition("class Scheduler")[2].partition("print(")[0],
        "main.py": START
        + "from pipeline import Pipeline\nfrom scheduler import Scheduler\n\nprint(Pipeline(nn.Linear(3, 3).to(device), Scheduler())(3))\n",
    }
    assert checked(tmp_path, files, "main.py") == []
    assert _told_there(tmp_path, "pipeline.py") == ["TDV011"]


NORM = """
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.mean = torch.zeros(n)
        self.register_buffer("var", torch.ones(n))

    def update(self, x):
        self.mean = self.mean + {0}

    def forward(self, x):
        return (x - self.mean) / self.var
"""
UPDATES = """
from norm import Norm

norm = Norm(3).to(device)
x = torch.rand(5, 3, device=device)
for _ in range(3):
    norm.update(x)
    norm(x)
"""


@pytest.mark.parametrize(("given", "found"), [("x.mean(0)", ["TDV006"]), ("x.mean(0).cpu()", ["TDV006"])])
def test_what_is_replaced_on_the_device_was_on_the_host_before(
    given: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """Where it goes well afterwards, it has failed before."""
    files = {"norm.py": NORM.replace("{0}", given), "main.py": START + UPDATES}
    assert checked(tmp_path, files, "norm.py") == found


def _told_there(root: Path, path: str) -> list[str]:
    text = (root / path).read_text(encoding="utf-8")
    return [
        one.code for one in check_source(text, str(root / path), Config(select=("TDV011",)), DiskSources())
    ]


STEP = """
import torch
import pytorch_lightning as pl
{0}

class Model(pl.LightningModule):
    def predict_step(self, batch, index):
        assert torch.equal(batch, torch.tensor([1.0, 2.0]))
"""


@pytest.mark.parametrize(("line", "rules"), [("", ["TDV005"]), ("import pytest", [])])
def test_a_trainer_in_a_test_runs_where_it_is_run(line: str, rules: list[str]) -> None:
    """What a test hands to a trainer is on the CPU where the test is."""
    assert [one.code for one in findings(STEP.format(line), "model.py", Config(select=("TDV005",)))] == rules


BASE = """
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n))
        self.allowed = torch.ones(n)

    def forward(self, x):
        return x * self.weight * self.allowed
"""
LEARN = """
import torch

{0}
from lib.base import Base


def learn(kind, data):
    if kind == "gpu":
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
    return Base(3)(data)
"""


@pytest.mark.parametrize(
    ("where", "found"),
    [("lib/learn.py", []), ("examples/learn.py", ["TDV006"]), ("lib/learn.txt", ["TDV006"])],
)
def test_a_library_sets_the_default_type_for_what_it_builds(
    where: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """A file of it that imports another one says where that makes its tensors; an example says nothing of others' programs."""
    files = {
        "setup.py": "from setuptools import setup\n\nsetup(name='lib', author='us', description='of ours', packages=['lib'])\n",
        "lib/__init__.py": "",
        "examples/__init__.py": "",
        "lib/base.py": BASE,
        where: LEARN.format(""),
    }
    assert checked(tmp_path, files, "lib/base.py") == found

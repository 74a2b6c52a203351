"""TDV009, TDV011, TDV013, TDV014 and TDV017 on small programs: how often each finds something."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

HEADER = "import torch\nfrom torch import nn\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"


def count(rule: str, code: str, path: str = "program.py") -> int:
    return len(check_source(HEADER + textwrap.dedent(code), path, Config(select=(rule,))))


LOADS = [
    ("net.load_state_dict(torch.load(path))", 1),
    ("checkpoint = torch.load(args.resume)", 1),
    ("weights = torch.load(path)['state_dict']", 1),
    ("x = torch.load(path)\nnet.load_state_dict(x)", 1),
    ("x = torch.load(path)\nx.eval()", 1),
    ("x = torch.load(path)\nif 'epoch' in x: pass", 1),
    ("x = torch.load(path)\nepoch = x.get('epoch')", 1),
    ("model, options = torch.load(path)", 1),
    ("net.load_state_dict(torch.load(path, map_location=None))", 1),
    ("state = torch.load(path)\nrunner.set_state(state)", 1),
    ("stats = torch.load(path)\nnorm._load_statistics_dict(stats)", 1),
    ("net.weight.data = torch.load(path)", 1),
    ("state = torch.load(path)\ntorch.set_rng_state(state)", 0),
    ("x = torch.load(path)", 0),
    ("features = torch.load(path)", 0),
    ("model = torch.load(path, 'cpu')", 0),
    ("model = torch.load(path, **options)", 0),
    ("model = torch.load(*given)", 0),
    ("torch.save(net.state_dict(), 'a.pth')\nnet.load_state_dict(torch.load('a.pth'))", 0),
    ("train(net, best)\nnet.load_state_dict(torch.load(best))", 0),
    ("net.load_state_dict(torch.load(callback.best_model_path))", 0),
    ("def test_it(path):\n    net.load_state_dict(torch.load(path))", 0),
    ("if torch.cuda.is_available():\n    net.load_state_dict(torch.load(path))", 0),
    ("def read():\n    return torch.load('m.ckpt')\nif torch.cuda.is_available():\n    read()", 0),
    ("def read():\n    return torch.load('m.ckpt')\nread()", 1),
    ("class D:\n    def __getitem__(self, i):\n        return torch.load(self.model_files[i])", 0),
    ("url = 'https://download.pytorch.org/models/r.pth'\ntorch.hub.load_state_dict_from_url(url)", 0),
    ("torch.hub.load_state_dict_from_url(cfg['url'])", 1),
]


@pytest.mark.parametrize(("code", "expected"), LOADS)
def test_checkpoints(code: str, expected: int) -> None:
    assert count("TDV009", code) == expected


def test_what_cells_of_a_notebook_before_have_saved() -> None:
    saves, loads = "torch.save(net.state_dict(), 'a.pth')\n", "net.load_state_dict(torch.load('a.pth'))"
    assert count("TDV009", f"{saves}pass\n{loads}", "notebook.ipynb") == 0  # `pass` begins a cell
    assert count("TDV009", f"{saves}pass\n{loads}".replace("('a.pth'", "('b.pth'"), "notebook.ipynb") == 1
    assert count("TDV009", f"{saves}{loads}", "notebook.ipynb") == 0


GENERATORS = [
    ("torch.rand(2, generator=torch.Generator(), device=device)", 1),
    ("torch.rand(2, generator=torch.Generator(device))", 1),
    ("torch.rand(2, generator=torch.Generator(device='cuda:1'), device='cuda:0')", 0),
    ("torch.rand(2, generator=torch.Generator())", 0),
    ("torch.randperm(3, generator=torch.Generator(device=device))", 1),
    ("torch.rand(2, generator=given, device=device)", 0),
    (
        "g = torch.Generator() if args.seed else torch.Generator('cpu')\ntorch.rand(2, generator=g, device=device)",
        1,
    ),
    (
        "g = torch.Generator(device) if args.seed else torch.Generator(device)\ntorch.rand(2, generator=g, device=device)",
        0,
    ),
    ("g = torch.Generator() if args.seed else None\ntorch.rand(2, generator=g, device=device)", 0),
    ("with torch.device('cuda'):\n    torch.rand(2, generator=torch.Generator())", 1),
    ("def f(x):\n    return torch.bernoulli(x, generator=torch.Generator(device=x.device))", 0),
    ("def f(data, x):\n    return torch.utils.data.DataLoader(data, generator=torch.Generator(x.device))", 0),
]


@pytest.mark.parametrize(("code", "expected"), GENERATORS)
def test_generators(code: str, expected: int) -> None:
    assert count("TDV011", code) == expected


PACK = "nn.utils.rnn.pack_padded_sequence"
ARGUMENTS = [
    (f"{PACK}(x, torch.tensor([1, 2], device=device))", 1),
    (f"{PACK}(x, torch.tensor([1, 2]))", 0),
    (f"def f(x, lengths: torch.Tensor):\n    return {PACK}(x, lengths)", 0),
    (f"def f(x, lengths: torch.Tensor):\n    return {PACK}(x, lengths - 1)", 0),
    (f"def f(x: torch.Tensor):\n    n = (x != 0).sum(1)\n    return {PACK}(x, n)", 1),
    (f"def f(x: torch.Tensor):\n    n = (x != 0).sum(1).cpu()\n    return {PACK}(x, n)", 0),
    (f"def f(x: torch.Tensor, batch: torch.Tensor):\n    return {PACK}(x, batch.lengths)", 0),
    ("torch.set_rng_state(torch.load(path, map_location=device)['rng'])", 1),
    ("torch.set_rng_state(torch.load(path, map_location='cpu')['rng'])", 0),
]


@pytest.mark.parametrize(("code", "expected"), ARGUMENTS)
def test_arguments_for_the_host(code: str, expected: int) -> None:
    assert count("TDV013", code) == expected


def test_lightning_brings_the_batch_of_a_step() -> None:
    code = f"""
    import pytorch_lightning as pl
    class Task(pl.LightningModule):
        def training_step(self, batch, index):
            x, y = batch
            return self.run(x, y)
        def run(self, x, y):
            return {PACK}(y, x["lengths"])
    """
    assert count("TDV013", code) == 1


NET = "net = nn.Linear(2, 2)\nadam = torch.optim.Adam(net.parameters())\n"
STATES = [
    (NET + "adam.load_state_dict(s)\nnet.to(device)\nadam.step()", 1),
    (NET + "adam.step()\nnet.to(device)\nscaler.step(adam)", 1),
    (NET + "net.to(device)\nadam.load_state_dict(s)\nadam.step()", 0),
    (NET + "adam.load_state_dict(s)\nnet.to(device)\nadam.load_state_dict(s)\nadam.step()", 0),
    (NET + "adam.load_state_dict(s)\nnet.to(device)", 0),
    (NET + "adam.step()\nnet.to(device)\nnet.cpu()\nadam.step()", 0),
    (NET.replace("Adam", "SGD") + "adam.step()\nnet.to(device)\nadam.step()", 0),
    (NET + "adam.step()\nnn.Sequential(net).to(device)\nadam.step()", 1),
    # the state is there only if the module was moved before
    (
        "def run(where):\n    "
        + NET.strip().replace("\n", "\n    ")
        + "\n    if where is not None:\n        net.to('cuda')\n        adam.step()\n        net.to('cuda')\n    adam.step()",
        0,
    ),
    (
        "def run(where):\n    "
        + NET.strip().replace("\n", "\n    ")
        + "\n    if where is not None:\n        adam.step()\n        net.to('cuda')\n    adam.step()",
        1,
    ),
]


@pytest.mark.parametrize(("code", "expected"), STATES)
def test_optimizer_states(code: str, expected: int) -> None:
    assert count("TDV014", code) == expected


DECLARED = [
    ("def f(n, device):\n    return torch.zeros(n)", 1),
    ("def f(n, device):\n    a = torch.zeros(n)\n    return a + torch.ones(n)", 1),
    ("def f(n, device):\n    print(device)\n    return torch.zeros(n)", 0),
    ("def f(n, device):\n    return torch.zeros(n, device='cpu')", 0),
    ("def f(n, device):\n    del device\n    return torch.zeros(n)", 0),
    ("def f(n, device):\n    return g(torch.zeros(n), **locals())", 0),
    ("def f(n, device):  # device is unused\n    return torch.zeros(n)", 0),
    ("@register\ndef f(n, device):\n    return torch.zeros(n)", 0),
    ("def f(n, device):\n    return torch.zeros(n)\ntable = {'f': f}", 0),
    ("def f(x, device):\n    return x + torch.zeros_like(x)", 0),
    ("class A(Base):\n    def f(self, n, device):\n        return torch.zeros(n)", 0),
    ("@register\ndef f(p, map_location=None):\n    return torch.load(p)", 1),
    ("def f(p, map_location=None):\n    return torch.load(p).to(map_location)", 0),
    ("def f(p, device):\n    return torch.load(p)", 1),
]


@pytest.mark.parametrize(("code", "expected"), DECLARED)
def test_declared_devices(code: str, expected: int) -> None:
    assert count("TDV017", code) == expected

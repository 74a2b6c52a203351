"""TDV020: calls that leave out a device which is at hand, each beside what it looks like."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

START = """
import functools

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def noise(n, device=None):
    return torch.randn(n, device=device)


def on_cpu(n, device="cpu"):
    return torch.randn(n).to(device)


def on_cuda(x, device="cuda"):
    return torch.ones(x.shape[0], device=device)


def like(x, device=None):
    device = x.device if device is None else device
    return torch.zeros(3, device=device)


def like_other(x, device=None):
    return like(x, device=device)


def chosen(n, device=None):
    return torch.zeros(n, device=device or DEVICE)


def moved(x, device=None):
    if device is not None:
        x = x.to(device)
    return x


def named(n, device="cpu"):
    print(str(device))
    return torch.ones(n)


def restored(path, device="cpu"):
    return torch.load(path, map_location=device)


class MLP(nn.Module):
    def __init__(self, n, device=None):
        super().__init__()
        self.device = device
        self.layer = nn.Linear(n, n, device=device)

    def forward(self, x):
        return self.layer(torch.as_tensor(x, device=self.device))


class Part(nn.Module):
    def __init__(self, n, device="cpu"):
        super().__init__()
        self.layer = nn.Linear(n, n, device=device)


class Meter:
    def __init__(self, n, device="cpu"):
        self.total = torch.zeros(n).to(device)
"""


def told(text: str, start: str = START) -> list[str]:
    """What is called without a device, and the one at hand."""
    found = check_source(start + textwrap.dedent(text), "calls.py", Config(select=("TDV020",)))
    return [f"{one.message.split('`')[1]} {one.message.split('`')[5]}" for one in found]


FUNCTION = """
def run(x, f, n, path, device):
    torch.ones(n, device=device)
    {body}
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return f(noise(n))", ["noise device"]),
        ("y = on_cpu(n); return f(y)", ["on_cpu device"]),
        ("return f(Meter(n))", ["Meter device"]),
        ("return f(MLP(n), noise(n))", ["MLP device", "noise device"]),
        ("return f(noise(n, device))", []),
        ("return f(noise(n, device=x.device))", []),
        ("return f(noise(*n))", []),
        ("made = functools.partial(noise, **x); return f(made(n))", []),
        ("return f(noise(**n))", []),
        ("return f(noise(n).to(device))", []),
        ("y = noise(n); y = y.to(device); return f(y)", []),
        ("y = noise(n); return f(y, device)", []),
        ("y = noise(n); return f(nn.Sequential(y).to(device))", []),
        ("return torch.stack([noise(n)]).to(device)", []),
        ("return f(noise(n).numpy())", []),
        ("return to_device(noise(n))", []),
        ("return f(noise(n), device=device)", []),
        ("f.load_state_dict(noise(n))", []),
        ("f.log(noise(n))", []),
        ("with torch.device(device): return f(noise(n))", []),
        ("return f(noise(n))  # stays on the CPU", []),
        ("return f(noise(n) if device is None else x)", []),
        ("return f(like(x))", []),
        ("return f(like_other(x))", []),
        ("return f(chosen(n))", []),
        ("return f(chosen(n), chosen(n, device=device))", ["chosen device"]),
        ("return f(moved(x))", []),
        ("return f(named(n))", []),
        ("return f(restored(path))", []),
    ],
)
def test_what_a_function_has_at_hand(body: str, found: list[str]) -> None:
    assert told(FUNCTION.format(body=body)) == found


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("x.to(device)", ["noise device"]),
        ("x.to(torch.device(device))", ["noise device"]),
        ("f({'device': device})", ["noise device"]),
        ("g(x, device)", ["noise device"]),
        ("print(device)", []),
        ("torch.autocast(device)", []),
        ("pass", []),
    ],
)
def test_what_the_device_is_for(use: str, found: list[str]) -> None:
    assert told(f"def run(x, f, g, n, device):\n    {use}\n    return f(noise(n))\n") == found


CLASS = """
class Agent({base}):
    def __init__(self, n, device):
        self.device = {device}
        {made}

    def act(self, x, n):
        {used}
        return self.net(x.to(self.device))
"""


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"made": "self.net = MLP(n)"}, ["MLP device"]),
        ({"made": "self.net = MLP(n)", "device": "torch.device(device)"}, ["MLP device"]),
        ({"used": "self.f(noise(n))"}, ["noise self.device"]),
        ({"used": "self.f(noise(n))", "device": "DEVICE"}, []),
        ({"used": "y = noise(n); y = y.to(self.device)"}, []),
        ({"made": "self.net = MLP(n); self.net.to(device)"}, []),
        ({"made": "self.net = MLP(n).to(device)"}, []),
        ({"made": "self.net = MLP(n); self.to(device)", "base": "nn.Module"}, []),
        ({"made": "self.net = MLP(n, device=device)"}, []),
    ],
)
def test_what_a_class_has_at_hand(parts: dict[str, str], found: list[str]) -> None:
    given = {"base": "object", "device": "device", "made": "pass", "used": "pass"} | parts
    assert told(CLASS.format(**given)) == found


MODULE = """
class Net(nn.Module):
    def __init__(self, n, device="cpu"):
        super().__init__()
        self.device = device
        self.part = {part}(n)

    def forward(self, x):
        return self.part(x{to})


def build(n):
    net = Net(n)
    return net{moved}
"""


@pytest.mark.parametrize(
    ("part", "to", "moved", "found"),
    [
        ("Part", "", "", ["Part device"]),
        ("Part", ".to(self.device)", "", ["Part device"]),
        ("Part", "", ".to('cuda')", []),  # whoever builds it moves all of it
        ("MLP", "", ".to('cuda')", ["MLP device"]),  # but not the device that it keeps
    ],
)
def test_a_module_that_is_moved_as_a_whole(part: str, to: str, moved: str, found: list[str]) -> None:
    assert told(MODULE.format(part=part, to=to, moved=moved)) == found


def test_a_base_keeps_what_its_class_sets_itself() -> None:
    text = """
    class Base:
        def __init__(self, n, device="cpu"):
            self.device = torch.device(device)

        def act(self, x):
            return x.to(self.device)


    class Agent(Base):
        def __init__(self, n, device):
            super().__init__(n)
            {}
            self.net = Part(n, device=device)
    """
    assert told(text.format("pass")) == ["Base device"]
    assert told(text.format("self.device = device")) == []


@pytest.mark.parametrize(
    ("layers", "found"),
    [
        ("nn.Linear(n, n, device=at), nn.Linear(n, 2)", ["nn.Linear at"]),
        ("nn.Linear(n, n, device=at), nn.LayerNorm(n)", ["nn.LayerNorm at"]),
        ("nn.Linear(n, n, **kwargs), nn.Linear(n, 2)", ["nn.Linear kwargs"]),
        ("nn.Linear(n, n, **others), nn.Linear(n, 2)", []),
        ("nn.Linear(n, n, device=at), nn.LayerNorm(n, elementwise_affine=False)", []),
        ("nn.Linear(n, n, device=at), nn.ReLU()", []),
        ("nn.Linear(n, n, device=at), nn.Linear(n, n), nn.Linear(n, 2)", []),
        ("nn.Linear(n, n, device=at), nn.Linear(n, 2).to(at)", []),
        ("nn.Linear(n, n, device='cpu'), nn.Linear(n, 2)", []),
    ],
)
def test_layers_beside_layers(layers: str, found: list[str]) -> None:
    text = f"""
    def build(n, at, dtype, others):
        kwargs = {{"device": at, "dtype": dtype}}
        return nn.Sequential({layers})
    """
    assert told(text) == found


ELEMENTS = """
class Batch:
    def to_torch(self, dtype=None, device="cpu"):
        for v in vars(self).values():
            if isinstance(v, list):
                torch.as_tensor(v, device=device)
            elif isinstance(v, {kind}):
                v.{method}()
"""


@pytest.mark.parametrize(
    ("kind", "method", "found"),
    [
        ("Batch", "to_torch", ["to_torch device"]),
        ("other.Batch", "to_torch", ["to_torch device"]),
        ("Batch", "to_numpy", []),
        ("other.Batch", "to_numpy", []),
    ],
)
def test_elements_of_what_is_converted(kind: str, method: str, found: list[str]) -> None:
    assert told(ELEMENTS.format(kind=kind, method=method)) == found


def test_a_tensor_is_given_to_what_works_on_an_accelerator() -> None:
    text = "def run(x: torch.Tensor, f):\n    return f({}(x))\n"
    assert told(text.format("on_cuda")) == ["on_cuda x.device"]
    assert told(text.format("on_cpu")) == []


@pytest.mark.parametrize("name", ["test_run", "plot_run", "save_all", "collate"])
def test_what_works_on_the_host_is_left_alone(name: str) -> None:
    text = f"def {name}(x, f, n, device):\n    x.to(device)\n    return f(noise(n))\n"
    assert told(text) == []


def test_it_is_asked_by_default() -> None:
    text = START + FUNCTION.format(body="return f(noise(n))")
    assert "TDV020" in [one.code for one in check_source(text, "calls.py", Config())]


def test_the_fix_hands_it_on() -> None:
    text = START + FUNCTION.format(body="return f(noise(n))")
    found = check_source(text, "calls.py", Config(select=("TDV020",)))
    assert [one.fix.message for one in found if one.fix is not None] == ["Hand it on with `device=device`"]

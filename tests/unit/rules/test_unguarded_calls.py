"""TDV101 on calls that raise where there is no GPU, and on devices whose index is computed."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

PROGRAMS = {
    "a call": ("def f(net, x):\n    y = net(x)\n    torch.cuda.synchronize()\n    return y", 1),
    "a call of a machine that has one": (
        "def f(net, x):\n    y = net(x)\n    if torch.cuda.is_available():\n        torch.cuda.synchronize()\n    return y",
        0,
    ),
    "a call where x is there": (
        "def f(net, x):\n    y = net(x)\n    if x.is_cuda:\n        torch.cuda.synchronize()\n    return y",
        0,
    ),
    "a call whoever asks": (
        "def f(net, x, last):\n    y = net(x)\n    if last:\n        torch.cuda.synchronize()\n    return y",
        1,
    ),
    "a call for the time": (
        "def f(net, x, timed):\n    y = net(x)\n    if timed:\n        torch.cuda.synchronize()\n    return y",
        0,
    ),
    "a call that raises nothing": ("def f():\n    torch.cuda.empty_cache()", 0),
    "a call that only asks": ("def f():\n    return torch.cuda.device_count()", 0),
    "the current device": ("def f(x):\n    return x.to(torch.cuda.current_device())", 1),
    "the name": ("def f():\n    return torch.cuda.get_device_name()", 1),
    "a computed index": ("def f(x, rank):\n    return x.to(torch.device(f'cuda:{rank}'))", 1),
    "another way to compute it": ("def f(x, gpu):\n    return x.to('cuda:%d' % gpu)", 1),
    "a computed index where there are some": (
        "def f(x, rank):\n    if torch.cuda.is_available():\n        x = x.to(f'cuda:{rank}')\n    return x",
        0,
    ),
    "one process of many": (
        "import torch.distributed as dist\ndef f(x, rank):\n    dist.barrier()\n    return x.to(f'cuda:{rank}')",
        0,
    ),
    "a number that is tested": (
        "def f(args):\n    if args.gpu is not None:\n        torch.cuda.set_device(args.gpu)",
        0,
    ),
    "another number that is tested": (
        "def f(args):\n    if args.n is not None:\n        torch.cuda.set_device(args.gpu)",
        1,
    ),
    "each that there is": (
        "names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]",
        0,
    ),
    "each of some": ("names = [torch.cuda.get_device_name(i) for i in (0, 1)]", 1),
    "a name that is returned": ("def f(index):\n    return f'cuda:{index}'", 0),
    "the type only": ("def f(x, kind, rank):\n    return x.to(f'{kind}:{rank}')", 0),
}


@pytest.mark.parametrize(("text", "told"), PROGRAMS.values(), ids=PROGRAMS)
def test_what_needs_a_gpu(text: str, told: int) -> None:
    found = check_source(f"import torch\n{text}\n", "run.py", Config(select=("TDV101",)))
    assert len(found) == told
    assert all(one.fix is None for one in found)


def test_the_default_rules_say_nothing_of_it() -> None:
    """The program chooses its device: that is TDV018's for what is put somewhere, not for calls."""
    text = (
        "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nnet = make().to(device)\n"
        "def f(x):\n    torch.cuda.synchronize()\n    return net(x.to(device))\n"
    )
    assert check_source(text, "run.py", Config(select=("TDV018",))) == []
    (found,) = check_source(text, "run.py", Config(select=("TDV101", "TDV018")))
    assert found.code == "TDV101"
    assert "`torch.cuda.synchronize`" in found.message

"""Uses of a device that are right for some devices only (TDV109): each mistake beside what it looks like."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config, Selection
from torchdev_lint.engine.check import check_source

WRONG_AND_RIGHT = {
    "a name that may have an index": (
        "def f(x, device):\n    if device == 'cuda':\n        x = x.half()\n    return x",
        "def f(x, device):\n    if device.startswith('cuda') or device == 'cuda':\n        x = x.half()\n    return x",
    ),
    "an option": (
        "parser.add_argument('--device', default='cuda')\nargs = parser.parse_args()\nfast = args.device == 'cuda'",
        "parser.add_argument('--device', choices=['cuda', 'cpu'])\nargs = parser.parse_args()\nfast = args.device == 'cuda'",
    ),
    "one of several names": (
        "def f(x, device):\n    return x.half() if device in ('cuda', 'xpu') else x",
        "def f(x, device_type):\n    return x.half() if device_type in ('cuda', 'xpu') else x",
    ),
    "a case": (
        "def f(x, device: str):\n    match device:\n        case 'cuda':\n            return x.half()",
        "def f(x, device: str):\n    match torch.device(device).type:\n        case 'cuda':\n            return x.half()",
    ),
    "an attribute": (
        "class A:\n    def __init__(self, device):\n        self.device = device\n    def f(self):\n        return self.device == 'cuda'",
        "class A:\n    def __init__(self):\n        self.device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "    def f(self):\n        return self.device == 'cuda'",
    ),
    "what is not refused": (
        "def f(x, device):\n    if device == 'cuda':\n        x = x.half()\n    elif device == 'cpu':\n        x = x.float()\n    return x",
        "def f(x, device):\n    if device == 'cuda':\n        x = x.half()\n    elif device == 'cpu':\n        x = x.float()\n"
        "    else:\n        raise ValueError(device)\n    return x",
    ),
    "a device without an index": (
        "def f(x):\n    return x if x.device != torch.device('cuda') else x.half()",
        "def f(x):\n    return x if x.device != torch.device('cpu') else x.half()",
    ),
    "an equality that is wanted": (
        "def f(x, device):\n    assert x.device == device",
        "def f(x, device):\n    if x.device != device:\n        x = x.to(device)\n    return x",
    ),
    "the text of a device": (
        "def f(x, device: str):\n    if str(x.device) != device:\n        print.warning('elsewhere')",
        "def f(x, device: str):\n    if x.device.type != device:\n        print.warning('elsewhere')",
    ),
    "a device that is given and passed over": (
        "def f(device=None):\n    return device or 'cuda' if torch.cuda.is_available() else 'cpu'",
        "def f(device=None):\n    return device or ('cuda' if torch.cuda.is_available() else 'cpu')",
    ),
    "a device that is asked about itself": (
        "def f(device=None):\n    use = device or 'cuda' if torch.cuda.device_count() else 'cpu'\n    return use",
        "def f(device=None):\n    use = device or 'cuda' if device != 'none' else 'cpu'\n    return use",
    ),
    "the first index": (
        "def f(device):\n    return device.index or -1",
        "def f(device):\n    return device.index if device.index is not None else -1",
    ),
    "the first index for none": (
        "def f(device):\n    return device.index or 1",
        "def f(device):\n    return device.index or 0",
    ),
    "an index of something else": (
        "def f(device):\n    return (device.index or -1) + 1",
        "def f(row):\n    return (row.index or -1) + 1",
    ),
    "a device for a type": (
        "def f(x, device):\n    with torch.autocast(device):\n        return x @ x",
        "def f(x, device):\n    with torch.autocast(device.type):\n        return x @ x",
    ),
    "a keyword for a type": (
        "def f(x, wrap):\n    return wrap(device_type=x.device)",
        "def f(x, wrap):\n    return wrap(device_type=x.device.type)",
    ),
    "a device for CUDA": (
        "def f(x, device):\n    return x.cuda(device)",
        "def f(x, device):\n    return x.cuda(device) if device != 'cpu' else x",
    ),
    "a device to wait for": (
        "def f(device: torch.device):\n    torch.cuda.synchronize(device)",
        "def f(device: torch.device):\n    if device.type == 'cuda':\n        torch.cuda.synchronize(device)",
    ),
    "whatever is not the CPU": (
        "def f(device):\n    if device.type != 'cpu':\n        torch.cuda.synchronize()",
        "def f(device):\n    if device.type == 'cuda':\n        torch.cuda.synchronize()",
    ),
    "a device in a device": (
        "def f(x):\n    device = 'cuda'\n    return x.to(f'cuda:{device}')",
        "def f(x, device: int):\n    return x.to(f'cuda:{device}')",
    ),
    "the index of a tensor": (
        "def f(x, n):\n    return torch.ones(n).to(x.get_device())",
        "def f(x, n):\n    return torch.ones(n).to(x.device)",
    ),
    "the index of a tensor on a GPU": (
        "def f(x, n):\n    at = x.get_device()\n    return torch.ones(n, device=at)",
        "def f(x, n):\n    at = x.get_device()\n    return torch.ones(n, device=at) if x.is_cuda else torch.ones(n)",
    ),
    "the name of a type": (
        "def f(x, y):\n    return (x > 0).type(y.type())",
        "def f(x, y):\n    return (x > 0).type(y.dtype)",
    ),
    "a part of a string": (
        "def f(device):\n    return int(device.split(':')[1])",
        "def f(device):\n    return int(device.split(':')[1]) if ':' in device else 0",
    ),
    "a device from before": (
        "class A:\n    def to(self, device):\n        self.net = build(device=self.device)\n        self.device = device",
        "class A:\n    def to(self, device):\n        self.device = device\n        self.net = build(device=self.device)",
    ),
    "one of two kinds": (
        "def f(device: str | torch.device):\n    return device.type",
        "def f(device: str | torch.device):\n    return device if isinstance(device, str) else device.type",
    ),
    "a string by default": (
        "def f(x, device='cuda'):\n    return x.half() if device.type == 'cuda' else x",
        "def f(x, device='cuda'):\n    device = torch.device(device)\n    return x.half() if device.type == 'cuda' else x",
    ),
    "an argument that was replaced": (
        "class A:\n    def __init__(self, net, device=None):\n        self.device = device or 'cpu'\n        net.to(device)",
        "class A:\n    def __init__(self, net, device=None):\n        self.device = device or 'cpu'\n        net.to(self.device)",
    ),
    "a guess": (
        "def f(x):\n    at = 'cuda' if torch.cuda.is_available() else 'cpu'\n    return torch.ones(x.shape, device=at)",
        "def f(x, device):\n    at = 'cuda' if torch.cuda.is_available() else 'cpu'\n    return torch.ones(x.shape, device=at)",
    ),
    "None in a with statement": (
        "def f(build, device=None):\n    with device:\n        return build()",
        "def f(build, device=None):\n    if device is None:\n"
        "        device = torch.device('cpu')\n    with device:\n        return build()",
    ),
    "None that is asked for its type": (
        "def f(x, device=None):\n    if x.is_sparse and device is not None:\n        x = x.to(device)\n    return device.type",
        "def f(x, device=None):\n    return device is not None and device.type",
    ),
    "bound on one way": (
        "def f(x, many):\n    if many:\n        device = x.device\n    return torch.ones(3, device=device)",
        "def f(x, many):\n    if many:\n        device = x.device\n"
        "    else:\n        device = 'cpu'\n    return torch.ones(3, device=device)",
    ),
    "bound and used on one way": (
        "def f(x, many, few):\n    if many:\n        device = x.device\n    return torch.ones(3, device=device) if few else x",
        "def f(x, many, few):\n    if many:\n        device = x.device\n    return torch.ones(3, device=device) if many else x",
    ),
    "the last of several branches": (
        "def f(x, kind, new):\n    if kind == 'a':\n        device = x.device\n    elif kind == 'b':\n        if new():\n"
        "            device = 'mps'\n    else:\n        device = 'cpu'\n    return torch.ones(3, device=device)",
        "def f(x, kind, new):\n    if kind == 'a':\n        device = x.device\n    elif kind == 'b':\n        device = 'mps'\n"
        "    return torch.ones(3, device=device)",
    ),
    "a way that is left": (
        "def f(x):\n    try:\n        device = x.device\n    except AttributeError:\n        if not x:\n            device = 'cpu'\n"
        "    return torch.ones(3, device=device)",
        "def f(x):\n    try:\n        device = x.device\n"
        "    except AttributeError:\n        return None\n    return torch.ones(3, device=device)",
    ),
}


def _told(text: str) -> list[str]:
    config = Config(command_line=Selection(select=("TDV012", "TDV109")))
    found = check_source("import torch\n" + textwrap.dedent(text) + "\n", "library.py", config)
    return [one.code for one in found]


@pytest.mark.parametrize(("wrong", "right"), WRONG_AND_RIGHT.values(), ids=WRONG_AND_RIGHT)
def test_a_doubtful_use_and_its_look_alike(wrong: str, right: str) -> None:
    """The mistake is told once, the other is right."""
    assert _told(wrong) in (["TDV109"], ["TDV012"])
    assert _told(right) == []


BY_DEFAULT = (
    "a device that is given and passed over",
    "a device that is asked about itself",
    "the first index",
    "the first index for none",
    "an index of something else",
    "bound on one way",
    "bound and used on one way",
    "the last of several branches",
    "a way that is left",
)


@pytest.mark.parametrize("name", WRONG_AND_RIGHT)
def test_some_are_told_by_default(name: str) -> None:
    """What reads as a mistake without its callers is TDV012's, which is on."""
    expected = ["TDV012"] if name in BY_DEFAULT else ["TDV109"]
    assert _told(WRONG_AND_RIGHT[name][0]) == expected


def test_a_flag_says_whether_a_device_is_bound() -> None:
    """What is bound in the same branch tells later on that it was taken."""
    text = """
        def join(*codes):
            tensors = False
            for code in codes:
                if isinstance(code, torch.Tensor):
                    tensors = True
                    device = code.device
            if {}:
                return torch.cat([code.to(device) for code in codes])
            return codes
        """
    assert _told(text.format("tensors")) == []
    assert _told(
        text.format("len(codes) > 1").replace("for code in codes:", "if codes:").replace("code.", "codes[0].")
    ) == ["TDV012"]

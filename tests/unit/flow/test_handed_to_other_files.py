"""What a file hands to functions of other files: told at the call where it is that file's own doing."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources


def _found(directory: Path, files: dict[str, str], checked: str = "main.py") -> list[tuple[str, str]]:
    """The findings in one of the files: the rule, and the line of the text."""
    (directory / ".git").mkdir()
    (directory / ".git" / "HEAD").touch()
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    path = directory / checked
    text = path.read_text(encoding="utf-8")
    config = Config(off_by_default=frozenset({"TDV101", "TDV103", "TDV105", "TDV106", "TDV108"}))
    found = check_source(text, str(path), config, DiskSources())
    return [(one.code, text.splitlines()[one.range.start.row - 1].strip()) for one in found]


HISTORY = """
class History:
    def __init__(self):
        self.rows = []

    def keep(self, row):
        self.rows.append(row{read})
"""
SCORES = """
import torch
from torch import nn
from history import History

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 1).to(device)
history = History()
with torch.no_grad():
    scores = net(torch.rand(4, 3).to(device))
    history.keep({given})
"""


@pytest.mark.parametrize(
    ("given", "read", "told"),
    [
        ("scores", ".detach().numpy()", True),
        ("scores", ".numpy()", True),
        ("row=scores", ".numpy()", True),
        ("scores.cpu()", ".numpy()", False),
        ("torch.rand(4, 3)", ".numpy()", False),
        ("scores", ".cpu().numpy()", False),
        ("scores", ".numpy(force=True)", False),
        ("scores", ".tolist()", False),
    ],
)
def test_what_another_file_reads_on_the_host(tmp_path: Path, given: str, read: str, told: bool) -> None:
    """Its function is written for what is on the CPU; the call hands over what is not."""
    files = {"history.py": HISTORY.format(read=read), "main.py": SCORES.format(given=given)}
    assert _found(tmp_path, files) == ([("TDV010", f"history.keep({given})")] if told else [])


def test_what_another_file_moves_and_reads_is_its_own_doing(tmp_path: Path) -> None:
    """Where the function moves what it was given, its caller handed over nothing wrong."""
    history = HISTORY.format(read=".to(self.device).numpy()").replace(
        "self.rows = []", "self.rows, self.device = [], 'cuda:0'"
    )
    assert _found(tmp_path, {"history.py": history, "main.py": SCORES.format(given="torch.rand(2)")}) == []


STORE = """
import torch


class Store:
    def __init__(self, size, dtype=torch.float32, device=None):
        self.seen = torch.zeros(size, 4, dtype=dtype, device=device)

    def put(self, at, rows):
        self.seen[at : at + len(rows)] = rows
        return self.seen[: at + len(rows)]

    @classmethod
    def per_layer(cls, count, param):
        return [cls(8, param.dtype{device}) for _ in range(count)]
"""
STORED = """
from torch import nn


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))

    def layer(self, i, x, store):
        if store is not None:
            x = x + store.put(0, x).mean(0)
        return self.layers[i](x)

    def forward(self, x, stores=None):
        for i in range(self.depth):
            x = self.layer(i, x, {taken})
        return x
"""
USED = """
import torch
from net import Net
from store import Store

device = "cuda" if torch.cuda.is_available() else "cpu"


def run(net, x):
    stores = Store.per_layer(net.depth, net.layers[0].weight)
    return net(x, stores)


def main(depth):
    net = Net(depth).to(device)
    print(run(net, torch.rand(2, 4, device=device)).sum().item())


if __name__ == "__main__":
    main(int(input()))
"""


@pytest.mark.parametrize(
    ("device", "taken", "told"),
    [
        ("", "stores[i] if stores else None", True),
        ("", "stores[i] if stores is not None else None", True),
        (", param.device", "stores[i] if stores else None", False),
        (", param.device", "stores[i] if stores is not None else None", False),
        (", param.device", "stores[i] if len(stores) > i else None", False),
    ],
)
def test_objects_that_keep_tensors(tmp_path: Path, device: str, taken: str, told: bool) -> None:
    """A list of them, made on the CPU by a classmethod, is handed to a model: in each a tensor meets what is with the model."""
    files = {
        "store.py": STORE.format(device=device),
        "net.py": STORED.format(taken=taken),
        "main.py": USED,
    }
    made = "stores = Store.per_layer(net.depth, net.layers[0].weight)"
    assert _found(tmp_path, files) == ([("TDV001", made)] if told else [])


@pytest.mark.parametrize(("device", "told"), [("", True), (", param.device", False)])
def test_objects_that_keep_tensors_where_they_meet_a_model(tmp_path: Path, device: str, told: bool) -> None:
    """The same in the file of the model, as the script brings it about."""
    taken = "stores[i] if stores else None"
    files = {"store.py": STORE.format(device=device), "net.py": STORED.format(taken=taken), "main.py": USED}
    expected = [("TDV004", "x = x + store.put(0, x).mean(0)")]
    assert _found(tmp_path, files, "net.py") == (expected if told else [])


def test_objects_are_not_moved_by_a_fix(tmp_path: Path) -> None:
    """Who makes them says where; an object of the project's own has no `to`."""
    files = {
        "store.py": STORE.format(device=""),
        "net.py": STORED.format(taken="stores[i] if stores else None"),
        "main.py": USED,
    }
    _found(tmp_path, files)
    path = tmp_path / "main.py"
    found = check_source(path.read_text(encoding="utf-8"), str(path), Config(), DiskSources())
    assert [(one.fix, one.message.partition(" is on ")[0]) for one in found] == [
        (None, "what `stores` keeps")
    ]


LISTED = """
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
count = int(input())
held = {held}
x = torch.rand(3, device=device) + ({taken})
"""


@pytest.mark.parametrize(
    ("held", "taken", "told"),
    [
        ("[torch.rand(3) for _ in range(count)]", "held[0] if held else None", True),
        ("[torch.rand(3, device=device) for _ in range(count)]", "held[0] if held else None", False),
        (
            "[torch.rand(3, device=device) for _ in range(count)]",
            "held[0] if held else torch.zeros(3)",
            False,
        ),
    ],
)
def test_one_of_any_number_of_things(tmp_path: Path, held: str, taken: str, told: bool) -> None:
    """Taken `if` there are any: who has none gets None, and not this."""
    found = _found(tmp_path, {"main.py": LISTED.format(held=held, taken=taken)})
    assert bool(found) == told


ADAPTERS = """
import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.down = nn.Parameter({down})

    def forward(self, x):
        return self.base(x) + x @ self.down


def adapt(model, names):
    {first}
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if name in names:
                setattr(parent, name, Adapter(child))
    return model


def put_head(model, size):
    model.head = nn.Linear(3, size)


def put_first(model):
    model.blocks[0] = nn.Linear(3, 3)
"""
ADAPTED = """
import torch
from torch import nn
from adapters import adapt, put_first, put_head

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.head = nn.Linear(3, 1)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main(names):
    model = Net()
    {steps}
    print(model(torch.rand(2, 3, device=device)).sum().item())


main(input().split())
"""
MOVE = "model = model.to(device)"


def _adapted(*steps: str, down: str = "torch.zeros(3, 3)", first: str = "pass") -> dict[str, str]:
    return {
        "adapters.py": ADAPTERS.format(down=down, first=first),
        "main.py": ADAPTED.format(steps="\n    ".join(steps)),
    }


@pytest.mark.parametrize(
    "call", ["adapt(model, names)", "model = adapt(model, names)", "put_head(model, 2)", "put_first(model)"]
)
def test_another_file_attaches_a_part_too_late(tmp_path: Path, call: str) -> None:
    """It is right for who calls it before the move: so the call is at fault, not the function."""
    assert _found(tmp_path, _adapted(MOVE, call)) == [("TDV008", call)]


@pytest.mark.parametrize("call", ["put_head(model, 2)", "put_first(model)"])
@pytest.mark.parametrize(
    "use",
    ["nn.MSELoss()(model(x), y).item()", "fit(model, nn.MSELoss(), x, y)", "(model(x) - y).sum().item()"],
)
def test_what_such_a_part_gives_is_told_of_no_more(tmp_path: Path, call: str, use: str) -> None:
    """PyTorch raises in the part: what is called or computed with its output is not at fault."""
    given = "x, y = torch.rand(2, 3).to(device), torch.rand(2, 1).to(device)"
    files = _adapted(MOVE, call, given, f"print({use})")
    fit = "def fit(model, loss, x, y):\n    return loss(model(x), y).item()\n\n\n"
    files["main.py"] = files["main.py"].replace("def main", fit + "def main")
    assert _found(tmp_path, files) == [("TDV008", call)]


@pytest.mark.parametrize(
    "call", ["adapt(model, names)", "model = adapt(model, names)", "put_head(model, 2)", "put_first(model)"]
)
@pytest.mark.parametrize("others", [("{}", MOVE), (MOVE, "{}", MOVE), ("{}", MOVE, "model.train()")])
def test_another_file_attaches_a_part_in_time(tmp_path: Path, call: str, others: tuple[str, ...]) -> None:
    """Before the move, or before another one."""
    assert _found(tmp_path, _adapted(*(one.format(call) for one in others))) == []


@pytest.mark.parametrize(
    ("down", "first"),
    [
        ("torch.zeros(3, 3, device=base.weight.device)", "pass"),
        ("base.weight.new_zeros(3, 3)", "pass"),
        ("torch.zeros(3, 3)", "model.cuda()"),
        ("torch.zeros(3, 3)", "model.to('cpu')"),
    ],
)
def test_another_file_attaches_a_part_where_the_module_is(tmp_path: Path, down: str, first: str) -> None:
    """Made beside the layer; or it is that file itself that moves the module before: what is wrong then, is told there."""
    files = _adapted(MOVE, "adapt(model, names)", down=down, first=first)
    assert [one for one in _found(tmp_path, files) if one[0] == "TDV008"] == []


def test_the_file_that_attaches_parts_is_right(tmp_path: Path) -> None:
    """What scripts do with its functions is not told there."""
    assert _found(tmp_path, _adapted(MOVE, "adapt(model, names)"), "adapters.py") == []


BLEND = """
def blend(store, x):
    return store.seen[0] + x
"""
BLENDED = """
import torch
from torch.utils.data import Dataset
from blend import blend


class Store{base}:
    def __init__(self, where):
        self.seen = torch.zeros(8, 4, device=where)


print(blend({given}, torch.rand(4, device="cuda")))
"""


@pytest.mark.parametrize(
    ("base", "given", "told"),
    [
        ("", "Store('cpu')", True),
        ("", "[Store('cpu')][0]", True),
        ("", "Store('cuda')", False),
        ("(Dataset)", "Store('cpu')", False),
    ],
)
def test_an_object_that_keeps_a_tensor(tmp_path: Path, base: str, given: str, told: bool) -> None:
    """A data set keeps what is on the CPU by right: who reads it takes that along."""
    main = BLENDED.format(base=base, given=given)
    found = _found(tmp_path, {"blend.py": BLEND, "main.py": main})
    assert [code for code, _ in found if code != "TDV002"] == (["TDV004"] if told else [])
    diagnostics = check_source(main, str(tmp_path / "main.py"), Config(), DiskSources())
    messages = [one.message for one in diagnostics if one.code == "TDV004"]
    assert all(message.startswith(f"what `{given}` keeps is on the CPU, but ") for message in messages)


@pytest.mark.parametrize(("device", "told"), [("", True), (", param.device", False)])
def test_one_of_things_that_may_not_be_there(tmp_path: Path, device: str, told: bool) -> None:
    """Whoever takes one of them where there are any means to have some, also further down, where the question is not asked again."""
    net = STORED.format(taken="stores[i] if stores else None").replace(
        """        if store is not None:
            x = x + store.put(0, x).mean(0)
        return self.layers[i](x)
""",
        """        seen = x
        if store is not None:
            seen = store.put(0, x)
        return self.layers[i](x + seen.mean(0))
""",
    )
    files = {"store.py": STORE.format(device=device), "net.py": net, "main.py": USED}
    told_there = [("TDV004", "return self.layers[i](x + seen.mean(0))")]
    assert _found(tmp_path, files, "net.py") == (told_there if told else [])


NOISE = """
import torch


def noise(n, use_cuda=True):
    z = torch.randn(n, 3)
    return {placed}
"""
SAMPLES = """
import torch
from noises import noise
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 1)

    def sample(self, n):
        first = next(self.parameters())
        return self.out(noise(n, {told}))
"""
NUMBERED = """
import sys
import torch
from nets import Net

print(Net().to(PLACE).sample(2).sum().item())
"""


@pytest.mark.parametrize(
    ("told", "placed", "place", "found"),
    [
        ("use_cuda=first.is_cuda", "z.cuda() if use_cuda else z", 'f"cuda:{sys.argv[1]}"', True),
        ("first.is_cuda", "z.cuda() if use_cuda else z", 'f"cuda:{sys.argv[1]}"', True),
        ("first.is_cuda", "z.cuda() if use_cuda else z", '"cuda"', False),
        ("torch.cuda.is_available()", "z.cuda() if use_cuda else z", 'f"cuda:{sys.argv[1]}"', False),
        ("first.is_cuda", "z.double() if use_cuda else z", 'f"cuda:{sys.argv[1]}"', False),
        ("first.device", "z.to(use_cuda)", 'f"cuda:{sys.argv[1]}"', False),
        ("first.is_cuda).to(first.device", "z.cuda() if use_cuda else z", 'f"cuda:{sys.argv[1]}"', False),
    ],
)
def test_a_function_is_told_that_there_is_a_gpu_and_not_which(
    tmp_path: Path, told: str, placed: str, place: str, found: bool
) -> None:
    """It takes the current one, where what was asked may be on another: it is right for who has no other."""
    files = {
        "noises.py": NOISE.format(placed=placed),
        "nets.py": SAMPLES.format(told=told),
        "train.py": NUMBERED.replace("PLACE", place),
    }
    line = f"return self.out(noise(n, {told}))"
    assert [one for one in _found(tmp_path, files, "nets.py") if one[0] == "TDV016"] == (
        [("TDV016", line)] if found else []
    )


def test_the_same_within_one_file(tmp_path: Path) -> None:
    """There it is the move that has to go."""
    own = SAMPLES.replace("from noises import noise\n", "").replace(
        "\n\nclass",
        NOISE.format(placed="z.cuda() if use_cuda else z").replace("import torch", "") + "\n\nclass",
    )
    files = {
        "nets.py": own.format(told="first.is_cuda"),
        "train.py": NUMBERED.replace("PLACE", 'f"cuda:{sys.argv[1]}"'),
    }
    assert _found(tmp_path, files, "nets.py") == [("TDV016", "return z.cuda() if use_cuda else z")]


SETTING = """
import torch

_DEVICE = {first}

def set_gpu_mode(mode, number=0):
    global _DEVICE
    _DEVICE = torch.device(f"cuda:{{number}}" if mode else "cpu")

def as_tensor(data):
    return torch.as_tensor(data, dtype=torch.float32, device=_DEVICE)
"""
SUMS = """
import torch
from setting import as_tensor

def total():
    start = torch.zeros(3)
    return (start + as_tensor([1, 2, 3])).sum()
"""


@pytest.mark.parametrize(("first", "told"), [("None", []), ('torch.device("cuda")', ["TDV005"])])
def test_a_device_that_is_none_until_it_is_set(tmp_path: Path, first: str, told: list[str]) -> None:
    found = _found(tmp_path, {"setting.py": SETTING.format(first=first), "main.py": SUMS})
    assert [code for code, _ in found] == told


RUNNER = """
class Runner:
    def __init__(self, model, device):
        self.model = model
        self.device = device

    def __call__(self, x):
        return self.model(x)
"""


@pytest.mark.parametrize(("base", "told"), [("Runner", []), ("object", ["TDV017"])])
def test_a_device_that_heirs_elsewhere_read(tmp_path: Path, base: str, told: list[str]) -> None:
    heir = f"from runner import Runner\n\nclass Graph({base}):\n    def warm(self, x):\n        return x.to(self.device)\n"
    found = _found(tmp_path, {"runner.py": RUNNER, "graph.py": heir}, "runner.py")
    assert [code for code, _ in found] == told


PARTS = """
import torch
from torch import nn

class Rotary(nn.Module):
    def __init__(self, width, device=None):
        super().__init__()
        self.register_buffer("steps", torch.arange(width, device=device))

def build_rotary(width, device=None):
    return Rotary(width, device=device)
"""
MODEL = """
from torch import nn
from parts import build_rotary

class Model(nn.Module):
    def __init__(self, width, device=None):
        super().__init__()
        self.first = nn.Linear(width, width, device=device)
        self.rotary = build_rotary(width)
"""


@pytest.mark.parametrize(("others", "told"), [(2, []), (1, ["TDV020"])])
def test_a_device_that_most_leave_out(tmp_path: Path, others: int, told: list[str]) -> None:
    files = {f"other{number}.py": MODEL for number in range(others)}
    found = _found(tmp_path, {"parts.py": PARTS, "main.py": MODEL, **files})
    assert [code for code, _ in found] == told


NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def forward(self, x):
        return self.net(torch.cat([x, x], 1))
"""
PLACES = """
import os
import torch

def device():
    forced = os.environ.get("DEVICE")
    if forced:
        return torch.device(forced)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")

def placed(thing):
    if hasattr(thing, "to"):
        return thing.to(device())
    if isinstance(thing, dict):
        return {key: placed(value) for key, value in thing.items()}
    return type(thing)(placed(one) for one in thing)
"""
RUNS = """
import torch
from nets import Net
from places import placed

def run(net, loader):
    for batch in map(placed, loader):
        print(net(batch["x"]))

net = {made}
run(net, torch.utils.data.DataLoader([{{"x": torch.zeros(3)}}]))
"""


@pytest.mark.parametrize(("made", "told"), [("placed(Net())", []), ("Net()", ["TDV001"])])
def test_modules_of_other_files_have_what_modules_have(tmp_path: Path, made: str, told: list[str]) -> None:
    files = {"nets.py": NETS, "places.py": PLACES, "main.py": RUNS.format(made=made)}
    assert [code for code, _ in _found(tmp_path, files)] == told

"""What the fixes of several rules write, and where they write nothing; found by mutants that no fixture noticed."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.tdv016_lost_device_index import _short

HEADER = "import torch\nfrom torch import nn\n"
LONG = "a_name_that_is_so_long_that_no_sentence_reads_well_with_it"
INPUT = "def f(device):\n    model = nn.Linear(2, 2).to(device)\n    {0}\n    return {1}\n"


def found(code: str, rule: str) -> Diagnostic:
    (diagnostic,) = check_source(HEADER + code, "program.py", Config(select=(rule,)))
    return diagnostic


def fix_of(diagnostic: Diagnostic) -> tuple[Applicability, str, list[str]] | None:
    fix = diagnostic.fix
    return fix and (fix.applicability, fix.message, [edit.content for edit in fix.edits])


def written(diagnostic: Diagnostic) -> list[str] | None:
    return diagnostic.fix and [edit.content for edit in diagnostic.fix.edits]


@pytest.mark.parametrize(
    ("result", "message", "content"),
    [
        (
            "torch.stack([x, *b])",
            "a tensor in `[x, *b]` is on the CPU, but another in it is on `device`",
            None,
        ),
        ("torch.add(x, *b)", "`b` is on the CPU, but `x` is on `device`", None),
        ("torch.add(x, *b[:1])", "`b[:1]` is on the CPU, but `x` is on `device`", None),
        ("torch.add(x, **d)", "`d` is on the CPU, but `x` is on `device`", None),
        ("torch.add(x, b[0])", "`b[0]` is on the CPU, but `x` is on `device`", [".to(device)"]),
        ("torch.add(x, -b[0])", "`-b[0]` is on the CPU, but `x` is on `device`", ["(", ").to(device)"]),
    ],
)
def test_a_list_of_tensors_is_not_moved_as_one(result: str, message: str, content: list[str] | None) -> None:
    code = (
        "def f(device):\n    x = torch.ones(2).to(device)\n    b = [torch.ones(2).cpu()]\n"
        f"    d = {{'other': b[0]}}\n    return {result}\n"
    )
    diagnostic = found(code, "TDV004")
    assert diagnostic.message == message
    assert written(diagnostic) == content


@pytest.mark.parametrize(
    ("result", "content"),
    [("x * y", [".to(device)"]), ("x * -y", ["(", ").to(device)"]), ("x.add(*[y])", None)],
)
def test_what_is_made_before_the_device_is_known_is_moved_where_it_is_used(
    result: str, content: list[str] | None
) -> None:
    code = (
        "def f(pick):\n    y = torch.ones(2)\n    device = pick()\n"
        f"    x = torch.ones(2).to(device)\n    return {result}\n"
    )
    diagnostic = found(code, "TDV005")
    assert diagnostic.message == "made on the CPU without `device=`, but meets `x` on `device`"
    expected = content and (Applicability.UNSAFE, "Move it with `.to(device)`", content)
    assert fix_of(diagnostic) == expected


KEPT = """
def make():
    return torch.arange(2.0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        self.scale = {0}
        return self.fc(x) * self.scale
"""


@pytest.mark.parametrize(("value", "around"), [("make()", ("", "")), ("make() * 2", ("(", ")"))])
def test_a_tensor_that_is_kept_after_the_move_is_moved_itself(value: str, around: tuple[str, str]) -> None:
    diagnostic = found(KEPT.format(value), "TDV006")
    target = "next(self.parameters()).device"
    content = [part for part in (around[0], f"{around[1]}.to({target})") if part]
    assert fix_of(diagnostic) == (Applicability.UNSAFE, f"Move it with `.to({target})`", content)


MOVES_ITSELF = """
class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        {0}
        self.scale = torch.ones(2)
        {1}
    def forward(self, x):
        return self.fc(x) * self.scale
"""


@pytest.mark.parametrize(
    ("before", "after", "content"),
    [
        ("pass", "self.to(device)", ['self.register_buffer("scale", torch.ones(2), persistent=False)']),
        ("self.to(device)", "pass", [".to(device)"]),
        ("self.cuda()", "pass", [".to(next(self.fc.parameters()).device)"]),
    ],
)
def test_a_buffer_registered_where_the_module_has_moved_itself_is_no_cure(
    before: str, after: str, content: list[str]
) -> None:
    diagnostic = found(MOVES_ITSELF.format(before, after), "TDV006")
    assert diagnostic.range.start.row == 9
    assert written(diagnostic) == content


ATTACHED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
    def forward(self, x):
        return self.b(self.a(x))
def f(device):
    net = Net().to(device)
    b = nn.Linear(2, 2)
    {0}
    return net(torch.ones(2, 2).to(device))
"""


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ("net.b = b", [".to(device)"]),
        ("net.b = b or b", ["(", ").to(device)"]),
        ("net.b, c = b, 3", None),
        ("net.b = c = b", None),
    ],
)
def test_a_part_that_is_attached_with_others_is_not_moved_for_them(
    line: str, content: list[str] | None
) -> None:
    diagnostic = found(ATTACHED.format(line), "TDV008")
    assert (
        diagnostic.message
        == "`b` is attached after the module was moved: it stays on the CPU, the module is on `device`"
    )
    assert written(diagnostic) == content


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        ("self.parts = {'a': nn.Linear(2, 2)}", "Keep them in `nn.ModuleDict`"),
        ("self.parts = {}\n        self.parts['a'] = nn.Linear(2, 2)", "Keep them in `nn.ModuleDict`"),
        ("parts = {}\n        parts['a'] = nn.Linear(2, 2)\n        self.parts = parts", None),
    ],
)
def test_a_dict_of_modules_is_kept_in_one_of_pytorch(lines: str, fix: str | None) -> None:
    code = (
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {lines}\n"
        "    def forward(self, x):\n        return self.parts['a'](x)\n"
        "net = Net().cuda()\nnet(torch.ones(2, 2).cuda())\n"
    )
    diagnostic = found(code, "TDV007")
    assert (diagnostic.fix and diagnostic.fix.message) == fix


@pytest.mark.parametrize("define", ["forward", "__call__", "go"])
def test_the_method_that_uses_the_input_is_named_where_it_says_something(define: str) -> None:
    call = "net" if define != "go" else "net.go"
    code = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 2)\n"
        f"    def {define}(self, x):\n        return self.a(x)\n"
        f"net = Net().cuda()\n{call}(torch.ones(2, 2))\n"
    )
    diagnostic = found(code, "TDV001")
    extra = ": `go` needs them on one device" if define == "go" else ""
    assert diagnostic.message == f"`torch.ones(2, 2)` is on the CPU, but the model `net` is on `cuda`{extra}"


def test_a_model_that_was_moved_to_the_cpu_is_not_called_never_moved() -> None:
    code = "def f(x):\n    model = nn.Linear(2, 2).{0}\n    return model(torch.ones(2, 2).cuda())\n"
    moved, never = (found(code.format(call), "TDV001") for call in ("cpu()", "eval()"))
    assert moved.message.startswith("the model `model` is on the CPU, but its input")
    assert never.message.startswith("the model `model` is never moved: it is on the CPU, but its input")
    assert moved.fix is None
    assert never.fix is not None


def test_a_dict_in_an_expression_is_moved_as_a_whole() -> None:
    diagnostic = found(INPUT.format("x = {'input': torch.ones(2, 2)}", "model(**x or x)"), "TDV001")
    content = ["{k: v.to(device) for k, v in (x or x).items()}"]
    assert fix_of(diagnostic) == (Applicability.UNSAFE, "Move it with `.to(device)`", content)


LENGTHS = (
    "from torch.nn.utils.rnn import pack_padded_sequence as pack\n"
    "def f(x):\n    x = x.cuda()\n    n = torch.ones(2).cuda()\n    return {0}\n"
)


@pytest.mark.parametrize(
    ("call", "what", "content"),
    [
        ("pack(x, n)", ", but `n`", [".cpu()"]),
        ("pack(x, n + 1)", ", but `n + 1`", ["(", ").cpu()"]),
        ("pack(x, n[\n        0:2])", ": this", [".cpu()"]),
        (f"pack(x, n['{'x' * 36}'])", ": this", [".cpu()"]),
        ("pack(*[x, n])", ", but `[x, n]`", None),
        ("pack(x, **{'lengths': n})", ", but `{'lengths': n}`", None),
    ],
)
def test_an_argument_that_has_to_be_on_the_cpu(call: str, what: str, content: list[str] | None) -> None:
    diagnostic = found(LENGTHS.format(call), "TDV013")
    assert diagnostic.message == f"`pack` needs its `lengths` on the CPU{what} is on `cuda`"
    expected = content and (Applicability.SAFE, "Bring it to the CPU with `.cpu()`", content)
    assert fix_of(diagnostic) == expected


def test_lengths_of_what_may_be_anywhere() -> None:
    code = (
        "from torch.nn.utils.rnn import pack_padded_sequence as pack\n"
        "def f(x: torch.Tensor, mask: torch.Tensor):\n    return pack(x, mask.sum(1))\n"
    )
    message = "`pack` needs its `lengths` on the CPU, but `mask.sum(1)` is where `mask.device` is"
    assert found(code, "TDV013").message == message


READ = "import numpy as np\ndef f():\n    y = torch.ones(2).cuda()\n    d = {{'a': y}}\n    return {0}\n"


@pytest.mark.parametrize(
    ("call", "content"),
    [
        ("np.asarray(y)", [".detach().cpu()"]),
        ("np.asarray(-y)", ["(", ").detach().cpu()"]),
        ("np.asarray([y, y] + [y])", ["[t.detach().cpu() for t in ([y, y] + [y])]"]),
        ("np.asarray(*[y] * 1)", None),
    ],
)
def test_how_what_is_read_is_copied(call: str, content: list[str] | None) -> None:
    diagnostic = found(READ.format(call), "TDV010")
    assert written(diagnostic) == content


@pytest.mark.parametrize(
    ("code", "message", "fix"),
    [
        (
            "x = torch.ones(2, device=torch.cuda.device(0))\n",
            "`torch.cuda.device(0)` is a context manager (torch.cuda.device), no torch.device: this raises",
            "Write `torch.device`",
        ),
        (
            "x = torch.ones(2, device='gpu')\n",
            '"gpu" is no device type of PyTorch\'s: this raises',
            "Write `'cuda'`",
        ),
    ],
)
def test_what_is_no_device(code: str, message: str, fix: str) -> None:
    diagnostic = found(code, "TDV012")
    assert diagnostic.message == message
    assert diagnostic.fix is not None
    assert diagnostic.fix.message == fix


@pytest.mark.parametrize(
    ("code", "message", "content"),
    [
        (
            "def scaled(x: torch.Tensor):\n    x = x.float()\n    return x, torch.ones(x.size(0))\n",
            "made on the CPU without `device=` for `x`",
            None,
        ),
        (
            "def scaled(x: torch.Tensor):\n    return x, torch.Tensor([0.0] * x.size(0))\n",
            "made on the CPU for `x`",
            [".to(x.device)"],
        ),
    ],
)
def test_what_is_made_to_be_returned_beside_a_tensor(
    code: str, message: str, content: list[str] | None
) -> None:
    diagnostic = found(code + "def f(y):\n    x, w = scaled(y)\n    return x * w\n", "TDV005")
    assert diagnostic.message == f"{message}, which may be on an accelerator, and returned by `scaled`"
    assert written(diagnostic) == content


@pytest.mark.parametrize(("name", "what"), [("args.device", "`args.device`"), (f"args.{LONG}", "the device")])
def test_a_device_that_is_never_called_that(name: str, what: str) -> None:
    code = f"args = parse()\nmodel = nn.Linear(2, 2).to({name})\nif {name} == 'gpu':\n    pass\n"
    diagnostic = found(code, "TDV012")
    assert diagnostic.message == f'"gpu" is no device type of PyTorch\'s: {what} is never called that'
    assert diagnostic.fix is None


@pytest.mark.parametrize(("read", "sure"), [("y.numpy()", True), ("np.asarray(y)", False)])
def test_what_may_be_a_list_is_copied_with_care(read: str, sure: bool) -> None:
    code = (
        "import numpy as np\nfrom torch.utils.data import DataLoader\ndef f(data):\n"
        f"    for y in DataLoader(data):\n        y = y.cuda()\n        {read}\n"
    )
    fix = found(code, "TDV010").fix
    assert fix is not None
    assert fix.applicability is (Applicability.SAFE if sure else Applicability.UNSAFE)


def test_a_read_that_fails_for_certain_is_not_told_twice() -> None:
    code = "import numpy as np\ndef f(x: torch.Tensor):\n    np.asarray(x)\n    return np.asarray(x.cuda())\n"
    assert found(code, "TDV103").range.start.row == 5
    assert found(code, "TDV010").range.start.row == 6


def test_without_a_name_for_torch_nn_there_is_no_container_to_offer() -> None:
    code = (
        "from torch.nn import Module, Linear\nfrom torch import ones\nclass Net(Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.parts = [Linear(2, 2)]\n"
        "    def forward(self, x):\n        return self.parts[0](x)\n"
        "net = Net().cuda()\nnet(ones(2, 2).cuda())\n"
    )
    (diagnostic,) = check_source(code, "program.py", Config(select=("TDV007",)))
    assert diagnostic.fix is None


@pytest.mark.parametrize(("length", "shown"), [(60, 60), (61, 50)])
def test_a_long_device_is_cut(length: int, shown: int) -> None:
    text = "x" * length
    assert _short(text) == (text if shown == length else "x" * shown + "...")
    assert _short("f(\n  x)") == "f(..."


def test_a_part_that_a_method_attaches_goes_where_nobody_can_name() -> None:
    code = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 2)\n"
        "    def grow(self):\n        self.b = nn.Linear(2, 2)\n    def forward(self, x):\n        return self.b(self.a(x))\n"
        "net = Net().cuda()\nnet.grow()\nnet(torch.ones(2, 2).cuda())\n"
    )
    assert found(code, "TDV008").fix is None


def test_the_current_device_is_chosen_by_whoever_sets_it() -> None:
    assert check_source(HEADER + "torch.cuda.set_device(1)\n", "program.py", Config(select=("TDV002",))) == []


@pytest.mark.parametrize(
    ("read", "content"),
    [
        ("np.median([model(x) for x in xs])", [".detach().cpu()"]),
        ("np.median([model(x) - 1 for x in xs])", ["(", ").detach().cpu()"]),
        ("np.median(list(kept))", ["[t.detach().cpu() for t in list(kept)]"]),
        ("np.median(kept if xs else kept)", ["[t.detach().cpu() for t in (kept if xs else kept)]"]),
    ],
)
def test_what_a_list_holds_is_copied_where_each_is_made(read: str, content: list[str]) -> None:
    code = (
        "import numpy as np\ndef f(xs):\n    model = nn.Linear(2, 1).to('cuda')\n    kept = []\n"
        f"    for x in xs:\n        kept.append(model(x.to('cuda')))\n    xs = [torch.ones(2, device='cuda')]\n    return {read}\n"
    )
    assert written(found(code, "TDV010")) == content


@pytest.mark.parametrize(
    ("name", "content"),
    [('"scale"', [", device=self.scale.device"]), ("1", None), ('f"scale_{dim}"', None)],
)
def test_a_device_is_not_read_of_a_computed_attribute(name: str, content: list[str] | None) -> None:
    code = (
        "class Block(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        f"        self.register_buffer({name}, torch.arange(dim).float())\n\n"
        "    def reset_parameters(self):\n        self.freqs.take_over(torch.arange(len(self.freqs)).float())\n"
    )
    assert written(found(code, "TDV106")) == content


NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {layer}

    def forward(self, x, hidden):
        return self.rnn(x, hidden)

    {decorator}def init_hidden({self}n):
        {made}
        return {states}


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)


def step(model):
    hidden = model.init_hidden(2)
    model(torch.ones(4, 2, 3, device=device), hidden)


step(net)
"""
MADE = ", device=next(self.parameters()).device"


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ({}, [MADE, MADE]),
        ({"states": "h, c", "made": "h, c = torch.zeros(1, n, 3), torch.ones(1, n, 3)"}, [MADE, MADE]),
        (
            {
                "states": "torch.autograd.Variable(torch.zeros(1, n, 3)), torch.autograd.Variable(torch.zeros(1, n, 3))"
            },
            [MADE, MADE],
        ),
        ({"states": "h, c", "made": "h = c = torch.zeros(1, n, 3)\n        c = c + 1"}, None),
        ({"states": "torch.zeros(1, n, 3), torch.zeros(1, n, 3) + 1"}, None),
        ({"layer": "self.rnn = rnn"}, None),
        ({"decorator": "@staticmethod\n    ", "self": ""}, None),
    ],
)
def test_states_of_a_module_are_made_where_it_is(given: dict[str, str], content: list[str] | None) -> None:
    """What `init_hidden` returns is a tuple, which has no `.to`, and may be None for another caller."""
    parts = {
        "layer": "self.rnn = nn.LSTM(3, 3)",
        "made": "pass",
        "states": "torch.zeros(1, n, 3), torch.zeros(1, n, 3)",
        "decorator": "",
        "self": "self, ",
    }
    code = ("rnn = nn.LSTM(3, 3)\n" if "layer" in given else "") + NET.format(**(parts | given))
    assert written(found(code, "TDV001")) == content


def test_states_that_an_agent_makes_have_no_module() -> None:
    """`self.parameters()` is a module's: a plain class that keeps one has none."""
    agent = NET.replace("class Net(nn.Module)", "class Net").replace("super().__init__()\n        ", "")
    agent = agent.replace("def forward", "def __call__").replace("Net().to(device)", "Net()")
    parts = {"layer": "self.rnn = nn.LSTM(3, 3).cuda()", "made": "pass", "decorator": "", "self": "self, "}
    code = agent.format(states="torch.zeros(1, n, 3), torch.zeros(1, n, 3)", **parts)
    assert written(found(code, "TDV001")) is None


@pytest.mark.parametrize(
    ("kept", "content"),
    [
        ("list(members)", ["nn.ModuleList"]),
        ("tuple(members)", ["nn.ModuleList"]),
        ("[*members]", ["nn.ModuleList(", ")"]),
        ("list(reversed(members))", ["nn.ModuleList"]),
        ("sorted(members, key=id)", None),
    ],
)
def test_a_listing_of_modules_becomes_a_module_list(kept: str, content: list[str] | None) -> None:
    code = (
        "class Ensemble(nn.Module):\n    def __init__(self, members):\n        super().__init__()\n"
        f"        self.members = {kept}\n\n    def forward(self, x):\n        return [one(x) for one in self.members]\n\n"
        "Ensemble([nn.Linear(3, 3)]).to('cuda')(torch.ones(3, device='cuda'))\n"
    )
    assert written(found(code, "TDV007")) == content


@pytest.mark.parametrize(
    ("attached", "content"),
    [
        ("self.net.add_module(name, part)", [".to(next(self.net.parameters()).device)"]),
        ("setattr(self.net, name, part)", [".to(next(self.net.parameters()).device)"]),
        ("setattr(self.net.get_submodule(''), name, part)", [".to(next(self.net.parameters()).device)"]),
        ("setattr(self.held()[0], name, part)", None),
        ("self.net.extras.add_module(name, part)", None),
        ("self.net.extras.append(part)", None),
    ],
)
def test_a_late_part_goes_where_the_others_are(attached: str, content: list[str] | None) -> None:
    """There has to be another one: `next` of no parameters fails."""
    code = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body, self.extras = nn.Linear(3, 3), nn.Sequential()\n\n"
        "    def forward(self, x):\n        return self.extras(self.body(x))\n\n"
        "class Keeper:\n    def __init__(self, net):\n        self.net = net.to('cuda' if torch.cuda.is_available() else 'cpu')\n\n"
        "    def held(self):\n        return [self.net]\n\n"
        f"    def add(self, name):\n        part = nn.Linear(3, 3)\n        {attached}\n\n"
        "keeper = Keeper(Net())\nkeeper.add(input())\n"
        "keeper.net(torch.ones(3).to('cuda' if torch.cuda.is_available() else 'cpu'))\n"
    )
    assert written(found(code, "TDV008")) == content


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("3", [", device=x.device"]),
        ("3, dtype=torch.long", [", device=x.device"]),
        ("3, **options", [".to(x.device)"]),
    ],
)
def test_options_may_hold_a_device_already(given: str, content: list[str]) -> None:
    """A second `device=` beside them would be a `TypeError`."""
    code = (
        "options = {'dtype': torch.long}\n\n\ndef scaled():\n    x = torch.ones(3, device='cuda')\n"
        f"    return x * torch.arange({given})\n"
    )
    assert written(found(code, "TDV005")) == content

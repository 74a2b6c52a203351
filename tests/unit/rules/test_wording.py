"""Code in the middle of a sentence, and the sentences that no fixture has."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.wording import LONGEST, quoted

HEADER = "import torch\nfrom torch import nn\n"


def found(code: str, rule: str) -> Diagnostic:
    (diagnostic,) = check_source(HEADER + code, "program.py", Config(select=(rule,)))
    return diagnostic


def fix_of(diagnostic: Diagnostic) -> tuple[Applicability, str, list[str]] | None:
    fix = diagnostic.fix
    return fix and (fix.applicability, fix.message, [edit.content for edit in fix.edits])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", "`x`"),
        ("x" * LONGEST, f"`{'x' * LONGEST}`"),
        ("x" * (LONGEST + 1), "it"),
        ("f(\n)", "it"),
        ("", "it"),
    ],
)
def test_short_code_is_quoted(text: str, expected: str) -> None:
    assert quoted(text, "it") == expected


LONG = "a_name_that_is_so_long_that_no_sentence_reads_well_with_it"
MIXED = "def f(device):\n    total = torch.ones(2, device=device).cpu()\n    {0} = torch.ones(2, device=device)\n    {1}\n"


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("part", "return total + part", "`total` is on the CPU, but `part` is on `device`"),
        (LONG, f"return total + {LONG}", "`total` is on the CPU, but the other operand is on `device`"),
        (
            "part",
            "return total[\n        0:2\n    ] + part",
            "an operand is on the CPU, but `part` is on `device`",
        ),
        (
            "part",
            "return total[torch.arange(2, device=device)]",
            "a tensor on the CPU is indexed by one on `device`",
        ),
    ],
)
def test_operands_that_differ(name: str, line: str, message: str) -> None:
    assert found(MIXED.format(name, line), "TDV004").message == message


@pytest.mark.parametrize(
    ("name", "line", "fix"),
    [
        ("part", "total.add_(part)", "Move `part` with `.to(total.device)`"),
        (LONG, f"total.add_({LONG})", "Move the other operand with `.to(total.device)`"),
    ],
)
def test_what_is_changed_in_place_stays(name: str, line: str, fix: str) -> None:
    diagnostic = found(MIXED.format(name, line), "TDV004")
    assert fix_of(diagnostic) == (Applicability.UNSAFE, fix, [".to(total.device)"])


def test_the_function_that_needs_them_together_is_named() -> None:
    code = "def add(a, b):\n    return a + b\n" + MIXED.format("part", "return add(total, part)")
    assert found(code, "TDV004").message == (
        "`total` is on the CPU, but the other operand is on `device`: `add` needs them on one device"
    )


def test_a_copy_of_several_lines_that_is_discarded() -> None:
    diagnostic = found("def f(x: torch.Tensor):\n    x[\n    0].cuda()\n    return x\n", "TDV003")
    assert diagnostic.message == "the tensor stays where it is: the copy on `cuda` is thrown away"
    assert fix_of(diagnostic) == (Applicability.UNSAFE, "Assign the result to it", ["x[\n0] = "])


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        {0}
    def forward(self, x):
        return {1}
net = Net().cuda()
net(torch.zeros(2, device="cuda"))
"""


@pytest.mark.parametrize(
    ("line", "result", "message"),
    [
        (
            "self.m = [torch.ones(2)]",
            "self.fc(x) * self.m[0]",
            "a tensor in `self.m` is not registered: it stays on the CPU and meets `self.fc(x)` on `cuda`",
        ),
        (
            "self.m = torch.ones(2)",
            "(self.fc(\n        x)) * self.m",
            "`self.m` is not registered: it stays on the CPU and meets something on `cuda`",
        ),
    ],
)
def test_what_an_unregistered_tensor_meets(line: str, result: str, message: str) -> None:
    diagnostic = found(NET.format(line, result), "TDV006")
    assert diagnostic.message == message
    assert (diagnostic.fix is None) == ("[" in line)


VISIBLE = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '{0}'\n{1}\n"


def test_an_index_among_several_devices_has_no_fix() -> None:
    diagnostic = found(VISIBLE.format("0,1", "x = torch.zeros(2, device='cuda:2')"), "TDV015")
    assert diagnostic.message == (
        "`cuda:2` does not exist: CUDA_VISIBLE_DEVICES is set so that 2 devices are visible"
    )
    assert diagnostic.fix is None


def test_an_index_that_is_asked_for_is_right() -> None:
    code = VISIBLE.format("0,1", "if torch.cuda.device_count() > 2:\n    x = torch.zeros(2, device='cuda:2')")
    assert check_source(HEADER + code, "program.py", Config(select=("TDV015",))) == []


LATE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def keep(self, mask):
        self.mask = mask
    def forward(self, x):
        return self.fc(x) * self.mask
net = Net()
{0}
net(torch.zeros(2, device="cuda"))
"""


@pytest.mark.parametrize(
    ("lines", "registered"),
    [("net.keep(torch.ones(2))\nnet.cuda()", True), ("net.cuda()\nnet.keep(torch.ones(2))", False)],
)
def test_a_buffer_that_is_registered_after_the_module_was_moved_is_no_cure(
    lines: str, registered: bool
) -> None:
    diagnostic = found(LATE.format(lines), "TDV006")
    assert (
        diagnostic.message
        == "`self.mask` is not registered: it stays on the CPU and meets `self.fc(x)` on `cuda`"
    )
    assert diagnostic.range.start.row == 9
    assert (diagnostic.fix is not None) == registered


@pytest.mark.parametrize(
    ("name", "test", "message", "fix"),
    [
        (
            "x",
            "x.device == 'cuda'",
            "`x.device` is a torch.device: it never equals the string `'cuda'`",
            "Write `x.device.type`",
        ),
        (
            "x",
            'x.device == "cuda"',
            '`x.device` is a torch.device: it never equals the string `"cuda"`',
            "Write `x.device.type`",
        ),
        (
            LONG,
            f"{LONG}.device == 'cuda'",
            "the device is a torch.device: it never equals the string `'cuda'`",
            "Write what is meant",
        ),
        (
            "x",
            "torch.ones(2, device=x.get_device())",
            "`x.get_device()` is -1 where `x` is on the CPU: this raises",
            "Write `x.device`",
        ),
        (
            LONG,
            f"torch.ones(2, device={LONG}.get_device())",
            "the device is -1 where the tensor is on the CPU: this raises",
            "Write what is meant",
        ),
    ],
)
def test_devices_that_are_misused(name: str, test: str, message: str, fix: str) -> None:
    diagnostic = found(f"def f({name}: torch.Tensor):\n    return {test}\n", "TDV012")
    assert diagnostic.message == message
    assert diagnostic.fix is not None
    assert diagnostic.fix.message == fix


@pytest.mark.parametrize(
    ("call", "content"),
    [
        ('device="cuda"', '"cuda" if torch.cuda.is_available() else "cpu"'),
        ('device="mps"', '"mps" if torch.backends.mps.is_available() else "cpu"'),
        ('device="cuda" or None', '("cuda" if torch.cuda.is_available() else "cpu")'),
    ],
)
def test_an_accelerator_is_asked_for_in_its_own_way(call: str, content: str) -> None:
    diagnostic = found(f"x = torch.zeros(2, {call})\n", "TDV101")
    message = f"Use `{content.removeprefix('(').removesuffix(')')}`"
    assert fix_of(diagnostic) == (Applicability.UNSAFE, message, [content])


def test_a_model_that_is_loaded_and_left_where_it_was_built() -> None:
    code = (
        "def load_model(path, device):\n    model = nn.Linear(2, 2)\n"
        "    model.load_state_dict(torch.load(path, map_location=device))\n    return model\n"
    )
    diagnostic = found(code, "TDV017")
    assert diagnostic.message == (
        "`load_model` takes a `device` and returns `model` where it was built: only the checkpoint is there"
    )


INPUT = "def f(device):\n    model = nn.Linear(2, 2).to(device)\n    {0}\n    return {1}\n"


@pytest.mark.parametrize(
    ("line", "call", "what", "content"),
    [
        ("x = torch.ones(2, 2)", "model(x)", "`x`", [".to(device)"]),
        (
            "x = torch.ones(2, 2)",
            f"model(x if len('{LONG}') else (x + 1))",
            "the input",
            ["(", ").to(device)"],
        ),
        ("x = {'input': torch.ones(2, 2)}", "model(**x)", "`x`", ["{k: v.to(device) for k, v in x.items()}"]),
    ],
)
def test_how_an_input_is_moved(line: str, call: str, what: str, content: list[str]) -> None:
    diagnostic = found(INPUT.format(line, call), "TDV001")
    assert diagnostic.message == f"{what} is on the CPU, but the model `model` is on `device`"
    assert fix_of(diagnostic) == (
        Applicability.UNSAFE if "**" in call else Applicability.SAFE,
        "Move it with `.to(device)`",
        content,
    )


def test_an_input_that_was_moved_elsewhere_is_named_by_what_was_moved() -> None:
    code = "model = nn.Linear(2, 2).cuda(0)\nx = torch.ones(2, 2).to('cuda:1')\nmodel(x)\n"
    diagnostic = found(code, "TDV001")
    assert diagnostic.message == "`torch.ones(2, 2)` is on `cuda:1`, but the model `model` is on `cuda:0`"
    there = "next(model.parameters()).device"
    assert fix_of(diagnostic) == (
        Applicability.UNSAFE,
        f"Move to `{there}` instead",
        [f"torch.ones(2, 2).to({there})"],
    )


@pytest.mark.parametrize(("name", "what"), [("ts", "the tensors in `ts`"), (LONG, "tensors")])
def test_several_tensors_that_are_read(name: str, what: str) -> None:
    code = f"import numpy as np\n{name} = [torch.ones(2).cuda(), torch.ones(2).cuda()]\nnp.asarray({name})\n"
    diagnostic = found(code, "TDV010")
    assert diagnostic.message == f"{what} are on `cuda`, but `np.asarray` needs CPU tensors"
    assert fix_of(diagnostic) == (
        Applicability.UNSAFE,
        "Copy each to the CPU with `.detach().cpu()`",
        [f"[t.detach().cpu() for t in {name}]"],
    )


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_an_index_of_either_kind_is_chosen_at_run_time(kind: str) -> None:
    diagnostic = found(f"x = torch.ones(2, device='{kind}:0')\n", "TDV002")
    content = f'"{kind}" if torch.{kind}.is_available() else "cpu"'
    assert fix_of(diagnostic) == (Applicability.UNSAFE, f"Use `{content}`", [content])


@pytest.mark.parametrize("line", ["x = torch.ones(2, device='cuda:3')", "torch.cuda.set_device(3)"])
def test_an_index_that_cannot_be_is_told_once(line: str) -> None:
    code = VISIBLE.format("0", line)
    assert check_source(HEADER + code, "program.py", Config(select=("TDV002",))) == []
    assert found(code, "TDV015").fix is not None


def test_a_tensor_that_is_returned_without_its_device() -> None:
    code = "def scaled(x: torch.Tensor):\n    return x, torch.ones(x.size(0))\ndef f(y):\n    x, w = scaled(y)\n    return x * w\n"
    diagnostic = found(code, "TDV005")
    assert diagnostic.message == (
        "made on the CPU without `device=` for `x`, which may be on an accelerator, and returned by `scaled`"
    )
    assert fix_of(diagnostic) == (
        Applicability.UNSAFE,
        "Make it with `device=x.device`",
        [", device=x.device"],
    )


@pytest.mark.parametrize(
    ("code", "message", "story"),
    [
        (
            "def f(x):\n    reveal_device(x)\nf(torch.zeros(2).cuda())\n",
            "`x` is a tensor on `cuda` (in a call of `f`)",
            ["`x` is moved to `cuda` here"],
        ),
        (
            "def f(flag):\n    x = torch.zeros(2)\n    if flag:\n        x = x.cuda()\n    reveal_device(x)\n",
            "`x` is a tensor on `cuda` if flag else the CPU",
            ["`x` is moved to `cuda` here", "`x` is made on the CPU here"],
        ),
        (
            "x = torch.zeros(2).cuda()\nreveal_device(x[\n    0])\n",
            "the expression is a tensor on `cuda`",
            ["the expression is moved to `cuda` here"],
        ),
    ],
)
def test_what_is_revealed_is_told_with_its_story(code: str, message: str, story: list[str]) -> None:
    first, *_ = (
        one for one in check_source(HEADER + code, "a.py", Config(select=("TDV001",))) if one.code == "TDV000"
    )
    assert first.message == message
    assert [note.message for note in first.related] == story


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
    assert (diagnostic.fix and [edit.content for edit in diagnostic.fix.edits]) == content


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
        ("self.cuda()", "pass", None),
    ],
)
def test_a_buffer_registered_where_the_module_has_moved_itself_is_no_cure(
    before: str, after: str, content: list[str] | None
) -> None:
    diagnostic = found(MOVES_ITSELF.format(before, after), "TDV006")
    assert diagnostic.range.start.row == 9
    assert (diagnostic.fix and [edit.content for edit in diagnostic.fix.edits]) == content


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
    ("line", "content"), [("net.b = b", [".to(device)"]), ("net.b, c = b, 3", None), ("net.b = c = b", None)]
)
def test_a_part_that_is_attached_with_others_is_not_moved_for_them(
    line: str, content: list[str] | None
) -> None:
    diagnostic = found(ATTACHED.format(line), "TDV008")
    assert (
        diagnostic.message
        == "`b` is attached after the module was moved: it stays on the CPU, the module is on `device`"
    )
    assert (diagnostic.fix and [edit.content for edit in diagnostic.fix.edits]) == content


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
    assert (diagnostic.fix and [edit.content for edit in diagnostic.fix.edits]) == content


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

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
    ("line", "result", "message", "fix"),
    [
        (
            "self.m = {'a': torch.ones(2)}",
            "self.fc(x) * self.m['a']",
            "a tensor in `self.m` is not registered: it stays on the CPU and meets `self.fc(x)` on `cuda`",
            "Move it with `.to(x.device)` where it is used",
        ),
        (
            "self.m = torch.ones(2)",
            "(self.fc(\n        x)) * self.m",
            "`self.m` is not registered: it stays on the CPU and meets something on `cuda`",
            "Register `m` as a buffer",
        ),
    ],
)
def test_what_an_unregistered_tensor_meets(line: str, result: str, message: str, fix: str) -> None:
    diagnostic = found(NET.format(line, result), "TDV006")
    assert diagnostic.message == message
    assert diagnostic.fix is not None
    assert diagnostic.fix.message == fix


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
    assert diagnostic.fix is not None
    assert diagnostic.fix.message.startswith("Register" if registered else "Move it with `.to(x.device)`")


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
    asked = "print(torch.cuda.is_available())\n"
    diagnostic = found(f"{asked}def f({name}: torch.Tensor):\n    return {test}\n", "TDV012")
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


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ("x", "`x`", (Applicability.UNSAFE, "Move `x` instead", ["model(x.to(d))"])),
        ("x[\n        0]", "its input", None),
    ],
)
def test_the_output_that_is_moved_instead_of_the_input(given: str, what: str, fix: object) -> None:
    code = f"def f(model: nn.Module, x):\n    d = next(model.parameters()).device\n    return model({given}).to(d)\n"
    diagnostic = found(code, "TDV001")
    message = f"the output of `model` is on its device anyway: {what} is what has to be moved there"
    assert (diagnostic.message, fix_of(diagnostic)) == (message, fix)


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

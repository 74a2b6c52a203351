"""What TDV001 and TDV002 say about single programs, and the text that their fixes give."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.check import check_source

HEADER = "import torch\nfrom torch import nn\n"
SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


def found(code: str, rule: str) -> Diagnostic:
    (diagnostic,) = check_source(HEADER + code, "program.py", Config(select=(rule,)))
    return diagnostic


def fixed(code: str, diagnostic: Diagnostic) -> str:
    assert diagnostic.fix is not None
    lines = (HEADER + code).split("\n")
    for edit in sorted(diagnostic.fix.edits, reverse=True):
        start, end = edit.range.start, edit.range.end
        assert start.row == end.row
        line = lines[start.row - 1]
        lines[start.row - 1] = line[: start.column - 1] + edit.content + line[end.column - 1 :]
    return "\n".join(lines).removeprefix(HEADER)


NET = "device = torch.device('cuda:1')\nnet = nn.Linear(2, 2).to(device)\nx = torch.zeros(1, 2)\nxs = [x]\n"


@pytest.mark.parametrize(
    ("call", "after", "applicability"),
    [
        ("net(x)", "net(x.to(device))", SAFE),
        ("net(input=x)", "net(input=x.to(device))", SAFE),
        ("net(x + 1)", "net((x + 1).to(device))", SAFE),
        ("net(-x)", "net((-x).to(device))", SAFE),
        ("net((x + 1))", "net((x + 1).to(device))", SAFE),
        ("net(x.view(1, 2))", "net(x.view(1, 2).to(device))", SAFE),
        ("net(*[x])", "net(*[x.to(device)])", SAFE),
        ("net(*xs)", "net(*[t.to(device) for t in xs])", UNSAFE),
        ("net.forward(x)", "net.forward(x.to(device))", SAFE),
        ("net(\n    x,\n)", "net(\n    x.to(device),\n)", SAFE),
    ],
)
def test_an_input_is_moved(call: str, after: str, applicability: Applicability) -> None:
    diagnostic = found(NET + call, "TDV001")
    assert diagnostic.fix is not None
    assert (fixed(NET + call, diagnostic), diagnostic.fix.applicability) == (NET + after, applicability)


def test_a_model_that_was_forgotten_is_moved() -> None:
    code = (
        "device = torch.device('cuda')\nnet = nn.Linear(2, 2)\nx = torch.zeros(1, 2, device=device)\nnet(x)\n"
    )
    diagnostic = found(code, "TDV001")
    assert diagnostic.fix is not None
    assert diagnostic.fix.applicability == UNSAFE
    assert fixed(code, diagnostic) == code.replace("nn.Linear(2, 2)", "nn.Linear(2, 2).to(device)")


def test_a_transfer_to_another_accelerator_is_redirected() -> None:
    code = NET.replace("torch.zeros(1, 2)", "torch.zeros(1, 2).to('cuda:0')") + "net(x)\n"
    diagnostic = found(code, "TDV001")
    assert diagnostic.fix is not None
    assert diagnostic.fix.applicability == UNSAFE
    assert fixed(code, diagnostic) == code.replace("'cuda:0'", "device")


def test_the_message_names_both_devices_and_where_they_come_from() -> None:
    diagnostic = found(NET + "net(x)", "TDV001")
    assert "`x` is on the CPU" in diagnostic.message
    assert "`net` is on `device` (cuda:1)" in diagnostic.message
    assert [(note.range.start.row, note.message) for note in diagnostic.related] == [
        (4, "`net` is moved to `device` (cuda:1) here"),
        (5, "the input is made on the CPU here"),
    ]
    assert (diagnostic.range.start.row, diagnostic.range.start.column) == (7, 5)


def test_a_loss_is_called_a_loss() -> None:
    code = "loss = nn.CrossEntropyLoss(weight=torch.ones(2))\nx = torch.zeros(1, 2).cuda()\nloss(x, x)"
    assert (
        "the loss `loss` is never moved: it is on the CPU"
        in check_source(HEADER + code, "p.py", Config(select=("TDV001",)))[0].message
    )


CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("net = nn.Linear(2, 2).to('cuda:0')", f"net = nn.Linear(2, 2).to({CHOICE})"),
        ("net = nn.Linear(2, 2).cuda(0)", f"net = nn.Linear(2, 2).to({CHOICE})"),
        ("d = torch.device('cuda', 0)", f"d = torch.device({CHOICE})"),
        ("d = torch.device('cuda:0')", f"d = torch.device({CHOICE})"),
        ("x = torch.zeros(2, device=0)", f"x = torch.zeros(2, device={CHOICE})"),
        (
            "x = torch.zeros(2, device='cuda:1')",
            'x = torch.zeros(2, device="cuda:1" if torch.cuda.device_count() > 1 else "cpu")',
        ),
        (
            f"device = {CHOICE}\nx = torch.zeros(2, device='cuda:0')",
            f"device = {CHOICE}\nx = torch.zeros(2, device=device)",
        ),
        ("x = torch.zeros(2, device=given or 'cuda:0')", f"x = torch.zeros(2, device=given or ({CHOICE}))"),
        ("d = a if flag else 'cuda:0'", f"d = a if flag else ({CHOICE})"),
        ("ds = ['cuda:0']", f"ds = [{CHOICE}]"),
        ("def f(d='cuda:0'):\n    return d", f"def f(d={CHOICE}):\n    return d"),
    ],
)
def test_a_literal_is_chosen_at_run_time(code: str, after: str) -> None:
    diagnostic = found(code, "TDV002")
    assert diagnostic.fix is not None
    assert (fixed(code, diagnostic), diagnostic.fix.applicability) == (after, UNSAFE)
    assert check_source(HEADER + after, "p.py", Config(select=("TDV002",))) == []


@pytest.mark.parametrize("kind", ["mps:0", "npu:0"])
def test_no_fix_without_an_idiom(kind: str) -> None:
    diagnostic = found(f"x = torch.zeros(2, device='{kind}')", "TDV002")
    assert diagnostic.fix is None
    assert f"`{kind}` is hard-coded" in diagnostic.message


OUTPUT = "def predict(model, {0}):\n    device = next(model.parameters()).device\n    {1}\n"


@pytest.mark.parametrize(
    ("given", "call", "after"),
    [
        ("x", "return model(x).to(device)", "return model(x.to(device))"),
        ("batch", "return model(batch['x']).to(device)", None),  # what else it holds would stay where it is
    ],
)
def test_an_output_that_is_moved_to_where_it_is(given: str, call: str, after: str | None) -> None:
    code = OUTPUT.format(given, call)
    diagnostic = found(code, "TDV001")
    named = "x" if given == "x" else "batch['x']"
    assert diagnostic.message == (
        f"the output of `model` is on its device anyway: `{named}` is what has to be moved there"
    )
    if after is None:
        assert diagnostic.fix is None
    else:
        assert diagnostic.fix is not None
        assert (diagnostic.fix.applicability, diagnostic.fix.message) == (UNSAFE, "Move `x` instead")
        assert fixed(code, diagnostic) == OUTPUT.format(given, after)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("x", "x = x.to(device); return model(x).to(device)"),
        ("x", "return model(x.to(device)).to(device)"),
        ("x", "return model(x).to(x.device)"),
        ("x", "return model(x).to('cpu')"),
        ("xs", "return model(*xs).to(device)"),
        ("x", "return model(torch.zeros(2, device=device)).to(device)"),
    ],
)
def test_an_output_that_is_moved_after_an_input_that_was(given: str, line: str) -> None:
    code = OUTPUT.format(given, line)
    assert check_source(HEADER + code, "program.py", Config(select=("TDV001",))) == []


SETTINGS = """\
import functools


class Other:
    pass


device = torch.device('cuda')


def render(rays, network, background, extra):
    return network(rays) + background


def batched(rays, **kwargs):
    return render(rays, **kwargs)


net = nn.Linear(2, 2).to(device)
settings = {{'network': net, 'background': torch.ones(2), 'extra': {0}}}
batched(torch.ones(2, device=device), {1})
"""
STARS = "**{k: v.to(device) for k, v in settings.items()}"


@pytest.mark.parametrize(
    ("extra", "after"),
    [
        ("torch.ones(2)", STARS),
        ("2.0", None),
        ("None", None),
        ("lambda x: x", None),
        ("render", None),
        ("dict", None),
        ("nn.Linear", None),
        ("device", None),
        ("device.type", None),
        ("torch.float32", None),
        ("torch.is_tensor(2.0)", None),
        ("torch.Generator()", None),
        ("net.forward", None),
        ("Other", None),
        ("functools.partial(render)", None),
        ("[torch.ones(2)]", None),
        ("[torch.ones(2) for _ in range(len(device.type))]", None),
        ("{'a': torch.ones(2)}", None),
    ],
)
def test_of_settings_only_tensors_are_moved(extra: str, after: str | None) -> None:
    code = SETTINGS.format(extra, "**settings")
    diagnostic = found(code, "TDV001")
    if after is None:
        assert diagnostic.fix is None
    else:
        assert fixed(code, diagnostic) == SETTINGS.format(extra, after)


SCALER = """\
import numpy as np
class Experiment:
    def __init__(self):
        self.device = torch.device('cuda')
    def run(self):
        return Scaler().back(torch.ones(2, device=self.device))
{0}
class Scaler:
    def __init__(self):
        self.mean = np.ones(2)
    def back(self, data):
        mean = torch.from_numpy(self.mean){2}
        return data * 2 + mean
{1}
print(exp.run())
"""


@pytest.mark.parametrize(
    ("above", "below", "after"),
    [
        ("", "exp = Experiment()", ".to(data.device)"),
        ("exp = Experiment()", "", ".to(exp.device)"),
    ],
)
def test_what_is_made_below_all_functions_is_not_named_in_them(above: str, below: str, after: str) -> None:
    code = SCALER.format(above, below, "")
    diagnostic = found(code, "TDV005")
    assert fixed(code, diagnostic) == SCALER.format(above, below, after)


BLOCKS = """\
class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        blocks = {made}
        for width in range(depth):
            blocks.append(nn.Linear(2, 2))
        self.blocks = {kept}
        {after}

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


net = Net(2).to('cuda')
net(torch.ones(2, 2, device='cuda'))
"""


@pytest.mark.parametrize(
    ("made", "after", "kept"),
    [
        ("[]", "self.depth = len(blocks)", "nn.ModuleList(blocks)"),
        ("[nn.Linear(2, 2)]", "self.depth = depth", "nn.ModuleList(blocks)"),
        ("[]", "blocks.append(nn.Linear(2, 2))", None),
        ("list(depth)", "self.depth = depth", None),
    ],
)
def test_a_list_that_a_function_makes_is_registered_where_it_is_kept(
    made: str, after: str, kept: str | None
) -> None:
    code = BLOCKS.format(made=made, after=after, kept="blocks")
    diagnostic = found(code, "TDV007")
    if kept is None:
        assert diagnostic.fix is None
    else:
        assert fixed(code, diagnostic) == BLOCKS.format(made=made, after=after, kept=kept)

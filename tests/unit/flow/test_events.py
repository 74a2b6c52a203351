"""The events that a program gives: where they are reported, and what they say.

The fixtures show whole programs; here are the details of single events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torchdev_lint.flow.activation.events import DeviceLiteral, ModelCall

Events = Callable[..., list[Any]]


@pytest.mark.parametrize(
    ("call", "keyword", "text", "container", "parentheses"),
    [
        ("net(x)", "", "x", "", False),
        ("net(input=x)", "input", "x", "", False),
        ("net(x[0])", "", "x[0]", "", False),
        ("net(x + 1)", "", "x + 1", "", True),
        ("net((x + 1))", "", "(x + 1)", "", False),
        ("net(-x)", "", "-x", "", True),
        ("net(x.view(-1, 2))", "", "x.view(-1, 2)", "", False),
        ("net(y := x)", "", "y := x", "", True),
        ("net([x, x])", "", "x", "", False),
        ("net(xs)", "", "xs", "list", False),
        ("net(*xs)", "", "xs", "list", False),
        ("net(**kw)", "", "kw", "dict", False),
    ],
)
def test_the_place_of_the_input(
    call: str, keyword: str, text: str, container: str, parentheses: bool, events: Events
) -> None:
    code = f"net = nn.Linear(2, 2).to('cuda:0')\nx = torch.zeros(2, 2)\nxs, kw = [x, x], {{'input': x}}\n{call}\n"
    place = events(code, ModelCall)[0].place
    assert (place.keyword, place.text, place.container) == (keyword, text, container)
    assert place.needs_parentheses == parentheses


@pytest.mark.parametrize(
    ("code", "target"),
    [
        ("device = 'cuda:0'\nnet = nn.Linear(2, 2).to(device)\nnet(x)", "device"),
        ("class A: device = 'cuda:0'\nnet = nn.Linear(2, 2).to(A.device)\nnet(x)", "A.device"),
        ("net = nn.Linear(2, 2).cuda()\nnet(x)", "next(net.parameters()).device"),
        (
            "net, loss = nn.Linear(2, 2).cuda(), nn.MSELoss()\nout = net(x.cuda())\nloss(out, x)",
            "out.device",
        ),
        (
            "device = 'cuda:0'\nnet = nn.Linear(2, 2).to(device)\ndevice = 'cpu'\nnet(x)",
            "next(net.parameters()).device",
        ),
        ("nets = [nn.Linear(2, 2).cuda()]\nnets[0](x)", None),
    ],
)
def test_the_device_that_would_cure_it(code: str, target: str | None, events: Events) -> None:
    assert [event.target for event in events("x = torch.zeros(1, 2)\n" + code, ModelCall)] == [target]


def test_an_argument_is_reported_where_it_is_given(events: Events) -> None:
    code = """
    def run(net, x):
        return net(x)
    def outer(net, batch):
        return run(net, batch)
    net = nn.Linear(2, 2).cuda()
    outer(net, torch.zeros(1, 2))
    """
    (event,) = events(code, ModelCall)
    assert (event.place.text, event.through) == ("torch.zeros(1, 2)", "outer")
    assert event.inner is not None


def test_one_tensor_is_reported_once(events: Events) -> None:
    code = "net = nn.Linear(2, 2).cuda()\nx = torch.zeros(1, 2)\nfor _ in range(3):\n    net(x)\n"
    assert len(events(code, ModelCall)) == 1


def test_nothing_is_reported_where_failure_is_expected(events: Events) -> None:
    code = """
    import pytest
    net = nn.Linear(2, 2).cuda()
    with pytest.raises(RuntimeError):
        net(torch.zeros(1, 2))
    """
    assert events(code, ModelCall) == []


def test_code_that_cannot_be_reached_is_not_read(events: Events) -> None:
    code = """
    net = nn.Linear(2, 2).cuda()
    def run():
        return None
        net(torch.zeros(1, 2))
    if False:
        net(torch.zeros(1, 2))
    while False:
        net(torch.zeros(1, 2))
    raise SystemExit
    net(torch.zeros(1, 2))
    """
    assert events(code, ModelCall) == []


@pytest.mark.parametrize(
    ("code", "guarded"),
    [
        ("x = torch.zeros(2, device='cuda:0')", False),
        ("if torch.cuda.is_available():\n    x = torch.zeros(2, device='cuda:0')", True),
        ("if torch.cuda.device_count() > 1:\n    x = torch.zeros(2, device='cuda:1')", True),
        ("if torch.cuda.is_available():\n    x = torch.zeros(2, device='cuda:1')", False),
        ("if torch.cuda.device_count() > 0:\n    x = torch.zeros(2, device='cuda:1')", False),
        ("if torch.backends.mps.is_available():\n    x = torch.zeros(2, device='cuda:0')", False),
        ("d = 'cuda:0' if torch.cuda.is_available() else 'cpu'", True),
        (
            "d = 'cuda:0'\nif not torch.cuda.is_available():\n    d = 'cpu'\nx = torch.zeros(2, device=d)",
            True,
        ),
        ("try:\n    x = torch.zeros(2, device='cuda:0')\nexcept RuntimeError:\n    pass", True),
        ("try:\n    x = torch.zeros(2, device='cuda:0')\nexcept OSError:\n    pass", False),
        ("def f():\n    return torch.zeros(2, device='cuda:0')", False),
        (
            "def f():\n    return torch.zeros(2, device='cuda:0')\nif torch.cuda.is_available():\n    f()",
            True,
        ),
        (
            "def f():\n    return torch.zeros(2, device='cuda:0')\nif torch.cuda.is_available():\n    f()\nf()",
            False,
        ),
        ("assert torch.cuda.is_available()\nx = torch.zeros(2).to('cuda:0')", True),
    ],
)
def test_guards_of_a_literal(code: str, guarded: bool, events: Events) -> None:
    (event,) = events(code, DeviceLiteral)
    assert event.guarded == guarded


@pytest.mark.parametrize(
    ("code", "form"),
    [
        ("torch.zeros(2).to('cuda:0')", "string"),
        ("torch.zeros(2).cuda(0)", "cuda-method"),
        ("torch.zeros(2, device=0)", "integer"),
        ("place = torch.device('cuda', 0)", "call"),
        ("def f(d='cuda:0'): return torch.zeros(2, device=d)", "string"),
        ("torch.zeros(2, device=f'cuda:{0}')", "string"),
        ("torch.zeros(2, device='cuda:' + '0')", "string"),
    ],
)
def test_forms_of_a_literal(code: str, form: str, events: Events) -> None:
    (event,) = events(code, DeviceLiteral)
    assert (event.form, event.type, event.index) == (form, "cuda", 0)


@pytest.mark.parametrize(
    "code",
    [
        "print('cuda:0')",
        "'cuda:0'",
        "'''cuda:0'''",
        "x = torch.zeros(2, device='cpu')",
        "with torch.autocast('cuda'): pass",
        "NAME = 'cuda'",
        "d = torch.device('cuda')",
        "'cuda:0' == str(torch.zeros(2).device)",
        "d = {'cuda:0': 16}",
        "if torch.zeros(2).device in (torch.device('cuda:0'), torch.device('cuda:1')): pass",
        "import logging\nlogging.info('cuda:0')",
        "raise ValueError('cuda:0')",
        "def f():\n    'cuda:0'",
        "x = f'cuda:{n}'",
        "b'cuda:0'",
        "x: 'cuda:0' = 3",
        "x = range(0)[0:0]",
        "x = torch.zeros(0, 0)",
    ],
)
def test_no_literal(code: str, events: Events) -> None:
    assert events(code, DeviceLiteral) == []


@pytest.mark.parametrize(
    ("code", "form"),
    [
        ("x = torch.zeros(2).to('cuda')", "string"),
        ("x = torch.zeros(2, device='cuda')", "string"),
        ("DEVICE = 'cuda'\nx = torch.zeros(2).to(DEVICE)", "string"),
        ("d = torch.device('cuda')\nx = torch.zeros(2).to(d)", "string"),
        ("def f(x, device='cuda'): ...", "string"),
        ("x = torch.zeros(2).cuda()", "cuda-method"),
        ("x = torch.zeros(2).cuda(non_blocking=True)", "cuda-method"),
    ],
)
def test_literals_of_the_current_device(code: str, form: str, events: Events) -> None:
    (event,) = events(code, DeviceLiteral)
    assert (event.form, event.type, event.index, event.guarded) == (form, "cuda", None, False)

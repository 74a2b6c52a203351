"""Values read as devices, and the expressions that name a device where a fix stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst
import pytest

from torchdev_lint.flow.domain.conditions import Atom
from torchdev_lint.flow.domain.lattice import CPU, UNKNOWN_DEVICE, Accelerator, Choice, Device, Symbol
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    DeviceType,
    DeviceValue,
    Dtype,
    Either,
    Items,
    Literal,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.torch_calls.device_values import (
    as_device,
    literal_device,
    name_of_device,
    same_device,
    target_of,
)

FLAG = Atom("opaque", ("flag",), "flag")
CUDA, CUDA1 = Accelerator("cuda"), Accelerator("cuda", 1)
PARAMETER = Object(("parameter", 1, "device"), "device")
SYMBOL = Symbol(PARAMETER.key, "device")


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("cpu", CPU),
        ("cpu:0", CPU),
        ("cuda", CUDA),
        ("cuda:1", CUDA1),
        ("mps", Accelerator("mps")),
        ("xpu:2", Accelerator("xpu", 2)),
        ("meta", UNKNOWN_DEVICE),
        ("gpu", UNKNOWN_DEVICE),
        ("", UNKNOWN_DEVICE),
        ("cuda:", UNKNOWN_DEVICE),
        ("cuda:x", UNKNOWN_DEVICE),
        ("CUDA", UNKNOWN_DEVICE),
        (" cuda", UNKNOWN_DEVICE),
        ("cuda:0\n", UNKNOWN_DEVICE),
    ],
)
def test_device_strings(text: str, device: Device) -> None:
    assert literal_device(text) == device


@pytest.mark.parametrize(
    ("value", "device"),
    [
        (DeviceValue(CUDA1), CUDA1),
        (DeviceValue(CPU, is_object=False), CPU),
        (Literal("cuda:1"), CUDA1),
        (Literal(1), CUDA1),
        (Literal(True), UNKNOWN_DEVICE),
        (Literal(1.5), UNKNOWN_DEVICE),
        (NONE, UNKNOWN_DEVICE),
        (PARAMETER, SYMBOL),
        (DeviceType(CUDA1), CUDA),
        (DeviceType(CPU), CPU),
        (DeviceType(Choice(FLAG, CUDA1, CPU)), Choice(FLAG, CUDA, CPU)),
        (Either(FLAG, Literal("cuda"), Literal("cpu")), Choice(FLAG, CUDA, CPU)),
        (Tensor(CUDA), UNKNOWN_DEVICE),
        (UNKNOWN, UNKNOWN_DEVICE),
    ],
)
def test_as_device(value: Value, device: Device) -> None:
    assert as_device(value) == device


def test_the_device_attribute_of_a_thing_is_the_device_of_that_thing() -> None:
    thing = ("parameter", 1, "x")
    assert as_device(Object(("attr", thing, "device"), "x.device")) == Symbol(("device", thing))
    found = as_device(Object(("attr", thing, "device"), "args.device"))
    assert isinstance(found, Symbol)
    assert not found.assumed
    found = as_device(Object(("attr", thing, "device"), "x.device"))
    assert isinstance(found, Symbol)
    assert found.assumed


@pytest.mark.parametrize(
    ("value", "text", "device"),
    [
        (Dtype(), "torch.float32", None),
        (Literal("cuda"), "'cuda'", CUDA),
        (Literal(1), "1", CUDA1),
        (DeviceValue(CPU), "device", CPU),
        (Tensor(CUDA), "other", CUDA),
        (PARAMETER, "device", SYMBOL),
        (PARAMETER, "self.device", SYMBOL),
        (PARAMETER, "config['device']", SYMBOL),
        (PARAMETER, "get_device()", SYMBOL),
        (Object(("a",), "anything"), "dtype", None),
        (Object(("a",), "anything"), "weight_dtype", None),
        (Object(("a",), "anything"), "anything", UNKNOWN_DEVICE),
        (Either(FLAG, Dtype(), Dtype()), "x", None),
        (Either(FLAG, Dtype(), Literal("cuda")), "x", Choice(FLAG, UNKNOWN_DEVICE, CUDA)),
        (Items(()), "()", UNKNOWN_DEVICE),
        (UNKNOWN, "device", UNKNOWN_DEVICE),
    ],
)
def test_target_of_to(value: Value, text: str, device: Device | None, read: Callable[[str], Any]) -> None:
    assert target_of(read("").frame, value, cst.parse_expression(text)) == device


def test_same_device() -> None:
    assert same_device(CUDA, CUDA)
    assert not same_device(CUDA, CUDA1)
    assert not same_device(UNKNOWN_DEVICE, UNKNOWN_DEVICE)
    assert not same_device(Choice(FLAG, UNKNOWN_DEVICE, CPU), Choice(FLAG, UNKNOWN_DEVICE, CPU))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        pytest.param("device = torch.device('cuda:1')", "device", id="a device"),
        pytest.param("where = 'cuda:1'", "where", id="a string"),
        pytest.param("dev = device = torch.device('cuda:1')", "device", id="the better name"),
        pytest.param("device = torch.device('cuda:1')\ndevice = 'cpu'", None, id="bound again"),
        pytest.param("class C:\n    device = 'cuda:1'", "C.device", id="of a class"),
        pytest.param(
            "class C: pass\nc = C()\nc.device = torch.device('cuda:1')", "c.device", id="of a thing"
        ),
        pytest.param(
            "class C(dict): pass\nc = C(device=torch.device('cuda:1'))", 'c["device"]', id="in a dict's class"
        ),
        pytest.param(
            "class C(dict): pass\nclass D: pass\nd = D()\nd.c = C(device=torch.device('cuda:1'))",
            'd.c["device"]',
            id="in one that is kept",
        ),
        pytest.param(
            "class C: pass\nc = C()\nsetattr(c, f'{n}_device', torch.device('cuda:1'))",
            None,
            id="under a computed name",
        ),
        pytest.param("device = torch.device('cuda:0')", None, id="another device"),
        pytest.param("", None, id="none"),
    ],
)
def test_names_for_a_device(code: str, name: str | None, read: Callable[[str], Any]) -> None:
    assert name_of_device(read(code).frame, CUDA1) == name

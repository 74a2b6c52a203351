"""The options that tell the inference what it cannot see, on the inference itself."""

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.torch_api.versions import runs_with

TWO_CALLS = """
import torch
from torch import nn
import mylib
from mylib import pick

model = nn.Linear(3, 3).to({0})
model(torch.zeros(2, 3).to({1}))
model(torch.zeros(2, 3))
"""


@pytest.mark.parametrize("calls", [("pick()", "mylib.pick()"), ("helper.pick()", "helper.pick()")])
def test_a_device_source_gives_one_device_which_may_be_an_accelerator(calls: tuple[str, str]) -> None:
    source = TWO_CALLS.format(*calls)
    (found,) = findings(source, "a.py", Config(device_sources=("pick",)))
    assert (found.code, found.range.start.row) == ("TDV001", 9)
    assert findings(source, "a.py", Config(device_sources=("other",))) == []


def test_a_device_source_by_dotted_name() -> None:
    source = TWO_CALLS.format("mylib.pick()", "mylib.pick()")
    assert findings(source, "a.py", Config(device_sources=("mylib.pick",)))
    assert findings(source, "a.py", Config(device_sources=("other.pick",))) == []


XPU = """
import torch
x = torch.zeros(3).to("xpu:0")
"""


def test_no_fix_writes_what_the_target_does_not_have() -> None:
    (found,) = findings(XPU, "a.py", Config(select=("TDV002",)))
    assert found.fix is not None
    assert "xpu.is_available()" in found.fix.edits[0].content
    (found,) = findings(XPU, "a.py", Config(select=("TDV002",), target_torch=(2, 2)))
    assert found.fix is None
    for fine in ((2, 3), (2, 3, 1), (2, 10)):
        (found,) = findings(XPU, "a.py", Config(select=("TDV002",), target_torch=fine))
        assert found.fix is not None


def test_versions_of_names() -> None:
    assert not runs_with(["torch.accelerator.current_accelerator()"], (2, 5))
    assert runs_with(["torch.accelerator.current_accelerator()"], (2, 6))
    assert runs_with(["torch.accelerator.current_accelerator()"], ())
    assert runs_with(["my_xpu.x", "device=device"], (1, 13))

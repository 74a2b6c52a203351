"""What a call of a library gives, by the words of docs/stubs.md: one small program for each way through them."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

FACTS = """
library = "lib"

[[function]]
names = ["near"]
follows = [0, "x"]

[[function]]
names = ["where"]
follows = "any"

[[function]]
names = ["batches"]
yields = "cpu-tensor"

[[class]]
names = ["Table"]
kind = "mapping"

[[class]]
names = ["Loader"]
kind = "loader"
yields = "cpu-batch"

[[class]]
names = ["Net"]
kind = "module"

[[class]]
names = ["Chain"]
composes = true

[[class]]
names = ["Read"]
returns = "cpu-tensor"

[[class]]
names = ["Scale"]
follows = [0, "x"]

[[class]]
names = ["Runner"]
named-device = true

[[method]]
of = ["Runner"]
names = ["prepare"]
brings-arguments = true
"""
HEADER = """\
import lib
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
c, t = torch.zeros(4), torch.rand(4, device="cuda")
n = len(lib.names())
runner = lib.Runner()
"""
CASES = [
    ("x = lib.Table(a=t)", "`cuda`"),
    ("x = lib.Table(a=1)", "unknown"),
    ("x = next(iter(lib.Loader(c)))", "the CPU"),
    ("x = next(iter(lib.Loader({'a': t})))", "unknown"),
    ("x = lib.Net()", "on the CPU"),
    ("x = lib.Net(device='cuda')", "on `cuda`"),
    ("for x in lib.batches():\n  pass", "the CPU"),
    ("for x in lib.batches(device='cuda'):\n  pass", "`cuda`"),
    ("x, y = runner.prepare(t, nn.Linear(2, 2))", "unknown"),
    ("y, x = runner.prepare(t, nn.Linear(2, 2))", "on `runner.device`"),
    ("x = runner.prepare(lib.Scale())", "unknown (`Scale`)"),
    ("x = next(iter(runner.prepare(DataLoader([c]))))", "on `runner.device`"),
    ("x, y = next(iter(runner.prepare(DataLoader(TensorDataset(c, c)))))", "on `runner.device`"),
    ("x = next(iter(runner.prepare(DataLoader([None]))))", "unknown"),
    ("x = lib.Chain([lib.Read(), lib.Scale()])(t)", "the CPU"),
    ("x = lib.Chain([])(t)", "`cuda`"),
    ("x = lib.Chain([lib.Read(), lambda y: y.cuda()])(t)", "unknown"),
    ("x = lib.Chain([lib.Read(), lib.Other()])(t)", "unknown"),
    ("x = lib.near(t)", "`cuda`"),
    ("x = lib.near(None)", "unknown"),
    ("x = lib.where(1, t)", "`cuda`"),
    ("x = lib.where([t, t])", "`cuda`"),
    ("x = lib.where([t, c])", "unknown device"),
    ("x = lib.where([t for _ in range(n)])", "`cuda`"),
    ("x = lib.where([], None)", "unknown"),
    ("given = lib.names()\nx = lib.where(t, *given)", "unknown"),
]


@pytest.mark.parametrize(("code", "said"), CASES)
def test_what_a_call_gives(tmp_path: Path, code: str, said: str) -> None:
    stub = tmp_path / "lib.toml"
    stub.write_text(FACTS)
    found = check_source(HEADER + code + "\nreveal_device(x)", "program.py", Config(stubs=(str(stub),)))
    (message,) = (one.message for one in found if one.code == "TDV000")
    assert said in message

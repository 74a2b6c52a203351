"""The doctor tells what is there and what is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchdev_lint.harness import doctor
from torchdev_lint.harness.doctor import Health, Literal


def health(**changes: object) -> Health:
    values: dict[str, object] = {
        "python": "3.11.7",
        "torch": "2.13.0+cpu",
        "problem": None,
        "cuda_build": None,
        "cuda_devices": (),
        "cuda_visible_devices": None,
        "mps": False,
        "default_device": "cpu",
        "simulator": "available",
    }
    return Health(**{**values, **changes})  # type: ignore[arg-type]


def test_this_machine_is_described():
    torch = pytest.importorskip("torch", reason="the runtime half needs torch")
    found = doctor.examine()
    assert found.torch == torch.__version__
    assert found.cuda_build == torch.version.cuda
    assert found.simulator.startswith("available")
    assert f"torch {torch.__version__}" in found.describe()
    assert found.to_json()["torch"] == torch.__version__


def test_the_environment_is_that_of_the_caller(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert doctor.examine().cuda_visible_devices == "0,1"


def test_a_torch_that_cannot_be_imported(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('libc10.so is missing')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path) + os.pathsep + os.environ.get("PYTHONPATH", ""))
    found = doctor.examine()
    assert (found.torch, found.problem) == (None, "ImportError: libc10.so is missing")
    assert "not importable (ImportError: libc10.so is missing)" in found.describe()


def test_an_interpreter_that_prints_nothing():
    found = doctor.examine(python="/bin/true")
    assert found.torch is None
    assert "the examination failed" in (found.problem or "")


@pytest.mark.parametrize(
    ("device", "here"),
    [("cpu", True), ("cuda", True), ("cuda:1", True), ("cuda:2", False), ("mps", False), ("xpu", False)],
)
def test_what_a_machine_has(device, here):
    assert health(cuda_devices=("A", "B")).has(device) is here
    assert health().has("cuda") is False
    assert health(mps=True).has("mps") is True


def test_literals_that_the_machine_lacks(tmp_path: Path):
    source = tmp_path / "a.py"
    source.write_text("a = 'cuda:1'\nb = \"cpu\"; c = f('mps', 'cuda')\nd = 'not cuda'\n")
    (tmp_path / "b.py").write_bytes(b"\xff\xfe'cuda'")
    found = doctor.literals(sorted(tmp_path.glob("*.py")))
    path = str(source)
    assert found == [Literal(path, 1, "cuda:1"), Literal(path, 2, "mps"), Literal(path, 2, "cuda")]
    one_gpu = health(cuda_devices=("A",))
    assert [literal.device for literal in doctor.lacking(one_gpu, found)] == ["cuda:1", "mps"]


def test_the_description_names_devices():
    text = health(cuda_devices=("H100",), cuda_build="12.8", cuda_visible_devices="0").describe()
    assert "cuda:0: H100" in text
    assert "CUDA_VISIBLE_DEVICES: '0'" in text
    assert "no CUDA device" in health().describe()

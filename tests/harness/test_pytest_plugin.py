"""The plugin puts a whole test suite on a simulated accelerator, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("torch", reason="the runtime half needs torch")


@pytest.fixture
def run_pytest(tmp_path: Path):
    """Runs pytest in a fresh process on one test file; returns (exit status, what it printed)."""

    def run(source: str, *options: str, conftest: str = "") -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(dedent(source), encoding="utf-8")
        (tmp_path / "conftest.py").write_text(dedent(conftest), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", "torchdev_lint.harness.pytest_plugin"]
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", "-v", "-W", "error", *options, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )
        return done.returncode, done.stdout + done.stderr

    return run


USES_CUDA = """\
from torch import tensor, cuda
import torch

DEVICE = "cuda" if cuda.is_available() else "cpu"

def test_forgotten_transfer():
    torch.nn.Linear(2, 2).to(DEVICE)(tensor([1.0, 2.0]))

def test_complete():
    assert torch.nn.Linear(2, 2).to(DEVICE)(tensor([1.0, 2.0], device=DEVICE)).device.type == DEVICE
"""


def test_a_suite_that_passes_on_the_cpu_fails_where_a_gpu_would(run_pytest):
    status, out = run_pytest(USES_CUDA, "--accelerator=cpu")
    assert (status, "2 passed" in out) == (0, True), out
    status, out = run_pytest(USES_CUDA, "--accelerator=simulated")
    assert (status, "1 failed, 1 passed" in out) == (1, True), out
    assert "Expected all tensors to be on the same device" in out


def test_the_header_says_what_is_simulated(run_pytest):
    _, out = run_pytest(USES_CUDA, "--accelerator=simulated:3")
    assert "accelerator: 3 simulated cuda devices (torch " in out
    _, out = run_pytest(USES_CUDA, "--accelerator=mps")
    assert "accelerator: 1 simulated mps device (torch " in out
    _, out = run_pytest("def test_nothing(): pass")
    assert "accelerator:" not in out


def test_it_is_installed_before_the_conftest(run_pytest):
    status, out = run_pytest(
        "from conftest import WEIGHTS\ndef test_weights(): assert WEIGHTS.is_cuda",
        "--accelerator=simulated:1",
        conftest="from torch import ones, cuda\nassert cuda.device_count() == 1\nWEIGHTS = ones(2).cuda()",
    )
    assert status == 0, out


def test_without_the_option_torch_is_not_even_imported(run_pytest):
    status, out = run_pytest("import sys\ndef test_lazy(): assert 'torch' not in sys.modules")
    assert status == 0, out


DEVICE_ERRORS = """\
import pytest, torch

@pytest.mark.device_error(match="same device")
def test_expected(accelerator_device):
    torch.ones(2, device=accelerator_device) + torch.ones(2)

@pytest.mark.device_error
def test_absent(accelerator_device):
    torch.ones(2, device=accelerator_device)

@pytest.mark.device_error(match="numpy")
def test_other_message(accelerator_device):
    torch.ones(2, device=accelerator_device) + torch.ones(2)

@pytest.mark.device_error
def test_other_error(accelerator_device):
    raise ValueError("no device here")
"""


def test_the_marker_expects_a_device_error(run_pytest):
    status, out = run_pytest(DEVICE_ERRORS, "--accelerator=simulated")
    assert status == 1
    assert "test_expected PASSED" in out
    assert "test_absent FAILED" in out
    assert "the test did not raise a device error" in out
    assert "the device error does not match 'numpy'" in out
    assert "ValueError: no device here" in out


def test_the_marker_skips_without_an_accelerator(run_pytest):
    status, out = run_pytest(DEVICE_ERRORS, "--accelerator=cpu")
    assert (status, "4 skipped" in out) == (0, True), out


def test_the_fixture_follows_the_option(run_pytest):
    source = "def test_device(accelerator_device): print('it is', accelerator_device)"
    for option, device in (("simulated", "cuda:0"), ("mps", "mps:0"), ("cpu", "cpu")):
        assert f"it is {device}" in run_pytest(source, f"--accelerator={option}", "-s")[1]


@pytest.mark.parametrize("spec", ["gpu", "simulated:0", "cpu:2", "simulated:x"])
def test_a_wrong_option_is_a_usage_error(run_pytest, spec):
    status, out = run_pytest("def test_nothing(): pass", f"--accelerator={spec}")
    assert status == 4
    assert f"--accelerator={spec}" in out


def test_an_absent_gpu_is_a_usage_error_with_the_reason(run_pytest):
    status, out = run_pytest("def test_nothing(): pass", "--accelerator=cuda")
    if status == 0:
        pytest.skip("THERE IS A GPU HERE: nothing to be unavailable")
    assert status == 4
    assert "--accelerator=cuda is unavailable: torch" in out


def test_it_works_in_xdist_workers(run_pytest):
    pytest.importorskip("xdist")
    status, out = run_pytest(USES_CUDA, "--accelerator=simulated", "-p", "xdist", "-n", "1")
    assert (status, "1 failed, 1 passed" in out) == (1, True), out

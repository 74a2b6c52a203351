"""The simulation in this process: what it leaves behind, and what it refuses."""

from __future__ import annotations

import sys
import threading

import pytest

pytest.importorskip("torch", reason="the runtime half needs torch")

import torch
import torch._dynamo  # replaces things in torch itself when it is imported

from torchdev_lint.harness import simulator
from torchdev_lint.harness.simulator import machine, patches, selftest, simulate_accelerator


def surface() -> dict[str, object]:
    """Everything in torch that the simulator might replace, by name."""
    owners = [
        torch,
        torch.Tensor,
        torch.cuda,
        torch.nn,
        torch.nn.parallel,
        torch.autograd,
        torch.fft,
        torch.jit,
    ]
    owners += [torch.UntypedStorage, torch.nn.Module, torch.random, torch._C._nn, torch._C, torch.version]
    owners += [torch.backends.cuda, torch.backends.cudnn, torch.backends.mps, torch.mps, torch._VF]
    owners += [threading.Thread, torch.amp.autocast_mode.autocast]
    if hasattr(torch, "accelerator"):
        owners.append(torch.accelerator)
    return {
        f"{getattr(owner, '__name__', owner)}.{name}": value
        for owner in owners
        for name, value in vars(owner).items()
    }


@pytest.mark.parametrize("accelerator", ["cuda", "mps"])
def test_everything_is_put_back(accelerator):
    before, finders = surface(), list(sys.meta_path)
    with simulate_accelerator(accelerator=accelerator):
        assert surface() != before
        torch.optim.SGD([torch.ones(2, device=accelerator, requires_grad=True)]).step()
    after = surface()
    assert {name for name in before if after.get(name) is not before[name]} == set()
    assert {name for name in after if name not in before} - {"torch._dynamo"} <= set()
    assert sys.meta_path == finders
    assert torch._C._len_torch_dispatch_stack() == 0


def test_it_is_put_back_after_an_error_too():
    before = surface()
    with pytest.raises(ZeroDivisionError), simulate_accelerator():
        raise ZeroDivisionError
    assert {name for name in before if surface().get(name) is not before[name]} == set()
    assert not simulator.installed()


def test_tensors_made_inside_become_plain_ones():
    with simulate_accelerator():
        x = torch.ones(2, device="cuda:1", requires_grad=True)
        model = torch.nn.Linear(2, 2).to("cuda")
        assert str(x.device) == "cuda:1"
    assert x.device.type == "cpu"
    (x + torch.ones(2)).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert model(torch.ones(2)).shape == (2,)
    assert x.detach().numpy().tolist() == [1.0, 1.0]


def test_names_imported_inside_work_afterwards():
    with simulate_accelerator():
        from torch import FloatTensor, tensor, zeros
        from torch.cuda import is_available

        assert is_available()
    assert not is_available()
    assert zeros(2).tolist() == [0.0, 0.0]
    assert tensor([1]).device.type == "cpu"
    assert FloatTensor([1.0]).tolist() == [1.0]


def test_it_can_be_entered_again_with_other_devices():
    for devices in (1, 3):
        with simulate_accelerator(devices=devices):
            assert torch.cuda.device_count() == devices


def test_it_does_not_nest():
    with simulate_accelerator():
        with pytest.raises(simulator.SimulatorUnavailableError, match="already"), simulate_accelerator():
            pass
        assert torch.cuda.is_available()


def test_a_thread_that_outlives_it_computes_plainly():
    go, results = threading.Event(), []

    def work() -> None:
        go.wait(10)
        results.append((torch.ones(2) + torch.zeros(2)).tolist())

    with simulate_accelerator():
        thread = threading.Thread(target=work)
        thread.start()
    go.set()
    thread.join()
    assert results == [[1.0, 1.0]]


def test_the_current_device_belongs_to_a_thread():
    with simulate_accelerator():
        torch.cuda.set_device(1)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_device()))
        thread.start()
        thread.join()
        assert (torch.cuda.current_device(), seen) == (1, [0])


def test_the_self_test_speaks_up(monkeypatch):
    monkeypatch.setattr(
        selftest, "PROBES", (("arithmetic", "assert 1 + 1 == 3", None), ("quiet", "pass", "x"))
    )
    with pytest.raises(
        simulator.SimulatorUnavailableError, match=r"arithmetic: AssertionError.*quiet: no error"
    ):
        simulator.install()
    assert not simulator.installed()
    assert not torch.cuda.is_available() or torch.version.cuda


def test_the_self_test_leaves_the_random_numbers_alone():
    torch.manual_seed(1)
    expected = torch.rand(1).item()
    torch.manual_seed(1)
    with simulate_accelerator():
        assert torch.rand(1).item() == expected


def test_a_failing_installation_leaves_nothing(monkeypatch):
    before = surface()

    def fail(log: patches.Patches) -> None:
        raise AttributeError("moved in torch 9")

    monkeypatch.setattr(simulator.processes, "install", fail)
    with pytest.raises(simulator.SimulatorUnavailableError, match=r"installation failed.*moved in torch 9"):
        simulator.install()
    assert {name for name in before if surface().get(name) is not before[name]} == set()


def test_there_is_no_machine_outside():
    with pytest.raises(RuntimeError, match="no accelerator is simulated"):
        machine.machine()


def test_patches_restore_what_was_missing_and_what_was_inherited():
    class Base:
        value = 1

    class Derived(Base):
        pass

    log = patches.Patches()
    table = {"a": 1}
    log.set(Derived, "value", 2)
    log.set(Derived, "other", 3)
    log.item(table, "a", 2)
    log.item(table, "b", 3)
    assert (Derived.value, Derived.other, table) == (2, 3, {"a": 2, "b": 3})
    with log.suspended():
        assert (Derived.value, hasattr(Derived, "other"), table) == (1, False, {"a": 1})
    assert (Derived.value, Derived.other, table) == (2, 3, {"a": 2, "b": 3})
    log.undo()
    assert (Derived.value, hasattr(Derived, "other"), table) == (1, False, {"a": 1})
    assert "value" not in vars(Derived)

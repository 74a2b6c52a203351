"""PyTorch's own operator database on the simulated accelerator: no false alarm, few missed ones."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the runtime half needs torch")

from torchdev_lint.harness import simulator, sweep

TRUE_ALARMS = {
    "histogram": "has no CUDA kernel (native_functions.yaml)",
    "histogramdd": "has no CUDA kernel",
    "tensor_split": "wants its indices on the CPU",
}

ADMITTED = {
    "broadcast_tensors": "only shapes matter",
    "expand_as": "only the other's shape matters",
    "reshape_as": "only the other's shape matters",
    "view_as": "only the other's shape matters",
    "resize_as_": "only the other's shape matters",
    "index_put": "an index may be on the CPU",
    "nn.functional.ctc_loss": "targets may be on the CPU",
}

READ_AS_CPU = {"linalg.matrix_rank", "linalg.matrix_rank.hermitian"}
"""A tensor made inside C++ that meets no other: the known weakness of WILD tensors."""


@pytest.fixture(scope="module", params=[False, True], ids=["autograd", "inference_mode"])
def swept(request):
    with simulator.simulate_accelerator():
        try:
            sweep.operators()  # not before: the database holds the functions that it finds
        except ImportError as error:
            pytest.skip(f"this torch has no operator database: {error}")
        return list(sweep.sweep("cuda:0", inference=request.param))


def test_it_sweeps_the_whole_database(swept):
    assert len(swept) > 500


def test_no_operator_raises_a_false_alarm(swept):
    alarms = {one.name: one.alarm for one in swept if one.alarm and one.name not in TRUE_ALARMS}
    assert alarms == {}
    assert {one.name for one in swept if one.alarm} == set(TRUE_ALARMS)


def test_results_are_on_the_accelerator(swept):
    assert {one.name for one in swept if one.outputs_elsewhere} <= READ_AS_CPU


def test_an_input_left_on_the_cpu_is_noticed(swept):
    missed = {one.name for one in swept if one.detected is False}
    assert missed <= set(ADMITTED)
    assert sum(one.detected is True for one in swept) > 200

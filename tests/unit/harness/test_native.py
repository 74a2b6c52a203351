"""native_functions.yaml is read for the device checks that it declares."""

from __future__ import annotations

from textwrap import dedent

import pytest

pytest.importorskip("torch", reason="the runtime half needs torch")

from torchdev_lint.harness.simulator import native

TEXT = dedent(
    """\
    - func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      device_check: NoCheck   # TensorIterator
      structured_delegate: add.out
      dispatch:
        SparseCPU, SparseCUDA, SparseMeta: add_sparse
        # CUDA: not this one

    - func: bmm(Tensor self, Tensor mat2) -> Tensor
      dispatch:
        CPU, CUDA: bmm

    - func: only_cpu(Tensor self) -> Tensor
      dispatch:
        CPU: only_cpu

    - func: sparse_only(Tensor self) -> Tensor
      dispatch:
        SparseCUDA: nothing_dense

    - func: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
      python_module: nn
    """
)


def test_declarations():
    found = native.parse(TEXT)
    assert sorted(found) == ["add.Tensor", "bmm", "linear", "only_cpu", "sparse_only"]
    add = found["add.Tensor"]
    assert (add.unchecked, add.has_cuda_kernel, add.structured) == (True, True, True)
    bmm = found["bmm"]
    assert (bmm.unchecked, bmm.has_cuda_kernel, bmm.has_cpu_kernel) == (False, True, True)
    assert (found["only_cpu"].has_cuda_kernel, found["only_cpu"].has_cpu_kernel) == (False, True)
    assert not found["sparse_only"].has_cuda_kernel
    assert not found["linear"].has_cuda_kernel


def test_the_installed_torch_ships_them():
    found = native.load()
    assert len(found) > 2000
    assert found["addmm"].has_cuda_kernel
    assert not found["addmm"].unchecked
    assert found["mul.Tensor"].unchecked

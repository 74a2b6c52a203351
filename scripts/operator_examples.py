"""Calls of functions that PyTorch's own operator database lacks, or has not with the tensors that matter here."""

from __future__ import annotations

from collections.abc import Callable

import torch
from operator_trials import Call


def _vector() -> torch.Tensor:
    return torch.tensor([0.5, 0.25, 0.75])


def _matrix() -> torch.Tensor:
    return torch.tensor([[0.5, 0.25, 0.75], [0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])


def _packed() -> object:
    return torch.nn.utils.rnn.pack_sequence([torch.rand(3, 2), torch.rand(2, 2)])


_INDICES, _MASK = torch.tensor([0, 2]), torch.tensor([True, False, True])

EXAMPLES: dict[str, list[Callable[[], Call]]] = {
    "torch.tensor": [lambda: Call((_vector(),))],
    "torch.as_tensor": [lambda: Call((_vector(),))],
    "torch.asarray": [lambda: Call((_vector(),))],
    "torch.sparse_coo_tensor": [
        lambda: Call((torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), (2, 2))),
    ],
    "torch.Tensor.copy_": [lambda: Call((_vector(), torch.rand(3)))],
    "torch.Tensor.fill_": [lambda: Call((_vector(), torch.tensor(1.0)))],
    "torch.Tensor.index_put_": [
        lambda: Call((_vector(), (_INDICES.clone(),), torch.rand(2))),
        lambda: Call((_vector(), (_INDICES.clone(),), torch.tensor(1.0))),
    ],
    "torch.index_put": [
        lambda: Call((_vector(), (_INDICES.clone(),), torch.rand(2))),
        lambda: Call((_vector(), (_INDICES.clone(),), torch.tensor(1.0))),
    ],
    "torch.where": [
        lambda: Call((_MASK.clone(), _vector(), torch.rand(3))),
        lambda: Call((_MASK.clone(),)),
    ],
    "torch.einsum": [
        lambda: Call(("ij,j->i", _matrix(), _vector())),
        lambda: Call(("i,i->", _vector(), torch.rand(3))),
    ],
    "torch.searchsorted": [lambda: Call((_vector().sort().values, torch.rand(4)))],
    "torch.bucketize": [lambda: Call((torch.rand(4), _vector().sort().values))],
    "torch.nn.functional.cross_entropy": [
        lambda: Call((_matrix(), torch.tensor([0, 1, 2]))),
        lambda: Call((_matrix(), torch.tensor([0, 1, 2])), {"weight": _vector()}),
        lambda: Call((_matrix(), torch.tensor([0, 1, 2])), {"reduction": "none"}),
    ],
    "torch.nn.functional.nll_loss": [
        lambda: Call((_matrix(), torch.tensor([0, 1, 2])), {"weight": _vector()}),
    ],
    "torch.nn.functional.scaled_dot_product_attention": [
        lambda: Call((torch.rand(1, 2, 3), torch.rand(1, 2, 3), torch.rand(1, 2, 3), torch.rand(2, 2))),
    ],
    "torch.nn.functional.mse_loss": [
        lambda: Call((_vector(), torch.rand(3)), {"weight": torch.rand(3)}),
    ],
    "torch.nn.functional.l1_loss": [
        lambda: Call((_vector(), torch.rand(3)), {"weight": torch.rand(3)}),
    ],
    "torch.nn.functional.huber_loss": [
        lambda: Call((_vector(), torch.rand(3)), {"weight": torch.rand(3)}),
    ],
    "torch.nn.functional.binary_cross_entropy_with_logits": [
        lambda: Call((_vector(), torch.rand(3)), {"weight": torch.rand(3), "pos_weight": torch.rand(3)}),
    ],
    "torch.nn.functional.affine_grid": [lambda: Call((torch.rand(1, 2, 3), [1, 1, 2, 2]))],
    "torch.nn.functional.fold": [lambda: Call((torch.rand(1, 4, 4), (3, 3), (2, 2)))],
    "torch.nn.functional.upsample": [lambda: Call((torch.rand(1, 2, 4, 4), 8))],
    "torch.embedding_bag": [lambda: Call((_matrix(), torch.tensor([0, 1, 1]), torch.tensor([0, 2])))],
    "torch.stft": [lambda: Call((torch.rand(16), 4, 2, 4, torch.rand(4)), {"return_complex": True})],
    "torch.Tensor.stft": [lambda: Call((torch.rand(16), 4, 2, 4, torch.rand(4)), {"return_complex": True})],
    "torch.istft": [lambda: Call((torch.rand(3, 9).to(torch.complex64), 4, 2, 4, torch.ones(4)))],
    "torch.Tensor.istft": [lambda: Call((torch.rand(3, 9).to(torch.complex64), 4, 2, 4, torch.ones(4)))],
    "torch.diff": [lambda: Call((_vector(), 1, -1, torch.rand(1), torch.rand(1)))],
    "torch.Tensor.diff": [lambda: Call((_vector(), 1, -1, torch.rand(1), torch.rand(1)))],
    "torch.quantile": [lambda: Call((_vector(), torch.tensor([0.5, 0.75])))],
    "torch.Tensor.quantile": [lambda: Call((_vector(), torch.tensor([0.5, 0.75])))],
    "torch.nanquantile": [lambda: Call((_vector(), torch.tensor([0.5, 0.75])))],
    "torch.Tensor.nanquantile": [lambda: Call((_vector(), torch.tensor([0.5, 0.75])))],
    "torch.Tensor.bernoulli_": [lambda: Call((_vector(), torch.rand(3)))],
    "torch.Tensor.float_power_": [lambda: Call((_vector().double(), torch.rand(3).double()))],
    "torch.Tensor.random_": [lambda: Call((_vector(),))],
    "torch.is_nonzero": [lambda: Call((torch.rand(1),))],
    "torch.Tensor.is_nonzero": [lambda: Call((torch.rand(1),))],
    "torch.chain_matmul": [lambda: Call((_matrix(), _matrix()))],
    "torch.Tensor.is_contiguous": [lambda: Call((_vector(),))],
    "torch.Tensor.is_coalesced": [lambda: Call((_matrix().to_sparse(),))],
    "torch.Tensor.coalesce": [lambda: Call((_matrix().to_sparse(),))],
    "torch.Tensor.indices": [lambda: Call((_matrix().to_sparse(),))],
    "torch.Tensor.values": [lambda: Call((_matrix().to_sparse(),))],
    "torch.can_cast": [lambda: Call((torch.float32, torch.float64))],
    "torch.promote_types": [lambda: Call((torch.float32, torch.float64))],
    "torch.sparse_csr_tensor": [
        lambda: Call((torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.tensor([1.0, 2.0]), (2, 2))),
    ],
    "torch.nn.functional.pad": [lambda: Call((_matrix(), (1, 1)))],
    "torch.nn.functional.interpolate": [lambda: Call((torch.rand(1, 2, 4, 4), 8))],
    "torch.nn.utils.rnn.pad_packed_sequence": [lambda: Call((_packed(),))],
    "torch.bincount": [
        lambda: Call((torch.tensor([0, 1, 1]),)),
        lambda: Call((torch.tensor([0, 1, 1]), torch.rand(3))),
    ],
    "torch.Tensor.type_as": [lambda: Call((_vector(), torch.rand(2)))],
    "torch.Tensor.masked_scatter_": [lambda: Call((_vector(), _MASK.clone(), torch.rand(3)))],
    "torch.Tensor.set_": [lambda: Call((_vector(), torch.rand(2)))],
    "torch.Tensor.new_tensor": [lambda: Call((_vector(), torch.rand(2)))],
    "torch.nn.utils.rnn.pad_sequence": [lambda: Call(([torch.rand(3, 2), torch.rand(2, 2)],))],
    "torch.nn.utils.rnn.pack_sequence": [lambda: Call(([torch.rand(3, 2), torch.rand(2, 2)],))],
    "torch.nn.utils.rnn.pack_padded_sequence": [
        lambda: Call((torch.rand(3, 2, 4), torch.tensor([3, 2]))),
    ],
    "torch.nn.utils.rnn.unpad_sequence": [lambda: Call((torch.rand(3, 2, 4), torch.tensor([3, 2])))],
    "torch.tensor_split": [lambda: Call((torch.arange(5), torch.tensor([1, 3])))],
    "torch.Tensor.tensor_split": [lambda: Call((torch.arange(5), torch.tensor([1, 3])))],
    "torch.nn.functional.one_hot": [lambda: Call((torch.tensor([0, 1, 2]), 3))],
    "torch.nn.functional.embedding": [lambda: Call((torch.tensor([0, 1]), _matrix()))],
    "torch.nn.functional.embedding_bag": [
        lambda: Call((torch.tensor([0, 1, 1]), _matrix(), torch.tensor([0, 2]))),
    ],
}
"""By path; they are tried in addition to the database's."""

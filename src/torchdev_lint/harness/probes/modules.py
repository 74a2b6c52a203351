from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe("param.data is replaced, identity kept")
def module_to_in_place(x: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2)
    o = torch.optim.SGD(m.parameters(), 0.1)
    w = m.weight
    m.to(d)
    assert m.weight is w
    assert w.is_cuda
    m(x).sum().backward()
    o.step()


@probe("nn.Module.to moves parameters and buffers", raises=SAME)
def buffer_vs_attr(x: Tensor, d: Device) -> None:
    class M(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", torch.ones(4))
            self.a = torch.ones(4)

        def forward(self, x: Any) -> Any:
            return x * self.b + self.a

    m = M().to(d)
    assert m.b.is_cuda
    assert m.a.is_cpu
    m(x)


@probe("plain list is not registered", raises=SAME)
def list_of_modules(x: Tensor, d: Device) -> None:
    class M(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.ls = [nn.Linear(4, 4)]

        def forward(self, x: Any) -> Any:
            return self.ls[0](x)

    M().to(d)(x)


@probe("nn.Module.to moves parameters and buffers")
def modulelist_ok(x: Tensor, d: Device) -> None:
    m = nn.ModuleList([nn.Linear(4, 4)]).to(d)
    m[0](x)


@probe("nn.Module.to moves parameters and buffers")
def param_to_not_in_module(d: Device) -> None:
    w = nn.Parameter(torch.ones(4)).to(d)
    assert not w.is_leaf
    assert w.is_cuda
    assert not isinstance(w, nn.Parameter)


@probe("ToCopyBackward")
def grad_through_to(x: Tensor, d: Device) -> None:
    w = torch.ones(4, requires_grad=True)
    (w.to(d) * x).sum().backward()
    assert w.grad.is_cpu


@probe(
    "string: Please ensure that the gradient and the tensor are on the same device",
    raises="gradient with device type 'cpu' to a tensor with device type 'cuda'",
    confidence="M",
)
def grad_set(d: Device) -> None:
    w = torch.ones(4, device=d, requires_grad=True)
    w.grad = torch.ones(4)


@probe("validate_outputs", raises="expected device cuda:0 but got cpu", confidence="M")
def backward_gradient(d: Device) -> None:
    w = torch.ones(4, device=d, requires_grad=True)
    (w * 2).backward(torch.ones(4))


@probe("nn.Module.to moves parameters and buffers")
def lstm_ok(x: Tensor, d: Device) -> None:
    m = nn.LSTM(4, 5, batch_first=True).to(d)
    o, (h, _cc) = m(x[None])
    assert o.is_cuda
    assert h.is_cuda
    o.sum().backward()
    assert m.weight_ih_l0.grad.is_cuda


@probe(
    "check_attributes",
    raises="Input and (parameter|hidden) tensors are not at the same device, found input tensor at "
    "cpu and parameter tensor at cuda:0",
)
def lstm_input_cpu(c: Tensor, d: Device) -> None:
    nn.LSTM(4, 5).to(d)(c[None])


@probe(
    "nn.Module.to moves parameters and buffers",
    raises="Input and hidden tensors are not at the same device, found input tensor at "
    "cuda:0 and hidden tensor at cpu",
)
def lstm_hidden_cpu(x: Tensor, d: Device) -> None:
    nn.LSTM(4, 5).to(d)(x[None], (torch.zeros(1, 3, 5), torch.zeros(1, 3, 5)))


@probe(
    "nn.Module.to moves parameters and buffers", raises="Input and hidden tensors are not at the same device"
)
def gru_hidden_cpu(x: Tensor, d: Device) -> None:
    nn.GRU(4, 5).to(d)(x[None], torch.zeros(1, 3, 5))


@probe("nn.Module.to moves parameters and buffers", raises=SAME, confidence="M")
def lstmcell(x: Tensor, d: Device) -> None:
    nn.LSTMCell(4, 5).to(d)(x, (torch.zeros(3, 5), torch.zeros(3, 5)))


@probe(
    "nn.Module.to moves parameters and buffers",
    raises="'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
)
def pack_lengths_cuda(x: Tensor, d: Device) -> None:
    nn.utils.rnn.pack_padded_sequence(x[:, :, None], torch.tensor([4, 3, 2], device=d), batch_first=True)


@probe("nn.Module.to moves parameters and buffers")
def pack_ok(x: Tensor, d: Device) -> None:
    p = nn.utils.rnn.pack_padded_sequence(x[:, :, None], torch.tensor([4, 3, 2]), batch_first=True)
    assert p.data.is_cuda
    assert p.batch_sizes.is_cpu
    o, _h = nn.LSTM(1, 2, batch_first=True).to(d)(p)
    y, lengths = nn.utils.rnn.pad_packed_sequence(o, batch_first=True)
    assert y.is_cuda
    assert lengths.is_cpu
    lengths.numpy()


@probe("nn.Module.to moves parameters and buffers")
def mha(x: Tensor, d: Device) -> None:
    m = nn.MultiheadAttention(4, 2, batch_first=True).to(d)
    o, _w = m(x[None], x[None], x[None])
    assert o.is_cuda


@probe("nn.Module.to moves parameters and buffers", raises=SAME + "|device")
def mha_mask_cpu(x: Tensor, d: Device) -> None:
    m = nn.MultiheadAttention(4, 2, batch_first=True).to(d)
    m(x[None], x[None], x[None], attn_mask=torch.zeros(3, 3))


@probe("nn.Module.to moves parameters and buffers", raises=SAME)
def mha_query_cpu(c: Tensor, d: Device) -> None:
    m = nn.MultiheadAttention(4, 2, batch_first=True).to(d)
    m(c[None], c[None], c[None])


@probe("nn.Module.to moves parameters and buffers")
def sdpa(x: Tensor) -> None:
    q = x[None, None]
    assert nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).is_cuda


@probe("nn.Module.to moves parameters and buffers", raises=SAME + "|device")
def sdpa_mixed(x: Tensor, c: Tensor) -> None:
    q = x[None, None]
    nn.functional.scaled_dot_product_attention(q, c[None, None], c[None, None])


@probe("nn.Module.to moves parameters and buffers", raises=SAME + "|device")
def sdpa_mask_cpu(x: Tensor) -> None:
    q = x[None, None]
    nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(3, 3))


@probe("nn.Module.to moves parameters and buffers")
def transformer_layer(x: Tensor, d: Device) -> None:
    m = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).to(d)
    m(x[None]).sum().backward()
    m.eval()
    with torch.no_grad():
        assert m(x[None]).is_cuda


@probe("nn.Module.to moves parameters and buffers", raises=SAME + "|device")
def causal_mask_on_cpu(x: Tensor, d: Device) -> None:
    m = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).to(d)
    m(x[None], src_mask=nn.Transformer.generate_square_subsequent_mask(3))


@probe("nn.Module.to moves parameters and buffers")
def clip_grad(x: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2).to(d)
    m(x).sum().backward()
    assert nn.utils.clip_grad_norm_(m.parameters(), 1.0).is_cuda


@probe("python check: TypeError", raises="different devices")
def params_to_vector(x: Tensor, c: Tensor) -> None:
    nn.utils.parameters_to_vector([x, c])


@probe("nn.Module.to moves parameters and buffers")
def weight_norm(x: Tensor, d: Device) -> None:
    m = nn.utils.parametrizations.weight_norm(nn.Linear(4, 2)).to(d)
    assert m(x).is_cuda


@probe("targets and lengths on CPU allowed (cudnn)", confidence="M")
def ctc(d: Device) -> None:
    nn.functional.ctc_loss(
        torch.randn(5, 2, 4, device=d).log_softmax(2),
        torch.tensor([[1, 2], [1, 2]]),
        torch.tensor([5, 5]),
        torch.tensor([2, 2]),
    )

"""The dtypes. Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.dtype."""

from __future__ import annotations

DTYPES = frozenset(
    "torch." + name
    for name in (
        "float32 float float64 double float16 half bfloat16 complex32 chalf complex64 cfloat complex128 cdouble uint8 uint16 uint32 "
        "uint64 int8 int16 short int32 int int64 long bool quint8 qint8 qint32 quint4x2 float8_e4m3fn float8_e5m2 "
        "float8_e4m3fnuz float8_e5m2fnuz"
    ).split()
)
"""Names of dtypes under `torch`."""

"""Descriptors of tensors: tiles are fetched whole by the copy engine (TMA), so that a kernel computes no
pointers, and what lies outside the tensor reads 0 (NVIDIA GPUs of capability 9.0 and newer).
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels.checks import Laid
from kernels.configs import DeviceLimits

OLDEST_WITH_TMA = (9, 0)
_UNIT_BYTES = 16  # of which a descriptor's addresses and strides are multiples


def describable(limits: DeviceLimits, *tensors: Laid) -> bool:
    """Whether the device fetches tiles by descriptors, and tensors that lie so have them: 16-bit or float8,
    columns or rows adjacent, all other strides multiples of 16 bytes.
    """
    has_tma = limits.capability >= OLDEST_WITH_TMA and torch.version.hip is None
    return has_tma and all(map(_lies_well, tensors))


@lru_cache(maxsize=1024)
def _lies_well(laid: Laid) -> bool:
    try:
        _shape_and_strides(laid)
    except ValueError:
        return False
    return True


def descriptor_of(tensor: Tensor, laid: Laid, rows: int, columns: int) -> TensorDescriptor:
    """The descriptor of a tensor [batch, heads, length, head_dim] that lies so, for tiles of one head [rows,
    columns]. Raises ValueError for one that is not describable.
    """
    shape, strides = _shape_and_strides(laid)
    rows_adjacent = laid.strides[3] != 1
    tile = [1, 1, columns, rows] if rows_adjacent else [1, 1, rows, columns]
    return TensorDescriptor(tensor, shape, strides, tile)


@lru_cache(maxsize=1024)
def _shape_and_strides(laid: Laid) -> tuple[list[int], list[int]]:
    """As the descriptor has them: what is adjacent comes last. An axis of one has any stride."""
    bytes_each = laid.dtype.itemsize
    shape = list(laid.shape)
    strides = [
        _UNIT_BYTES if size == 1 and axis < 3 else stride
        for axis, (size, stride) in enumerate(zip(shape, laid.strides, strict=True))
    ]
    if strides[3] != 1 and strides[2] == 1:
        shape[2:], strides[2:] = shape[:1:-1], strides[:1:-1]
    whole = all(stride > 0 and stride * bytes_each % _UNIT_BYTES == 0 for stride in strides[:3])
    if not (whole and strides[3] == 1 and laid.aligned and bytes_each <= 2):
        raise ValueError(
            f"a tensor fetched by TMA must be of at most 2 bytes an element, begin at and have strides of "
            f"multiples of {_UNIT_BYTES} bytes, got {laid.dtype} with strides {laid.strides}"
        )
    return shape, strides

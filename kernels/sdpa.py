"""PyTorch's scaled_dot_product_attention, forced to one backend; that backend runs, or nothing does."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from kernels.inputs import Inputs
from kernels.provider import GRADIENTS, OUTPUT, Prepare, Prepared

BACKENDS = {
    "math": SDPBackend.MATH,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
# Only these know a bottom-right diagonal of a problem that is not square; the others are given it as a mask.
_KNOWS_BOTTOM_RIGHT = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)


def sdpa(name: str, direction: str) -> Prepare:
    """How the backend of that name, one of BACKENDS, is bound to a problem."""
    prepare = {"forward": _forward, "decode": _forward, "backward": _backward, "both": _both}[direction]
    return lambda inputs: prepare(inputs, BACKENDS[name])


def _forward(inputs: Inputs, backend: SDPBackend) -> Prepared:
    attend = _attend(inputs, backend)
    return Prepared(lambda: (attend(inputs.q, inputs.k, inputs.v),), OUTPUT[:1], _config(inputs))


def _backward(inputs: Inputs, backend: SDPBackend) -> Prepared:
    """Gradients by autograd, of a graph that is built once; nothing is gathered in .grad (hard case C49)."""
    leaves = _leaves(inputs)
    with torch.enable_grad():
        out = _attend(inputs, backend)(*leaves)

    def call() -> tuple[Tensor, ...]:
        return torch.autograd.grad(out, leaves, inputs.dout, retain_graph=True)

    return Prepared(call, GRADIENTS, _config(inputs), capturable=False)


def _both(inputs: Inputs, backend: SDPBackend) -> Prepared:
    leaves, attend = _leaves(inputs), _attend(inputs, backend)

    def call() -> tuple[Tensor, ...]:
        with torch.enable_grad():
            out = attend(*leaves)
        return torch.autograd.grad(out, leaves, inputs.dout)

    return Prepared(call, GRADIENTS, _config(inputs), capturable=False)


def _leaves(inputs: Inputs) -> list[Tensor]:
    return [tensor.detach().requires_grad_() for tensor in (inputs.q, inputs.k, inputs.v)]


def _config(inputs: Inputs) -> str:
    return "" if inputs.shape.query_heads == inputs.shape.kv_heads else "enable_gqa, keys not expanded"


def _attend(inputs: Inputs, backend: SDPBackend) -> Callable[..., Tensor]:
    shape = inputs.shape
    square = (
        shape.query_len == shape.key_len
    )  # there top-left, which is_causal means, and bottom-right are one
    mask = _mask(inputs, backend) if shape.window or (shape.causal and not square) else None

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=mask,
                is_causal=shape.causal and mask is None,
                enable_gqa=shape.query_heads != shape.kv_heads,
            )

    return attend


def _mask(inputs: Inputs, backend: SDPBackend) -> Tensor | None:
    shape = inputs.shape
    if shape.window is None and shape.query_len == 1:
        return None  # the last query sees every key
    if shape.window is None and backend in _KNOWS_BOTTOM_RIGHT:
        return causal_lower_right(shape.query_len, shape.key_len)
    ones = torch.ones(shape.query_len, shape.key_len, dtype=torch.bool, device=inputs.q.device)
    last = shape.key_len - shape.query_len  # key that query 0 sees last
    seen = ones.tril(last)  # True: attend
    return seen if shape.window is None else seen.triu(last - shape.window + 1)

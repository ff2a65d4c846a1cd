"""Everything that can be timed. Each solves the given problem itself or says why it cannot; none is ever
substituted.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernels.attention import attention
from kernels.checks import Laid, limits_of
from kernels.configs import (
    KernelConfig,
    choose_config,
    decode_shared_bytes,
    flash_v1_configs,
    flash_v1_shared_bytes,
    standard_shared_bytes,
    unsplit_configs,
)
from kernels.flash_decoding import choose_splits, decode_unsplit, flash_decoding, flash_decoding_config
from kernels.flash_v1 import flash_v1_forward
from kernels.flash_v2 import flash_v2_config, flash_v2_forward
from kernels.float8 import prepare_flash_v2_fp8, prepare_transpose
from kernels.gradients import flash_v2_backward, flash_v2_backward_config
from kernels.inputs import Inputs
from kernels.problem import Layout, pose
from kernels.provider import GRADIENTS, OUTPUT, Prepare, Prepared, Provider
from kernels.read_only import parities_of, read_only
from kernels.results import OFFERED, Judged, Verdict
from kernels.sdpa import BACKENDS, sdpa
from kernels.standard import standard_forward


def provider_of(name: str, direction: str = "forward") -> Provider:
    """The implementation of that id, one of results.OFFERED in that direction."""
    prepare = sdpa(name, direction) if name in BACKENDS else _OURS[direction, name]
    return Provider(name, OFFERED[direction][name], prepare)


def prepare_flash_v2(inputs: Inputs, config: KernelConfig | None = None) -> Prepared:
    """FlashAttention-2's forward, by default with the configuration that it would choose."""
    config = config or flash_v2_config(_layout(inputs))
    return Prepared(partial(flash_v2_forward, **_posed(inputs), config=config), OUTPUT, str(config))


def _flash_v1(inputs: Inputs) -> Prepared:
    limits, configs = limits_of(inputs.q.device), flash_v1_configs(inputs.shape)
    config = choose_config(inputs.shape, limits, configs, bound=flash_v1_shared_bytes)
    return Prepared(partial(flash_v1_forward, **_posed(inputs), config=config), OUTPUT, str(config))


def _standard(inputs: Inputs) -> Prepared:
    config = choose_config(inputs.shape, limits_of(inputs.q.device), bound=standard_shared_bytes)
    forward = partial(standard_forward, **_posed(inputs), config=config)
    return Prepared(lambda: (forward(),), OUTPUT[:1], str(config))


def _attention(*, gradients: bool) -> Prepare:
    """The one call as a user of it has it; what gradients need is kept, and none is taken."""

    def prepare(inputs: Inputs) -> Prepared:
        shape = inputs.shape
        tensors = [t.detach().requires_grad_(gradients) for t in (inputs.q, inputs.k, inputs.v)]

        def call() -> tuple[Tensor, ...]:
            return attention(*tensors, causal=shape.causal, window=shape.window, return_lse=True)

        def call_with_gradients() -> tuple[Tensor, ...]:
            with torch.enable_grad():
                return call()

        return Prepared(
            call_with_gradients if gradients else call, OUTPUT, "attention()", capturable=not gradients
        )

    return prepare


def prepare_backward(inputs: Inputs, config: KernelConfig | None = None, *, atomic: bool = False) -> Prepared:
    """The gradients from dO, by default with the configuration that they would choose."""
    assert inputs.dout is not None
    posed = _posed(inputs)
    config = config or flash_v2_backward_config(_layout(inputs), Laid.of(inputs.dout))
    out, lse = flash_v2_forward(**posed)
    backward = partial(flash_v2_backward, **posed, out=out, lse=lse, dout=inputs.dout)
    return Prepared(partial(backward, atomic=atomic, config=config), GRADIENTS, str(config))


def _both(inputs: Inputs) -> Prepared:
    """The one differentiable call and autograd, as a user of it has them."""
    shape = inputs.shape
    leaves = [tensor.detach().requires_grad_() for tensor in (inputs.q, inputs.k, inputs.v)]

    def call() -> tuple[Tensor, ...]:
        with torch.enable_grad():
            out = attention(*leaves, causal=shape.causal, window=shape.window, implementation="flash_v2")
        return torch.autograd.grad(out, leaves, inputs.dout)

    return Prepared(call, GRADIENTS, "attention() and autograd", capturable=False)


def prepare_flash_decoding(inputs: Inputs, config: KernelConfig | None = None) -> Prepared:
    """Flash-Decoding, by default with the configuration that it would choose; always with its splits."""
    layout = _layout(inputs)
    config = config or flash_decoding_config(layout)
    splits = choose_splits(inputs.shape, config, layout.limits)
    call = partial(flash_decoding, **_posed(inputs), splits=splits, config=config)
    return Prepared(call, OUTPUT, f"{config}, {splits} splits")


def _decode_unsplit(inputs: Inputs) -> Prepared:
    limits, shape = limits_of(inputs.q.device), inputs.shape
    config = choose_config(shape, limits, unsplit_configs(shape), bound=decode_shared_bytes)
    busy = min(shape.batch * shape.query_heads, limits.sm_count)
    call = partial(decode_unsplit, **_posed(inputs), config=config)
    return Prepared(call, OUTPUT, f"{config}, at most {busy} of {limits.sm_count} SMs busy")


def _read_only(inputs: Inputs) -> Prepared:
    right = parities_of(inputs.k, inputs.v)

    def judge(given: tuple[Tensor, ...]) -> tuple[Judged, ...]:
        wrong = int((given[0] != right).sum())
        reason = f"{wrong} of {right.numel()} pieces were not read whole" if wrong else ""
        return (Judged("parities", Verdict(correct=not wrong, reason=reason)),)

    return Prepared(lambda: (read_only(inputs.k, inputs.v),), ("parities",), judge=judge)


def _layout(inputs: Inputs) -> Layout:
    return pose(**_posed(inputs)).layout


def _posed(inputs: Inputs) -> dict[str, Any]:
    """What every launcher of ours takes of a problem."""
    shape = inputs.shape
    return {"q": inputs.q, "k": inputs.k, "v": inputs.v, "causal": shape.causal, "window": shape.window}


_OURS: dict[tuple[str, str], Prepare] = {
    ("forward", "flash_v2"): prepare_flash_v2,
    ("forward", "flash_v1"): _flash_v1,
    ("forward", "standard"): _standard,
    ("forward", "flash_v2_fp8"): prepare_flash_v2_fp8,
    ("forward", "transpose_v_fp8"): prepare_transpose,
    ("forward", "attention"): _attention(gradients=False),
    ("forward", "attention_with_gradients"): _attention(gradients=True),
    ("backward", "flash_v2"): prepare_backward,
    ("backward", "flash_v2_atomic"): partial(prepare_backward, atomic=True),
    ("both", "flash_v2"): _both,
    ("decode", "flash_decoding"): prepare_flash_decoding,
    ("decode", "decode_unsplit"): _decode_unsplit,
    ("decode", "read_only"): _read_only,
}

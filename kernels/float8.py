"""FlashAttention-2 on inputs rounded to float8_e4m3fn, beside the 16-bit problem that they come from; and the
transpose of V that it needs, by itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernels.checks import with_keys_adjacent
from kernels.flash_v2 import flash_v2_config, flash_v2_forward
from kernels.inputs import Inputs, references_of
from kernels.problem import pose
from kernels.provider import OUTPUT, Prepared
from kernels.reference import exact_attention
from kernels.results import Judged, Verdict
from kernels.yardstick import judge_by

FLOAT8 = torch.float8_e4m3fn


def prepare_flash_v2_fp8(inputs: Inputs) -> Prepared:
    """Rounding and the transpose of V are not timed. Judged on the rounded inputs; the config also says how
    far the output is from the truth about the inputs before they were rounded.
    """
    rounded = _rounded(inputs)
    v = with_keys_adjacent(rounded.v)
    mask: dict[str, Any] = {"causal": inputs.shape.causal, "window": inputs.shape.window}
    config = flash_v2_config(pose(rounded.q, rounded.k, v, float8=True, **mask).layout)
    call = partial(flash_v2_forward, rounded.q, rounded.k, v, config=config, **mask)
    error = _error_of_rounding(call()[0], inputs)
    return Prepared(
        call,
        OUTPUT,
        f"{config}, keys of V adjacent, output float16, error {error:.1e} of the inputs before rounding",
        dtype=FLOAT8,
        judge=lambda given: judge_by(references_of(rounded), OUTPUT, given),
    )


def prepare_transpose(inputs: Inputs) -> Prepared:
    """V from rows of head_dim to keys adjacent."""
    v = inputs.v.to(FLOAT8)

    def judge(given: tuple[Tensor, ...]) -> tuple[Judged, ...]:
        same = torch.equal(given[0].view(torch.uint8), v.view(torch.uint8))
        return (Judged("v", Verdict(correct=same, reason="" if same else "not the values of V")),)

    return Prepared(lambda: (with_keys_adjacent(v),), ("v",), "keys adjacent", dtype=FLOAT8, judge=judge)


def _rounded(inputs: Inputs) -> Inputs:
    shape = replace(inputs.shape, element_bytes=FLOAT8.itemsize)
    return Inputs(shape, inputs.q.to(FLOAT8), inputs.k.to(FLOAT8), inputs.v.to(FLOAT8), dout=None)


def _error_of_rounding(out: Tensor, inputs: Inputs) -> float:
    """||out - exact|| / ||exact||, where exact is of the inputs before they were rounded."""
    exact, _ = exact_attention(
        inputs.q, inputs.k, inputs.v, causal=inputs.shape.causal, window=inputs.shape.window
    )
    return ((out.double() - exact).norm() / exact.norm()).item()

"""What a tensor is judged by: the truth, what a plain implementation of the same precision makes of it, and
the size of the values that are summed, whose float32 roundings are allowed besides. One rule for the bench
and for the tests; docs/kernels.md gives the reason of each allowance, tests/kernels/test_yardstick.py shows
that none hides a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import torch
from torch import Tensor

from kernels.reference import (
    exact_attention,
    exact_gradients,
    plain_attention,
    plain_gradients,
    scale_of,
)
from kernels.results import Judged, Verdict
from kernels.verdict import judge


@dataclass(frozen=True, slots=True)
class Reference:
    """What is right for one tensor, and the yardstick (kernels.verdict)."""

    tensor: str  # "out", "lse", "dq", "dk" or "dv"
    exact: Tensor  # in float64
    plain: Tensor  # what a plain implementation of the same precision makes of it
    size: float  # of the values that it is a mean or a sum of, as their root mean square


def output_references(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool,
    window: int | None = None,
    scale: float | None = None,
    splits: int = 1,
) -> tuple[Reference, Reference]:
    """Of out and of lse; shapes and mask as in `flash_v2_forward`. `splits` is how many pieces of the keys an
    implementation may merge by their rounded log-sum-exps.
    """
    mask: dict[str, Any] = {"causal": causal, "window": window, "scale": scale}
    exact, exact_lse = exact_attention(q, k, v, **mask)
    plain, _ = plain_attention(q, k, v, **mask)
    # A log-sum-exp is float32; but a tensor core sums products of float8 in about 14 bits, so it is held to
    # scores in float16 there.
    scores_in = torch.float16 if q.dtype.itemsize == 1 else torch.float32
    plain_lse = plain_attention(*(t.to(scores_in) for t in (q, k, v)), **mask)[1].float()
    size = _rms(v)
    if splits > 1:  # a weight of rounded log-sum-exps is wrong by as many roundings as those are large
        size = max(size, _rms_of_seen(exact_lse) * min(size, _rms(exact) * sqrt(splits)))
    # Where a log-sum-exp is near 0, the terms that cancelled were scores.
    score = abs(scale_of(q, scale)) * sqrt(q.shape[-1]) * _rms(q) * _rms(k)
    lse_size = _rms_of_seen(exact_lse) + score
    return Reference("out", exact, plain, size), Reference("lse", exact_lse, plain_lse, lse_size)


def gradient_references(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dout: Tensor,
    *,
    causal: bool,
    window: int | None = None,
    scale: float | None = None,
) -> tuple[Reference, Reference, Reference]:
    """Of dq, dk and dv.

    They sum rows of k, q and dO, the first two times the scale and a product of rows of dO and v; these may
    cancel wholly, as with one key, where dS = 0. What the forward saved is rounded too: a log-sum-exp above 1
    by more than 1, and so is each weight made from it, and an output in its own dtype, by a quarter of the
    four roundings that a verdict allows.
    """
    mask: dict[str, Any] = {"causal": causal, "window": window, "scale": scale}
    exact = exact_gradients(q, k, v, dout, **mask)
    plain = plain_gradients(q, k, v, dout, **mask)
    out, lse = exact_attention(q, k, v, **mask)
    size, head_dim = max(1.0, _rms_of_seen(lse)), q.shape[-1]
    saved = _rms(out) * torch.finfo(q.dtype).eps / torch.finfo(torch.float32).eps / 4
    dscores = abs(scale_of(q, scale)) * _rms(dout) * (head_dim * _rms(v) * size + sqrt(head_dim) * saved)
    sizes = _rms(k) * dscores, _rms(q) * dscores, _rms(dout) * size
    dq, dk, dv = map(Reference, ("dq", "dk", "dv"), exact, plain, sizes)
    return dq, dk, dv


def judge_by(
    references: Sequence[Reference], gives: Sequence[str], given: Sequence[Tensor]
) -> tuple[Judged, ...]:
    """The verdict on each of the tensors, named by `gives`, that there is a reference for."""
    return tuple(
        Judged(name, _verdict_on(tensor, right))
        for name, tensor in zip(gives, given, strict=True)
        for right in references
        if right.tensor == name
    )


def _verdict_on(tensor: Tensor, right: Reference) -> Verdict:
    """The verdict on a tensor. The log-sum-exp of a row that sees no key is -inf, and is right so."""
    exact, plain = right.exact, right.plain
    unseeing = exact == -inf
    if right.tensor == "lse" and tensor.shape == exact.shape and bool(unseeing.any()):
        tensor = torch.where(unseeing, torch.where(tensor == -inf, 0.0, torch.nan), tensor)
        exact, plain = (t.masked_fill(unseeing, 0.0) for t in (exact, plain))
    return judge(tensor, exact, plain, size=right.size)


def _rms_of_seen(lse: Tensor) -> float:
    """Of rows that see a key; 0 where none does."""
    seen = lse[lse > -inf]
    return _rms(seen[None]) if seen.numel() else 0.0


def _rms(tensor: Tensor) -> float:
    """Batch by batch: of 17 GB of V there is no room for a copy in float64."""
    squares = torch.stack([torch.linalg.vector_norm(batch.double()) ** 2 for batch in tensor])
    return sqrt(squares.sum().item() / tensor.numel())

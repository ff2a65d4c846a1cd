"""Correct or not, by a yardstick: as close to float64 as twice the error of a plain reference of the same
precision.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor

from kernels.results import Verdict

ALLOWED_RATIO = 2.0
# Added to the yardstick: a few roundings of the float32 inside, for where the reference happens to be nearly
# exact. They are relative to the values that are summed, since of thousands that cancel little is left.
ALLOWED_ROUNDINGS = 4 * torch.finfo(torch.float32).eps


def judge(out: Tensor, exact: Tensor, plain: Tensor, *, size: float) -> Verdict:
    """The verdict on `out`, given the float64 truth and what a plain reference in its dtype made of it.

    `size` is that of the values that are summed, as their root mean square (kernels.yardstick). Both the norm
    of the error and the largest error of an element must hold, so that one wrong row among thousands shows.
    NaN, inf, a wrong shape or dtype are never correct; neither is anything where the references themselves
    are not sound, since then there is no yardstick.
    """
    reason = _unsound(out, exact, plain)
    if reason:
        return Verdict(correct=False, reason=reason)
    norm, root_count = exact.norm().item(), sqrt(exact.numel())
    rounding = ALLOWED_ROUNDINGS * size
    error, largest_error = _errors(out, exact)
    yardstick, largest_yardstick = _errors(plain, exact)
    # A reference of few values may be right by luck; nothing need be closer than a value rounded once.
    one_rounding = torch.finfo(plain.dtype).eps / 2
    expected = max(yardstick, one_rounding * norm)
    largest_expected = max(largest_yardstick, one_rounding * exact.abs().max().item())
    near = error <= ALLOWED_RATIO * expected + rounding * root_count
    nowhere_far = largest_error <= ALLOWED_RATIO * largest_expected + rounding
    return Verdict(
        correct=near and nowhere_far,
        error=error / norm if norm else error,
        yardstick=yardstick / norm if norm else yardstick,
        largest_error=largest_error,
        largest_yardstick=largest_yardstick,
        reason="" if near and nowhere_far else _where_worst(out, exact),
    )


def _unsound(out: Tensor, exact: Tensor, plain: Tensor) -> str:
    for what, tensor in (("reference in float64", exact), ("reference of the same precision", plain)):
        if tensor.shape != exact.shape or not tensor.isfinite().all():
            return f"no yardstick: the {what} is not finite"
    if out.shape != exact.shape:
        return f"shape {tuple(out.shape)}, must be {tuple(exact.shape)}"
    if out.dtype != plain.dtype:
        return f"dtype {out.dtype}, must be {plain.dtype}"
    bad = ~out.isfinite()
    count = int(bad.sum())
    if count:
        first = _index(bad, int(bad.flatten().int().argmax()))
        return f"{count} of {out.numel()} values are NaN or inf, the first at {first}"
    return ""


def _errors(out: Tensor, exact: Tensor) -> tuple[float, float]:
    difference = out.to(torch.float64) - exact
    return difference.norm().item(), difference.abs().max().item()


def _where_worst(out: Tensor, exact: Tensor) -> str:
    worst = _index(exact, int((out.to(torch.float64) - exact).abs().argmax()))
    return f"worst at {worst}: {out[worst].item():.6g}, must be {exact[worst].item():.6g}"


def _index(tensor: Tensor, flat: int) -> tuple[int, ...]:
    return tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), tensor.shape))

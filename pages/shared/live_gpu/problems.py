"""The settings of the Live GPU page as problems: what a bench is asked, and which results answer it."""

from __future__ import annotations

from collections.abc import Iterable

from kernels.plan import ELEMENT_BYTES
from kernels.results import BenchResult
from pages.shared.live_gpu.settings import (
    HIDDEN,
    TOKENS,
    Settings,
    has_own_size,
    implementations,
    is_decode,
    lengths,
)
from simulator.problem import AttentionShape


def shape_at(settings: Settings, length: int) -> AttentionShape:
    """The problem at a length, as the bench poses it."""
    head_dim, own = int(settings.head_dim), has_own_size(settings)
    heads = settings.heads if own else HIDDEN // head_dim
    return AttentionShape(
        query_len=1 if is_decode(settings) else length,
        key_len=length,
        head_dim=head_dim,
        causal=settings.causal and not is_decode(settings),
        batch=settings.batch if own else max(1, TOKENS // length),
        query_heads=heads,
        kv_heads=settings.kv_heads if own else heads,
        element_bytes=ELEMENT_BYTES[settings.dtype],
    )


def arguments(settings: Settings) -> list[str]:
    """The settings as arguments of `python -m kernels.bench`."""
    causal = settings.causal and not is_decode(settings)
    sizes = (
        [
            f"--batches={settings.batch}",
            f"--hidden={settings.heads * int(settings.head_dim)}",
            f"--kv-heads={settings.kv_heads}",
        ]
        if has_own_size(settings)
        else [f"--tokens={TOKENS}", f"--hidden={HIDDEN}"]
    )
    return [
        f"--direction={settings.direction}",
        f"--dtype={settings.dtype}",
        f"--head-dims={settings.head_dim}",
        f"--causal={'yes' if causal else 'no'}",
        f"--lengths={','.join(map(str, lengths(settings)))}",
        *sizes,
        f"--implementations={','.join(implementations(settings))}",
    ]


def select(results: Iterable[BenchResult], settings: Settings) -> list[BenchResult]:
    """The results of the problems and implementations asked for."""
    shapes = {shape_at(settings, length) for length in lengths(settings)}
    names = implementations(settings)
    return [
        result
        for result in results
        if (result.direction, result.dtype) == (settings.direction, settings.dtype)
        and result.implementation in names
        and result.shape in shapes
    ]

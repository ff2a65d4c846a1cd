"""The calls whose bytes are counted: which implementation, problem and configuration. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.configs import KernelConfig
from kernels.formulas import (
    Moved,
    decode_bytes,
    flash_v1_bytes,
    flash_v2_bytes,
    standard_bytes,
)
from simulator.launch import Order
from simulator.problem import AttentionShape, TileShape


@dataclass(frozen=True, slots=True)
class Case:
    """One call. `config` None: what the kernel chooses, or code that is not ours."""

    name: str
    implementation: str
    shape: AttentionShape
    config: KernelConfig | None = None
    order: Order = Order.LONGEST_FIRST


BOUNDARY = "case_boundary"  # the kernel that is launched before each case


@dataclass(frozen=True, slots=True)
class Note:
    """What a case turned out to be when it was run."""

    config: str = ""
    splits: int = 1  # of the keys of a decode
    unavailable: str = ""


def _sixteen_heads(batch: int, *, causal: bool = False) -> AttentionShape:
    return AttentionShape(4096, 4096, 64, causal=causal, batch=batch, query_heads=16, kv_heads=16)


_FULL, _LARGE, _CAUSAL = _sixteen_heads(4), _sixteen_heads(8), _sixteen_heads(4, causal=True)
_DECODE = AttentionShape(1, 65_536, 128, query_heads=32, kv_heads=8)
_BC_64, _BC_128 = KernelConfig(64, 64, 4, 2), KernelConfig(64, 128, 4, 2)
CASES: tuple[Case, ...] = (
    Case("standard", "standard", _FULL, _BC_64),
    Case("flash_v1_bc64", "flash_v1", _FULL, _BC_64),
    Case("flash_v1_bc128", "flash_v1", _FULL, _BC_128),
    Case("flash_v1_bc64_b8", "flash_v1", _LARGE, _BC_64),
    Case("flash_v1_bc128_b8", "flash_v1", _LARGE, _BC_128),
    Case("flash_v2_64x64", "flash_v2", _FULL, _BC_64),
    Case("flash_v2_128x64", "flash_v2", _FULL, KernelConfig(128, 64, 4, 2)),
    *(
        Case(f"flash_v2_causal_{order.value}", "flash_v2", _CAUSAL, _BC_64, order)
        for order in (Order.NATURAL, Order.REVERSED, Order.LONGEST_FIRST)
    ),
    Case("sdpa_flash", "flash", _FULL),
    Case("sdpa_cudnn", "cudnn", _FULL),
    Case("sdpa_efficient", "efficient", _FULL),
    Case("flash_decoding_64k", "flash_decoding", _DECODE),
    Case("decode_unsplit_64k", "decode_unsplit", _DECODE),
    Case("read_only_64k", "read_only", _DECODE),
)


def algorithmic_bytes(case: Case, *, splits: int = 1) -> Moved | None:
    """What the case's walk loads and stores; None of code whose walk is not ours. `splits` of a decode."""
    if case.implementation == "flash_decoding":
        return decode_bytes(case.shape, splits)
    walk = {"standard": standard_bytes, "flash_v1": flash_v1_bytes, "flash_v2": flash_v2_bytes}
    if case.implementation not in walk or case.config is None:
        return None
    return walk[case.implementation](case.shape, TileShape(case.config.query_rows, case.config.key_rows))

"""Tiles, warps and stages of a kernel, chosen from what the device can do, never from its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil

from simulator.problem import AttentionShape

_LONG = 2048  # queries from which on larger tiles gain more than their coarser grid loses
_LONG_PRODUCTS, _LONG_BYTES = 1 << 31, 1 << 24  # 20 and 14 us of an H200, whose host needs 15 more by TMA
_BARRIER_BYTES = 2048  # what the compiler adds; seen: 1024 on capability 10.0
OLDEST_CAPABILITY = (7, 5)  # Triton's compiler aborts the process on older ones


@dataclass(frozen=True, slots=True)
class KernelConfig:
    """How a kernel is cut up. Rows are powers of two, at least 16."""

    query_rows: int  # BLOCK_M, Br
    key_rows: int  # BLOCK_N, Bc
    warps: int
    stages: int  # tiles of K and of V in flight
    tma: bool = False  # whether those are fetched by descriptors (kernels.descriptors) and not by pointers

    def __str__(self) -> str:
        loads = ", by TMA" if self.tma else ""
        return f"tile {self.query_rows}x{self.key_rows}, {self.warps} warps, {self.stages} stages{loads}"


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What a choice of configuration depends on."""

    capability: tuple[int, int]
    shared_bytes: int  # the most one block may use, opted in
    l2_bytes: int
    sm_count: int


_FLOAT8_CONFIGS = KernelConfig(128, 64, 4, 3), KernelConfig(64, 64, 4, 2), KernelConfig(32, 32, 4, 1)
SharedBytes = Callable[[KernelConfig, AttentionShape], int]
INTERPRETER_LIMITS = DeviceLimits(capability=(9, 0), shared_bytes=232_448, l2_bytes=1 << 20, sm_count=2)


def padded_head_dim(head_dim: int, element_bytes: int = 2) -> int:
    """Columns of a tile on chip: the next power of two, at least 16, and 32 of one byte."""
    return max(32 if element_bytes == 1 else 16, 1 << (head_dim - 1).bit_length())


def shared_bytes(config: KernelConfig, shape: AttentionShape) -> int:
    """Shared memory that the forward kernel needs at most: a Q tile, K and V tiles for each stage, barriers;
    and P in float8, which capability 10.0 multiplies from there.
    """
    row_bytes = padded_head_dim(shape.head_dim, shape.element_bytes) * shape.element_bytes
    p_bytes = config.query_rows * config.key_rows if shape.element_bytes == 1 else 0
    return row_bytes * (config.query_rows + 2 * config.stages * config.key_rows) + p_bytes + _BARRIER_BYTES


def forward_configs(shape: AttentionShape, *, tma: bool = False) -> tuple[KernelConfig, ...]:
    """Configurations of the forward kernel: the fastest on an H200 first, then ever smaller ones; with `tma`
    such as fetch tiles by descriptors.
    """
    columns = padded_head_dim(shape.head_dim, shape.element_bytes)
    if tma:
        return _tma_configs(shape, columns)
    if shape.element_bytes == 1:
        return _FLOAT8_CONFIGS
    return (
        _float32_configs(columns)
        if shape.element_bytes >= 4
        else _float16_configs(columns, shape.query_len >= _LONG)
    )


def _tma_configs(shape: AttentionShape, columns: int) -> tuple[KernelConfig, ...]:
    smaller = _by_tma(64, 64, 4, 2), _by_tma(32, 32, 4, 1)
    if shape.element_bytes == 1:
        return (_by_tma(64, 64, 4, 3) if shape.causal else _by_tma(64, 128, 4, 2)), *smaller
    if columns > 128:
        return _by_tma(128, 64, 8, 2), *smaller
    if columns > 64:
        return _by_tma(64, 64, 4, 3), *smaller
    if shape.causal and shape.query_len < _LONG:
        return smaller
    return _by_tma(64, 128, 4, 2), *smaller


def _by_tma(query_rows: int, key_rows: int, warps: int, stages: int) -> KernelConfig:
    return KernelConfig(query_rows, key_rows, warps, stages, tma=True)


def gains_by_tma(shape: AttentionShape) -> bool:
    """Whether the GPU is busy for longer than the host takes to make the descriptors: with products, or with
    reading keys and values.
    """
    heads = shape.batch * shape.query_heads
    products = heads * shape.query_len * shape.key_len * shape.head_dim
    kv_bytes = 2 * shape.batch * shape.kv_heads * shape.key_len * shape.head_dim * shape.element_bytes
    return products >= _LONG_PRODUCTS or kv_bytes >= _LONG_BYTES


@cache
def _float16_configs(columns: int, is_long: bool) -> tuple[KernelConfig, ...]:
    smaller = KernelConfig(64, 64, 4, 2), KernelConfig(64, 32, 4, 2), KernelConfig(32, 32, 4, 1)
    if columns > 128:
        return KernelConfig(128, 64, 8, 2), *smaller
    if columns > 64 and is_long:
        return KernelConfig(128, 128, 8, 3), KernelConfig(64, 64, 4, 3), *smaller
    return KernelConfig(64, 64, 4, 3), *smaller


@cache
def _float32_configs(columns: int) -> tuple[KernelConfig, ...]:
    smaller = KernelConfig(16, 32, 4, 1), KernelConfig(16, 16, 4, 1)
    if columns > 128:
        return KernelConfig(16, 32, 8, 1), *smaller
    return KernelConfig(32, 32, 4, 2 if columns <= 64 else 1), *smaller


def flash_v1_configs(shape: AttentionShape) -> tuple[KernelConfig, ...]:
    """Configurations of FlashAttention-1: large tiles first, since each key tile moves all of O."""
    smaller = KernelConfig(32, 32, 4, 2), KernelConfig(16, 16, 4, 2)
    return smaller if shape.element_bytes >= 4 else (KernelConfig(64, 64, 4, 2), *smaller)


def flash_v1_shared_bytes(config: KernelConfig, shape: AttentionShape) -> int:
    """Shared memory that FlashAttention-1 needs at most: K and V, Q for each stage, O in float32, P."""
    columns = max(padded_head_dim(shape.head_dim), config.key_rows)
    rows = 2 * config.key_rows + config.stages * config.query_rows
    p_bytes = config.query_rows * config.key_rows * shape.element_bytes
    return columns * (rows * shape.element_bytes + config.query_rows * 4) + p_bytes + _BARRIER_BYTES


def standard_shared_bytes(config: KernelConfig, shape: AttentionShape) -> int:
    """Shared memory that a kernel of standard attention needs at most: Q, K and S tiles in the first, P and V
    tiles for each stage in the last.
    """
    columns = padded_head_dim(shape.head_dim)
    scores = max(columns * (config.query_rows + config.key_rows), config.query_rows * config.key_rows)
    values = config.stages * config.key_rows * (config.query_rows + columns)
    return max(scores, values) * shape.element_bytes + _BARRIER_BYTES


def decode_configs(shape: AttentionShape, *, tma: bool = False) -> tuple[KernelConfig, ...]:
    """Configurations of Flash-Decoding: the rows are the queries of all heads that share a KV head; with
    `tma` such as fetch tiles by descriptors.
    """
    packed_rows = shape.query_len * shape.query_heads // shape.kv_heads
    if shape.element_bytes == 4:
        return KernelConfig(16, 32, 4, 2), KernelConfig(16, 16, 4, 1)
    rows = 16 if packed_rows <= 16 else 32 if packed_rows <= 32 else 64
    by_pointers = KernelConfig(rows, 64, 4, 3), KernelConfig(rows, 64, 4, 2), KernelConfig(16, 16, 4, 1)
    return (_by_tma(rows, 128, 4, 2), *by_pointers) if tma else by_pointers


def decode_shared_bytes(config: KernelConfig, shape: AttentionShape) -> int:
    """Shared memory that the split kernel needs at most: as the forward kernel, or twice the output in
    float32, which is more on capability 7.5, where tiles are small.
    """
    outputs = 2 * 4 * config.query_rows * padded_head_dim(shape.head_dim)
    return max(shared_bytes(config, shape), outputs + _BARRIER_BYTES)


def unsplit_configs(shape: AttentionShape) -> tuple[KernelConfig, ...]:
    """Configurations of the unsplit decode: the rows are the queries of one head. A program has an SM to
    itself, so its tiles are large.
    """
    if shape.element_bytes == 4:
        return KernelConfig(16, 32, 4, 2), KernelConfig(16, 16, 4, 1)
    return KernelConfig(16, 128, 4, 3), KernelConfig(16, 64, 4, 2), KernelConfig(16, 16, 4, 1)


def backward_configs(shape: AttentionShape, *, tma: bool = False) -> tuple[KernelConfig, ...]:
    """Configurations of the backward kernels: the fastest on an H200 first, then ever smaller ones; with
    `tma` such as fetch tiles by descriptors.
    """
    columns = padded_head_dim(shape.head_dim)
    smaller = KernelConfig(32, 32, 4, 1), KernelConfig(16, 16, 4, 1)
    if shape.element_bytes == 4:
        return (KernelConfig(16, 32, 4, 1), *smaller[1:]) if columns <= 128 else smaller[1:]
    if tma and columns <= 128:
        stages = 2 if columns > 64 else 3
        return (_by_tma(32, 64, 4, 3) if shape.causal else _by_tma(64, 64, 4, stages)), *smaller
    if columns > 128:
        return KernelConfig(32, 64, 8, 2), *smaller
    if columns > 64:
        return KernelConfig(64, 128, 8, 3), KernelConfig(64, 64, 8, 2), *smaller
    return KernelConfig(32, 64, 4, 3), *smaller


def turned_config(config: KernelConfig, shape: AttentionShape) -> KernelConfig:
    """Of the backward kernel that walks the keys past each query tile, beside the main one's: as many queries
    stay on chip as keys do there, and as many keys are in flight as queries are there, at least 64 a tile.
    By TMA, what is fastest on an H200.
    """
    if config.tma:
        return _by_tma(128, 64, 8, 3) if padded_head_dim(shape.head_dim) > 64 else _by_tma(64, 64, 4, 2)
    key_rows = max(config.query_rows, min(64, config.key_rows))
    stages = ceil(config.stages * config.query_rows / key_rows)
    return KernelConfig(config.key_rows, key_rows, config.warps, stages)


def backward_shared_bytes(config: KernelConfig, shape: AttentionShape) -> int:
    """Shared memory that a backward kernel needs at most: two tiles that stay on chip, two for each stage, P
    and dS, barriers; and a dQ tile on its way to the atomic adds, where it has too few rows for wgmma.
    """
    columns = padded_head_dim(shape.head_dim)
    turned = turned_config(config, shape)
    main_tiles = 2 * (config.key_rows + config.stages * config.query_rows) * shape.element_bytes
    turned_tiles = 2 * (turned.query_rows + turned.stages * turned.key_rows) * shape.element_bytes
    dq = 4 * config.query_rows if config.query_rows < 64 else 0
    main = columns * (main_tiles + dq) + 4 * 2 * config.query_rows * config.key_rows
    walked_by_keys = columns * turned_tiles + 4 * 2 * turned.query_rows * turned.key_rows
    return max(main, walked_by_keys) + _BARRIER_BYTES


def choose_config(
    shape: AttentionShape,
    limits: DeviceLimits,
    configs: Sequence[KernelConfig] = (),
    *,
    bound: SharedBytes = shared_bytes,
) -> KernelConfig:
    """The first of the configurations, by default the forward kernel's, that fits. Raises ValueError where
    none does.
    """
    configs = configs or forward_configs(shape)
    fitting = (config for config in configs if bound(config, shape) <= limits.shared_bytes)
    chosen = next(fitting, None)
    if chosen is None:
        check_fits(configs[-1], shape, limits, bound=bound)
    return chosen or configs[-1]


def check_fits(
    config: KernelConfig, shape: AttentionShape, limits: DeviceLimits, *, bound: SharedBytes = shared_bytes
) -> None:
    """Raises ValueError with the bytes needed and the bytes there are."""
    needed = bound(config, shape)
    if needed > limits.shared_bytes:
        raise ValueError(
            f"config ({config}) needs {needed} bytes of shared memory, has {limits.shared_bytes}"
        )


def heads_per_group(shape: AttentionShape, limits: DeviceLimits) -> int:
    """Heads that run side by side: under a causal mask at most as many as keep K and V in half of L2, in
    groups of about one size, since a small last group would leave the GPU waiting for its longest tiles;
    else one by one.
    """
    if not shape.causal:
        return 1
    kv_bytes = 2 * shape.key_len * shape.head_dim * shape.element_bytes
    kv_heads = shape.batch * shape.kv_heads
    groups = ceil(kv_heads / max(1, limits.l2_bytes // 2 // kv_bytes))
    return ceil(kv_heads / groups) * (shape.query_heads // shape.kv_heads)

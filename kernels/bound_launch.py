"""A launch to be recorded, bound to fresh tensors: what it runs, and how its programs are numbered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil

import torch
from torch import Tensor

from kernels.checks import Laid
from kernels.configs import (
    KernelConfig,
    choose_config,
    decode_shared_bytes,
    flash_v1_configs,
    flash_v1_shared_bytes,
    heads_per_group,
    turned_config,
    unsplit_configs,
)
from kernels.flash_decoding import choose_splits, flash_decoding_config, launch_flash_decoding, split_programs
from kernels.flash_v1 import launch_flash_v1
from kernels.flash_v2 import flash_v2_config, launch_flash_v2
from kernels.gradients import flash_v2_backward_config, kv_heads_per_group, launch_flash_v2_backward
from kernels.problem import Problem, new_output, pose
from kernels.recording_plan import Case
from simulator.launch import BY_COLUMN, Kernel, Order
from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """A call of one or two kernels that can note. The one that is recorded comes first."""

    run: Callable[..., None]  # takes room for the notes of each kernel, or None for each
    programs: tuple[int, ...]  # of each kernel
    config: KernelConfig
    order: Order
    heads_per_group: int = 1
    splits: int = 1


def bind_launch(case: Case, device: torch.device) -> BoundLaunch:
    """The launch on random float16 tensors. Raises ValueError for what its kernel cannot serve here."""
    shape = case.shape
    q = _random(shape, shape.query_heads, shape.query_len, device)
    k, v = (_random(shape, shape.kv_heads, shape.key_len, device) for _ in "kv")
    problem = pose(q, k, v, causal=shape.causal)
    match case.kernel:
        case Kernel.V1_FORWARD:
            return _bind_flash_v1(problem)
        case Kernel.V2_FORWARD:
            return _bind_flash_v2(problem, case.order or Order.NATURAL)
        case Kernel.FLASH_DECODING:
            return _bind_decode(problem, case.splits)
        case Kernel.UNSPLIT_DECODE:
            return _bind_unsplit_decode(problem)
        case Kernel.V2_BACKWARD | Kernel.V2_KEY_GRADIENTS | Kernel.V2_QUERY_GRADIENTS:
            return _bind_backward(problem, case.kernel)
        case _:
            raise ValueError(f"kernel must be one that we have, got {case.kernel}")


def _random(shape: AttentionShape, heads: int, length: int, device: torch.device) -> Tensor:
    return torch.randn(shape.batch, heads, length, shape.head_dim, device=device, dtype=torch.float16)


def _bind_flash_v1(problem: Problem) -> BoundLaunch:
    shape = problem.shape
    config = choose_config(shape, problem.limits, flash_v1_configs(shape), bound=flash_v1_shared_bytes)
    out, lse = new_output(problem)

    def run(events: Tensor | None) -> None:
        launch_flash_v1(problem, out, lse, config=config, events=events)

    return BoundLaunch(run, (shape.batch * shape.query_heads,), config, Order.NATURAL)


def _bind_flash_v2(problem: Problem, order: Order) -> BoundLaunch:
    shape, limits = problem.shape, problem.limits
    config, heads = flash_v2_config(problem.layout), shape.batch * shape.query_heads
    out, lse = new_output(problem)

    def run(events: Tensor | None) -> None:
        launch_flash_v2(problem, out, lse, config=config, order=order, events=events)

    group = min(heads_per_group(shape, limits), heads) if order is Order.LONGEST_FIRST else 1
    return BoundLaunch(run, (query_tile_count(shape, _tile(config)) * heads,), config, order, group)


def _bind_backward(problem: Problem, kernel: Kernel) -> BoundLaunch:
    """The whole backward, since its kernels need each other; the first and the last main one note.

    Blocks come with the tile of one number of all heads of a group: columns in order, rows last first.
    """
    shape = problem.shape
    out, lse = new_output(problem)
    launch_flash_v2(problem, out, lse, config=flash_v2_config(problem.layout))
    dout = torch.randn_like(out)
    config = flash_v2_backward_config(problem.layout, Laid.of(dout))
    turned = turned_config(config, shape)
    dq, dk, dv = (torch.empty_like(tensor) for tensor in (problem.q, problem.k, problem.v))
    atomic = kernel is Kernel.V2_BACKWARD
    launch = partial(
        launch_flash_v2_backward, problem, out, lse, dout, dq, dk, dv, atomic=atomic, config=config
    )
    by_column = key_tile_count(shape, _tile(config)) * shape.batch * shape.kv_heads
    by_row = query_tile_count(shape, _tile(turned)) * shape.batch * shape.query_heads
    if kernel in BY_COLUMN:
        group = min(kv_heads_per_group(problem), shape.batch * shape.kv_heads)
        order = Order.LONGEST_FIRST if shape.causal else Order.NATURAL
        return BoundLaunch(
            lambda events, others: launch(events=events, query_events=others),
            (by_column, by_row),
            config,
            order,
            group,
        )
    return BoundLaunch(
        lambda events, others: launch(events=others, query_events=events),
        (by_row, by_column),
        turned,
        Order.LONGEST_FIRST,
        min(heads_per_group(shape, problem.limits), shape.batch * shape.query_heads),
    )


def _bind_decode(problem: Problem, splits: int | None) -> BoundLaunch:
    shape, limits = problem.shape, problem.limits
    config = flash_decoding_config(problem.layout)
    splits = choose_splits(shape, config, limits) if splits is None else splits
    key_tiles = key_tile_count(shape, _tile(config))
    most = ceil(key_tiles / splits)
    if (splits - 1) * most >= key_tiles:
        raise ValueError(
            f"splits must leave none of {splits} without keys, got {key_tiles} key tiles in runs of {most}"
        )
    out, lse = new_output(problem)

    def run(events: Tensor | None, merge_events: Tensor | None) -> None:
        launch_flash_decoding(
            problem,
            out,
            lse,
            splits=splits,
            keys_per_split=most * config.key_rows,
            config=config,
            events=events,
            merge_events=merge_events,
        )

    packed = shape.query_heads // shape.kv_heads
    programs = split_programs(shape, config, splits=splits, packed_heads=packed), lse.numel()
    return BoundLaunch(run, programs, config, Order.NATURAL, splits=splits)


def _bind_unsplit_decode(problem: Problem) -> BoundLaunch:
    shape = problem.shape
    config = choose_config(shape, problem.limits, unsplit_configs(shape), bound=decode_shared_bytes)
    out, lse = new_output(problem)

    def run(events: Tensor | None) -> None:
        launch_flash_decoding(
            problem,
            out,
            lse,
            splits=1,
            keys_per_split=shape.key_len,
            config=config,
            packed=False,
            events=events,
        )

    programs = split_programs(shape, config, splits=1, packed_heads=1)
    return BoundLaunch(run, (programs,), config, Order.NATURAL)


def _tile(config: KernelConfig) -> TileShape:
    return TileShape(config.query_rows, config.key_rows)

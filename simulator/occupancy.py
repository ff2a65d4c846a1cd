"""How many blocks of a launch an SM holds at once, and which resource says so.

The rule is that of NVIDIA's `cuda_occupancy.h`, restated; its barrier limit is left out, since attention
kernels use too few barriers to meet it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from simulator.gpu import REGISTER_UNIT, SUB_PARTITIONS, WARP_THREADS, GpuSpec
from simulator.launch import Launch
from simulator.resources import BlockResources


class Resource(StrEnum):
    """What can keep one more block off an SM; the earlier names the limit where several give the same."""

    REGISTERS = "registers"
    SHARED = "shared"
    WARPS = "warps"
    BLOCKS = "blocks"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks resident on one SM. `limits`: how many each resource alone allows, in `Resource` order."""

    blocks_per_sm: int
    limiter: Resource
    active_fraction: float  # resident warps / warps the SM can hold
    limits: tuple[int, ...]


class CannotLaunchError(ValueError):
    """One block needs more of a resource than the GPU gives a block."""

    def __init__(self, resource: Resource, needed: int, available: int, gpu: GpuSpec) -> None:
        self.resource, self.needed, self.available, self.gpu = resource, needed, available, gpu
        unit = {Resource.SHARED: "bytes of shared memory", Resource.REGISTERS: "registers"}.get(
            resource, "warps"
        )
        super().__init__(
            f"a block on {gpu.name} must need at most {available:,} {unit}, got {needed:,}: it cannot launch"
        )


def occupancy_of(launch: Launch, gpu: GpuSpec) -> Occupancy:
    """How the blocks of a launch fill an SM. Raises `CannotLaunchError` where not even one fits."""
    return resource_occupancy(launch.resources, gpu)


def resource_occupancy(resources: BlockResources, gpu: GpuSpec) -> Occupancy:
    """The same for a block's resources alone."""
    warps = -(-resources.threads // WARP_THREADS)
    limits = (
        _register_limit(resources, warps, gpu),
        _shared_limit(resources, gpu),
        _warp_limit(warps, gpu),
        gpu.max_blocks_per_sm,
    )
    blocks = min(limits)
    limiter = list(Resource)[limits.index(blocks)]
    return Occupancy(blocks, limiter, blocks * warps / gpu.max_warps_per_sm, limits)


class Number(StrEnum):
    """A number of a block that occupancy depends on; the field of `BlockResources`."""

    REGISTERS = "registers_per_thread"
    SHARED = "shared_bytes"
    THREADS = "threads"


def blocks_by(resources: BlockResources, gpu: GpuSpec, number: Number, values: Sequence[int]) -> np.ndarray:
    """Blocks per SM with one number of a block changed, [values] int; 0 where not even one fits."""
    fields = {each.value: getattr(resources, each) for each in Number}
    changed = (BlockResources(**fields | {number.value: value}, source=resources.source) for value in values)
    return np.array([_blocks(each, gpu) for each in changed])


def _blocks(resources: BlockResources, gpu: GpuSpec) -> int:
    try:
        return resource_occupancy(resources, gpu).blocks_per_sm
    except CannotLaunchError:
        return 0


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _register_limit(resources: BlockResources, warps: int, gpu: GpuSpec) -> int:
    warp_registers = _round_up(WARP_THREADS * resources.registers_per_thread, REGISTER_UNIT)
    if warp_registers == 0:
        return gpu.max_blocks_per_sm
    needed = warp_registers * _round_up(warps, SUB_PARTITIONS)
    if needed > gpu.registers_per_sm:
        raise CannotLaunchError(Resource.REGISTERS, needed, gpu.registers_per_sm, gpu)
    warps_per_sub_partition = gpu.registers_per_sm // SUB_PARTITIONS // warp_registers
    return SUB_PARTITIONS * warps_per_sub_partition // warps


def _shared_limit(resources: BlockResources, gpu: GpuSpec) -> int:
    if resources.shared_bytes > gpu.max_shared_bytes_per_block:
        raise CannotLaunchError(Resource.SHARED, resources.shared_bytes, gpu.max_shared_bytes_per_block, gpu)
    allotted = _round_up(resources.shared_bytes + gpu.reserved_shared_bytes, gpu.shared_unit_bytes)
    return gpu.shared_bytes_per_sm // allotted if allotted else gpu.max_blocks_per_sm


def _warp_limit(warps: int, gpu: GpuSpec) -> int:
    if warps > gpu.max_warps_per_sm:
        raise CannotLaunchError(Resource.WARPS, warps, gpu.max_warps_per_sm, gpu)
    return gpu.max_warps_per_sm // warps

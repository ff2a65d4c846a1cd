"""How long each block of a launch takes: modelled from the roofline, or as a line fitted to a recorded run.

The roofline model assumes: a block computes whole tile pairs at an equal share of its SM's peak; it gets an
equal share of the HBM bandwidth, and the two overlap perfectly; shares are those of a full first wave and
stay so to the end; what resident blocks read again costs nothing if it fits in L2 together, and its full
HBM bytes if it does not; launch cost, softmax, latency and clocks are left out. So it is a lower bound,
best read as a ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Launch, block_count
from simulator.occupancy import Occupancy
from simulator.problem import AttentionShape, TileShape, tiles_of_work
from simulator.schedule import resident_per_sm

STATISTIC_BYTES = 4  # m, l and L are fp32


@dataclass(frozen=True, slots=True, eq=False)
class BlockTimes:
    """Modelled durations and what decided them."""

    durations_s: np.ndarray  # [blocks] float
    resident_per_sm: int  # blocks that share an SM's peak in the model
    rereads_in_l2: bool
    compute_bound: bool  # of the longest block


@dataclass(frozen=True, slots=True)
class FittedTime:
    """A block's time as fixed_s + per_tile_s x its key tiles."""

    fixed_s: float
    per_tile_s: float


def roofline_times(
    launch: Launch,
    shape: AttentionShape,
    tile: TileShape,
    gpu: GpuSpec,
    occupancy: Occupancy,
    order: np.ndarray,
) -> BlockTimes:
    """The larger of compute and HBM time of each block, under the module's assumptions."""
    resident = resident_per_sm(block_count(launch), gpu, occupancy)
    share = gpu.sm_count * resident
    first_wave = order[:share]
    rereads_in_l2 = _reread_bytes(launch, shape, first_wave) <= gpu.l2_bytes
    flop = 4.0 * tile.query_rows * tile.key_rows * shape.head_dim * launch.work_tiles
    compute = flop / (gpu.fp16_flop_per_s / share)
    memory = hbm_bytes_of(launch, shape, tile, rereads_in_l2=rereads_in_l2) / (gpu.hbm_bytes_per_s / share)
    durations = np.maximum(compute, memory)
    longest = int(durations.argmax())
    return BlockTimes(durations, resident, rereads_in_l2, bool(compute[longest] >= memory[longest]))


def fit_times(work_tiles: np.ndarray, durations_s: np.ndarray) -> FittedTime:
    """Least squares through recorded blocks; one time for all where they all have the same work."""
    if np.ptp(work_tiles) == 0:
        return FittedTime(float(durations_s.mean()), 0.0)
    per_tile, fixed = np.polyfit(work_tiles, durations_s, 1)
    return FittedTime(float(fixed), float(per_tile))


def fitted_durations(fit: FittedTime, work_tiles: np.ndarray) -> np.ndarray:
    """What the fitted line gives for each block, [blocks] float seconds."""
    return fit.fixed_s + fit.per_tile_s * work_tiles


def _row_bytes(shape: AttentionShape) -> int:
    return shape.head_dim * shape.element_bytes


def _reread_bytes(launch: Launch, shape: AttentionShape, first_wave: np.ndarray) -> int:
    """What a first wave reads again and again: V1 Q, O and statistics, V2 K and V of its heads."""
    if launch.kernel is Kernel.V1_FORWARD:
        return len(first_wave) * shape.query_len * (2 * _row_bytes(shape) + 2 * STATISTIC_BYTES)
    heads = len(np.unique(first_wave // launch.grid[0]))
    return heads * 2 * shape.key_len * _row_bytes(shape)


def hbm_bytes_of(
    launch: Launch, shape: AttentionShape, tile: TileShape, *, rereads_in_l2: bool
) -> np.ndarray:
    """HBM bytes of each block, [blocks] float: the algorithm's own count, less what L2 serves."""
    row = _row_bytes(shape)
    tiles = np.array(tiles_of_work(shape, tile))
    rows = np.minimum(tile.query_rows, shape.query_len - tile.query_rows * np.arange(len(tiles)))
    if launch.kernel is Kernel.V1_FORWARD:
        # Q in, O in and out, m and l in and out for each key tile; or Q in and O out once.
        per_row = 2 * row if rereads_in_l2 else tiles * (3 * row + 4 * STATISTIC_BYTES)
        return np.full(block_count(launch), 2.0 * shape.key_len * row + (rows * per_row).sum())
    keys = shape.key_len / len(tiles) if rereads_in_l2 else np.minimum(tiles * tile.key_rows, shape.key_len)
    per_row_block = rows * (2 * row + STATISTIC_BYTES) + 2.0 * keys * row
    return np.tile(per_row_block, block_count(launch) // len(tiles))

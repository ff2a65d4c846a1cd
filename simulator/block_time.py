"""How long each block of a launch takes, modelled from the roofline.

The model assumes: a block computes whole tile pairs at an equal share of its SM's peak; it gets an
equal share of the HBM bandwidth, and the two overlap perfectly; shares are those of a full first wave and
stay so to the end; what resident blocks read again costs nothing if it fits in L2 together, and its full
HBM bytes if it does not; launch cost, softmax, latency and clocks are left out. So it is a lower bound,
best read as a ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.block_bytes import hbm_bytes_of, reread_bytes_of
from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Launch, block_count
from simulator.problem import AttentionShape, TileShape
from simulator.schedule import resident_per_sm

MATMULS = {  # of a tile pair; a forward has 2
    Kernel.V2_BACKWARD: 5,
    Kernel.V2_KEY_GRADIENTS: 4,
    Kernel.V2_QUERY_GRADIENTS: 3,
}


@dataclass(frozen=True, slots=True, eq=False)
class BlockTimes:
    """Modelled durations and what decided them."""

    durations_s: np.ndarray  # [blocks] float
    resident_per_sm: int  # blocks that share an SM's peak in the model
    rereads_in_l2: bool
    compute_bound: bool  # of the longest block


def roofline_times(
    launch: Launch,
    shape: AttentionShape,
    tile: TileShape,
    gpu: GpuSpec,
    slots_per_sm: int,
    order: np.ndarray,
) -> BlockTimes:
    """The larger of compute and HBM time of each block, under the module's assumptions."""
    resident = resident_per_sm(block_count(launch), gpu, slots_per_sm)
    share = gpu.sm_count * resident
    first_wave = order[:share]
    rereads_in_l2 = reread_bytes_of(launch, shape, first_wave) <= gpu.l2_bytes
    flop = (
        2.0
        * MATMULS.get(launch.kernel, 2)
        * tile.query_rows
        * tile.key_rows
        * shape.head_dim
        * launch.work_tiles
    )
    compute = flop / (gpu.fp16_flop_per_s / share)
    memory = hbm_bytes_of(launch, shape, tile, rereads_in_l2=rereads_in_l2) / (gpu.hbm_bytes_per_s / share)
    durations = np.maximum(compute, memory)
    longest = int(durations.argmax())
    return BlockTimes(durations, resident, rereads_in_l2, bool(compute[longest] >= memory[longest]))

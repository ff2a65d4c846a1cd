"""Arithmetic that the flash algorithms share: take a tile of scores in, and add its values to O."""

from __future__ import annotations

from simulator.chip import OnChip
from simulator.online_softmax import RowState, TileUpdate, merge_tile
from simulator.trace import Tensor


def take_in_tile(chip: OnChip, query_tile: int, key_tile: int) -> TileUpdate:
    """S becomes P, and m and l on the chip take the tile in."""
    statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
    update = merge_tile(
        RowState(statistics[:, 0], statistics[:, 1]), chip.view(Tensor.SCORES, query_tile, key_tile)
    )
    chip.forget(Tensor.SCORES, query_tile, key_tile)
    chip.view(Tensor.PROBABILITIES, query_tile, key_tile)[...] = update.weights
    statistics[:, 0] = update.state.running_max
    statistics[:, 1] = update.state.running_sum
    return update


def add_values(chip: OnChip, query_tile: int, key_tile: int) -> None:
    """O = output_scale * O + P V; P is used up."""
    output = chip.view(Tensor.OUTPUT, query_tile, -1)
    weights = chip.view(Tensor.PROBABILITIES, query_tile, key_tile)
    scale = chip.rows(chip.output_scale, query_tile)
    output[...] = scale[:, None] * output + weights @ chip.view(Tensor.VALUE, -1, key_tile)
    chip.forget(Tensor.PROBABILITIES, query_tile, key_tile)

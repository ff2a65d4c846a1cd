"""What a tile is called: `S[2, 0]`, `m, ℓ[1]`."""

from __future__ import annotations

from simulator.trace import PARTIAL, Tensor, Trace
from viz.player.look import PER_KEY, PER_PAIR, TilePlace

LETTERS = {
    Tensor.QUERY: "Q", Tensor.KEY: "K", Tensor.VALUE: "V", Tensor.SCORES: "S", Tensor.PROBABILITIES: "P",
    Tensor.OUTPUT: "O", Tensor.PARTIAL_OUTPUT: "Õ", Tensor.PARTIAL_STATISTICS: "L̃",
    Tensor.OUTPUT_GRADIENT: "dO", Tensor.DELTA: "D", Tensor.PROBABILITY_GRADIENT: "dP",
    Tensor.SCORE_GRADIENT: "dS", Tensor.QUERY_GRADIENT: "dQ", Tensor.KEY_GRADIENT: "dK",
    Tensor.VALUE_GRADIENT: "dV", Tensor.QUERY_GRADIENT_SUM: "ΣdQ",
}  # fmt: skip


def letter_of(trace: Trace, tensor: Tensor) -> str:
    """The letter of a tensor as HBM holds it."""
    if tensor == Tensor.STATISTICS:
        return "L" if trace.algorithm.statistics_per_row == 1 else "m, ℓ"
    return LETTERS[tensor]


def title_of(trace: Trace, place: TilePlace) -> str:
    """Letter and index of a tile."""
    letter = letter_of(trace, place.tensor)
    if place.on_chip and place.tensor == Tensor.STATISTICS:
        letter = "m, ℓ" if trace.algorithm.slots[place.tensor].row_numbers == 2 else "L"
    if place.tensor in PER_PAIR or place.tensor in PARTIAL:
        return f"{letter}[{place.query_tile}, {place.key_tile}]" if place.key_tile >= 0 else letter
    return f"{letter}[{place.key_tile if place.tensor in PER_KEY else place.query_tile}]"

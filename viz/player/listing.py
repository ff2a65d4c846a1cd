"""The lines of each algorithm beside its walk, and which of them a step performs.

The notation is ours, the line numbers are the papers': "FlashAttention" (arXiv 2205.14135), Algorithms 0, 1
and 4, "FlashAttention-2" (arXiv 2307.08691), Algorithms 1 and 2; Flash-Decoding has three numbered steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line, the number it has in its source, and the steps that perform it."""

    number: int  # 0 for what the code does and the paper leaves out
    indent: int
    text: str
    steps: tuple[str, ...] = ()  # `load.query`, or of one variant alone `store.output.start`


@dataclass(frozen=True, slots=True)
class Listing:
    """An algorithm in lines."""

    source: str
    lines: tuple[CodeLine, ...]


_FLASH_V1 = Listing(
    "FlashAttention, Algorithm 1",
    (
        CodeLine(
            2, 0, "O = 0, ℓ = 0, m = −∞", ("init.output", "store.output.start", "store.statistics.start")
        ),
        CodeLine(5, 0, "for j in key_tiles:"),
        CodeLine(6, 1, "load K[j], V[j]", ("load.key", "load.value")),
        CodeLine(7, 1, "for i in query_tiles:"),
        CodeLine(8, 2, "load Q, O, ℓ, m [i]", ("load.query", "load.output", "load.statistics")),
        CodeLine(9, 2, "S = Q Kᵀ / √d", ("scores.scores",)),
        CodeLine(10, 2, "m̃, P, ℓ̃ of S", ("softmax.probabilities",)),
        CodeLine(11, 2, "m′ = max(m, m̃)", ("softmax.probabilities",)),
        CodeLine(11, 2, "α = exp(m − m′)", ("softmax.probabilities",)),
        CodeLine(11, 2, "β = exp(m̃ − m′)", ("softmax.probabilities",)),
        CodeLine(11, 2, "ℓ′ = α ℓ + β ℓ̃", ("softmax.probabilities",)),
        CodeLine(12, 2, "O = (α ℓ O + β P V) / ℓ′", ("values.output",)),
        CodeLine(12, 2, "write O[i]", ("store.output",)),
        CodeLine(13, 2, "write ℓ[i], m[i]", ("store.statistics",)),
    ),
)
_FLASH_V2 = Listing(
    "FlashAttention-2, Algorithm 1",
    (
        CodeLine(3, 0, "for i in query_tiles:"),
        CodeLine(4, 1, "load Q[i]", ("load.query",)),
        CodeLine(5, 1, "O = 0, ℓ = 0, m = −∞", ("init.output",)),
        CodeLine(6, 1, "for j in key_tiles:"),
        CodeLine(7, 2, "load K[j], V[j]", ("load.key", "load.value")),
        CodeLine(8, 2, "S = Q Kᵀ / √d", ("scores.scores",)),
        CodeLine(9, 2, "m′ = max(m, max S)", ("softmax.probabilities",)),
        CodeLine(9, 2, "P = exp(S − m′)", ("softmax.probabilities",)),
        CodeLine(9, 2, "α = exp(m − m′)", ("softmax.probabilities",)),
        CodeLine(9, 2, "ℓ = α ℓ + sum P", ("softmax.probabilities",)),
        CodeLine(10, 2, "O = α O + P V", ("values.output",)),
        CodeLine(12, 1, "O = O / ℓ", ("finish.output",)),
        CodeLine(13, 1, "L = m + log ℓ", ("finish.output",)),
        CodeLine(14, 1, "write O[i]", ("store.output",)),
        CodeLine(15, 1, "write L[i]", ("store.statistics",)),
    ),
)
_STANDARD = Listing(
    "FlashAttention, Algorithm 0",
    (
        CodeLine(1, 0, "for tiles of S:"),
        CodeLine(1, 1, "load Q[i], K[j]", ("load.query", "load.key")),
        CodeLine(1, 1, "S = Q Kᵀ / √d", ("scores.scores",)),
        CodeLine(1, 1, "write S[i, j]", ("store.scores",)),
        CodeLine(2, 0, "for rows of S:"),
        CodeLine(2, 1, "load S[i, all]", ("load.scores",)),
        CodeLine(2, 1, "P = softmax(S)", ("softmax.probabilities",)),
        CodeLine(2, 1, "write P[i, all]", ("store.probabilities",)),
        CodeLine(3, 0, "for tiles of O:"),
        CodeLine(3, 1, "O = 0", ("init.output",)),
        CodeLine(3, 1, "load P[i, j], V[j]", ("load.probabilities", "load.value")),
        CodeLine(3, 1, "O = O + P V", ("values.output",)),
        CodeLine(3, 1, "write O[i]", ("store.output",)),
    ),
)
_FLASH_DECODING = Listing(
    "Flash-Decoding (2023), three steps",
    (
        CodeLine(1, 0, "for split in splits of key_tiles:"),
        CodeLine(2, 1, "load Q[i]", ("load.query",)),
        CodeLine(2, 1, "O = 0, ℓ = 0, m = −∞", ("init.output",)),
        CodeLine(2, 1, "for j in split:"),
        CodeLine(2, 2, "load K[j], V[j]", ("load.key", "load.value")),
        CodeLine(2, 2, "S = Q Kᵀ / √d", ("scores.scores",)),
        CodeLine(2, 2, "m′, P, α, ℓ of S", ("softmax.probabilities",)),
        CodeLine(2, 2, "O = α O + P V", ("values.output",)),
        CodeLine(2, 1, "Õ = O / ℓ, L̃ = m + log ℓ", ("finish.partial_output",)),
        CodeLine(2, 1, "write Õ[split], L̃[split]", ("store.partial_output", "store.partial_statistics")),
        CodeLine(3, 0, "O = 0, ℓ = 0, m = −∞", ("init.output.merge",)),
        CodeLine(3, 0, "for split in splits:"),
        CodeLine(3, 1, "load Õ[split], L̃[split]", ("load.partial_output", "load.partial_statistics")),
        CodeLine(3, 1, "m′ = max(m, L̃)", ("merge.output",)),
        CodeLine(3, 1, "ℓ = exp(m − m′) ℓ + exp(L̃ − m′)", ("merge.output",)),
        CodeLine(3, 1, "O = exp(m − m′) O + exp(L̃ − m′) Õ", ("merge.output",)),
        CodeLine(3, 0, "O = O / ℓ, L = m + log ℓ", ("finish.output",)),
        CodeLine(3, 0, "write O[i], L[i]", ("store.output", "store.statistics")),
    ),
)
# Without line numbers: they are not in our sources, and none is given from memory.
_FLASH_V1_BACKWARD = Listing(
    "FlashAttention, Algorithm 4",
    (
        CodeLine(
            0,
            0,
            "dQ = 0, dK = 0, dV = 0",
            (
                "init.query_gradient",
                "init.key_gradient.start",
                "init.value_gradient.start",
                "store.query_gradient.start",
                "store.key_gradient.start",
                "store.value_gradient.start",
            ),
        ),
        CodeLine(0, 0, "for j in key_tiles:"),
        CodeLine(0, 1, "load K[j], V[j]", ("load.key", "load.value")),
        CodeLine(0, 1, "dK̃ = 0, dṼ = 0", ("init.key_gradient", "init.value_gradient")),
        CodeLine(0, 1, "for i in query_tiles:"),
        CodeLine(
            0,
            2,
            "load Q, O, dO, dQ, ℓ, m [i]",
            ("load.query", "load.output", "load.output_gradient", "load.query_gradient", "load.statistics"),
        ),
        CodeLine(0, 2, "S = Q Kᵀ / √d", ("scores.scores",)),
        CodeLine(0, 2, "P = exp(S − m) / ℓ", ("weights.probabilities",)),
        CodeLine(0, 2, "dṼ += Pᵀ dO", ("value_gradient.value_gradient",)),
        CodeLine(0, 2, "dP = dO Vᵀ", ("probability_gradient.probability_gradient",)),
        CodeLine(0, 2, "D = rowsum(dO ∘ O)", ("delta.delta",)),
        CodeLine(0, 2, "dS = P ∘ (dP − D)", ("score_gradient.score_gradient",)),
        CodeLine(0, 2, "dQ += dS K / √d", ("query_gradient.query_gradient",)),
        CodeLine(0, 2, "write dQ[i]", ("store.query_gradient",)),
        CodeLine(0, 2, "dK̃ += dSᵀ Q / √d", ("key_gradient.key_gradient", "finish.key_gradient")),
        CodeLine(0, 1, "write dK[j], dV[j]", ("store.key_gradient", "store.value_gradient")),
    ),
)
_FLASH_V2_BACKWARD = Listing(
    "FlashAttention-2, Algorithm 2",
    (
        CodeLine(0, 0, "ΣdQ = 0", ("init.query_gradient_sum", "store.query_gradient_sum")),
        CodeLine(0, 0, "load O, dO [i]", ("load.output", "load.output_gradient.delta")),
        CodeLine(0, 0, "D = rowsum(dO ∘ O)", ("delta.delta",)),
        CodeLine(0, 0, "write D[i]", ("store.delta",)),
        CodeLine(0, 0, "for j in key_tiles:"),
        CodeLine(0, 1, "load K[j], V[j]", ("load.key", "load.value")),
        CodeLine(0, 1, "dK = 0, dV = 0", ("init.key_gradient", "init.value_gradient")),
        CodeLine(0, 1, "for i in query_tiles:"),
        CodeLine(
            0,
            2,
            "load Q, dO, L, D [i]",
            ("load.query", "load.output_gradient", "load.statistics", "load.delta"),
        ),
        CodeLine(0, 2, "S = Q Kᵀ / √d", ("scores.scores",)),
        CodeLine(0, 2, "P = exp(S − L)", ("weights.probabilities",)),
        CodeLine(0, 2, "dV += Pᵀ dO", ("value_gradient.value_gradient",)),
        CodeLine(0, 2, "dP = dO Vᵀ", ("probability_gradient.probability_gradient",)),
        CodeLine(0, 2, "dS = P ∘ (dP − D)", ("score_gradient.score_gradient",)),
        CodeLine(
            0, 2, "ΣdQ[i] += dS K, in HBM", ("query_gradient.query_gradient_sum", "add.query_gradient_sum")
        ),
        CodeLine(0, 2, "dK += dSᵀ Q", ("key_gradient.key_gradient",)),
        CodeLine(0, 1, "dK = dK / √d", ("finish.key_gradient",)),
        CodeLine(0, 1, "write dK[j], dV[j]", ("store.key_gradient", "store.value_gradient")),
        CodeLine(0, 0, "dQ = ΣdQ / √d", ("load.query_gradient_sum", "finish.query_gradient")),
        CodeLine(0, 0, "write dQ[i]", ("store.query_gradient",)),
    ),
)
LISTINGS: Mapping[str, Listing] = MappingProxyType(
    {
        "standard": _STANDARD,
        "flash_v1": _FLASH_V1,
        "flash_v2": _FLASH_V2,
        "flash_decoding": _FLASH_DECODING,
        "flash_v1_backward": _FLASH_V1_BACKWARD,
        "flash_v2_backward": _FLASH_V2_BACKWARD,
    }
)


def lines_of_step(step: str, marked: Sequence[tuple[str, ...]]) -> tuple[int, ...]:
    """Indices of the lines that perform `step`; `marked` has the steps of each line.

    A line that names the step's variant goes before those that name the step alone.
    """
    exact = tuple(index for index, steps in enumerate(marked) if step in steps)
    if exact or "." not in step:
        return exact
    return lines_of_step(step.rpartition(".")[0], marked)


def step_name(caption: str) -> str:
    """`load.query` of the caption `tiles.caption.flash_v2.load.query`."""
    return caption.split(".", 3)[3]

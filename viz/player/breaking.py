"""How wrong a walk becomes when one thing is left out, against attention in float64."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from simulator.broken import REMOVABLE, Removed, without
from simulator.problem import AttentionShape
from simulator.replay import replay
from simulator.trace import Trace
from viz.player.example import Example, example_of

LARGE_SCORE = 120.0  # exp of it is infinite in float32, and 1.3e52 in float64
WRONG = 1e-9  # of the largest output: a row that is off by more is wrong; the whole walk stays under 1e-12


@dataclass(frozen=True, slots=True)
class Outcome:
    """A walk with something left out, beside the whole one, on the same numbers."""

    whole_difference: float  # largest, from float64
    broken_difference: float  # largest of the rows that are finite; 0 where none is
    largest_output: float
    rows: int
    wrong_rows: int  # those that are not finite included
    not_finite_rows: int


def can_remove(algorithm: str, removed: Removed) -> bool:
    """Whether a walk has what is to be left out."""
    return removed in REMOVABLE.get(algorithm, ())


def example_without(shape: AttentionShape, removed: Removed | None) -> Example:
    """The numbers to show a walk on: large logits where the maximum is left out, else the usual ones."""
    return example_of(shape, LARGE_SCORE if removed is Removed.MAXIMUM else None)


def outcome_of(trace: Trace, removed: Removed) -> Outcome:
    """Replay the whole walk and the broken one; raises ValueError where there is nothing to remove."""
    example = example_without(trace.shape, removed)
    whole = replay(trace, example.q, example.k, example.v).output
    broken = replay(without(trace, removed), example.q, example.k, example.v).output
    return compare(example, whole, broken)


def misread_outcome(trace: Trace) -> Outcome:
    """What the backward pass recomputes from V2's L if it takes the natural logarithm for one to base 2.

    Its weights are exp(S - L). With L ln 2 in the place of L every weight of a row is exp(L - L ln 2) times
    too large, and so is what they sum to.
    """
    example = example_of(trace.shape)
    memory = replay(trace, example.q, example.k, example.v)
    lse = memory.log_sum_exp
    seen = np.isfinite(lse)
    factor = np.exp(np.where(seen, lse, 0.0) * (1.0 - log(2.0)))
    return compare(example, memory.output, memory.output * factor[:, None])


def compare(example: Example, whole: NDArray[np.float64], broken: NDArray[np.float64]) -> Outcome:
    """Both outputs against the oracle's."""
    largest = float(np.abs(example.output).max())
    finite = np.isfinite(broken).all(axis=1)
    differences = np.abs(broken - example.output)[finite].max(axis=1, initial=0.0)
    return Outcome(
        whole_difference=float(np.abs(whole - example.output).max()),
        broken_difference=float(differences.max(initial=0.0)),
        largest_output=largest,
        rows=len(broken),
        wrong_rows=int((~finite).sum() + (differences > WRONG * largest).sum()),
        not_finite_rows=int((~finite).sum()),
    )

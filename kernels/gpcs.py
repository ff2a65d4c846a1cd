"""Which SMs share a GPC, told from their clocks.

All SMs of a GPC count the cycles of one clock and agree on it to some tens of cycles; two GPCs are usually
millions of cycles apart, and the distance changes while they work. Seen on an H200, November 2026.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_SAME_CLOCK_CYCLES = 500  # within a GPC of that H200 neighbours are at most 7 apart, all of it 30
_LARGEST = 1.5  # of the median GPC; a larger one is two whose clocks agreed


def group_by_clock(probes: Sequence[np.ndarray], *, sm_count: int) -> np.ndarray:
    """The GPC of each SM [sm_count] int, numbered from 0 by their lowest SM; -1 where that cannot be told.

    Each probe [readings, 3] int64 has SM, time in ns and clock of readings that lie within microseconds, some
    of each SM. SMs share a GPC where their clocks ran together in every probe.
    """
    together = np.stack([_clock_groups(probe, sm_count) for probe in probes])
    read = np.flatnonzero((together >= 0).all(axis=0))
    _, lowest, members = np.unique(together[:, read], axis=1, return_index=True, return_inverse=True)
    members = members.ravel()
    sizes = np.bincount(members)
    alone = sizes <= _LARGEST * np.median(sizes)
    number = np.where(alone, np.argsort(np.argsort(np.where(alone, lowest, sm_count))), -1)
    gpcs = np.full(sm_count, -1)
    gpcs[read] = number[members]
    return gpcs


def _clock_groups(probe: np.ndarray, sm_count: int) -> np.ndarray:
    """Groups of SMs [sm_count] whose clocks agree in one probe, numbered by their clocks; -1 for an unread
    SM.
    """
    sm, ns, clock = probe.T
    seen, members, readings = np.unique(sm, return_inverse=True, return_counts=True)

    def mean_of_sm(column: np.ndarray) -> np.ndarray:
        return np.bincount(members, (column - column.min()).astype(float)) / readings

    ns_mean, clock_mean = mean_of_sm(ns), mean_of_sm(clock)
    ns_from_mean = ns - ns.min() - ns_mean[members]
    clock_from_mean = clock - clock.min() - clock_mean[members]
    cycles_per_ns = (ns_from_mean @ clock_from_mean) / (ns_from_mean @ ns_from_mean)
    offset = clock_mean - cycles_per_ns * ns_mean  # of each SM's clock where the time is 0
    by_offset = np.argsort(offset)
    groups = np.full(sm_count, -1)
    borders = np.diff(offset[by_offset], prepend=offset[by_offset][0]) > _SAME_CLOCK_CYCLES
    groups[seen[by_offset]] = np.cumsum(borders)
    return groups

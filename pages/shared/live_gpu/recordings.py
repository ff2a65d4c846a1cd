"""The measurements that are shipped, and which of them answer the settings of the Live GPU page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kernels.counted import CountedRun, read_counts
from kernels.results import Recording, read
from pages.shared.live_gpu.problems import select
from pages.shared.live_gpu.settings import Settings

RECORDED = Path(__file__).parents[3] / "kernels" / "recorded"


@cache
def recordings(direction: str) -> tuple[Recording, ...]:
    """The recordings of a direction, the newest first."""
    found = [read(path) for path in RECORDED.glob(f"{direction}_*.jsonl")]
    return tuple(sorted(found, key=lambda recording: recording.environment.date, reverse=True))


def recording_for(settings: Settings) -> Recording | None:
    """The newest recording that holds results of what is asked for, or None where none does."""
    return next((each for each in recordings(settings.direction) if select(each.results, settings)), None)


@cache
def counted_runs() -> tuple[CountedRun, ...]:
    """What Nsight Compute's counters saw, the newest first."""
    found = [read_counts(path) for path in RECORDED.glob("counters_*.jsonl")]
    return tuple(sorted(found, key=lambda run: run.environment.date, reverse=True))

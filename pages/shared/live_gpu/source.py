"""Which measurements the Live GPU page shows: those of the run on this machine, else a recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kernels.results import BenchResult, Environment, Recording, read
from pages.shared.live_gpu.run import BenchRun, Outcome
from pages.shared.live_gpu.settings import LONGEST, Settings, lengths, same_run, select, shown_length

RECORDED = Path(__file__).parents[3] / "kernels" / "recorded"


@dataclass(frozen=True, slots=True)
class Shown:
    """Measurements of one problem, and what they were made with."""

    results: list[BenchResult]
    settings: Settings  # of the run, or those a recording was filtered by
    environment: Environment | None  # None before the child has said it, or where nothing is recorded
    live: bool  # measured by a run of this server
    stale: bool  # the page now asks for something else
    running: bool


@cache
def latest_recording() -> Recording | None:
    """The newest forward recording that is shipped, or None where there is none."""
    recordings = [read(path) for path in RECORDED.glob("forward_*.jsonl")]
    return max(recordings, key=lambda recording: recording.environment.date, default=None)


def choose_source(run: BenchRun | None, settings: Settings) -> Shown:
    """The run that is going or that left results; else the recording, filtered by the settings."""
    if run is not None:
        state = run.state()
        running = state.outcome is Outcome.RUNNING
        if running or state.results:
            asked = with_shown_length(run.asked, settings)
            stale = not same_run(run.asked, settings)
            return Shown(select(state.results, asked), asked, state.environment, True, stale, running)
    recording = latest_recording()
    if recording is None:
        return Shown([], settings, None, live=False, stale=False, running=False)
    chosen = select(recording.results, settings)
    return Shown(chosen, settings, recording.environment, live=False, stale=False, running=False)


def with_shown_length(asked: Settings, settings: Settings) -> Settings:
    """The settings of a run, looked at where the page looks now, if the run has that length."""
    length = shown_length(settings)
    return replace(asked, shown_length=str(length) if length in lengths(asked) else LONGEST)

"""Which measurements the Live GPU page shows: those of the run on this machine, else a recording."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.gpu_run import GpuRun
from kernels.results import BenchResult, Environment
from pages.shared.live_gpu.problems import select
from pages.shared.live_gpu.recordings import recording_for
from pages.shared.live_gpu.settings import Settings, looked_at_like, same_run


@dataclass(frozen=True, slots=True)
class Shown:
    """Measurements of one problem, and what they were made with."""

    results: list[BenchResult]
    settings: Settings  # of the run, or those a recording was filtered by
    environment: Environment | None  # None before the child has said it, or where nothing is recorded
    live: bool  # measured by a run of this server
    stale: bool  # the page now asks for something else
    running: bool


def choose_source(run: GpuRun | None, settings: Settings) -> Shown:
    """The run that is going or that left results; else the recording, filtered by the settings."""
    if run is not None:
        state = run.state()
        running = not state.ended
        if running or state.results:
            asked = looked_at_like(run.asked, settings)
            stale = not same_run(run.asked, settings)
            return Shown(select(state.results, asked), asked, state.environment, True, stale, running)
    recording = recording_for(settings)
    if recording is None:
        return Shown([], settings, None, live=False, stale=False, running=False)
    chosen = select(recording.results, settings)
    return Shown(chosen, settings, recording.environment, live=False, stale=False, running=False)

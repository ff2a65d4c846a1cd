"""A GPU of the host as a Dask worker: one run at a time, measured in children; it never touches CUDA itself.

A run is wanted as long as a client holds its future. So stopping it, closing its tab and ending the server
are one thing: the future is let go, and the child is ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from distributed import Worker, WorkerPlugin, get_worker

from kernels.gpu_child import Child, Measure
from kernels.gpu_job import Limits, run_job
from kernels.plan import Plan, plan_of
from kernels.results import Progress, Record, Unavailable, json_line

_UPDATE = "Let page and host run the same version of this code."


class Gpu(WorkerPlugin):
    """What a worker measures with, and on."""

    name = "gpu"

    def __init__(self, visible: str, measure: Measure, limits: Limits) -> None:
        """`visible` is the CUDA_VISIBLE_DEVICES of its children; empty leaves theirs as it is."""
        self.visible, self.measure, self.limits = visible, measure, limits

    def start(self, plans: Sequence[Plan], limit_s: float) -> Child:
        """A child that measures these plans on this GPU."""
        share = self.limits.memory_share
        return Child(self.measure, plans, gpu=self.visible, memory_share=share, limit_s=limit_s)


def measure_run(arguments: list[str], run: str) -> list[str]:
    """The task of a run: takes the arguments of `python -m kernels.bench`, logs each record under the run's
    name as it comes, and returns all but the progress. Lines of JSON both ways.
    """
    worker = get_worker()
    gpu, key = worker.plugins[Gpu.name], str(worker.get_current_task())
    assert isinstance(gpu, Gpu)
    lines: list[str] = []

    def emit(record: Record) -> None:
        line = json_line(record)
        worker.log_event(run, line)
        if not isinstance(record, Progress):
            lines.append(line)

    try:
        plan = plan_of(arguments)
    except SystemExit:  # argparse has said why
        emit(Unavailable("arguments", "The GPU host does not understand this run.", _UPDATE))
        return lines
    emit(Progress(0, len(plan.shapes) * len(plan.implementations), ""))
    is_wanted = partial(_is_executing, worker, key)
    run_job(plan, run, start=gpu.start, limits=gpu.limits, emit=emit, is_wanted=is_wanted)
    return lines


def _is_executing(worker: Worker, key: str) -> bool:
    """Dask cannot interrupt a task, but marks one that no client holds any more."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state == "executing"

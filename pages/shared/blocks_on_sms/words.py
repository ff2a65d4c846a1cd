"""Words of Blocks on SMs that depend on its modelled runs: problems, grids, what to notice, what the model
assumes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pages.shared.frame import Page
from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Launch
from simulator.modelled_run import ModelledRun
from simulator.problem import AttentionShape
from simulator.schedule import makespan_s, tail_of
from viz.units import format_seconds

ASSUMPTIONS = ("dispatch", "time", "tiles", "bytes", "left_out", "peaks", "registers")


def problem_words(page: Page, shape: AttentionShape, where: str) -> str:
    """The problem in one line: GPU, batch, heads, N, d, causal or not; or a decode, which has one query."""
    if shape.query_len == 1 < shape.key_len:
        values = _problem_values(shape, where)
        return page.text("sms.problem_decode", kv_heads=f"{shape.kv_heads:,}", **values)
    mask = page.text("sms.causal" if shape.causal else "sms.full")
    return page.text("sms.problem", mask=mask, **_problem_values(shape, where))


def short_problem_words(page: Page, shape: AttentionShape, where: str) -> str:
    """The same for a narrow line."""
    return page.text("sms.problem_short", **_problem_values(shape, where))


def _problem_values(shape: AttentionShape, where: str) -> dict[str, str]:
    return {
        "gpu": where,
        "batch": f"{shape.batch:,}",
        "heads": f"{shape.query_heads:,}",
        "length": f"{shape.key_len:,}",
        "head_dim": f"{shape.head_dim}",
    }


def grid_words(page: Page, launch: Launch) -> str:
    """The grid as a product that a reader can check."""
    sizes = {axis.name: f"{axis.size:,}" for axis in launch.axes}
    product = page.text(f"sms.grid.{launch.kernel}", blocks=f"{prod(launch.grid):,}", **sizes)
    return page.text("sms.grid_of", kernel=page.text(f"sms.kernel.{launch.kernel}"), product=product)


def model_notice(page: Page, runs: Sequence[ModelledRun], gpu: GpuSpec) -> str:
    """One line: what the second grid changes for this problem."""
    first, second = runs
    blocks = [prod(run.launch.grid) for run in runs]
    values = {
        "blocks": f"{blocks[0]:,}",
        "later_blocks": f"{blocks[1]:,}",
        "idle": f"{max(gpu.sm_count - blocks[0], 0):,}",
        "later_idle": f"{max(gpu.sm_count - blocks[1], 0):,}",
        "sms": gpu.sm_count,
        "mean_idle": format_seconds(tail_of(first.schedule).mean_idle_s),
        "later_mean_idle": format_seconds(tail_of(second.schedule).mean_idle_s),
        "makespan": format_seconds(makespan_s(first.schedule)),
        "later_makespan": format_seconds(makespan_s(second.schedule)),
        "most_added": max(axis.size for axis in second.launch.axes if axis.name not in ("batch", "head"))
        if second.launch.kernel is Kernel.V2_BACKWARD
        else 0,
    }
    kind = "full" if blocks[0] >= gpu.sm_count else "idle" if blocks[1] >= gpu.sm_count else "idle_both"
    if first.launch.kernel is not Kernel.V1_FORWARD:
        kind = str(second.launch.kernel if second.launch.kernel is not Kernel.V2_FORWARD else "v1_split")
    return page.text(f"sms.notice.{kind}", **values)


def assumptions(page: Page, runs: Sequence[ModelledRun], gpu: GpuSpec) -> list[str]:
    """Everything the model takes for granted, with what that came to for these runs."""
    first, second = runs
    kernels = [page.text(f"sms.kernel.{run.launch.kernel}") for run in runs]
    nominal = ", ".join(page.text(f"sms.field.{name}") for name in gpu.nominal) or page.text("sms.field.none")
    values = {
        "gpu": gpu.name,
        "first": kernels[0],
        "second": kernels[1],
        "first_share": first.times.resident_per_sm,
        "second_share": second.times.resident_per_sm,
        "first_l2": _l2_words(page, first),
        "second_l2": _l2_words(page, second),
        "first_bound": _bound_words(page, first),
        "second_bound": _bound_words(page, second),
        "peak": f"{gpu.fp16_flop_per_s / 1e12:g}",
        "bandwidth": f"{gpu.hbm_bytes_per_s / 1e9:,.0f}",
        "l2": f"{gpu.l2_bytes / 2**20:.0f}",
        "nominal": nominal,
        "source": page.text(f"sms.source.{gpu.key}"),
        "registers": page.text(f"sms.registers.{second.launch.resources.source}"),
    }
    grids = [page.text(f"sms.assume.grid.{run.launch.kernel}") for run in runs]
    return [*grids, *(page.text(f"sms.assume.{name}", **values) for name in ASSUMPTIONS)]


def _l2_words(page: Page, run: ModelledRun) -> str:
    return page.text("sms.l2.in" if run.times.rereads_in_l2 else "sms.l2.out")


def _bound_words(page: Page, run: ModelledRun) -> str:
    return page.text("sms.bound.compute" if run.times.compute_bound else "sms.bound.memory")

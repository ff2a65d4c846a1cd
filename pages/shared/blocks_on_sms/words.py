"""Words of Blocks on SMs that depend on its runs: problems, grids, what to notice, what the model assumes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from kernels.placements import RecordedPlacement
from pages.shared.frame import Page
from simulator.block_time import FittedTime
from simulator.gpu import GpuSpec
from simulator.launch import Launch
from simulator.modelled_run import ModelledRun
from simulator.problem import AttentionShape
from simulator.schedule import makespan_s, tail_of
from viz.units import format_seconds

ASSUMPTIONS = ("grids", "dispatch", "time", "tiles", "bytes", "left_out", "peaks", "registers")


def problem_words(page: Page, shape: AttentionShape, where: str) -> str:
    """The problem in one line: GPU, batch, heads, N, d, causal or not."""
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
        "length": f"{shape.query_len:,}",
        "head_dim": f"{shape.head_dim}",
    }


def measured_words(page: Page, placement: RecordedPlacement) -> str:
    """Where, when and which launch."""
    return page.text(
        "sms.provenance.measured",
        gpu=placement.recorded_on.gpu,
        month=page.text(f"sms.month.{placement.recorded_on.month}"),
        launch=placement.launch_number,
        launches=placement.launches_recorded,
    )


def fit_words(page: Page, fit: FittedTime) -> str:
    """A fitted line as an equation."""
    return page.text("sms.fit", fixed=format_seconds(fit.fixed_s), per_tile=format_seconds(fit.per_tile_s))


def grid_words(page: Page, launch: Launch) -> str:
    """The grid as a product that a reader can check."""
    sizes = dict(zip(launch.axes, (f"{size:,}" for size in launch.grid), strict=False))
    return page.text(f"sms.grid.{launch.kernel}", blocks=f"{prod(launch.grid):,}", **sizes)


def model_notice(page: Page, runs: Sequence[ModelledRun], gpu: GpuSpec) -> str:
    """One line: what V2's grid changed for this problem."""
    v1_blocks, v2_blocks = (prod(run.launch.grid) for run in runs)
    if v1_blocks >= gpu.sm_count:
        v1_idle, v2_idle = (format_seconds(tail_of(run.schedule).mean_idle_s) for run in runs)
        return page.text("sms.notice.full", blocks=f"{v1_blocks:,}", v1_idle=v1_idle, v2_idle=v2_idle)
    return page.text(
        "sms.notice.idle",
        blocks=v1_blocks,
        idle=gpu.sm_count - v1_blocks,
        sms=gpu.sm_count,
        v2_blocks=f"{v2_blocks:,}",
        v2_idle=max(gpu.sm_count - v2_blocks, 0),
    )


def measured_notice(page: Page, placements: Sequence[RecordedPlacement]) -> str:
    """One line: what another order did to the tail on the hardware."""
    natural, longest = (placement.schedule for placement in placements)
    return page.text(
        "sms.notice.measured",
        natural_idle=format_seconds(tail_of(natural).mean_idle_s),
        idle=format_seconds(tail_of(longest).mean_idle_s),
        natural=format_seconds(makespan_s(natural)),
        longest=format_seconds(makespan_s(longest)),
    )


def assumptions(page: Page, runs: Sequence[ModelledRun], gpu: GpuSpec) -> list[str]:
    """Everything the model takes for granted, with what that came to for these runs."""
    v1, v2 = runs
    nominal = ", ".join(page.text(f"sms.field.{name}") for name in gpu.nominal) or page.text("sms.field.none")
    values = {
        "gpu": gpu.name,
        "v1_share": v1.times.resident_per_sm,
        "v2_share": v2.times.resident_per_sm,
        "v1_l2": _l2_words(page, v1),
        "v2_l2": _l2_words(page, v2),
        "v1_bound": _bound_words(page, v1),
        "v2_bound": _bound_words(page, v2),
        "peak": f"{gpu.fp16_flop_per_s / 1e12:g}",
        "bandwidth": f"{gpu.hbm_bytes_per_s / 1e9:,.0f}",
        "l2": f"{gpu.l2_bytes / 2**20:.0f}",
        "nominal": nominal,
        "source": page.text(f"sms.source.{gpu.key}"),
        "registers": page.text(f"sms.registers.{v2.launch.resources.source}"),
    }
    return [page.text(f"sms.assume.{name}", **values) for name in ASSUMPTIONS]


def _l2_words(page: Page, run: ModelledRun) -> str:
    return page.text("sms.l2.in" if run.times.rereads_in_l2 else "sms.l2.out")


def _bound_words(page: Page, run: ModelledRun) -> str:
    return page.text("sms.bound.compute" if run.times.compute_bound else "sms.bound.memory")

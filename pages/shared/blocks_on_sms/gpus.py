"""The table of GPUs under Blocks on SMs: what bounds each, its ridge, and where its numbers come from."""

from __future__ import annotations

from dataclasses import replace

from kernels.formulas import each_once
from kernels.work import matrix_flop
from pages.shared.address import Complaint
from pages.shared.blocks_on_sms.settings import DECODING, Settings, gpu_of, shape_of
from pages.shared.cards import Card, Table, draw_folded
from pages.shared.frame import Page
from simulator.gpu import GPUS, GpuSpec
from simulator.roof import AMD_GPUS, AmdGpu, ridge_flop_per_byte, roofline_s
from viz.units import format_capacity, format_seconds, format_traffic

COLUMNS = ("architecture", "units", "shared", "bandwidth", "peak", "ridge")
SECOND_HAND = "*"


def draw_gpus(page: Page, settings: Settings) -> None:
    """Draws the table, folded, with what the roofline makes of the problem on the GPU that is shown."""
    draw_folded(page.text("sms.gpus.title"), gpus_card(page, settings))


def gpus_card(page: Page, settings: Settings) -> Card:
    """A row for each GPU, the one that is shown first where it is not of the table; AMD's last."""
    shown = gpu_of(settings)
    cuda = [*([] if shown.key in GPUS else [shown]), *GPUS.values()]
    head = ("", *(page.text(f"sms.gpus.{column}") for column in COLUMNS))
    rows = (*(_cuda_row(gpu) for gpu in cuda), *map(_amd_row, AMD_GPUS.values()))
    lines = (_problem_words(page, settings, shown), page.text("sms.gpus.amd"), *_source_words(page, cuda))
    return Card(page.text("sms.gpus.limits"), page.text("sms.provenance.makers"), lines, (Table(head, rows),))


def amd_complaint(asked: AmdGpu, shown: Settings) -> Complaint:
    """Why no block is fitted onto an AMD GPU, and what its roofline alone says of the problem."""
    values = {
        "gpu": asked.name,
        "ridge": f"{ridge_flop_per_byte(asked):,.0f}",
        "time": format_seconds(roofline_s(*_flop_and_bytes(shown), asked)),
        "shown": gpu_of(shown).name,
    }
    return Complaint("sms.gpus.no_slots", values)


def _flop_and_bytes(settings: Settings) -> tuple[int, int]:
    shape = shape_of(settings)
    if settings.compare == DECODING:
        shape = replace(shape, query_len=1)
    once = each_once(shape)
    return matrix_flop(shape), once.read + once.written


def _problem_words(page: Page, settings: Settings, gpu: GpuSpec) -> str:
    flop, moved = _flop_and_bytes(settings)
    intensity = flop / moved
    bound = "compute" if intensity >= ridge_flop_per_byte(gpu) else "memory"
    return page.text(
        f"sms.gpus.{bound}_bound",
        flop=f"{flop / 1e9:,.4g}",
        moved=format_traffic(moved),
        intensity=f"{intensity:,.4g}",
        gpu=gpu.name,
        time=format_seconds(roofline_s(flop, moved, gpu)),
    )


def _cuda_row(gpu: GpuSpec) -> tuple[str, ...]:
    major, minor = gpu.compute_capability
    shared = format_capacity(gpu.max_shared_bytes_per_block)
    return (gpu.name, f"{major}.{minor}", _sourced(gpu, "sm_count", str(gpu.sm_count)), shared, *_roof(gpu))


def _amd_row(gpu: AmdGpu) -> tuple[str, ...]:
    return f"AMD {gpu.name}", gpu.architecture, _sourced(gpu, "cu_count", str(gpu.cu_count)), "–", *_roof(gpu)


def _roof(gpu: GpuSpec | AmdGpu) -> tuple[str, str, str]:
    return (
        _sourced(gpu, "hbm_bytes_per_s", f"{gpu.hbm_bytes_per_s / 1e9:,.0f}"),
        _sourced(gpu, "fp16_flop_per_s", f"{gpu.fp16_flop_per_s / 1e12:,.4g}"),
        f"{ridge_flop_per_byte(gpu):,.0f}",
    )


def _sourced(gpu: GpuSpec | AmdGpu, field: str, number: str) -> str:
    return number + SECOND_HAND * (field in gpu.nominal)


def _source_words(page: Page, gpus: list[GpuSpec]) -> tuple[str, ...]:
    """Each source once, with the GPUs that have it."""
    names: dict[str, list[str]] = {}
    for gpu in gpus:
        names.setdefault(page.text(f"sms.source.{gpu.key}"), []).append(gpu.name)
    said = (
        page.text("sms.gpus.source", gpus=", ".join(group), source=source) for source, group in names.items()
    )
    return page.text("sms.gpus.second_hand"), *said

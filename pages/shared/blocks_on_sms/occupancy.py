"""How many blocks an SM holds, against each number of a block: the chart of the what-if view."""

from __future__ import annotations

from pages.shared.blocks_on_sms.chart import draw_chart
from pages.shared.frame import Page
from simulator.gpu import MAX_REGISTERS_PER_THREAD, MAX_THREADS_PER_BLOCK, WARP_THREADS, GpuSpec
from simulator.launch import Launch
from simulator.occupancy import Number, blocks_by, occupancy_of
from viz.occupancy import Curve, occupancy_figure

KIB = 1024
REGISTERS = range(8, MAX_REGISTERS_PER_THREAD + 1)
THREADS = range(WARP_THREADS, MAX_THREADS_PER_BLOCK + 1, WARP_THREADS)


def draw_occupancy(page: Page, launch: Launch, gpu: GpuSpec) -> None:
    """Draws a curve for registers, shared memory and threads, the block of the launch marked on each."""
    figure = occupancy_figure(
        curves_of(page, launch, gpu), blocks_axis=page.text("sms.occupancy.blocks"), theme=page.theme
    )
    draw_chart(figure, "occupancy", title=page.text("sms.occupancy.title", gpu=gpu.name))


def curves_of(page: Page, launch: Launch, gpu: GpuSpec) -> list[Curve]:
    """One curve for each number that can be changed."""
    own = launch.resources
    here = occupancy_of(launch, gpu).blocks_per_sm
    shared = range(0, gpu.max_shared_bytes_per_block + KIB + 1, KIB)
    return [
        Curve(
            page.text("sms.occupancy.registers"),
            REGISTERS,
            blocks_by(own, gpu, Number.REGISTERS, REGISTERS).tolist(),
            (own.registers_per_thread, here),
        ),
        Curve(
            page.text("sms.occupancy.shared"),
            [each / KIB for each in shared],
            blocks_by(own, gpu, Number.SHARED, shared).tolist(),
            (own.shared_bytes / KIB, here),
        ),
        Curve(
            page.text("sms.occupancy.threads"),
            THREADS,
            blocks_by(own, gpu, Number.THREADS, THREADS).tolist(),
            (own.threads, here),
        ),
    ]

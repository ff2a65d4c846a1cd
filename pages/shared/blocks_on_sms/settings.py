"""What the Blocks on SMs page is asked for, field by field; `resolve.py` holds the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from pages.shared.address import choice, flag, integer
from pages.shared.blocks_on_sms.device_here import gpu_here
from pages.shared.blocks_on_sms.recordings import DEFAULT_LAUNCH, recorded_problems
from simulator import gpu as gpus
from simulator.gpu import GPUS, GpuSpec, typed_gpu
from simulator.launch import Order
from simulator.problem import MAX_HEAD_DIM, AttentionShape
from simulator.roof import AMD_GPUS

ROW_CHOICES = ("32", "64", "128")
KEY_CHOICES = ("0", "16", "32", "64", "128", "256")
MODEL, WHAT_IF, SIZES, MEASURED = VIEWS = "model", "what_if", "sizes", "measured"
NOW = "now"  # a launch made on the GPU of this machine
V1, V1_SPLIT, BACKWARD, DECODING = "v1", "v1_split", "backward", "decoding"
TYPED, HERE = "typed", "here"
CAPABILITIES = tuple(".".join(map(str, capability)) for capability in gpus.CAPABILITIES)


@dataclass(frozen=True)
class Settings:
    """A view; a GPU, a problem and which kernels cut it; a block changed by hand; a recorded launch."""

    view: str = choice(MODEL, VIEWS, name="view")
    compare: str = choice(V1, (V1, V1_SPLIT, BACKWARD, DECODING), name="kernels")
    gpu: str = choice("h200", (*GPUS, *AMD_GPUS, TYPED, HERE), name="gpu")
    batch: int = integer(1, name="b", minimum=1, maximum=gpus.MAX_GRID[1])
    heads: int = integer(16, name="h", minimum=1, maximum=gpus.MAX_GRID[2])
    length: int = integer(4096, name="n", minimum=1, maximum=131_072)
    head_dim: int = integer(128, name="d", minimum=1, maximum=MAX_HEAD_DIM)
    causal: bool = flag(True, name="causal")
    rows: str = choice("128", ROW_CHOICES, name="rows")
    order: str = choice(Order.NATURAL.value, tuple(order.value for order in Order), name="order")
    splits: int = integer(0, name="splits", minimum=0, maximum=128)  # 0: as the code chooses
    # a GPU whose numbers are typed in
    capability: str = choice("9.0", CAPABILITIES, name="cc")
    sm_count: int = integer(132, name="sms", minimum=1, maximum=1000)
    bandwidth: int = integer(4800, name="gbs", minimum=1, maximum=100_000)  # GB/s
    peak: int = integer(989, name="tflops", minimum=1, maximum=100_000)
    l2: int = integer(50, name="l2", minimum=1, maximum=10_000)  # MB
    # a block changed by hand, for the view of that name; 0 is what the kernel has
    threads: int = integer(0, name="threads", minimum=0, maximum=gpus.MAX_THREADS_PER_BLOCK)
    registers: int = integer(0, name="regs", minimum=0, maximum=gpus.MAX_REGISTERS_PER_THREAD)
    shared: int = integer(0, name="smem", minimum=0, maximum=1_000_000)  # bytes
    stages: int = integer(1, name="stages", minimum=1, maximum=8)
    key_rows: str = choice("0", KEY_CHOICES, name="keys")
    # a recorded launch
    launch: str = choice(DEFAULT_LAUNCH, (*recorded_problems(), NOW), name="launch")
    beside: str = choice(
        Order.LONGEST_FIRST.value, (Order.REVERSED.value, Order.LONGEST_FIRST.value), name="beside"
    )
    run: int = integer(1, name="run", minimum=1, maximum=3)


def shape_of(settings: Settings) -> AttentionShape:
    """The problem that was asked for, with a key head for every query head."""
    return AttentionShape(
        settings.length,
        settings.length,
        settings.head_dim,
        causal=settings.causal,
        batch=settings.batch,
        query_heads=settings.heads,
        kv_heads=settings.heads,
    )


def gpu_of(settings: Settings) -> GpuSpec:
    """The GPU of the table, the one of this machine, or the one that was typed in."""
    if settings.gpu in GPUS:
        return GPUS[settings.gpu]
    if settings.gpu == HERE:
        return gpu_here(settings.peak * 1e12, settings.bandwidth * 1e9)
    major, minor = map(int, settings.capability.split("."))
    return typed_gpu(
        (major, minor),
        sms=settings.sm_count,
        gb_per_s=settings.bandwidth,
        tflop_per_s=settings.peak,
        l2_mb=settings.l2,
    )

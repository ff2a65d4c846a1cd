"""GPUs: what bounds a kernel on them, each row of the table with its source.

On-chip limits follow the compute capability (NVIDIA's `cuda_occupancy.h` and CCCL's `arch_traits.h`); the
rest follows the product. AMD's GPUs are not here: their occupancy rule is another one.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB

WARP_THREADS = 32
SUB_PARTITIONS = 4  # an SM has four, each with its own warp scheduler
REGISTERS_PER_SM = 65_536  # 32-bit; a block may have no more either
REGISTER_UNIT = 256  # registers are allotted to a warp in steps of this
MAX_REGISTERS_PER_THREAD = 255
MAX_THREADS_PER_BLOCK = 1024
MAX_GRID = (2**31 - 1, 65_535, 65_535)  # blocks along x, y and z


@dataclass(frozen=True, slots=True)
class GpuSpec:
    """One GPU. Peaks are the makers' and dense; `nominal` names the fields read at second hand."""

    key: str  # as in a page's address: h200
    name: str
    compute_capability: tuple[int, int]
    sm_count: int
    max_threads_per_sm: int
    max_warps_per_sm: int
    max_blocks_per_sm: int
    shared_bytes_per_sm: int  # largest carve-out
    max_shared_bytes_per_block: int  # after opting in
    shared_unit_bytes: int  # shared memory is allotted in steps of this
    reserved_shared_bytes: int  # kept by the system in each block
    registers_per_sm: int
    hbm_bytes_per_s: float
    l2_bytes: int
    fp16_flop_per_s: float  # tensor cores, fp32 accumulation
    source: str
    nominal: tuple[str, ...] = ()


# threads, warps, blocks per SM; shared KB per SM, per block; allotment step, reserved bytes per block
_SM_LIMITS = {
    (7, 0): (2048, 64, 32, 96, 96, 256, 0),
    (7, 5): (1024, 32, 16, 64, 64, 256, 0),
    (8, 0): (2048, 64, 32, 164, 163, 128, KIB),
    (8, 6): (1536, 48, 16, 100, 99, 128, KIB),
    (8, 9): (1536, 48, 24, 100, 99, 128, KIB),
    (9, 0): (2048, 64, 32, 228, 227, 128, KIB),
    (10, 0): (2048, 64, 32, 228, 227, 128, KIB),
    (12, 0): (1536, 48, 24, 100, 99, 128, KIB),
}
CAPABILITIES = tuple(_SM_LIMITS)
_PRODUCT_FIELDS = ("sm_count", "hbm_bytes_per_s", "l2_bytes", "fp16_flop_per_s")
_DATA_SHEET = "maker's data sheet, as quoted elsewhere"
_A100 = "FlashAttention papers for 108 SMs and 312 TFLOP/s; L2 and bandwidth as quoted elsewhere"


def _gpu(
    key: str,
    name: str,
    capability: tuple[int, int],
    *,
    sms: int,
    l2_mb: int,
    gb_per_s: float,
    tflop_per_s: float,
    source: str,
    nominal: tuple[str, ...] = _PRODUCT_FIELDS,
) -> GpuSpec:
    threads, warps, blocks, shared_kb, block_kb, unit, reserved = _SM_LIMITS[capability]
    return GpuSpec(
        key=key,
        name=name,
        compute_capability=capability,
        sm_count=sms,
        max_threads_per_sm=threads,
        max_warps_per_sm=warps,
        max_blocks_per_sm=blocks,
        shared_bytes_per_sm=shared_kb * KIB,
        max_shared_bytes_per_block=block_kb * KIB,
        shared_unit_bytes=unit,
        reserved_shared_bytes=reserved,
        registers_per_sm=REGISTERS_PER_SM,
        hbm_bytes_per_s=gb_per_s * 1e9,
        l2_bytes=l2_mb * MIB,
        fp16_flop_per_s=tflop_per_s * 1e12,
        source=source,
        nominal=nominal,
    )


GPUS = {
    gpu.key: gpu
    for gpu in (
        _gpu("v100", "V100 SXM2", (7, 0), sms=80, l2_mb=6, gb_per_s=900, tflop_per_s=125, source=_DATA_SHEET),
        _gpu("t4", "T4", (7, 5), sms=40, l2_mb=4, gb_per_s=320, tflop_per_s=65, source=_DATA_SHEET),
        _gpu(
            "a100-40", "A100 40 GB", (8, 0), sms=108, l2_mb=40, gb_per_s=1555, tflop_per_s=312,
            source=_A100, nominal=("hbm_bytes_per_s", "l2_bytes"),
        ),
        _gpu(
            "a100-80", "A100 80 GB SXM", (8, 0), sms=108, l2_mb=40, gb_per_s=2039, tflop_per_s=312,
            source=_A100, nominal=("hbm_bytes_per_s", "l2_bytes"),
        ),
        _gpu("a10", "A10", (8, 6), sms=72, l2_mb=6, gb_per_s=600, tflop_per_s=125, source=_DATA_SHEET),
        _gpu("l4", "L4", (8, 9), sms=58, l2_mb=48, gb_per_s=300, tflop_per_s=121, source=_DATA_SHEET),
        _gpu(
            "rtx-3090", "RTX 3090", (8, 6), sms=82, l2_mb=6, gb_per_s=936, tflop_per_s=71,
            source=_DATA_SHEET,
        ),
        _gpu(
            "rtx-4090", "RTX 4090", (8, 9), sms=128, l2_mb=72, gb_per_s=1008, tflop_per_s=165.2,
            source="NVIDIA Ada white paper, appendix A", nominal=(),
        ),
        _gpu(
            "rtx-5090", "RTX 5090", (12, 0), sms=170, l2_mb=96, gb_per_s=1792, tflop_per_s=209.5,
            source="RTX Blackwell white paper, table 3, as quoted elsewhere",
        ),
        _gpu(
            "h100", "H100 SXM", (9, 0), sms=132, l2_mb=50, gb_per_s=3350, tflop_per_s=989.4,
            source="FlashAttention-3 paper for 989 TFLOP/s, 3.35 TB/s and L2; SMs as quoted elsewhere",
            nominal=("sm_count",),
        ),
        _gpu(
            "h100-pcie", "H100 PCIe", (9, 0), sms=114, l2_mb=50, gb_per_s=2000, tflop_per_s=756,
            source=_DATA_SHEET,
        ),
        _gpu(
            "h200", "H200 SXM", (9, 0), sms=132, l2_mb=50, gb_per_s=4800, tflop_per_s=989,
            source="maker's data sheet, as quoted elsewhere; 132 SMs seen on one, which reports 60 MB of L2",
            nominal=("hbm_bytes_per_s", "l2_bytes", "fp16_flop_per_s"),
        ),
        _gpu(
            "b200", "B200", (10, 0), sms=148, l2_mb=126, gb_per_s=8000, tflop_per_s=2250,
            source="FlashAttention-4 paper for 148 SMs and 2.25 PFLOP/s; the rest as quoted elsewhere",
            nominal=("hbm_bytes_per_s", "l2_bytes"),
        ),
    )
}  # fmt: skip


def typed_gpu(
    capability: tuple[int, int], *, sms: int, gb_per_s: float, tflop_per_s: float, l2_mb: int
) -> GpuSpec:
    """A GPU of a known compute capability with the numbers of a product that is not in the table.

    `ValueError` names the capabilities that are known.
    """
    if capability not in _SM_LIMITS:
        known = ", ".join(f"{major}.{minor}" for major, minor in CAPABILITIES)
        raise ValueError(f"capability must be one of {known}, got {capability[0]}.{capability[1]}")
    return _gpu(
        "typed",
        f"sm_{capability[0]}{capability[1]}",
        capability,
        sms=sms,
        l2_mb=l2_mb,
        gb_per_s=gb_per_s,
        tflop_per_s=tflop_per_s,
        source="typed in",
        nominal=(),
    )


def gpu_of_device(
    name: str,
    capability: tuple[int, int],
    *,
    sms: int,
    threads_per_sm: int,
    registers_per_sm: int,
    shared_bytes_per_sm: int,
    shared_bytes_per_block: int,
    l2_bytes: int,
    hbm_bytes_per_s: float,
    fp16_flop_per_s: float,
) -> GpuSpec:
    """A GPU as its driver describes it. What a driver does not tell (blocks on an SM, the step in which
    shared memory is allotted, what is reserved of it) is that of the newest known capability up to its own.

    `ValueError` where even the oldest known one is newer.
    """
    older = [known for known in CAPABILITIES if known <= capability]
    if not older:
        raise ValueError(f"capability must be at least 7.0, got {capability[0]}.{capability[1]}")
    _, _, blocks, _, _, unit, reserved = _SM_LIMITS[max(older)]
    return GpuSpec(
        key="here",
        name=name,
        compute_capability=capability,
        sm_count=sms,
        max_threads_per_sm=threads_per_sm,
        max_warps_per_sm=threads_per_sm // WARP_THREADS,
        max_blocks_per_sm=blocks,
        shared_bytes_per_sm=shared_bytes_per_sm,
        max_shared_bytes_per_block=shared_bytes_per_block,
        shared_unit_bytes=unit,
        reserved_shared_bytes=reserved,
        registers_per_sm=registers_per_sm or REGISTERS_PER_SM,
        hbm_bytes_per_s=hbm_bytes_per_s,
        l2_bytes=l2_bytes,
        fp16_flop_per_s=fp16_flop_per_s,
        source="the device's properties; fp16 peak typed in",
    )


def gpu_named(key: str) -> GpuSpec:
    """The GPU of a key of `GPUS`; `ValueError` names the known ones."""
    if key not in GPUS:
        raise ValueError(f"gpu must be one of {', '.join(GPUS)}, got {key}")
    return GPUS[key]

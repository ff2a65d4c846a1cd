"""What the kernels must reach beside their rivals on an H200, as plain records; kernels.outcomes says whether
they do. Imports neither torch nor triton.
"""

from __future__ import annotations

from dataclasses import dataclass

_EVERY_SIZE = (0.0, float("inf"))


@dataclass(frozen=True, slots=True)
class SpeedMark:
    """One implementation at least so many times as fast as another, over the problems that both ran."""

    part: str  # of the suite that measures it
    what: str
    direction: str
    contender: str
    against: str
    at_least: float  # the geometric mean
    each_at_least: float = 0.0  # every problem
    none_below: bool = False  # on no problem slower by more than the ranges over the rounds overlap
    dtype: str = "float16"  # of the contender
    kv_gb: tuple[float, float] = _EVERY_SIZE  # keys and values of the problems it speaks of, from and below
    batch: int | None = None  # of the problems it speaks of; None: any
    key_len: int | None = None

    @property
    def is_report(self) -> bool:
        """Whether nothing must be reached: it is said for what it shows."""
        return not self.at_least


@dataclass(frozen=True, slots=True)
class HostMark:
    """A call takes the host at most so long, in the median over rounds and problems."""

    part: str
    what: str
    direction: str
    implementation: str
    at_most_us: float


@dataclass(frozen=True, slots=True)
class NotingMark:
    """A launch whose programs note where and when they ran takes at most so much longer, in parts of 1."""

    what: str
    median_at_most: float
    each_at_most: float


Mark = SpeedMark | HostMark


# `python -m kernels.bench --suite h200` measures what these need.
MARKS: tuple[Mark, ...] = (
    SpeedMark(
        "forward", "forward, beside SDPA flash", "forward", "flash_v2", "flash", 1.40, each_at_least=1.2
    ),
    SpeedMark("forward", "forward, beside cuDNN", "forward", "flash_v2", "cudnn", 0.87),
    SpeedMark("backward", "backward, beside SDPA flash", "backward", "flash_v2", "flash", 1.40),
    SpeedMark("backward", "backward, beside cuDNN", "backward", "flash_v2", "cudnn", 0.82),
    SpeedMark("decode", "decode, beside cuDNN", "decode", "flash_decoding", "cudnn", 1.0, none_below=True),
    SpeedMark(
        "decode", "decode, beside SDPA flash", "decode", "flash_decoding", "flash", 1.0, none_below=True
    ),
    SpeedMark(
        "decode",
        "decode of 1 GB, beside reading it",
        "decode",
        "flash_decoding",
        "read_only",
        0.92,
        each_at_least=0.92,
        kv_gb=(0.9, 1.5),
    ),
    SpeedMark(
        "decode",
        "decode of 4 GB and more, beside reading it",
        "decode",
        "flash_decoding",
        "read_only",
        0.97,
        each_at_least=0.97,
        kv_gb=(4.0, float("inf")),
    ),
    SpeedMark(
        "decode",
        "decode of one sequence of 64k, beside our unsplit decode",
        "decode",
        "flash_decoding",
        "decode_unsplit",
        at_least=0.0,
        batch=1,
        key_len=65_536,
    ),
    SpeedMark(
        "fp8",
        "fp8 forward, beside our fp16",
        "forward",
        "flash_v2_fp8",
        "flash_v2",
        1.4,
        dtype="float8_e4m3fn",
    ),
    HostMark("host", "host time of a call", "forward", "attention", 40.0),
    HostMark(
        "host",
        "host time of a call that keeps what gradients need",
        "forward",
        "attention_with_gradients",
        80.0,
    ),
)

NOTING = NotingMark("recorder, beside the same kernel without", median_at_most=0.02, each_at_most=0.05)

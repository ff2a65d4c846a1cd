"""What a run is asked for: the settings of the Live GPU page, their command, and the results they choose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kernels.results import IMPLEMENTATIONS, BenchResult
from pages.shared.address import Complaint, choice, flag

LENGTHS = ("1024", "2048", "4096", "8192", "16384")
LONGEST = "longest"


@dataclass(frozen=True)
class Settings:
    """Which problem, which lengths, which implementations; and the length whose verdicts are shown."""

    head_dim: str = choice("128", ("64", "128"), name="d")
    causal: bool = flag(True, name="causal")
    shortest: str = choice(LENGTHS[0], LENGTHS, name="from")
    longest: str = choice(LENGTHS[-1], LENGTHS, name="to")
    shown_length: str = choice(LONGEST, (LONGEST, *LENGTHS), name="n")
    flash_v2: bool = flag(True, name="flash_v2")
    cudnn: bool = flag(True, name="cudnn")
    flash: bool = flag(True, name="flash")
    efficient: bool = flag(True, name="efficient")
    math: bool = flag(True, name="math")


def resolve(settings: Settings) -> tuple[Settings, list[Complaint]]:
    """The nearest settings that make sense together, and why each other was changed."""
    complaints = []
    if int(settings.shortest) > int(settings.longest):
        values = {"value": settings.shortest, "limit": settings.longest}
        complaints.append(Complaint("live.rule.from_to", values))
        settings = replace(settings, shortest=settings.longest)
    if settings.shown_length != LONGEST and int(settings.shown_length) not in lengths(settings):
        values = {"value": settings.shown_length, "low": settings.shortest, "high": settings.longest}
        complaints.append(Complaint("live.rule.shown_length", values))
        settings = replace(settings, shown_length=LONGEST)
    if not implementations(settings):
        complaints.append(Complaint("live.rule.none_chosen", {}))
        settings = replace(settings, flash_v2=True)
    return settings, complaints


def lengths(settings: Settings) -> list[int]:
    """The sequence lengths asked for, from short to long."""
    return [
        length for length in map(int, LENGTHS) if int(settings.shortest) <= length <= int(settings.longest)
    ]


def implementations(settings: Settings) -> list[str]:
    """The implementations asked for."""
    return [name for name in IMPLEMENTATIONS if getattr(settings, name)]


def shown_length(settings: Settings) -> int:
    """The length whose verdicts are shown."""
    return int(settings.longest if settings.shown_length == LONGEST else settings.shown_length)


def same_run(settings: Settings, other: Settings) -> bool:
    """Whether two settings ask for the same measurements, whatever of them they show."""
    return replace(settings, shown_length=LONGEST) == replace(other, shown_length=LONGEST)


def arguments(settings: Settings) -> list[str]:
    """The settings as arguments of `python -m kernels.bench`."""
    return [
        f"--head-dims={settings.head_dim}",
        f"--causal={'yes' if settings.causal else 'no'}",
        f"--lengths={','.join(map(str, lengths(settings)))}",
        f"--implementations={','.join(implementations(settings))}",
    ]


def select(results: Iterable[BenchResult], settings: Settings) -> list[BenchResult]:
    """The forward results in fp16 of the problem, lengths and implementations asked for."""
    asked_lengths, asked_names = lengths(settings), implementations(settings)
    return [
        result
        for result in results
        if (result.direction, result.dtype) == ("forward", "float16")
        and result.shape.head_dim == int(settings.head_dim)
        and result.shape.causal == settings.causal
        and result.shape.query_len == result.shape.key_len
        and result.shape.query_len in asked_lengths
        and result.implementation in asked_names
    ]

"""What is asked for on the Live GPU page: the problem, the lengths, who takes part, and what is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernels.results import OFFERED
from pages.shared.address import Complaint, choice, flag, integer

LENGTHS = ("512", "1024", "2048", "4096", "8192", "16384")
DECODE_LENGTHS = ("4096", "16384", "32768", "65536", "131072", "262144")  # keys that one query sees
LONGEST = "longest"
DIRECTIONS = ("forward", "backward", "both", "decode")
DTYPES = ("float16", "bfloat16", "float32")
KEPT, OWN = "kept", "own"  # batch and heads: chosen at each length to keep the work alike, or as typed
VIEWS = ("throughput", "bandwidth", "time", "speed_up", "memory", "roofline", "tuning", "table")
TOKENS, HIDDEN = 16_384, 2048  # batch x length, and heads x head dim, that are kept


@dataclass(frozen=True)
class Settings:
    """The problem and its lengths, the implementations, and which of it is shown how."""

    direction: str = choice("forward", DIRECTIONS, name="direction")
    dtype: str = choice("float16", DTYPES, name="dtype")
    head_dim: str = choice("128", ("64", "128"), name="d")
    causal: bool = flag(True, name="causal")
    shortest: str = choice(LENGTHS[1], LENGTHS, name="from")
    longest: str = choice(LENGTHS[-1], LENGTHS, name="to")
    fewest_keys: str = choice(DECODE_LENGTHS[0], DECODE_LENGTHS, name="keys_from")
    most_keys: str = choice(DECODE_LENGTHS[-1], DECODE_LENGTHS, name="keys_to")
    size: str = choice(KEPT, (KEPT, OWN), name="size")
    batch: int = integer(1, name="batch", minimum=1, maximum=64)
    heads: int = integer(32, name="heads", minimum=1, maximum=128)
    kv_heads: int = integer(32, name="kv_heads", minimum=1, maximum=128)
    view: str = choice(VIEWS[0], VIEWS, name="view")
    shown_length: str = choice(LONGEST, (LONGEST, *LENGTHS, *DECODE_LENGTHS[2:]), name="n")
    flash_v2: bool = flag(True, name="flash_v2")
    flash_v2_atomic: bool = flag(True, name="flash_v2_atomic")
    flash_decoding: bool = flag(True, name="flash_decoding")
    decode_unsplit: bool = flag(True, name="decode_unsplit")
    cudnn: bool = flag(True, name="cudnn")
    flash: bool = flag(True, name="flash")
    efficient: bool = flag(True, name="efficient")
    math: bool = flag(True, name="math")
    read_only: bool = flag(True, name="read_only")
    flash_v1: bool = flag(False, name="flash_v1")
    standard: bool = flag(False, name="standard")


def resolve(settings: Settings) -> tuple[Settings, list[Complaint]]:
    """The nearest settings that make sense together, and why each other was changed."""
    complaints = []
    low, high = _ends(settings)
    if int(getattr(settings, low)) > int(getattr(settings, high)):
        values = {"value": getattr(settings, low), "limit": getattr(settings, high)}
        complaints.append(Complaint("live.rule.from_to", values))
        settings = replace(settings, **{low: getattr(settings, high)})
    if settings.shown_length != LONGEST and int(settings.shown_length) not in lengths(settings):
        asked = lengths(settings)
        values = {"value": settings.shown_length, "low": str(asked[0]), "high": str(asked[-1])}
        complaints.append(Complaint("live.rule.shown_length", values))
        settings = replace(settings, shown_length=LONGEST)
    if settings.heads % settings.kv_heads:
        kv_heads = next(n for n in range(settings.kv_heads, 0, -1) if settings.heads % n == 0)
        values = {"value": str(settings.kv_heads), "heads": str(settings.heads), "shown": str(kv_heads)}
        complaints.append(Complaint("live.rule.kv_heads", values))
        settings = replace(settings, kv_heads=kv_heads)
    if not implementations(settings):
        complaints.append(Complaint("live.rule.none_chosen", {}))
        decode = is_decode(settings)
        settings = replace(settings, flash_decoding=decode, flash_v2=not decode)
    if settings.view not in views(settings.direction):
        settings = replace(settings, view=views(settings.direction)[0])
    return settings, complaints


def is_decode(settings: Settings) -> bool:
    """Whether one query a head looks at many keys."""
    return settings.direction == "decode"


def views(direction: str) -> tuple[str, ...]:
    """What can be looked at in a direction: bytes bound a decode, FLOP the others."""
    left_out = "throughput" if direction == "decode" else "bandwidth"
    return tuple(view for view in VIEWS if view != left_out)


def length_options(settings: Settings) -> tuple[str, ...]:
    """The lengths that a run in this direction may ask for."""
    return DECODE_LENGTHS if is_decode(settings) else LENGTHS


def lengths(settings: Settings) -> list[int]:
    """The sequence lengths asked for, from short to long: of the keys in a decode."""
    low, high = (int(getattr(settings, end)) for end in _ends(settings))
    return [length for length in map(int, length_options(settings)) if low <= length <= high]


def offered(direction: str) -> list[str]:
    """The implementations that the page offers in a direction."""
    switches = Settings.__dataclass_fields__
    return [name for name in OFFERED[direction] if name in switches]


def implementations(settings: Settings) -> list[str]:
    """The implementations asked for."""
    return [name for name in offered(settings.direction) if getattr(settings, name)]


def shown_length(settings: Settings) -> int:
    """The length whose verdicts are shown."""
    longest = lengths(settings)[-1]
    return longest if settings.shown_length == LONGEST else int(settings.shown_length)


def same_run(settings: Settings, other: Settings) -> bool:
    """Whether two settings ask for the same measurements, whatever of them they show."""
    return _as_run(settings) == _as_run(other)


def looked_at_like(asked: Settings, settings: Settings) -> Settings:
    """The settings of a run, looked at as the page looks now: its view, and its length if the run has it."""
    length = shown_length(settings)
    shown = str(length) if length in lengths(asked) else LONGEST
    view = settings.view if settings.view in views(asked.direction) else views(asked.direction)[0]
    return replace(asked, shown_length=shown, view=view)


def has_own_size(settings: Settings) -> bool:
    """Whether batch and heads are those typed; always so in a decode."""
    return is_decode(settings) or settings.size == OWN


def _ends(settings: Settings) -> tuple[str, str]:
    """The fields of the shortest and the longest length."""
    return ("fewest_keys", "most_keys") if is_decode(settings) else ("shortest", "longest")


def _as_run(settings: Settings) -> Settings:
    """The settings without what a run does not depend on."""
    return replace(settings, shown_length=LONGEST, view=VIEWS[0])

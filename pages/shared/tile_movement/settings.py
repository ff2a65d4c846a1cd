"""The state of the tile page, and what follows from it. The rules between its fields are in `nearest`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pages.shared.address import choice, flag, integer, text
from pages.shared.cached import DECODING, WALKS, cached_walk
from pages.shared.tile_movement.player_data import BYTES, CLOCKS, STEPS, TIME
from simulator.broken import can_remove
from simulator.gpu import GPUS, gpu_named
from simulator.problem import MAX_HEAD_DIM, AttentionShape, TileShape, v1_tile
from simulator.trace import Removed
from viz.player.breaking import largest_score_for
from viz.player.scene import Walk

MAX_LENGTH = 16_384
MAX_HEADS = 64  # query heads that share one KV head
MAX_SPLITS = 64
MAX_TILE_ROWS = 4_096
MAX_SRAM_ELEMENTS = 131_072
MAX_STEP = 10**9  # the walk sets the true limit
MAX_BYTES = 10**15  # as above
MAX_FS = 10**17  # as above
NOTHING = "none"
TOO_LARGE = "tile"  # a tile larger than shared memory
BREAKS = (NOTHING, *(removed.value for removed in Removed), TOO_LARGE)
BYTES_MOVED, BYTES_READ, STEP_COUNT, RATIO = "bytes", "reads", "steps", "ratio"
QUESTIONS = (NOTHING, BYTES_MOVED, BYTES_READ, STEP_COUNT, RATIO)  # what one may guess of a walk


@dataclass(frozen=True)
class TileSettings:
    """What the page shows. `key_len` 0: as many keys as queries; `window` 0: none; `sram_elements` 0: all a
    block can have.
    """

    walk: str = choice("flash_v1", tuple(WALKS), name="walk")
    beside: str = choice("flash_v2", (*WALKS, NOTHING), name="beside")
    clock: str = choice(BYTES, CLOCKS, name="clock")
    query_len: int = integer(1_024, name="n", minimum=1, maximum=MAX_LENGTH)
    key_len: int = integer(0, name="keys", minimum=0, maximum=MAX_LENGTH)
    heads: int = integer(1, name="heads", minimum=1, maximum=MAX_HEADS)
    splits: int = integer(4, name="splits", minimum=1, maximum=MAX_SPLITS)
    head_dim: int = integer(64, name="d", minimum=1, maximum=MAX_HEAD_DIM)
    causal: bool = flag(False, name="causal")
    window: int = integer(0, name="window", minimum=0, maximum=MAX_LENGTH)
    tiling: str = choice("hand", ("hand", "v1"), name="tiling")
    query_rows: int = integer(64, name="rows", minimum=1, maximum=MAX_TILE_ROWS)
    key_rows: int = integer(64, name="cols", minimum=1, maximum=MAX_TILE_ROWS)
    sram_elements: int = integer(0, name="m", minimum=0, maximum=MAX_SRAM_ELEMENTS)
    gpu: str = choice("h200", tuple(GPUS), name="gpu")
    broken: str = choice(NOTHING, BREAKS, name="break")
    ask: str = choice(NOTHING, QUESTIONS, name="ask")
    guess: str = text("", name="guess", longest=24)
    step: int = integer(0, name="step", minimum=0, maximum=MAX_STEP)
    moved_bytes: int = integer(0, name="bytes", minimum=0, maximum=MAX_BYTES)
    modelled_fs: int = integer(0, name="fs", minimum=0, maximum=MAX_FS)


def shown_walks(settings: TileSettings) -> tuple[str, ...]:
    """Names of the one or two walks on the page, from left to right."""
    return (settings.walk,) if settings.beside == NOTHING else (settings.walk, settings.beside)


def player_key(settings: TileSettings) -> str:
    """What decides which player is shown, whatever its clock and wherever it stands."""
    shown = replace(settings, clock=BYTES, step=0, moved_bytes=0, modelled_fs=0, ask=NOTHING, guess="")
    return str(shown)


def clock_of(settings: TileSettings) -> str:
    """A walk by itself is shown step by step."""
    return STEPS if settings.beside == NOTHING else settings.clock


def time_of(settings: TileSettings) -> int:
    """Where the player stands on its clock."""
    places = {STEPS: settings.step, BYTES: settings.moved_bytes, TIME: settings.modelled_fs}
    return places[clock_of(settings)]


def shape_of(settings: TileSettings) -> AttentionShape:
    """The problem that is shown: one KV head in fp16, and the query heads that share it."""
    return AttentionShape(
        query_len=settings.query_len,
        key_len=settings.key_len or settings.query_len,
        head_dim=settings.head_dim,
        causal=settings.causal,
        window=settings.window or None,
        query_heads=settings.heads,
    )


def sram_elements_of(settings: TileSettings) -> int:
    """M of V1's rule, in elements."""
    shape, gpu = shape_of(settings), gpu_named(settings.gpu)
    return settings.sram_elements or gpu.max_shared_bytes_per_block // shape.element_bytes


def tile_of(settings: TileSettings) -> TileShape:
    """The tile by hand, or by V1's rule."""
    if settings.tiling == "v1":
        return v1_tile(shape_of(settings), sram_elements_of(settings))
    return TileShape(settings.query_rows, settings.key_rows)


def problem_of(settings: TileSettings) -> tuple[AttentionShape, TileShape]:
    """What is computed, and in which tiles."""
    return shape_of(settings), tile_of(settings)


def walks_of_settings(settings: TileSettings) -> list[Walk]:
    """The walks that resolved settings ask for."""
    largest_score = largest_score_for(removed_of(settings))
    return [
        cached_walk(name, *problem_of(settings), splits_of(settings, name), removed, largest_score)
        for name, removed in zip(shown_walks(settings), removed_of_walks(settings), strict=True)
    ]


def removed_of(settings: TileSettings) -> Removed | None:
    """What is left out of the walks that have it."""
    return None if settings.broken in (NOTHING, TOO_LARGE) else Removed(settings.broken)


def removed_of_walks(settings: TileSettings) -> tuple[Removed | None, ...]:
    """What each walk on the page does without. Beside itself a walk is whole."""
    removed, names = removed_of(settings), shown_walks(settings)
    return tuple(
        removed
        if removed is not None and can_remove(name, removed) and (place == 0 or name != names[0])
        else None
        for place, name in enumerate(names)
    )


def splits_of(settings: TileSettings, walk: str) -> int:
    """Blocks that share the keys of a query tile: one but in decoding."""
    return settings.splits if walk == DECODING else 1

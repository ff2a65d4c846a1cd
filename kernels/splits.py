"""How many pieces Flash-Decoding cuts the keys into."""

from __future__ import annotations

from math import ceil

MOST_SPLITS = 128
DECODED_ROWS = 64  # queries of all heads that share a KV head: that many fit one tile of Flash-Decoding
ENOUGH = 0.95  # of the best efficiency: fewer splits write and merge less


def split_count(
    tasks: int, key_tiles: int, slots: int, *, most: int = MOST_SPLITS, enough: float = ENOUGH
) -> int:
    """The fewest splits that keep the GPU nearly as busy as any number would.

    `tasks` blocks would run unsplit, each over `key_tiles`; the GPU holds `slots` blocks at a time. Follows
    `num_splits_heuristic` of flash-attn (csrc/flash_attn/flash_api.cpp), which passes twice the SM count as
    slots and is content with `enough` of 0.85.
    """
    if tasks >= 0.8 * slots:
        return 1
    choices = [
        splits
        for splits in range(1, min(most, slots, key_tiles) + 1)
        if splits == 1 or ceil(key_tiles / splits) != ceil(key_tiles / (splits - 1))
    ]
    best = max(_efficiency(tasks * splits, slots) for splits in choices)
    return next(splits for splits in choices if _efficiency(tasks * splits, slots) >= enough * best)


def _efficiency(blocks: int, slots: int) -> float:
    """How full the waves of a launch are, the last one included."""
    return blocks / (slots * ceil(blocks / slots))

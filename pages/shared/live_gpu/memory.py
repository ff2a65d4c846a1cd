"""Memory of our implementations by formula, at each length that is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernels.memory import call_bytes
from kernels.results import BenchResult
from pages.shared.live_gpu.problems import shape_at
from pages.shared.live_gpu.settings import Settings, implementations, lengths

SPLITS = re.compile(r"(\d+) splits")
ALWAYS = {"forward": ("standard", "flash_v2")}  # the N x N beside the N, whoever is chosen


def modelled_bytes(settings: Settings, results: Iterable[BenchResult]) -> dict[str, dict[int, int]]:
    """Bytes by implementation and length. Flash-Decoding's depend on its splits, which a result names."""
    splits = {
        (result.implementation, result.shape.key_len): int(found[1])
        for result in results
        if (found := SPLITS.search(result.config))
    }
    names = dict.fromkeys((*ALWAYS.get(settings.direction, ()), *implementations(settings)))
    modelled: dict[str, dict[int, int]] = {}
    for name in names:
        for length in lengths(settings):
            if name == "flash_decoding" and (name, length) not in splits:
                continue
            count = splits.get((name, length), 1)
            needed = call_bytes(name, settings.direction, shape_at(settings, length), splits=count)
            if needed is not None:
                modelled.setdefault(name, {})[length] = needed
    return modelled

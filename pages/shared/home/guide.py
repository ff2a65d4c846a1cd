"""The way in for a newcomer: a few steps, each a link to a view as it should first be seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class GuideStep:
    """A step: its name in the catalogue, and the page and settings that its link opens."""

    name: str
    page: str
    parameters: Mapping[str, str]


GUIDE = (
    GuideStep(
        "two_tiles",
        "tile_movement",
        MappingProxyType({"walk": "flash_v2", "beside": "none", "n": "64", "keys": "128"}),
    ),
    GuideStep("side_by_side", "tile_movement", MappingProxyType({})),
    GuideStep("blocks", "blocks_on_sms", MappingProxyType({"h": "8", "d": "64", "causal": "0"})),
    GuideStep("measured", "live_gpu", MappingProxyType({})),
)

"""The ledger's third line: counts of a launch stand beside a walk only where shape and tiles are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kernels.counted import Counted, CountedCall, CountedKernel, CountedRun, write_counts
from kernels.counted_cases import CASES, algorithmic_bytes
from kernels.formulas import each_once
from kernels.results import Environment
from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.tile_movement import counted
from pages.shared.tile_movement.counted import counted_payload, recorded_walks
from simulator import TileShape, Trace, trace_flash_v1, trace_flash_v2, trace_standard, traffic_of

SAY = partial(translate, "en")
TEXTS = {field.name: "x" for field in fields(Environment) if field.type == "str"} | {
    "gpu": "NVIDIA Made-up",
    "date": "2026-12-01T02:00:00Z",
}
MADE = {"flash_v1": trace_flash_v1, "flash_v2": trace_flash_v2, "standard": trace_standard}
HEADS = 64  # of the cases below, batch 4 x 16


def kept(name: str, *, dram_share: float) -> CountedCall:
    """A call whose counters saw `dram_share` of what its loops ask for."""
    [case] = [case for case in CASES if case.name == name]
    asked = algorithmic_bytes(case)
    assert asked is not None
    read, written = round(dram_share * asked.read), round(dram_share * asked.written)
    seen = Counted(read, written, asked.read, asked.written, None)
    return CountedCall(
        run="made up",
        name=name,
        implementation=case.implementation,
        shape=case.shape,
        config=f"{case.config}, {case.order.value}",
        l2_bytes=60 * 2**20,
        once=each_once(case.shape),
        algorithmic=asked,
        kernels=(CountedKernel("kernel", seen),),
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(counted, "RECORDED", tmp_path)
    recorded_walks.cache_clear()
    yield tmp_path
    recorded_walks.cache_clear()


def keep(folder: Path, *calls: CountedCall) -> None:
    environment = Environment(**TEXTS, sm_count=132, memory_bytes=2**37)
    write_counts(CountedRun(environment, calls), folder / "counters_made_up.jsonl")


def trace_of(name: str, tile: TileShape) -> Trace:
    [shape] = {case.shape for case in CASES if case.name == "flash_v2_64x64"}
    return MADE[name](replace(shape, batch=1, query_heads=1, kv_heads=1), tile)


def test_nothing_is_said_where_nothing_is_recorded(folder: Path) -> None:
    assert counted_payload(SAY, trace_of("flash_v2", TileShape(64, 64))) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_heads_share_of_the_counters_stands_under_the_walks_own_count(folder: Path, language: str) -> None:
    keep(folder, kept("flash_v2_64x64", dram_share=0.05))
    trace = trace_of("flash_v2", TileShape(64, 64))
    payload = counted_payload(partial(translate, language), trace)
    assert payload is not None
    traffic = traffic_of(trace)
    reads = [int(row[1].replace(",", "").removesuffix(" B")) for row in payload["rows"]]
    writes = [int(row[2].replace(",", "").removesuffix(" B")) for row in payload["rows"]]
    # The kernel's loops are the walk's, so they take no row of their own: walk, L2, DRAM.
    assert reads == [traffic.read_bytes, traffic.read_bytes, pytest.approx(0.05 * traffic.read_bytes, abs=1)]
    assert writes == [
        traffic.written_bytes,
        traffic.written_bytes,
        pytest.approx(0.05 * traffic.written_bytes, abs=1),
    ]
    assert "NVIDIA Made-up" in payload["where"]
    assert "2026-12-01" in payload["where"]


@pytest.mark.parametrize(
    ("name", "walk", "tile", "share", "words"),
    [
        (
            "flash_v2_64x64",
            "flash_v2",
            TileShape(64, 64),
            0.05,
            "5.0 % of what the loops ask for: query tiles read",
        ),
        (
            "flash_v1_bc64",
            "flash_v1",
            TileShape(64, 64),
            1.01,
            "101.0 % of what the loops ask for: what is written",
        ),
        (
            "standard",
            "standard",
            TileShape(64, 64),
            0.5,
            "50.0 % of what the loops ask for; L2 (60 MB) serves",
        ),
        ("standard", "standard", TileShape(64, 64), 1.2, "120.0 % of what the loops ask for."),
    ],
)
def test_the_difference_is_explained_by_its_size(
    folder: Path, name: str, walk: str, tile: TileShape, share: float, words: str
) -> None:
    keep(folder, kept(name, dram_share=share))
    payload = counted_payload(SAY, trace_of(walk, tile))
    assert payload is not None
    assert any(words in note for note in payload["notes"])


def test_v1s_kernel_has_a_count_of_its_own_since_it_holds_o_in_float32(folder: Path) -> None:
    keep(folder, kept("flash_v1_bc64", dram_share=1.0))
    trace = trace_of("flash_v1", TileShape(64, 64))
    payload = counted_payload(SAY, trace)
    assert payload is not None
    labels = [row[0] for row in payload["rows"]]
    assert labels == ["this walk", "our kernel's loops", "asked of L2", "DRAM"]
    assert any("float32" in note for note in payload["notes"])


@pytest.mark.parametrize("change", [{"causal": True}, {"query_len": 4095}, {"head_dim": 65}])
def test_another_problem_or_tile_only_hears_where_there_are_counters(folder: Path, change: Any) -> None:
    keep(folder, kept("flash_v2_64x64", dram_share=0.05))
    trace = trace_of("flash_v2", TileShape(64, 64))
    others = [
        MADE["flash_v2"](replace(trace.shape, **change), TileShape(64, 64)),
        trace_of("flash_v2", TileShape(64, 128)),
    ]
    for other in others:
        payload = counted_payload(SAY, other)
        assert payload is not None
        assert payload["rows"] == []
        assert payload["notes"] == [
            "Counters of this walk were recorded on NVIDIA Made-up for: 4,096 × 4,096, d 64, tiles 64 × 64."
        ]


def test_orders_of_one_problem_are_told_apart(folder: Path) -> None:
    names = ("flash_v2_causal_natural", "flash_v2_causal_longest_first")
    keep(folder, *(kept(name, dram_share=share) for name, share in zip(names, (0.05, 0.3), strict=True)))
    causal = replace(trace_of("flash_v2", TileShape(64, 64)).shape, causal=True)
    payload = counted_payload(SAY, trace_flash_v2(causal, TileShape(64, 64)))
    assert payload is not None
    assert len({row[0] for row in payload["rows"]}) == len(payload["rows"]) == 5

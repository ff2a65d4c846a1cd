import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simulator.gpu import GPUS, gpu_named
from simulator.launch import BlockResources, Kernel, Launch, owned_tiles
from simulator.modelled_run import model_run
from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count
from simulator.schedule import assign_to_slots, makespan_s
from viz.timeline.lanes import (
    BYTES_PER_BLOCK,
    Comparison,
    Panel,
    Picture,
    Provenance,
    pack_lanes,
    timeline_data,
)

SHAPE = AttentionShape(500, 500, 64, causal=True, batch=2, query_heads=3, kv_heads=3)
TILE = TileShape(64, 64)
WORDS = (
    "label",
    "sublabel",
    "name",
    "headline",
    "provenance",
    "tail_text",
    "block_text",
    "owns_text",
    "grid_text",
)


def panel_of(launch, schedule):
    owned = owned_tiles(launch.kernel, SHAPE, TILE)
    words: dict[str, Any] = dict.fromkeys(WORDS, "word")
    return Panel(launch, schedule, owned, Provenance.MODELLED, **words)


def data_of(*runs):
    return timeline_data(
        Picture(
            panels=tuple(panel_of(run.launch, run.schedule) for run in runs),
            columns=(),
            chips=(),
            comparison=Comparison("", "", (), ()),
            chip_panel=0,
            query_tiles=query_tile_count(SHAPE, TILE),
            key_tiles=key_tile_count(SHAPE, TILE),
            text={},
        )
    )


def some_runs():
    return [model_run(kernel, SHAPE, TILE, gpu_named("t4")) for kernel in Kernel]


def unpacked(data, blocks):
    return (
        np.frombuffer(data, "<f4", blocks),
        np.frombuffer(data, "<f4", blocks, 4 * blocks),
        np.frombuffer(data, "<u2", blocks, 8 * blocks),
    )


def test_packing_keeps_every_block_its_slot_and_its_times():
    schedule = some_runs()[1].schedule
    start, end, slot = unpacked(pack_lanes(schedule), len(schedule.slot))
    assert np.array_equal(slot, schedule.slot)
    assert np.array_equal(start, schedule.start_s.astype(np.float32))
    assert np.array_equal(end, schedule.end_s.astype(np.float32))


def test_a_block_costs_ten_bytes():
    schedule = assign_to_slots(np.ones(1000), sm_count=7, slots_per_sm=1)
    assert len(pack_lanes(schedule)) == 1000 * BYTES_PER_BLOCK


def test_blocks_that_follow_in_a_slot_do_not_overlap_when_rounded():
    """float32 rounds an end and the start that follows it alike, so no seam opens or closes."""
    durations = np.random.default_rng(0).uniform(1e-6, 1e-4, 2000)
    start, end, slot = unpacked(pack_lanes(assign_to_slots(durations, sm_count=5, slots_per_sm=2)), 2000)
    for lane in range(10):
        mine = np.flatnonzero(slot == lane)
        mine = mine[np.argsort(start[mine])]
        assert np.array_equal(end[mine][:-1], start[mine][1:])


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_the_most_slots_of_any_gpu_fit_a_lane_number(gpu):
    assert gpu.sm_count * gpu.max_blocks_per_sm <= np.iinfo(np.uint16).max


def test_all_panels_share_the_clock_of_the_longest():
    runs = some_runs()
    data = data_of(*runs)
    assert data["end_s"] == max(makespan_s(run.schedule) for run in runs)
    assert {name for name, value in data.items() if isinstance(value, bytes)} == {"lanes_0", "lanes_1"}
    json.dumps({name: value for name, value in data.items() if not isinstance(value, bytes)})


def test_the_work_of_a_block_is_found_by_its_place_along_x():
    for run in some_runs():
        panel = data_of(run)["panels"][0]
        found = [panel["work"][block % len(panel["work"])] for block in range(panel["blocks"])]
        assert found == run.launch.work_tiles.tolist()


def test_axes_name_a_block_by_what_it_computes():
    panel = data_of(some_runs()[1])["panels"][0]
    assert panel["axes"] == [("row_block", 8), ("batch", 2), ("head", 3)]


def test_work_that_does_not_repeat_along_x_is_refused():
    resources = BlockResources(128, 32, 0, "test")
    launch = Launch(
        Kernel.V2_FORWARD, (2, 1, 2), ("row_block", "batch", "head"), resources, np.array([1, 2, 2, 1])
    )
    schedule = assign_to_slots(np.ones(4), sm_count=1, slots_per_sm=1)
    with pytest.raises(ValueError, match="work_tiles must repeat"):
        data_of(SimpleNamespace(launch=launch, schedule=schedule))


def test_the_tiles_of_a_block_are_found_by_its_place_along_x():
    """V2's block has one query tile and as many key tiles as it has work; V1's has all of both."""
    v1, v2 = (data_of(run)["panels"][0] for run in some_runs())
    assert v1["owned"] == [[0, 8, 0, 8]]
    assert [end - first for first, end, _, _ in v2["owned"]] == [1] * 8
    assert [end - first for _, _, first, end in v2["owned"]] == v2["work"]

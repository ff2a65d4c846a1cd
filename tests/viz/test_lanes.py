import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simulator.gpu import GPUS, gpu_named
from simulator.launch import Axis, Kernel, Launch, blocks_of_head, splits_of
from simulator.modelled_run import model_run
from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count
from simulator.resources import BlockResources
from simulator.schedule import assign_to_slots, makespan_s, slot_count
from viz.timeline.lanes import (
    BYTES_PER_BLOCK,
    Comparison,
    Panel,
    Picture,
    Provenance,
    Strip,
    is_seamless,
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
    "amount_text",
    "grid_text",
)


def panel_of(launch, schedule):
    words: dict[str, Any] = dict.fromkeys(WORDS, "word")
    return Panel(
        launch,
        schedule,
        blocks_of_head(launch.kernel, SHAPE, TILE, splits=splits_of(launch)),
        (Strip("Q", "query", "queries"),),
        query_tile_count(SHAPE, TILE),
        key_tile_count(SHAPE, TILE),
        Provenance.MODELLED,
        build_texts=("blocks", "heads", "batch"),
        **words,
    )


def data_of(*runs):
    return timeline_data(
        Picture(
            panels=tuple(panel_of(run.launch, run.schedule) for run in runs),
            columns=(),
            chips=(),
            comparison=Comparison("", "", (), ()),
            chip_panel=0,
            text={},
        )
    )


def some_runs():
    kernels = (Kernel.V1_FORWARD, Kernel.V2_FORWARD, Kernel.V1_SPLIT, Kernel.V2_BACKWARD)
    splits = {Kernel.V1_SPLIT: 3}
    return [
        model_run(kernel, SHAPE, TILE, gpu_named("t4"), splits=splits.get(kernel, 1)) for kernel in kernels
    ]


def unpacked(schedule):
    """What a browser reads: start, end and slot of each block."""
    data, blocks = pack_lanes(schedule), len(schedule.slot)
    ends = slot_count(schedule) if is_seamless(schedule) else blocks
    start = np.frombuffer(data, "<f4", blocks)
    end = np.frombuffer(data, "<f4", ends, 4 * blocks)
    slot = np.frombuffer(data, "<u2", blocks, 4 * (blocks + ends))
    assert len(data) == 6 * blocks + 4 * ends
    return start, end, slot


def with_pauses():
    durations = np.random.default_rng(0).uniform(1e-6, 1e-4, 200)
    return assign_to_slots(durations, sm_count=5, slots_per_sm=2, pause_s=1e-7)


def test_packing_keeps_every_block_its_slot_and_its_times():
    schedule = with_pauses()
    start, end, slot = unpacked(schedule)
    assert np.array_equal(slot, schedule.slot)
    assert np.array_equal(start, schedule.start_s.astype(np.float32))
    assert np.array_equal(end, schedule.end_s.astype(np.float32))


def test_a_block_costs_ten_bytes_and_six_where_no_slot_waits():
    assert len(pack_lanes(with_pauses())) == 200 * BYTES_PER_BLOCK
    seamless = assign_to_slots(np.ones(1000), sm_count=7, slots_per_sm=1)
    assert len(pack_lanes(seamless)) == 6 * 1000 + 4 * 7


def test_where_no_slot_waits_an_end_is_the_next_start_or_the_end_of_its_slot():
    """float32 rounds an end and the start that follows it alike, so no seam opens or closes."""
    durations = np.random.default_rng(0).uniform(1e-6, 1e-4, 2000)
    schedule = assign_to_slots(durations, sm_count=5, slots_per_sm=2)
    start, last_ends, slot = unpacked(schedule)
    for lane in range(10):
        mine = np.flatnonzero(slot == lane)
        mine = mine[np.argsort(start[mine])]
        ends = np.append(start[mine][1:], last_ends[lane])
        assert np.array_equal(ends, schedule.end_s[mine].astype(np.float32))


def test_a_slot_without_a_block_ends_at_zero():
    schedule = assign_to_slots(np.ones(3), sm_count=5, slots_per_sm=1)
    assert unpacked(schedule)[1].tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_the_most_slots_of_any_gpu_fit_a_lane_number(gpu):
    assert gpu.sm_count * gpu.max_blocks_per_sm <= np.iinfo(np.uint16).max


def test_all_panels_share_the_clock_of_the_longest():
    runs = some_runs()
    data = data_of(*runs)
    assert data["end_s"] == max(makespan_s(run.schedule) for run in runs)
    packed = {name for name, value in data.items() if isinstance(value, bytes)}
    assert packed == {f"lanes_{i}" for i in range(len(runs))}
    json.dumps({name: value for name, value in data.items() if not isinstance(value, bytes)})


def part_of(panel, block):
    """What a browser works out: which block of its head a block is."""
    part, step = 0, 1
    for stride, size in panel["part_strides"]:
        part += block // stride % size * step
        step *= size
    return part


def test_the_work_of_a_block_is_found_by_its_part():
    for run in some_runs():
        panel = data_of(run)["panels"][0]
        found = [panel["work"][part_of(panel, block)] for block in range(panel["blocks"])]
        assert found == run.launch.work_tiles.tolist()


def test_axes_name_a_block_by_what_it_computes():
    panel = data_of(some_runs()[1])["panels"][0]
    assert panel["axes"] == [("row_block", 8), ("batch", 2), ("head", 3)]


def test_work_that_differs_between_heads_is_refused():
    resources = BlockResources(128, 32, 0, "test")
    axes = (Axis("row_block", 2), Axis("batch", 1), Axis("head", 2))
    launch = Launch(Kernel.V2_FORWARD, (2, 1, 2), axes, resources, np.array([1, 2, 2, 1]))
    schedule = assign_to_slots(np.ones(4), sm_count=1, slots_per_sm=1)
    with pytest.raises(ValueError, match="work_tiles must be the same for every batch and head"):
        data_of(SimpleNamespace(launch=launch, schedule=schedule))


def test_the_tiles_of_a_block_are_found_by_its_part():
    """V1's block has all tiles of both, a split every third query tile, V2's one query tile, the backward's
    one key tile; under a causal mask as many of the other as they have work.
    """
    v1, v2, split, backward = (data_of(run)["panels"][0] for run in some_runs())
    assert v1["owned"] == [[0, 8, 1, 0, 8, 1]]
    assert split["owned"] == [[first, 8, 3, 0, 8, 1] for first in range(3)]
    assert v2["owned"] == [[row, row + 1, 1, 0, row + 1, 1] for row in range(8)]
    assert v2["work"] == [row + 1 for row in range(8)]
    assert backward["owned"] == [[column, 8, 1, column, column + 1, 1] for column in range(8)]
    assert backward["work"] == [8 - column for column in range(8)]

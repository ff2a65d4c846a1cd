import numpy as np
import pytest

from kernels.placements import RECORDED, placements_of, program_blocks, read_launches
from simulator.launch import Order
from simulator.modelled_run import RecordedRun, error_of, is_beyond_claim, refit_run
from simulator.schedule import makespan_s, tail_of

RECORDINGS = [read_launches(path) for path in sorted(RECORDED.glob("h200_*.json"))]
LAUNCHES = {
    launch.facts.name: (recorded_on, launch) for recorded_on, launches in RECORDINGS for launch in launches
}
every_launch = pytest.mark.parametrize(("recorded_on", "launch"), LAUNCHES.values(), ids=LAUNCHES)
SIXTEEN_HEADS = "v2_forward_d128_causal_16x4096"  # 512 blocks, one at a time on each SM
every_order = pytest.mark.parametrize("order", Order)


def runs_of(name):
    recorded_on, launch = LAUNCHES[name]
    return placements_of(launch, recorded_on)


def durations_of(placement):
    return placement.schedule.end_s - placement.schedule.start_s


@every_order
def test_blocks_are_named_so_that_more_tiles_take_longer(order):
    """Were the order ignored, programs would be named by their id and not by what they computed."""
    for run in runs_of(f"{SIXTEEN_HEADS}_{order}"):
        assert np.corrcoef(run.launch.work_tiles, durations_of(run))[0, 1] > 0.99


@every_order
def test_one_block_at_a_time_ran_on_each_of_132_sms(order):
    for run in runs_of(f"{SIXTEEN_HEADS}_{order}"):
        assert run.schedule.slots_per_sm == 1
        assert set(run.schedule.slot.tolist()) == set(range(132))


def test_longest_first_shortens_the_tail_on_the_hardware_too():
    natural, longest = (runs_of(f"{SIXTEEN_HEADS}_{order}") for order in ("natural", "longest_first"))
    assert max(makespan_s(run.schedule) for run in longest) < min(makespan_s(run.schedule) for run in natural)
    assert max(tail_of(run.schedule).mean_idle_s for run in longest) < min(
        tail_of(run.schedule).mean_idle_s for run in natural
    )


@every_order
def test_the_first_programs_of_an_order_start_first(order):
    _, launch = LAUNCHES[f"{SIXTEEN_HEADS}_{order}"]
    first_wave = np.sort(program_blocks(launch.facts)[:132])
    for run in runs_of(f"{SIXTEEN_HEADS}_{order}"):
        assert np.sort(np.argsort(run.schedule.start_s)[:132]).tolist() == first_wave.tolist()


def test_our_recorder_kept_launches_of_8_to_4096_blocks():
    sizes = {launch.sm.shape[1] for _, launch in LAUNCHES.values()}
    assert len(LAUNCHES) >= 20
    assert (min(sizes), max(sizes)) == (8, 4096)


@every_launch
def test_every_block_ran_once_and_none_overlaps_another_in_its_slot(recorded_on, launch):
    for placement in placements_of(launch, recorded_on):
        schedule = placement.schedule
        assert len(schedule.slot) == len(placement.launch.work_tiles)
        start_ns, end_ns = (np.rint(1e9 * seconds) for seconds in (schedule.start_s, schedule.end_s))
        by_slot = np.lexsort((start_ns, schedule.slot))
        same_slot = np.diff(schedule.slot[by_slot]) == 0
        assert np.all((start_ns[by_slot][1:] >= end_ns[by_slot][:-1])[same_slot])


def test_clocks_tell_eight_gpcs_of_at_most_nine_pairs_of_sms():
    """Two cards: one has six GPCs of 16 SMs and two of 18, the other 12, three of 16 and four of 18."""
    assert all(recorded_on.gpc_of_sm for recorded_on, _ in RECORDINGS)
    for recorded_on, _ in RECORDINGS:
        sizes = np.bincount(recorded_on.gpc_of_sm)
        assert (len(sizes), sizes.sum()) == (8, recorded_on.sm_count)
        assert not (sizes % 2).any()
        assert sizes.max() == 18


def test_the_clocks_of_one_session_tell_the_same_gpcs_each_time():
    sessions: dict[str, set[tuple[int, ...]]] = {}
    for recorded_on, _ in RECORDINGS:
        sessions.setdefault(recorded_on.commit, set()).add(recorded_on.gpc_of_sm)
    assert {len(groupings) for groupings in sessions.values()} == {1}


# The model takes differences between SMs for chance; where bandwidth decides, some SMs draw more each time.
UNEQUAL_BANDWIDTH = {
    "flash_decoding_d128_full_32x65536_8kv_64splits_natural",
    "flash_decoding_d128_full_32x65536_16splits_natural",
    "flash_decoding_d128_full_32x65536_64splits_natural",
}
# The pace of a block alone rests on the few that were, at the very end, and differs from run to run.
FEW_ALONE = {"v2_query_gradients_d64_causal_128x1024_longest_first"}


@every_launch
def test_greedy_dispatch_at_a_launch_s_own_paces_meets_it(recorded_on, launch):
    """Makespan within 3 % and busy fraction within 2 points, also where blocks share an SM; but for those
    that are named above, which the page says are missed.
    """
    placement = placements_of(launch, recorded_on)[0]
    recorded = RecordedRun(placement.launch, placement.blocks, placement.schedule)
    error = error_of(refit_run(recorded, np.random.default_rng(0))[1], placement.schedule)
    assert is_beyond_claim(error) == (launch.facts.name in UNEQUAL_BANDWIDTH | FEW_ALONE), error


@pytest.mark.parametrize("name", sorted(UNEQUAL_BANDWIDTH))
def test_where_bandwidth_decides_the_same_sms_get_more_blocks_each_time(name):
    """Were it chance, the blocks that an SM got in one run would say nothing of the next: over 132 SMs the
    correlation would be within 0.26, three standard deviations.
    """
    by_run = [
        np.bincount(run.schedule.slot % run.schedule.sm_count, minlength=run.schedule.sm_count)
        for run in runs_of(name)
    ]
    for other in by_run[1:]:
        assert np.corrcoef(by_run[0], other)[0, 1] > 0.26

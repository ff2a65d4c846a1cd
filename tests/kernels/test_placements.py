import numpy as np
import pytest

from kernels.placements import RECORDED, placements_of, program_blocks, read_launches
from simulator.launch import Order
from simulator.modelled_run import RecordedRun, error_of, refit_run
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


def test_clocks_that_could_be_told_apart_show_eight_gpcs_of_16_or_18_sms():
    """An H200 has six GPCs of 16 SMs and two of 18; one recording of four leaves the grouping out."""
    known = [recorded_on.gpc_of_sm for recorded_on, _ in RECORDINGS if recorded_on.gpc_of_sm]
    assert len(known) == 3
    for gpc_of_sm in known:
        assert sorted(np.bincount(gpc_of_sm).tolist()) == [16] * 6 + [18] * 2


@every_launch
def test_greedy_dispatch_at_a_launch_s_own_paces_meets_it(recorded_on, launch):
    """Makespan within 3 % and busy fraction within 2 points, also where blocks share an SM."""
    placement = placements_of(launch, recorded_on)[0]
    recorded = RecordedRun(placement.launch, placement.blocks, placement.schedule)
    error = error_of(refit_run(recorded, np.random.default_rng(0))[1], placement.schedule)
    assert abs(error.makespan_fraction) <= 0.03
    assert abs(error.busy_difference) <= 0.02

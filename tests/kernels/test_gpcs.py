"""SMs are grouped by the clock that they share, and left alone where that cannot be told."""

import numpy as np
import pytest

from kernels.gpcs import group_by_clock

SMS, READINGS = 12, 31
GPC_OF_SM = np.array([0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2])
FAR_APART = np.array([0, 150_000_000, -80_000_000])


@pytest.fixture
def generator():
    seed = np.random.SeedSequence().entropy
    print("seed", seed)
    return np.random.default_rng(seed)


def probed(generator, clock_of_gpc, *, gpc_of_sm=GPC_OF_SM):
    """What SMs read within 1.5 microseconds at 1.9 cycles a ns: time in steps of 32 ns, clocks to within 15
    cycles.
    """
    sm = np.repeat(np.arange(len(gpc_of_sm)), READINGS)
    ns = generator.integers(0, 1500, len(sm))
    clock = clock_of_gpc[gpc_of_sm[sm]] + np.rint(1.9 * ns).astype(int)
    clock += generator.integers(-15, 16, len(sm))
    mixed = generator.permutation(len(sm))
    origin = 1_796_070_230_683_868_544
    return np.stack([sm, origin + ns // 32 * 32, 7 * 10**15 + clock], axis=1)[mixed]


def test_sms_whose_clocks_run_together_share_a_gpc(generator):
    found = group_by_clock([probed(generator, FAR_APART)], sm_count=SMS)
    assert found.tolist() == GPC_OF_SM.tolist()


@pytest.mark.parametrize("apart", [0, 200])
def test_clocks_that_agree_in_one_probe_are_told_apart_by_another(generator, apart):
    """Clocks drift against each other while the GPU works, so two may meet; that makes no one GPC of them."""
    close = np.array([0, 150_000_000, apart])
    probes = [probed(generator, clocks) for clocks in (FAR_APART, close, FAR_APART + 12_345)]
    assert group_by_clock(probes, sm_count=SMS).tolist() == GPC_OF_SM.tolist()


def test_clocks_that_always_agree_leave_their_sms_out(generator):
    """Two GPCs in one would be twice as large as the others."""
    gpc_of_sm = np.repeat(np.arange(6), 4)
    clocks = 10**8 * np.array([0, 1, 2, 2, 4, 5])
    found = group_by_clock([probed(generator, clocks, gpc_of_sm=gpc_of_sm)] * 2, sm_count=24)
    assert found.tolist() == [0] * 4 + [1] * 4 + [-1] * 8 + [2] * 4 + [3] * 4


def test_an_sm_that_was_not_read_has_no_gpc(generator):
    probe = probed(generator, FAR_APART)
    found = group_by_clock([probe, probe[probe[:, 0] != 2]], sm_count=SMS + 1)
    assert found.tolist() == [0, 0, -1, 1, 2, 2, 0, 0, 1, 1, 2, 2, -1]

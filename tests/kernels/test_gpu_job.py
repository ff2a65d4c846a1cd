"""A run goes on after a fault, with the true measuring code in the child."""

from collections.abc import Sequence
from time import monotonic

from kernels.gpu_child import Child
from kernels.gpu_job import Limits, run_job
from kernels.plan import Plan, plan_of
from kernels.results import BenchResult, Environment, Record
from tests.kernels import gpu_injected

NAMES = ("flash", "efficient", "cudnn", "math")
SIZES = ("--lengths", "65", "--head-dims", "16", "--hidden", "16", "--tokens", "65", "--causal", "yes")
PLAN = plan_of((*SIZES, "--implementations", ",".join(NAMES)))


def start(plans: Sequence[Plan], limit_s: float) -> Child:
    return Child(gpu_injected.measure, plans, limit_s=limit_s)


def records_of(limits: Limits) -> list[Record]:
    records: list[Record] = []
    run_job(PLAN, "run", start=start, limits=limits, emit=records.append, is_wanted=lambda: True)
    return records


def test_who_breaks_the_context_is_named_and_the_others_are_measured_and_judged() -> None:
    """Hard case D-7: an illegal access shows as an error of every later call, whoever makes it."""
    begin_s = monotonic()
    records = records_of(Limits())
    took_ms = 1000 * (monotonic() - begin_s)
    results = {each.implementation: each for each in records if isinstance(each, BenchResult)}
    assert sorted(results) == sorted(NAMES)
    assert results["flash"].unavailable == gpu_injected.ILLEGAL
    assert "out of memory" in results["efficient"].unavailable
    for result in (results["cudnn"], results["math"]):
        assert result.verdict is not None
        assert result.verdict.correct
        assert len(result.samples_ms) == 2
    slept = results["cudnn"].samples_ms
    assert min(slept) >= gpu_injected.SLEEP_MS
    assert sum(slept) < took_ms
    environments = [each for each in records if isinstance(each, Environment)]
    assert [each.run for each in environments] == ["run"]
    assert {each.run for each in results.values()} == {"run"}


def test_what_is_left_when_a_run_has_used_its_time_is_left_out_with_a_reason() -> None:
    results = [each for each in records_of(Limits(run_s=0.0)) if isinstance(each, BenchResult)]
    assert [each.implementation for each in results] == list(NAMES)
    assert {each.unavailable for each in results} == {"left out: the run took the 0 s that it may take"}

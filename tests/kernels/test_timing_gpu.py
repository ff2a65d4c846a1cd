"""What takes a known time on the GPU or the host is said to take it (hard cases C46 and C49)."""

import time

import pytest
import torch

from kernels.inputs import random_inputs
from kernels.providers import provider_of
from kernels.timing import Stopwatch
from simulator.problem import AttentionShape

pytestmark = pytest.mark.gpu
CYCLES = 4_000_000  # some milliseconds on any GPU


@pytest.fixture
def watch(device) -> Stopwatch:
    return Stopwatch(device)


def spin(cycles):
    return lambda: torch.cuda._sleep(cycles)


def spin_ms(cycles):
    """Its GPU time, by one pair of events and nothing else."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    torch.cuda._sleep(cycles)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def test_a_known_time_is_found_by_events_and_by_a_graph(watch):
    known_ms = min(spin_ms(CYCLES) for _ in range(5))
    by_events = watch.sample(spin(CYCLES), repetitions=5).gpu_ms
    by_graph = watch.replay_ms(watch.capture(spin(CYCLES), repetitions=5))
    assert by_events == pytest.approx(known_ms, rel=0.1)
    assert by_graph == pytest.approx(by_events, rel=0.1)


def test_twice_the_work_takes_twice_the_time(watch):
    once, twice = (watch.sample(spin(factor * CYCLES), repetitions=5).gpu_ms for factor in (1, 2))
    assert twice == pytest.approx(2 * once, rel=0.1)


def test_host_time_is_the_hosts_and_the_gpus_is_the_gpus(watch):
    """The GPU is held while the host fills the queue: a slow host must not look like a slow kernel."""

    def slow_host():
        time.sleep(0.002)
        torch.cuda._sleep(1000)

    sample = watch.sample(slow_host, repetitions=5)
    assert sample.gpu_ms < 0.2
    assert 2000 <= sample.host_us < 4000
    assert watch.sample(spin(CYCLES), repetitions=5).host_us < 200


@pytest.mark.parametrize("name", ["flash_v2", "math", "cudnn"])
@pytest.mark.parametrize("direction", ["backward", "both"])
def test_repeated_gradients_leave_memory_as_it_was(device, watch, name, direction):
    """C49: gradients gathered in .grad add time and memory."""
    shape = AttentionShape(256, 256, 64, causal=True, query_heads=4, kv_heads=4)
    inputs = random_inputs(shape, direction, device=device, dtype=torch.float16)
    call = provider_of(name, direction).prepare(inputs).call
    watch.sample(call, repetitions=2)
    before = torch.cuda.memory_allocated(device)
    watch.sample(call, repetitions=5)
    assert torch.cuda.memory_allocated(device) <= before
    assert inputs.q.grad is None

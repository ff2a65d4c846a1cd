"""What is recorded of a launch survives its files, and says what ran: checked on a GPU where there is one."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kernels.configs import KernelConfig, choose_config
from kernels.events import new_events
from kernels.flash_v1 import launch_flash_v1
from kernels.flash_v2 import launch_flash_v2
from kernels.gpcs import group_by_clock
from kernels.placements import (
    LaunchFacts,
    RecordedLaunch,
    RecordedOn,
    placements_of,
    program_blocks,
    read_launches,
    write_launches,
)
from kernels.problem import pose
from kernels.record import clock_probe
from kernels.recorder import main, plan_of
from simulator.launch import Order, dispatch_order

ROOT = Path(__file__).parents[2]
ON = RecordedOn(
    "GPU", 4, "1", "2", "3", "3.12", "2026-11", "as found", "notes", "test", gpc_of_sm=(0, 0, 1, 1)
)
FACTS = LaunchFacts("run", "v2_forward", 1, 3, 64, 16, True, 16, 16, "longest_first", 3, 2, (1, 2))


def recorded(facts=FACTS):
    generator = np.random.default_rng(1)
    programs = len(program_blocks(facts))
    sm = generator.integers(0, 4, (2, programs))
    start = np.arange(2 * programs).reshape(2, programs) * 1000
    return RecordedLaunch(facts, sm, start - start[:, :1], start - start[:, :1] + 5000)


def test_a_recording_survives_its_files(tmp_path):
    launches = [recorded(), recorded(replace(FACTS, name="other", order="natural", heads_per_group=1))]
    write_launches(tmp_path / "kept.json", ON, launches)
    on, found = read_launches(tmp_path / "kept.json")
    assert on == ON
    assert [launch.facts for launch in found] == [launch.facts for launch in launches]
    for kept, launch in zip(found, launches, strict=True):
        for column in ("sm", "start_ns", "end_ns"):
            np.testing.assert_array_equal(getattr(kept, column), getattr(launch, column))


def test_each_kept_run_is_a_placement_of_blocks_in_the_order_they_started():
    first, second = placements_of(recorded(), ON)
    assert (first.launch_number, second.launch_number, second.launches_recorded) == (1, 2, 2)
    for placement in (first, second):
        started = np.argsort(placement.schedule.start_s).tolist()
        assert started == dispatch_order(placement.launch, placement.order).tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--heads", "0"], "heads must be whole numbers from 1 up with commas between, got 0"),
        (["--orders", "random"], "orders must be among natural, reversed, longest_first, got random"),
        (["--kernels", "v3"], "kernels must be among v1_forward, v2_forward, got v3"),
        (["--launches", "0"], "launches must be at least 1, got 0"),
        (["--head-dims", "512"], "head_dim must be at most 256, got 512"),
    ],
)
def test_a_bad_argument_is_a_sentence_and_exit_2(capsys, tmp_path, arguments, sentence):
    with pytest.raises(SystemExit) as leaving:
        main([*arguments, "--out", str(tmp_path / "x.json")])
    assert leaving.value.code == 2
    assert sentence in capsys.readouterr().err


def test_v1_has_one_order():
    plan = plan_of(["--kernels", "v1_forward,v2_forward", "--out", "x.json"])
    assert [(case.kernel.value, case.order.value) for case in plan.cases] == [
        ("v1_forward", "natural"),
        ("v2_forward", "natural"),
        ("v2_forward", "reversed"),
        ("v2_forward", "longest_first"),
    ]


def test_without_an_nvidia_gpu_nothing_can_note_anything():
    with pytest.raises(
        ValueError, match="device must be an NVIDIA GPU for programs to note their SM, got cpu"
    ):
        new_events(1, torch.device("cpu"))


@pytest.mark.parametrize(("launch", "programs"), [(launch_flash_v2, 6), (launch_flash_v1, 2)])
def test_room_that_is_not_one_row_for_each_program_is_refused(device, launch, programs):
    """Programs would write beside it."""
    q = torch.zeros(1, 2, 40, 16, dtype=torch.float16, device=device)
    lse = torch.empty(1, 2, 40, device=device)
    room = torch.zeros(programs - 1, 5, dtype=torch.int64, device=device)
    config = KernelConfig(16, 16, 4, 1)
    with pytest.raises(ValueError, match=rf"events must be \({programs}, 5\), got \({programs - 1}, 5\)"):
        launch(pose(q, q, q, causal=True), q.clone(), lse, config=config, events=room)


@pytest.mark.gpu
@pytest.mark.parametrize("order", Order)
def test_noting_changes_no_output(generator, device, order):
    q, k, v = torch.randn(3, 1, 4, 1000, 64, generator=generator, device=device).half()
    problem = pose(q, k, v, causal=True)
    config = choose_config(problem.shape, problem.limits)
    events = new_events(-(-1000 // config.query_rows) * 4, device)
    outputs = []
    for notes in (None, events):
        out, lse = torch.full_like(q, float("nan")), torch.full(q.shape[:3], float("nan"), device=device)
        launch_flash_v2(problem, out, lse, config=config, order=order, events=notes)
        outputs.append((out, lse))
    assert torch.equal(outputs[0][0], outputs[1][0])
    assert torch.equal(outputs[0][1], outputs[1][1])
    assert int(events.min()) >= 0


@pytest.mark.gpu
def test_every_sm_is_in_a_gpc(device):
    sm_count = torch.cuda.get_device_properties(device).multi_processor_count
    gpcs = group_by_clock([clock_probe(device) for _ in range(3)], sm_count=sm_count).tolist()
    assert min(gpcs) == 0
    assert 1 < len(set(gpcs)) < len(gpcs) / 4


@pytest.mark.gpu
def test_the_command_keeps_what_ran(tmp_path):
    kept = tmp_path / "kept.json"
    arguments = [
        "--heads",
        "4",
        "--lengths",
        "1024",
        "--head-dims",
        "64",
        "--launches",
        "2",
        "--out",
        str(kept),
    ]
    subprocess.run([sys.executable, "-m", "kernels.recorder", *arguments], cwd=ROOT, check=True)
    on, launches = read_launches(kept)
    assert on.by.startswith("python -m kernels.recorder --heads 4")
    assert [launch.facts.order for launch in launches] == list(Order)
    for launch in launches:
        for placement in placements_of(launch, on):
            durations = placement.schedule.end_s - placement.schedule.start_s
            assert np.corrcoef(placement.launch.work_tiles, durations)[0, 1] > 0.9

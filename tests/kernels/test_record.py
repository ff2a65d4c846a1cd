"""What is recorded of a launch survives its files, and says what ran: checked on a GPU where there is one."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kernels import flash_decoding, flash_v1, flash_v2, flash_v2_backward, merge_splits, query_gradients
from kernels.bound_launch import bind_launch
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
    shape_of,
    write_launches,
)
from kernels.problem import pose
from kernels.record import clock_probe, facts_of
from kernels.recorder import main
from kernels.recording_plan import DECODES, Case, plan_of
from simulator.launch import (
    BY_COLUMN,
    Kernel,
    Order,
    blocks_of_head,
    dispatch_order,
    part_numbers,
    plan_launch,
)
from simulator.problem import AttentionShape, TileShape

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
        (["--kernels", "v1_split"], "unsplit_decode, got v1_split"),
        (["--launches", "0"], "launches must be at least 1, got 0"),
        (["--head-dims", "512"], "head_dim must be at most 256, got 512"),
        (["--splits", "8,0"], "splits must be auto or whole numbers from 1 up with commas between, got 0"),
        (["--kernels", "unsplit_decode", "--kv-heads", "5"], "query_heads must be a multiple of kv_heads"),
    ],
)
def test_a_bad_argument_is_a_sentence_and_exit_2(capsys, tmp_path, arguments, sentence):
    with pytest.raises(SystemExit) as leaving:
        main([*arguments, "--out", str(tmp_path / "x.json")])
    assert leaving.value.code == 2
    assert sentence in capsys.readouterr().err


def test_only_the_forward_of_v2_has_a_choice_of_order():
    plan = plan_of(["--kernels", "v1_forward,v2_forward,v2_key_gradients", "--out", "x.json"])
    assert [(case.kernel.value, case.order) for case in plan.cases] == [
        ("v1_forward", None),
        *(("v2_forward", order) for order in Order),
        ("v2_key_gradients", None),
    ]


def test_a_decode_has_one_query_no_mask_and_what_splits_were_asked_for():
    kernels = ",".join(DECODES)
    options = ["--heads", "32", "--kv-heads", "8", "--lengths", "4096", "--splits", "auto,7"]
    plan = plan_of(["--kernels", kernels, *options, "--out", "x.json"])
    shape = AttentionShape(1, 4096, 128, query_heads=32, kv_heads=8)
    assert plan.cases == (
        Case(Kernel.FLASH_DECODING, shape),
        Case(Kernel.FLASH_DECODING, shape, splits=7),
        Case(Kernel.UNSPLIT_DECODE, shape),
    )


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


def case_of(kernel, length=70, *, causal=True, heads=2, kv_heads=2, splits=None, order=None, batch=2):
    queries = 1 if kernel in DECODES else length
    shape = AttentionShape(
        queries, length, 16, causal=causal, batch=batch, query_heads=heads, kv_heads=kv_heads
    )
    return Case(kernel, shape, order, splits)


EVERY_CASE = [
    case_of(Kernel.V1_FORWARD),
    *(case_of(Kernel.V2_FORWARD, order=order) for order in Order),
    case_of(Kernel.V2_BACKWARD),
    *(
        case_of(kernel, causal=causal)
        for kernel in (Kernel.V2_KEY_GRADIENTS, Kernel.V2_QUERY_GRADIENTS)
        for causal in (False, True)
    ),
    *(case_of(Kernel.FLASH_DECODING, 300, causal=False, heads=4, splits=splits) for splits in (None, 3)),
    case_of(Kernel.FLASH_DECODING, 300, causal=False, heads=70, kv_heads=1, splits=5, batch=1),
    case_of(Kernel.UNSPLIT_DECODE, 200, causal=False, heads=4),
]


def case_id(case):
    return f"{case.kernel}_{case.order or case.splits or case.shape.causal}"


every_case = pytest.mark.parametrize("case", EVERY_CASE, ids=case_id)
MODULE_OF = {
    Kernel.V2_FORWARD: flash_v2,
    Kernel.V2_BACKWARD: flash_v2_backward,
    Kernel.V2_KEY_GRADIENTS: flash_v2_backward,
    Kernel.V2_QUERY_GRADIENTS: query_gradients,
    Kernel.FLASH_DECODING: flash_decoding,
    Kernel.UNSPLIT_DECODE: flash_decoding,
}
interpreted = pytest.mark.skipif(
    torch.cuda.is_available(), reason="looks into kernels as they are interpreted"
)


def silence(monkeypatch):
    """Has kernels note nothing: on a CPU they cannot."""
    for module in (flash_v1, merge_splits, *MODULE_OF.values()):
        for name in ("note_start", "note_end"):
            monkeypatch.setattr(module, name, lambda events_ptr: None)


@interpreted
@every_case
def test_a_launch_has_room_for_the_notes_of_each_program(monkeypatch, device, case):
    silence(monkeypatch)
    bound = bind_launch(case, device)
    assert bound.programs[0] == len(program_blocks(facts_of(case, bound, launches=1)))
    rooms = rooms_for(bound)
    with pytest.raises(ValueError, match="events must be"):
        bound.run(rooms[0][1:], *rooms[1:])


@interpreted
@pytest.mark.parametrize("case", [c for c in EVERY_CASE if c.kernel is not Kernel.V1_FORWARD], ids=case_id)
def test_a_program_writes_what_the_block_of_its_number_owns(monkeypatch, device, case):
    """Kernels are watched at work: when a program ends, what it wrote is NaN no longer."""
    made: list[torch.Tensor] = []
    for name in ("empty", "empty_like"):
        monkeypatch.setattr(torch, name, keeping(getattr(torch, name), made))
    silence(monkeypatch)
    bound = bind_launch(case, device)
    out, _lse, *dq_dk_dv = made
    seen: list[np.ndarray] = []

    def look(events_ptr):
        if case.kernel in BY_COLUMN:
            owned = dq_dk_dv[1]
        elif case.kernel is Kernel.V2_QUERY_GRADIENTS:
            owned = dq_dk_dv[0]
        else:
            owned = next((tensor for tensor in made if tensor.ndim == 5), out)
        seen.append(~owned[..., 0].isnan().numpy())

    monkeypatch.setattr(MODULE_OF[case.kernel], "note_end", look)
    if case.kernel is Kernel.V2_FORWARD or case.kernel in DECODES:
        out.fill_(float("nan"))
    bound.run(*rooms_for(bound))
    facts = facts_of(case, bound, launches=1)
    assert len(seen) == bound.programs[0]
    before = np.zeros_like(seen[0])
    for block, after in zip(program_blocks(facts), seen, strict=True):
        assert np.array_equal(after & ~before, owned_by(facts, block, after.shape)), block
        before = after


def rooms_for(bound):
    return [torch.from_numpy(np.zeros((programs, 5), dtype=np.int64)) for programs in bound.programs]


def keeping(make, kept):
    def make_and_keep(*arguments, **keywords):
        tensor = make(*arguments, **keywords)
        kept.append(tensor.fill_(float("nan")) if tensor.is_floating_point() else tensor)
        return tensor

    return make_and_keep


def owned_by(facts, block, shape):
    """Rows [..., batch, heads, rows] of the output that a block of the grid owns."""
    kernel, problem = Kernel(facts.kernel), shape_of(facts)
    tile = TileShape(facts.query_rows, facts.key_rows)
    launch = plan_launch(kernel, problem, tile, splits=facts.splits)
    numbers = np.unravel_index(block, [axis.size for axis in launch.axes], order="F")
    at = {axis.name: int(number) for axis, number in zip(launch.axes, numbers, strict=True)}
    owned = np.zeros(shape, dtype=bool)
    if kernel is Kernel.FLASH_DECODING:
        packed = problem.query_heads // problem.kv_heads
        first = at["head"] * packed + at["row_block"] * tile.query_rows  # one query: rows are heads
        heads = slice(first, min(first + tile.query_rows, (at["head"] + 1) * packed))
        owned[..., at["batch"], heads, :][at["split"] if owned.ndim == 4 else ...] = True
        return owned
    tiles = blocks_of_head(kernel, problem, tile)[part_numbers(launch.axes)[block]]
    mine, rows = (
        (tiles.key_tiles, tile.key_rows) if kernel in BY_COLUMN else (tiles.query_tiles, tile.query_rows)
    )
    owned[at["batch"], at["head"], mine.start * rows : mine.stop * rows] = True
    return owned


def test_splits_that_would_leave_one_without_keys_are_refused(device):
    with pytest.raises(ValueError, match="splits must leave none of 5 without keys, got 8 key tiles"):
        bind_launch(case_of(Kernel.FLASH_DECODING, 500, causal=False, splits=5), device)


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


@pytest.mark.gpu
def test_the_command_keeps_the_backward_and_the_decode_too(tmp_path):
    kept = tmp_path / "kept.json"
    kernels = [kernel for kernel in MODULE_OF if kernel is not Kernel.V2_FORWARD]
    options = ["--kernels", ",".join(kernels), "--heads", "4", "--lengths", "4096", "--head-dims", "64"]
    arguments = [*options, "--splits", "auto,4", "--launches", "1", "--out", str(kept)]
    subprocess.run([sys.executable, "-m", "kernels.recorder", *arguments], cwd=ROOT, check=True)
    on, launches = read_launches(kept)
    for launch in launches:
        (placement,) = placements_of(launch, on)
        durations = placement.schedule.end_s - placement.schedule.start_s
        if launch.facts.causal:
            assert np.corrcoef(placement.launch.work_tiles, durations)[0, 1] > 0.9
    assert {launch.facts.kernel for launch in launches} == set(kernels)
    assert 4 in {launch.facts.splits for launch in launches}

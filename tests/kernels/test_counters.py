"""What Nsight Compute counts is read with its units, put beside the right case and held to V1's formula."""

import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch

from kernels.configs import KernelConfig
from kernels.counted import (
    METRICS,
    Counted,
    CountedCall,
    CountedKernel,
    CountedRun,
    parse_ncu,
    read_counts,
    total_of,
    v1_shortfall,
    write_counts,
)
from kernels.counted_cases import BOUNDARY, CASES, Case, Note, algorithmic_bytes
from kernels.counters import asked_of, calls_of, main, ncu_command, row
from kernels.formulas import (
    Moved,
    decode_bytes,
    each_once,
    flash_v1_bytes,
    flash_v1_working_set,
    flash_v2_bytes,
)
from simulator.problem import AttentionShape, TileShape
from tests.kernels.test_results import ENVIRONMENT

ROOT = Path(__file__).parents[2]
# The form of `ncu --csv --print-units base` as version 2025.3 prints it: notes, names, then a row for each
# counter of each launch. The numbers are made up.
COLUMNS = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size"]
COLUMNS += ["Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value"]


def launch(index, name, *values, unit="byte"):
    """The rows of a launch: DRAM read and written, L2 read, written and all."""
    before = [str(index), "7", "python", "host", name, "1", "7", "(128, 1, 1)", "(64, 1, 1)", "0", "9.0"]
    named = zip(METRICS, values, strict=True)
    return [[*before, "Command line profiler metrics", metric, unit, value] for metric, value in named]


def table(*launches):
    lines = [",".join(f'"{cell}"' for cell in each) for each in [COLUMNS, *chain.from_iterable(launches)]]
    return "\n".join(
        ["==WARNING== Note: Running with unmodified GPU clocks.", "==PROF== Connected", "", *lines]
    )


SAID = table(
    launch(0, BOUNDARY, "0", "32", "0", "0", "64"),
    launch(1, "scores_kernel", "1,000,000", "2,000", "3,200", "320", "5,000"),
    launch(2, "values_kernel", "500", "250", "64", "32", "75"),
    launch(3, BOUNDARY, "0", "0", "0", "0", "0"),
    launch(4, "void flash_fwd<Traits, true>(Params)", "7", "8", "n/a", "320", "9"),
)


def test_counts_are_read_in_bytes_with_their_thousands():
    _, scores, values, _, flash = parse_ncu(SAID)
    assert scores == CountedKernel("scores_kernel", Counted(1_000_000, 2000, 3200, 320, 5000))
    assert values.counted == Counted(500, 250, 64, 32, 75)
    assert flash == CountedKernel("void flash_fwd<Traits, true>(Params)", Counted(7, 8, None, 320, 9))


def test_larger_units_are_bytes_too():
    (kernel,) = parse_ncu(table(launch(0, "k", "1.5", "2", "0.001", "1", "1", unit="Mbyte")))
    assert kernel.counted == Counted(1_500_000, 2_000_000, 1000, 1_000_000, 1_000_000)


def test_launches_of_one_kernel_are_told_apart():
    said = table(*(launch(index, "k", str(index), "1", "1", "1", "1") for index in range(3)))
    assert [kernel.counted.dram_read for kernel in parse_ncu(said)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - no permission", "must print a table, got: ==ERROR== ERR_NVGPUCTRPERM"),
        ("", "must print a table, got: nothing"),
        (table(launch(0, "k", "n/a", "1", "1", "1", "1")), "must count dram__bytes_read"),
    ],
)
def test_what_is_no_table_of_counts_is_a_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        list(parse_ncu(text))


SHAPE = AttentionShape(100, 65, 64, batch=2, query_heads=3, kv_heads=3)
TWO_CASES = (Case("a", "flash_v2", SHAPE, KernelConfig(64, 64, 4, 2)), Case("b", "flash", SHAPE))


def two_calls():
    notes = [Note("tile"), Note(unavailable="no kernel")]
    return calls_of("r1", TWO_CASES, notes, list(parse_ncu(SAID)), l2_bytes=1000)


def test_kernels_belong_to_the_case_whose_boundary_they_follow():
    first, second = two_calls()
    assert [kernel.name for kernel in first.kernels] == ["scores_kernel", "values_kernel"]
    assert total_of(first) == Counted(1_000_500, 2250, 3264, 352, 5075)
    assert first.algorithmic == flash_v2_bytes(SHAPE, TileShape(64, 64))
    assert (second.kernels, second.unavailable, second.algorithmic) == ((), "no kernel", None)
    assert row(second) == "b: not counted, no kernel"


def test_a_case_that_was_not_seen_is_no_other_cases_count():
    with pytest.raises(ValueError, match="must see every case, got 2 of 1"):
        calls_of("r1", TWO_CASES[:1], [Note()], list(parse_ncu(SAID)), l2_bytes=1000)


def v1_call(read_factor, written_factor, *, over_l2):
    formula = flash_v1_bytes(SHAPE, TileShape(64, 64))
    counted = Counted(round(formula.read * read_factor), round(formula.written * written_factor), 0, 0, 0)
    l2_bytes = round(flash_v1_working_set(SHAPE) / over_l2)
    return CountedCall(
        "r1", "v1", "flash_v1", SHAPE, "", l2_bytes, each_once(SHAPE), formula, (CountedKernel("k", counted),)
    )


@pytest.mark.parametrize(
    ("call", "shortfall"),
    [
        (v1_call(1.015, 0.99, over_l2=3.1), ""),
        (v1_call(1.03, 1.0, over_l2=3.1), "read off by +3.0%"),
        (v1_call(0.97, 0.9, over_l2=3.1), "read off by -3.0%, written off by -10.0%"),
        (v1_call(0.5, 0.5, over_l2=2.9), None),
        (replace(v1_call(1.0, 1.0, over_l2=3.1), kernels=()), None),
    ],
)
def test_v1_is_held_to_its_formula_where_no_cache_can_help_it(call, shortfall):
    assert v1_shortfall(call) == shortfall


@pytest.mark.parametrize("length", [1, 65, 100])
def test_v1s_formula_counts_each_tile_of_its_loops(length):
    """By hand, tile by tile, as kernels/flash_v1.py loads and stores: O, m and l in float32."""
    shape, tile, d = AttentionShape(length, length, 64, batch=2, query_heads=3, kv_heads=3), 16, 64
    rows = [min(tile, length - first) for first in range(0, length, tile)]
    state = sum(n * (4 * d + 8) for n in rows)
    read = sum(2 * n * d * 2 for n in rows) + len(rows) * (sum(n * d * 2 for n in rows) + state) + state
    written = state + len(rows) * state + sum(n * (2 * d + 4) for n in rows)
    assert flash_v1_bytes(shape, TileShape(tile, tile)) == Moved(6 * read, 6 * written)


def test_a_decode_reads_its_keys_and_values_once_however_it_is_split():
    shape = AttentionShape(1, 100, 128, batch=2, query_heads=8, kv_heads=2)
    whole, split = decode_bytes(shape, 1), decode_bytes(shape, 3)
    assert whole == each_once(shape)
    partial = 3 * 16 * (128 + 1) * 4
    assert split == Moved(whole.read + 2 * 16 * 128 * 2 + partial, whole.written + partial)


def test_no_walk_moves_less_than_each_input_and_output_once():
    for case in CASES:
        small = replace(
            case, shape=replace(case.shape, query_len=min(case.shape.query_len, 100), key_len=100)
        )
        walk, once = algorithmic_bytes(small, splits=2), each_once(small.shape)
        if walk is not None and small.implementation != "standard":  # which keeps no log-sum-exp
            assert walk.read >= once.read, case.name
            assert walk.written >= once.written, case.name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_the_call_that_it_names(case, device):
    """Under a small problem; what is not ours may not be there."""
    from kernels.counted_child import prepare
    from kernels.inputs import random_inputs

    small = replace(case.shape, query_len=min(case.shape.query_len, 17), key_len=17, batch=1)
    small = replace(small, query_heads=2, kv_heads=1)
    inputs = random_inputs(small, "forward", device=device, dtype=torch.float16)
    call, note = prepare(replace(case, shape=small), inputs)
    if case.implementation not in ("flash", "cudnn", "efficient"):
        call()
        assert (str(case.config) in note.config) == (case.config is not None)


def test_counts_survive_their_file_and_are_read_without_torch(tmp_path):
    run = CountedRun(ENVIRONMENT, tuple(two_calls()))
    write_counts(run, tmp_path / "counts.jsonl")
    assert read_counts(tmp_path / "counts.jsonl") == run
    program = "import sys, kernels.counted; print(sorted({'torch', 'triton'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True).strip() == "[]"


def test_clocks_are_left_alone_and_only_the_cases_are_profiled(tmp_path):
    command = ncu_command(CASES[:2], log=tmp_path / "log", notes=tmp_path / "notes")
    assert {"--clock-control=none", "--profile-from-start=off", "--csv"} <= set(command)
    assert command[-2:] == ["standard,flash_v1_bc64", str(tmp_path / "notes")]


def test_without_ncu_a_sentence_says_so(monkeypatch, capsys):
    monkeypatch.setattr("kernels.counters.shutil.which", lambda name: None)
    assert main([]) == 3
    assert "ncu, of NVIDIA Nsight Compute, is not on the PATH." in capsys.readouterr().out


def test_a_case_that_is_not_there_is_a_sentence_and_exit_2(capsys):
    with pytest.raises(SystemExit) as leaving:
        asked_of(["--cases", "flash_v3"])
    assert leaving.value.code == 2
    assert "cases must be among standard, flash_v1_bc64" in capsys.readouterr().err

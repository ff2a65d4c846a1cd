"""Every step has its line, in the algorithm and in the kernel that we ship."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from simulator import (
    AttentionShape,
    TileShape,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from viz.player.captions import captions_of
from viz.player.kernel_listing import KernelLine, KernelMark, KernelSource, kernel_lines
from viz.player.kernel_sources import KERNELS
from viz.player.limits import MakeTrace
from viz.player.listing import LISTINGS, lines_of_step, step_name

ROOT = Path(__file__).resolve().parents[3]
WALKS: dict[str, MakeTrace] = {
    "standard": trace_standard,
    "flash_v1": trace_flash_v1,
    "flash_v2": trace_flash_v2,
    "flash_decoding": partial(trace_flash_decoding, splits=3),
    "flash_v1_backward": trace_flash_v1_backward,
    "flash_v2_backward": trace_flash_v2_backward,
}
WITH_KERNEL = [name for name in WALKS if KERNELS[name]]
SHAPES = (AttentionShape(65, 65, 8), AttentionShape(65, 65, 8, causal=True), AttentionShape(17, 63, 8))


def steps_of(make_trace: MakeTrace) -> set[str]:
    """Names of all steps that a walk can have."""
    return {
        step_name(key) for shape in SHAPES for key in captions_of(make_trace(shape, TileShape(16, 16))).keys
    }


def lines_of_kernel(name: str) -> tuple[KernelLine, ...]:
    return tuple(
        line
        for source in KERNELS[name]
        for line in kernel_lines((ROOT / source.path).read_text(encoding="utf-8"), source)
    )


@pytest.mark.parametrize("name", WALKS)
def test_every_step_performs_a_line_of_its_algorithm(name: str) -> None:
    marked = [line.steps for line in LISTINGS[name].lines]
    for step in steps_of(WALKS[name]):
        found = {LISTINGS[name].lines[index].number for index in lines_of_step(step, marked)}
        assert found, step


@pytest.mark.parametrize("name", WALKS)
def test_every_line_that_is_not_a_loop_is_performed_by_a_step(name: str) -> None:
    known = steps_of(WALKS[name])
    for line in LISTINGS[name].lines:
        assert line.steps or line.text.startswith("for ")
        assert all(any(f"{step}.".startswith(f"{own}.") for step in known) for own in line.steps)


@pytest.mark.parametrize("name", WALKS)
def test_line_numbers_grow_as_the_paper_prints_them(name: str) -> None:
    numbers = [line.number for line in LISTINGS[name].lines if line.number]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_every_step_performs_a_line_of_the_kernel_that_we_ship(name: str) -> None:
    lines = lines_of_kernel(name)
    for step in steps_of(WALKS[name]):
        found = lines_of_step(step, [line.steps for line in lines])
        assert found, step
        assert len(found) <= 24, "a step is a statement or a few, not a kernel"


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_marked_lines_are_those_of_the_source(name: str) -> None:
    for source in KERNELS[name]:
        text = (ROOT / source.path).read_text(encoding="utf-8")
        for line in kernel_lines(text, source):
            assert text.splitlines()[line.number - 1] == line.text


def test_a_step_that_starts_the_walk_is_not_the_store_of_the_loop() -> None:
    marked = [line.steps for line in LISTINGS["flash_v1"].lines]
    (start,) = lines_of_step("store.output.start", marked)
    (again,) = lines_of_step("store.output.again", marked)
    assert [LISTINGS["flash_v1"].lines[index].number for index in (start, again)] == [2, 12]


def test_a_kernel_without_the_marked_call_is_refused() -> None:
    source = KernelSource(
        "k.py", ("kernel",), (KernelMark(("load.key",), "kernel", "load_tile", ("k_tile",)),)
    )
    assert kernel_lines("def kernel():\n    k_tile = load_tile(k)\n", source)[1].steps == ("load.key",)
    with pytest.raises(LookupError, match=r"k\.py: kernel must call load_tile with k_tile"):
        kernel_lines("def kernel():\n    k_tile = read(k)\n", source)


def test_a_branch_that_the_walk_does_not_take_is_not_marked() -> None:
    text = "def kernel():\n    if ATOMIC:\n        x = add(a)\n    else:\n        x = add(a)\n"
    mark = KernelMark(("add.x",), "kernel", "add", ("a",))
    for flags, numbers in (({}, [3, 5]), ({"ATOMIC": True}, [3]), ({"ATOMIC": False}, [5])):
        source = KernelSource("k.py", ("kernel",), (mark,), flags)
        assert [line.number for line in kernel_lines(text, source) if line.steps] == numbers


def test_a_kernel_without_the_shown_function_is_refused() -> None:
    with pytest.raises(LookupError, match=r"k\.py must have kernel"):
        kernel_lines("def other():\n    pass\n", KernelSource("k.py", ("kernel",), ()))


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_a_masked_step_performs_the_mask_too(name: str) -> None:
    lines = lines_of_kernel(name)
    found = lines_of_step("scores.scores.masked", [line.steps for line in lines])
    if name != "flash_v2_backward":  # whose mask is on the weights
        assert any("hide_unseen" in lines[index].text for index in found)
    assert any("tl.dot" in lines[index].text for index in found)

"""Bytes and ceilings of the live page's roofline."""

from __future__ import annotations

import pytest

from kernels.formulas import each_once, gradients_once, least_bytes
from kernels.results import BenchResult
from pages.shared.live_gpu.recordings import counted_runs
from pages.shared.live_gpu.roofline import counted_range, hbm_bytes, spec_of
from simulator.problem import AttentionShape

SHAPE = AttentionShape(100, 65, 16, batch=2, query_heads=4, kv_heads=2)


def result(name: str, direction: str = "forward", config: str = "") -> BenchResult:
    return BenchResult("r", name, name, SHAPE, "float16", direction, config=config)


@pytest.mark.parametrize(
    ("driver_name", "key"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("Tesla T4", "t4"),
    ],
)
def test_a_driver_s_name_finds_its_row_of_the_table(driver_name: str, key: str) -> None:
    spec = spec_of(driver_name)
    assert spec is not None
    assert spec.key == key


@pytest.mark.parametrize(
    "name", ["NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H200 MIG 1g.18gb", "Imaginary GPU", "NVIDIA L40"]
)
def test_another_product_has_no_row(name: str) -> None:
    assert spec_of(name) is None


def test_a_fused_kernel_moves_its_tensors_once_and_standard_attention_its_scores_too() -> None:
    fused, standard = (
        hbm_bytes(result("flash_v2")),
        hbm_bytes(result("standard", config="tile 64x64, 4 warps")),
    )
    assert fused == each_once(SHAPE)
    assert standard is not None
    scores = SHAPE.batch * SHAPE.query_heads * SHAPE.query_len * SHAPE.key_len * SHAPE.element_bytes
    assert standard.written >= 2 * scores
    assert hbm_bytes(result("math")) is None


def test_a_backward_moves_three_query_tensors_more_than_it_reads_in_a_forward() -> None:
    queries = SHAPE.batch * SHAPE.query_heads * SHAPE.query_len
    row_bytes = SHAPE.head_dim * SHAPE.element_bytes
    forward, backward = each_once(SHAPE), gradients_once(SHAPE)
    assert backward.read - forward.read == 2 * queries * row_bytes + 4 * queries  # O, dO and the log-sum-exp
    keys = SHAPE.batch * SHAPE.kv_heads * SHAPE.key_len
    assert backward.written == (queries + 2 * keys) * row_bytes
    both = least_bytes(SHAPE, "both")
    assert (both.read, both.written) == (forward.read + backward.read, forward.written + backward.written)


def test_the_formula_is_within_a_tenth_of_what_counters_saw() -> None:
    off = counted_range()
    assert counted_runs()
    assert off is not None
    assert max(map(abs, off)) < 0.1

"""Each implementation solves the problem it is given, under its own name, or says why it does not."""

import pytest
import torch

from kernels.inputs import Inputs
from kernels.provider import NotAvailableError, try_once
from kernels.providers import provider_of
from kernels.results import IMPLEMENTATIONS
from kernels.yardstick import judge_by, output_references
from simulator.problem import MAX_HEAD_DIM, AttentionShape


def random_qkv(generator, device, query_len, key_len, *, heads=(2, 2), head_dim=16, dtype=torch.float16):
    sizes = [(1, heads[0], query_len, head_dim), *[(1, heads[1], key_len, head_dim)] * 2]
    return [torch.randn(size, generator=generator, device=device).to(dtype) for size in sizes]


WRONG_WHERE_A_ROW_SEES_NOTHING = ("efficient", "cudnn")  # seen on an H200; not ours to repair
ALWAYS_THERE = ("flash_v2", "flash_v1", "standard", "math")
FORWARD = (*IMPLEMENTATIONS, "flash_v1", "standard")


def try_forward(name, q, k, v, *, causal):
    batch, query_heads, query_len, head_dim = q.shape
    shape = AttentionShape(
        query_len, k.shape[2], min(head_dim, MAX_HEAD_DIM), causal=causal, batch=batch,
        query_heads=query_heads, kv_heads=k.shape[1], element_bytes=q.element_size(),
    )  # fmt: skip
    return try_once(provider_of(name), Inputs(shape, q, k, v, dout=None))


def assert_right_or_absent(name, q, k, v, *, causal):
    try:
        _, (out, *_) = try_forward(name, q, k, v, causal=causal)
    except NotAvailableError:
        if name in ALWAYS_THERE:
            raise
        return
    (judged,) = judge_by(output_references(q, k, v, causal=causal), ("out",), (out,))
    assert judged.verdict.correct, judged


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize(("query_len", "key_len"), [(33, 33), (20, 40), (40, 20)])
def test_who_runs_solves_the_bottom_right_problem(generator, device, name, query_len, key_len, causal):
    """D-2 (C07): is_causal is top-left where the lengths differ, so it must not be what is compared."""
    if causal and query_len > key_len and name in WRONG_WHERE_A_ROW_SEES_NOTHING:
        pytest.skip("torch 2.11's own kernel is wrong here, and its verdict says so")
    q, k, v = random_qkv(generator, device, query_len, key_len)
    assert_right_or_absent(name, q, k, v, causal=causal)


@pytest.mark.parametrize("name", FORWARD)
def test_query_heads_may_share_kv_heads(generator, device, name):
    q, k, v = random_qkv(generator, device, 33, 33, heads=(4, 2))
    assert_right_or_absent(name, q, k, v, causal=True)


@pytest.mark.parametrize("name", ["efficient", "cudnn"])  # torch has its flash on the CPU too
def test_a_forced_backend_that_cannot_run_is_not_replaced(generator, device, name):
    """D-8 (C41): SDPA would fall back in silence, or raise and take the page with it."""
    q, k, v = random_qkv(generator, device, 20, 20, head_dim=520, dtype=torch.float64)
    with pytest.raises(NotAvailableError) as reason:
        try_forward(name, q, k, v, causal=False)
    assert str(reason.value)
    assert "Triggered internally" not in str(reason.value)


def test_our_own_refusal_is_its_reason(generator, device):
    q, k, v = random_qkv(generator, device, 20, 20, dtype=torch.int16)
    for name in ("flash_v2", "flash_v1", "standard", "attention"):
        with pytest.raises(NotAvailableError, match=r"q must be float16, bfloat16 or float32.*, got int16"):
            try_forward(name, q, k, v, causal=False)


def test_running_out_of_memory_is_a_reason(generator, device, monkeypatch):
    def exhausted(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 GiB.\nmore")

    monkeypatch.setattr("kernels.sdpa.scaled_dot_product_attention", exhausted)
    with pytest.raises(NotAvailableError, match=r"out of memory: .*64\.00 GiB"):
        try_forward("math", *random_qkv(generator, device, 20, 20), causal=False)


@pytest.mark.gpu
def test_flash_refuses_float32_with_a_reason(generator, device):
    q, k, v = random_qkv(generator, device, 20, 20, head_dim=64, dtype=torch.float32)
    with pytest.raises(NotAvailableError, match="dtype"):
        try_forward("flash", q, k, v, causal=False)

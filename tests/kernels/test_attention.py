"""The one public call: it takes the fitting kernel, is differentiable, and refuses in sentences."""

from functools import partial

import pytest
import torch

from kernels.attention import attention
from kernels.gradients import flash_v2_backward
from kernels.reference import (
    exact_attention,
    exact_gradients,
    plain_attention,
    plain_gradients,
    summed_by_gradients,
)
from kernels.verdict import judge


def random_inputs(generator, query_shape, key_shape, dtype=torch.float32):
    shapes = (query_shape, key_shape, key_shape, query_shape)
    return [torch.randn(s, generator=generator, device=generator.device, dtype=dtype) for s in shapes]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_autograd_gives_the_gradients_of_attention(generator, causal, deterministic, dtype):
    q, k, v, dout = random_inputs(generator, (1, 2, 17, 16), (1, 1, 20, 16), dtype)
    leaves = [tensor.clone().requires_grad_() for tensor in (q, k, v)]
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(deterministic)
    try:
        out, lse = attention(*leaves, causal=causal, scale=0.3, return_lse=True)
        gradients = torch.autograd.grad(out, leaves, dout)
    finally:
        torch.use_deterministic_algorithms(before)
    assert not lse.requires_grad
    exact_out, _ = exact_attention(q, k, v, causal=causal, scale=0.3)
    plain_out, _ = plain_attention(q, k, v, causal=causal, scale=0.3)
    assert judge(out.detach(), exact_out, plain_out, summed=v).correct
    exact = exact_gradients(q, k, v, dout, causal=causal, scale=0.3)
    plain = plain_gradients(q, k, v, dout, causal=causal, scale=0.3)
    summed = summed_by_gradients(q, k, v, out.detach(), lse, dout, scale=0.3)
    for *compared, terms in zip(gradients, exact, plain, summed, strict=True):
        verdict = judge(*compared, summed=terms)
        assert verdict.correct, verdict


@pytest.mark.parametrize("asked", [False, True])
def test_determinism_follows_the_switch_of_torch(generator, monkeypatch, asked):
    seen = []

    def noting(*tensors, deterministic, **options):
        seen.append(deterministic)
        return flash_v2_backward(*tensors, deterministic=deterministic, **options)

    monkeypatch.setattr("kernels.attention.flash_v2_backward", noting)
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: asked)
    q, k, v, dout = random_inputs(generator, (1, 1, 5, 16), (1, 1, 5, 16))
    attention(q.requires_grad_(), k, v).backward(dout)
    assert seen == [asked]


@pytest.mark.parametrize(
    ("query_len", "query_heads", "kv_heads", "kernel"),
    [(1, 2, 2, "flash_decoding"), (16, 4, 1, "flash_decoding"), (17, 4, 1, "flash_v2_forward")],
)
def test_the_kernel_that_fits_is_taken(generator, monkeypatch, query_len, query_heads, kv_heads, kernel):
    taken = []

    def note(name, *_, **__):
        taken.append(name)
        return torch.empty(0), torch.empty(0)

    for name in ("flash_decoding", "flash_v2_forward"):
        monkeypatch.setattr(f"kernels.attention.{name}", partial(note, name))
    q, k, v, _ = random_inputs(generator, (1, query_heads, query_len, 16), (1, kv_heads, 20, 16))
    attention(q, k, v)
    attention(q, k, v, implementation="flash_v2")
    attention(q, k, v, implementation="flash_decoding")
    assert taken == [kernel, "flash_v2_forward", "flash_decoding"]


@pytest.mark.parametrize("implementation", ["flash_v2", "flash_decoding", "decode_unsplit"])
def test_the_implementations_agree(generator, implementation):
    q, k, v, _ = random_inputs(generator, (1, 2, 3, 16), (1, 2, 40, 16))
    out, lse = attention(q, k, v, causal=True, implementation=implementation, return_lse=True)
    exact, exact_lse = exact_attention(q, k, v, causal=True)
    plain, plain_lse = plain_attention(q, k, v, causal=True)
    assert judge(out, exact, plain, summed=v).correct
    assert judge(lse, exact_lse, plain_lse, summed=exact_lse).correct


def test_an_unknown_implementation_is_refused(generator):
    q, k, v, _ = random_inputs(generator, (1, 1, 5, 16), (1, 1, 5, 16))
    with pytest.raises(
        ValueError, match="implementation must be among auto, flash_v2, flash_decoding, decode_unsplit, got x"
    ):
        attention(q, k, v, implementation="x")


def test_a_gradient_of_a_decode_is_refused(generator):
    q, k, v, _ = random_inputs(generator, (1, 1, 5, 16), (1, 1, 5, 16))
    with pytest.raises(ValueError, match="implementation must be flash_v2 where a gradient is asked for"):
        attention(q.requires_grad_(), k, v, implementation="flash_decoding")


def test_a_second_gradient_is_refused(generator):
    q, k, v, dout = random_inputs(generator, (1, 1, 5, 16), (1, 1, 5, 16))
    (first,) = torch.autograd.grad(attention(q.requires_grad_(), k, v), q, dout, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(first.sum(), q)


def test_a_dtype_that_is_not_served_is_refused_with_a_gradient_too(generator):
    q, k, v = (torch.zeros(1, 1, 5, 16, dtype=torch.complex64, device=generator.device) for _ in range(3))
    with pytest.raises(ValueError, match=r"q must be float16, bfloat16 or float32, .*got complex64"):
        attention(q.requires_grad_(), k, v)

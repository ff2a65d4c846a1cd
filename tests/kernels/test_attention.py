"""The one public call: it takes the fitting kernel, is differentiable, and refuses in sentences."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from kernels.attention import attention
from kernels.operators import FORWARDS, attention_operator
from kernels.splits import MOST_SPLITS
from kernels.yardstick import gradient_references, judge_by, output_references


def random_inputs(generator, query_shape, key_shape, dtype=torch.float32):
    shapes = (query_shape, key_shape, key_shape, query_shape)
    return [torch.randn(s, generator=generator, device=generator.device, dtype=dtype) for s in shapes]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("causal", [False, True])
def test_autograd_gives_the_gradients_of_attention(generator, causal, dtype):
    q, k, v, dout = random_inputs(generator, (1, 2, 17, 16), (1, 1, 20, 16), dtype)
    leaves = [tensor.clone().requires_grad_() for tensor in (q, k, v)]
    out, lse = attention(*leaves, causal=causal, scale=0.3, return_lse=True)
    gradients = torch.autograd.grad(out, leaves, dout)
    assert not lse.requires_grad
    right = (
        *output_references(q, k, v, causal=causal, scale=0.3),
        *gradient_references(q, k, v, dout, causal=causal, scale=0.3),
    )
    gives, given = ("out", "lse", "dq", "dk", "dv"), (out.detach(), lse, *gradients)
    for judged in judge_by(right, gives, given):
        assert judged.verdict.correct, judged


@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (True, 1)])
def test_gradients_are_slopes_in_float64(generator, device, causal, window):
    """gradcheck; two query heads share a KV head, one row sees no key."""
    if device.type == "cuda":
        pytest.skip("float64 is for the interpreter")
    q, k, v, _ = random_inputs(generator, (1, 2, 3, 1), (1, 1, 2, 1), torch.float64)
    leaves = [tensor.requires_grad_() for tensor in (q, k, v)]
    assert torch.autograd.gradcheck(
        partial(attention, causal=causal, window=window, scale=0.3),
        leaves,
        atol=1e-8,
        rtol=1e-8,
        check_undefined_grad=False,
    )


@pytest.mark.parametrize(
    ("query_len", "query_heads", "kv_heads", "kernel"),
    [(1, 2, 2, "flash_decoding"), (16, 4, 1, "flash_decoding"), (17, 4, 1, "flash_v2")],
)
def test_the_kernel_that_fits_is_taken(generator, monkeypatch, query_len, query_heads, kv_heads, kernel):
    taken = []

    def note(name, *_, **__):
        taken.append(name)
        return torch.empty(0), torch.empty(0)

    monkeypatch.setattr("kernels.attention.FORWARDS", {name: partial(note, name) for name in FORWARDS})
    q, k, v, _ = random_inputs(generator, (1, query_heads, query_len, 16), (1, kv_heads, 20, 16))
    attention(q, k, v)
    for name in FORWARDS:
        attention(q, k, v, implementation=name)
    assert taken == [kernel, *FORWARDS]


@pytest.mark.parametrize("window", [None, 10])
@pytest.mark.parametrize("implementation", FORWARDS)
def test_the_implementations_agree(generator, implementation, window):
    q, k, v, _ = random_inputs(generator, (1, 2, 3, 16), (1, 2, 40, 16))
    mask = {"causal": True, "window": window}
    out, lse = attention(q, k, v, **mask, implementation=implementation, return_lse=True)
    references = output_references(q, k, v, splits=MOST_SPLITS, **mask)
    for judged in judge_by(references, ("out", "lse"), (out, lse)):
        assert judged.verdict.correct, judged


def attention_of_twice(q, k, v, window):
    """A graph with something else in it."""
    return attention(2 * q, k, v, causal=True, window=window, return_lse=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_graph_holds_attention_whole_and_gives_the_same(generator, backend):
    compiled = torch.compile(attention_of_twice, fullgraph=True, backend=backend)
    q, k, v, dout = random_inputs(generator, (1, 2, 40, 16), (1, 1, 20, 16))
    leaves = [tensor.requires_grad_() for tensor in (q, k, v)]
    calls: list[Callable[..., Any]] = [attention_of_twice, compiled]
    results = []
    for call in calls:
        out, lse = call(*leaves, 7)
        assert not lse.requires_grad
        results.append((out, lse, *torch.autograd.grad(out, leaves, dout)))
    with torch.no_grad():  # without a gradient, a decode
        few = q[:, :, :2].contiguous(), k, v
        assert torch.equal(compiled(*few, None)[0], attention_of_twice(*few, None)[0])
    for eager, of_graph in zip(*results, strict=True):
        assert torch.equal(eager, of_graph)


def test_a_compiled_graph_refuses_in_the_same_sentence(generator):
    compiled = torch.compile(partial(attention, window=3), fullgraph=True, backend="eager")
    q, k, v, _ = random_inputs(generator, (1, 1, 5, 16), (1, 1, 5, 16))
    with pytest.raises(ValueError, match="window must be None without causal, got 3"):
        compiled(q, k, v)


@pytest.mark.parametrize("implementation", FORWARDS)
def test_the_operator_keeps_what_torch_expects_of_one(generator, implementation):
    """opcheck: its schema, its shapes without data, its gradients' registration, and a graph of any shape."""
    q, k, v, _ = random_inputs(generator, (1, 2, 3, 16), (1, 1, 20, 16))
    if implementation == "flash_v2":
        q.requires_grad_()
    checks = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(attention_operator, (q, k, v, True, None, None, implementation), test_utils=checks)


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


def test_a_gradient_of_float8_is_refused(device):
    q = torch.zeros(1, 1, 5, 16, device=device).to(torch.float8_e4m3fn).requires_grad_()
    with pytest.raises(ValueError, match="q must not be float8_e4m3fn where a gradient is asked for"):
        attention(q, q, q)


def test_a_second_gradient_is_refused(generator):
    q, k, v, dout = random_inputs(generator, (1, 1, 5, 16), (1, 1, 5, 16))
    (first,) = torch.autograd.grad(attention(q.requires_grad_(), k, v), q, dout, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(first.sum(), q)


def test_a_dtype_that_is_not_served_is_refused_with_a_gradient_too(generator):
    q, k, v = (torch.zeros(1, 1, 5, 16, dtype=torch.complex64, device=generator.device) for _ in range(3))
    with pytest.raises(ValueError, match=r"q must be float16, bfloat16 or float32, .*got complex64"):
        attention(q.requires_grad_(), k, v)

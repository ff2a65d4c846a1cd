"""Tiles fetched by TMA are those that pointers load, and what it cannot fetch is told apart."""

import pytest
import torch

from kernels.checks import Laid
from kernels.configs import DeviceLimits, KernelConfig, gains_by_tma
from kernels.descriptors import describable, descriptor_of
from kernels.flash_decoding import flash_decoding
from kernels.flash_v2 import flash_v2_config, flash_v2_forward
from kernels.gradients import flash_v2_backward
from kernels.problem import pose
from simulator.problem import AttentionShape

HOPPER = DeviceLimits((9, 0), 232_448, 50 << 20, 132)
MASKS = ((False, None), (True, None), (True, 9))  # causal, window
POINTERS, BY_TMA = (KernelConfig(64, 64, 4, 2, tma=tma) for tma in (False, True))


@pytest.fixture(autouse=True)
def _hopper(device):
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < (9, 0):
        pytest.skip("no TMA here")


def among_nans(generator, shape):
    """A tensor whose rows and heads lie apart, with NaN between them and after them."""
    batch, heads, length, head_dim = shape
    room = torch.full((batch, length + 3, heads + 1, head_dim + 8), torch.nan, dtype=torch.float16)
    tensor = room.to(generator.device)[:, :length, :heads, :head_dim].transpose(1, 2)
    return tensor.copy_(torch.randn(shape, generator=generator, device=generator.device))


@pytest.mark.parametrize(("causal", "window"), MASKS)
@pytest.mark.parametrize(("query_len", "key_len", "head_dim"), [(100, 65, 64), (17, 130, 24), (65, 17, 16)])
def test_a_forward_by_tma_has_the_bits_of_one_by_pointers(
    generator, query_len, key_len, head_dim, causal, window
):
    q = among_nans(generator, (1, 4, query_len, head_dim))
    k, v = (among_nans(generator, (1, 2, key_len, head_dim)) for _ in range(2))
    found = flash_v2_forward(q, k, v, causal=causal, window=window, config=BY_TMA)
    right = flash_v2_forward(q, k, v, causal=causal, window=window, config=POINTERS)
    assert all(map(torch.equal, found, right))
    assert not found[0].isnan().any()


@pytest.mark.parametrize("splits", [1, 2, 5])
def test_a_decode_by_tma_has_the_bits_of_one_by_pointers(generator, splits):
    q = among_nans(generator, (2, 4, 1, 64))
    k, v = (among_nans(generator, (2, 2, 100, 64)) for _ in range(2))
    configs = (KernelConfig(16, 32, 4, 2, tma=tma) for tma in (True, False))
    found, right = (flash_decoding(q, k, v, splits=splits, config=config) for config in configs)
    assert all(map(torch.equal, found, right))
    assert not found[0].isnan().any()


@pytest.mark.parametrize(("causal", "window"), MASKS)
@pytest.mark.parametrize("atomic", [False, True])
def test_gradients_by_tma_of_keys_have_the_bits_of_those_by_pointers(generator, causal, window, atomic):
    q, dout = (among_nans(generator, (1, 2, 70, 32)) for _ in range(2))
    k, v = (among_nans(generator, (1, 1, 65, 32)) for _ in range(2))
    mask = {"causal": causal, "window": window}
    out, lse = flash_v2_forward(q, k, v, **mask)
    out = among_nans(generator, out.shape).copy_(out)
    found, right = (
        flash_v2_backward(q, k, v, out, lse, dout, atomic=atomic, config=config, **mask)
        for config in (BY_TMA, POINTERS)
    )
    assert all(map(torch.equal, found[1:], right[1:]))
    torch.testing.assert_close(found[0], right[0])  # its tiles are others


def laid(shape=(2, 4, 100, 64), strides=None, dtype=torch.float16, aligned=True):
    strides = torch.empty(shape, device="meta").stride() if strides is None else strides
    return Laid(torch.Size(shape), strides, dtype, torch.device("cuda", 0), aligned)


@pytest.mark.parametrize(
    "bad",
    [
        laid(aligned=False),
        laid(dtype=torch.float32),
        laid((2, 4, 100, 17)),  # rows of 34 bytes
        laid(strides=(25600, 6400, 64, 2)),
        laid(strides=(0, 6400, 64, 1)),  # expanded
    ],
    ids=str,
)
def test_what_tma_cannot_fetch_is_loaded_by_pointers(bad):
    assert describable(HOPPER, laid())
    assert not describable(HOPPER, laid(), bad)
    with pytest.raises(ValueError, match="a tensor fetched by TMA must be of at most 2 bytes an element"):
        descriptor_of(torch.empty(0), bad, 64, 64)


def test_an_axis_of_one_may_have_any_stride():
    assert describable(HOPPER, laid((1, 1, 100, 64), (3, 5, 64, 1)))


def test_older_gpus_have_no_tma():
    assert not describable(DeviceLimits((8, 9), 101_376, 72 << 20, 128), laid())


def test_a_misaligned_tensor_is_served_all_the_same(generator, device):
    memory = torch.randn(2 * 64 * 64 + 1, generator=generator, device=device).half()
    q = k = v = memory[1:].view(1, 2, 64, 64)
    assert not flash_v2_config(pose(q, k, v).layout).tma
    assert torch.equal(flash_v2_forward(q, k, v)[0], flash_v2_forward(q.clone(), k.clone(), v.clone())[0])


def test_descriptors_are_made_where_the_gpu_is_busy_for_longer():
    assert not gains_by_tma(AttentionShape(128, 128, 64, query_heads=4, kv_heads=4))
    assert gains_by_tma(AttentionShape(4096, 4096, 64, query_heads=4, kv_heads=4))
    assert gains_by_tma(AttentionShape(1, 32768, 128, query_heads=8, kv_heads=2))

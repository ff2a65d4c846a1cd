"""The memory that our calls are said to need is what they allocate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernels.inputs import Inputs, random_inputs
from kernels.memory import call_bytes, input_bytes
from kernels.provider import Prepared
from kernels.providers import provider_of
from simulator.problem import AttentionShape

GRANULE_BYTES = 512  # torch's allocator rounds each tensor up to this
FACTORIES = ("empty", "zeros", "full", "new_empty", "empty_like", "zeros_like", "full_like")
SQUARE = AttentionShape(64, 64, 16, batch=2, query_heads=4, kv_heads=2)
DECODE = AttentionShape(1, 100, 16, query_heads=4, kv_heads=2)
FORWARD = [("forward", name, SQUARE) for name in ("flash_v2", "flash_v1", "standard")]
DECODES = [("decode", name, DECODE) for name in ("flash_decoding", "decode_unsplit")]
GRADIENTS = [("backward", "flash_v2", SQUARE), ("backward", "flash_v2_atomic", SQUARE)]


class Allocated(TorchDispatchMode):
    """Bytes of all tensors of a device that a launcher makes."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        if function.overloadpacket.__name__ in FACTORIES:
            self.bytes += made.untyped_storage().nbytes()
        return made


def prepared(
    direction: str, name: str, shape: AttentionShape, device: torch.device
) -> tuple[Inputs, Prepared]:
    inputs = random_inputs(shape, direction, device=device, dtype=torch.float16)
    return inputs, provider_of(name, direction).prepare(inputs)


def splits_of(config: str) -> int:
    return int(config.split()[-2]) if config.endswith("splits") else 1


@pytest.mark.parametrize(("direction", "name", "shape"), [*FORWARD, *DECODES])
def test_what_a_call_allocates_is_what_the_formula_says(
    direction: str, name: str, shape: AttentionShape, device: torch.device
) -> None:
    _, bound = prepared(direction, name, shape, device)
    with Allocated() as allocated:
        bound.call()
    assert allocated.bytes == call_bytes(name, direction, shape, splits=splits_of(bound.config))


@pytest.mark.gpu
@pytest.mark.parametrize(("direction", "name", "shape"), [*FORWARD, *DECODES, *GRADIENTS])
def test_the_allocator_sees_at_most_what_the_formula_says(
    direction: str, name: str, shape: AttentionShape, device: torch.device
) -> None:
    large = replace(shape, key_len=4096, query_len=min(shape.query_len * 64, 4096))
    _, bound = prepared(direction, name, large, device)
    bound.call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    given = bound.call()
    torch.cuda.synchronize()
    seen = torch.cuda.max_memory_allocated() - before
    said = call_bytes(name, direction, large, splits=splits_of(bound.config))
    assert said is not None
    assert said <= seen <= said + 8 * GRANULE_BYTES
    del given


def test_inputs_are_the_tensors_that_a_problem_has(device: torch.device) -> None:
    for direction in ("forward", "backward"):
        inputs = random_inputs(SQUARE, direction, device=device, dtype=torch.float16)
        tensors = [t for t in (inputs.q, inputs.k, inputs.v, inputs.dout) if t is not None]
        assert input_bytes(SQUARE, direction) == sum(t.nbytes for t in tensors)


def test_nothing_is_said_of_code_that_is_not_ours() -> None:
    assert call_bytes("cudnn", "forward", SQUARE) is None

"""What is compiled for the capabilities of the GPU table (compile_for_all), and with which configurations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import triton

from kernels.configs import (
    OLDEST_CAPABILITY,
    DeviceLimits,
    KernelConfig,
    backward_configs,
    backward_shared_bytes,
    choose_config,
    decode_configs,
    decode_shared_bytes,
    flash_v1_configs,
    flash_v1_shared_bytes,
    forward_configs,
    shared_bytes,
    standard_shared_bytes,
    turned_config,
    unsplit_configs,
)
from kernels.descriptors import OLDEST_WITH_TMA
from kernels.flash_decoding import split_kernel
from kernels.flash_v1 import flash_v1_kernel
from kernels.flash_v2 import flash_v2_kernel
from kernels.flash_v2_backward import key_gradient_kernel
from kernels.merge_splits import merge_kernel
from kernels.query_gradients import delta_kernel, query_gradient_kernel
from kernels.standard import scores_kernel, softmax_kernel, values_kernel
from simulator.gpu import GPUS
from simulator.problem import AttentionShape

ELEMENT_BYTES = {"float8": 1, "float16": 2, "bfloat16": 2, "float32": 4}
OLDEST_WITH = {"float8": (8, 9), "bfloat16": (8, 0)}
NOT_OPTED_IN = 49_152  # shared bytes that any block may use


@dataclass(frozen=True)
class Compiled:
    """A kernel, how its configuration is chosen, and what it knows when it is compiled besides."""

    kernel: triton.JITFunction
    configs: Callable[..., Sequence[KernelConfig]]  # of a shape, first those that are preferred
    bound: Callable[[KernelConfig, AttentionShape], int]
    described: tuple[str, ...] = ("k", "v")  # what descriptors fetch, where they do
    turned: bool = False  # launched with turned_config
    constants: Mapping[str, object] = field(default_factory=dict)
    tma: bool = False  # whether its tiles can be fetched by descriptors
    dtypes: tuple[str, ...] = ("float16", "bfloat16", "float32")


def _fixed(_: AttentionShape) -> Sequence[KernelConfig]:
    return (KernelConfig(16, 16, 4, 3),)


def _not_opted_in(_: KernelConfig, __: AttentionShape) -> int:
    return NOT_OPTED_IN


FLASH_V2 = Compiled(
    flash_v2_kernel,
    forward_configs,
    shared_bytes,
    tma=True,
    dtypes=("float16", "bfloat16", "float32", "float8"),
)
FLASH_V1 = Compiled(flash_v1_kernel, flash_v1_configs, flash_v1_shared_bytes)
STANDARD = (
    Compiled(scores_kernel, forward_configs, standard_shared_bytes),
    Compiled(softmax_kernel, _fixed, _not_opted_in, constants={"ROWS": 4, "KEYS": 1024}),
    Compiled(values_kernel, forward_configs, standard_shared_bytes),
)
FLASH_DECODING = Compiled(split_kernel, decode_configs, decode_shared_bytes, tma=True)
UNSPLIT = Compiled(split_kernel, unsplit_configs, decode_shared_bytes)
MERGE = Compiled(merge_kernel, _fixed, _not_opted_in, constants={"SPLITS": 64})
BACKWARD = partial(Compiled, configs=backward_configs, bound=backward_shared_bytes, tma=True)
DELTA = Compiled(delta_kernel, _fixed, _not_opted_in, constants={"ATOMIC": False})
KEY_GRADIENTS = BACKWARD(key_gradient_kernel, described=("q", "dout"), constants={"ATOMIC": False})
QUERY_GRADIENTS = BACKWARD(query_gradient_kernel, turned=True, constants={"ATOMIC": False})
ATOMIC_GRADIENTS = BACKWARD(key_gradient_kernel, described=("q", "dout"), constants={"ATOMIC": True})


@dataclass(frozen=True)
class Case:
    """One compilation."""

    compiled: Compiled
    shape: AttentionShape
    dtype: str
    limits: DeviceLimits
    config: KernelConfig
    noting: bool = False

    @property
    def launched(self) -> KernelConfig:
        return turned_config(self.config, self.shape) if self.compiled.turned else self.config

    @property
    def key(self) -> tuple:
        """What two equal compilations share."""
        shape = self.shape.head_dim, self.shape.causal, self.shape.window, self.dtype
        kernel = self.compiled.kernel.__name__, *self.compiled.constants.items()
        return (*kernel, shape, self.limits.capability, self.launched, self.noting)


def devices() -> list[DeviceLimits]:
    """One of each capability of the table."""
    by_capability = {gpu.compute_capability: gpu for gpu in GPUS.values()}
    return [
        DeviceLimits(capability, gpu.max_shared_bytes_per_block, gpu.l2_bytes, gpu.sm_count)
        for capability, gpu in sorted(by_capability.items())
        if capability >= OLDEST_CAPABILITY
    ]


def square(
    dtype: str, *, head_dim: int = 128, causal: bool = True, window: int | None = None
) -> AttentionShape:
    size = ELEMENT_BYTES[dtype]
    return AttentionShape(1024, 1024, head_dim, causal=causal, window=window, element_bytes=size)


def decode(dtype: str, *, head_dim: int = 128) -> AttentionShape:
    return AttentionShape(1, 4096, head_dim, query_heads=8, kv_heads=2, element_bytes=ELEMENT_BYTES[dtype])


def chosen(
    compiled: Compiled,
    limits: DeviceLimits,
    dtype: str,
    *,
    shape: AttentionShape | None = None,
    tma: bool = False,
    noting: bool = False,
) -> Case:
    """With the configuration that is taken there, by default for a causal problem of head dim 128."""
    shape = shape or square(dtype)
    configs = compiled.configs(shape, tma=True) if tma else compiled.configs(shape)
    config = choose_config(shape, limits, configs, bound=compiled.bound)
    return Case(compiled, shape, dtype, limits, config, noting)


def quick_cases(limits: DeviceLimits) -> Iterator[Case]:
    """Those that the tests wait for: forward and decode in float16 everywhere, what else there is on one or
    two of the capabilities whose matrix instructions are alike. No gradients on 7.5 and 10.0 and none in
    float32, whose compilations take longest; --all takes those too.
    """
    new, old = limits.capability == (9, 0), limits.capability == OLDEST_CAPABILITY
    for compiled in (FLASH_V2, FLASH_V1):
        yield chosen(compiled, limits, "float16")
    if limits.capability not in ((7, 5), (10, 0)):
        yield chosen(KEY_GRADIENTS, limits, "float16")
    if limits.capability in ((8, 0), (9, 0)):
        yield chosen(QUERY_GRADIENTS, limits, "float16")
    yield chosen(FLASH_DECODING, limits, "float16", shape=decode("float16"))
    if new or old:
        for compiled in (STANDARD[0], STANDARD[-1]):
            yield chosen(compiled, limits, "float16")
        for compiled in (FLASH_V2, FLASH_V1, STANDARD[0], STANDARD[-1]):
            yield chosen(compiled, limits, "float32")
    if limits.capability == (8, 0):
        for compiled in (FLASH_V2, KEY_GRADIENTS):
            yield chosen(compiled, limits, "bfloat16")
    if limits.capability >= OLDEST_WITH["float8"]:
        yield chosen(FLASH_V2, limits, "float8")
    if limits.capability >= OLDEST_WITH_TMA:
        for shape in (square("float16", head_dim=64, causal=False), square("float16")):
            yield chosen(FLASH_V2, limits, "float16", shape=shape, tma=True)
        yield chosen(FLASH_V2, limits, "float8", tma=True)
        yield chosen(FLASH_DECODING, limits, "float16", shape=decode("float16"), tma=True)
    if new:
        for compiled in (STANDARD[1], MERGE, DELTA):
            yield chosen(compiled, limits, "float16")
        yield chosen(UNSPLIT, limits, "float16", shape=decode("float16"))
        yield chosen(ATOMIC_GRADIENTS, limits, "float16")
        for compiled in (KEY_GRADIENTS, QUERY_GRADIENTS):
            yield chosen(compiled, limits, "float16", tma=True)
        yield chosen(FLASH_V2, limits, "float16", shape=square("float16", window=200))
        for compiled in (FLASH_V2, FLASH_V1):
            shape = square("float16", head_dim=64, causal=False)
            yield chosen(compiled, limits, "float16", shape=shape, noting=True)


def every_case(limits: DeviceLimits) -> Iterator[Case]:
    """Every configuration that fits, of every kernel, in every dtype, at head dims 64, 128 and 256."""
    tuned = (FLASH_V2, FLASH_V1, *STANDARD, FLASH_DECODING, UNSPLIT, KEY_GRADIENTS, QUERY_GRADIENTS)
    for compiled, head_dim in product((*tuned, ATOMIC_GRADIENTS, MERGE, DELTA), (64, 128, 256)):
        for dtype in compiled.dtypes:
            if limits.capability < OLDEST_WITH.get(dtype, OLDEST_CAPABILITY):
                continue
            decodes = compiled in (FLASH_DECODING, UNSPLIT)
            shape = decode(dtype, head_dim=head_dim) if decodes else square(dtype, head_dim=head_dim)
            configs = list(compiled.configs(shape))
            if compiled.tma and dtype != "float32" and limits.capability >= OLDEST_WITH_TMA:
                configs += compiled.configs(shape, tma=True)
            for config in configs:
                if compiled.bound(config, shape) <= limits.shared_bytes:
                    yield Case(compiled, shape, dtype, limits, config)
    yield from quick_cases(limits)

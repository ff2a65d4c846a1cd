"""Compiles the forward and the decode kernels for the capabilities of the GPU table, without a GPU; prints a
JSON line for each: what it needs, and which of the SM's special registers a program reads to note where and
when it ran.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernels.configs import (
    OLDEST_CAPABILITY,
    DeviceLimits,
    KernelConfig,
    choose_config,
    decode_configs,
    decode_shared_bytes,
    flash_v1_configs,
    flash_v1_shared_bytes,
    forward_configs,
    padded_head_dim,
    shared_bytes,
    standard_shared_bytes,
)
from kernels.descriptors import OLDEST_WITH_TMA
from kernels.flash_decoding import split_kernel
from kernels.flash_v1 import flash_v1_kernel
from kernels.flash_v2 import flash_v2_kernel
from kernels.standard import scores_kernel, values_kernel
from simulator.gpu import GPUS
from simulator.problem import AttentionShape

ELEMENT_TYPES = {1: "fp8e4nv", 2: "fp16", 4: "fp32"}
FLOAT8_CAPABILITY = (8, 9)
EVERYTHING = ((7, 5), (9, 0))  # every kernel in both dtypes; the others with float16 and what streams tiles
FLOATS = ("lse_ptr", "held_out_ptr", "max_ptr", "sum_ptr")
OTHER_POINTERS = {"events_ptr": "*i64"} | dict.fromkeys(FLOATS, "*fp32")
ALIGNED = [["tt.divisibility", 16]]


@dataclass(frozen=True)
class Compiled:
    """A kernel, and how its configuration is chosen."""

    kernel: triton.JITFunction
    configs: Callable[[AttentionShape], Sequence[KernelConfig]]
    bound: Callable[[KernelConfig, AttentionShape], int]


FLASH_V2 = Compiled(flash_v2_kernel, forward_configs, shared_bytes)
FLASH_DECODING = Compiled(split_kernel, decode_configs, decode_shared_bytes)
FLASH_V2_BY_TMA = Compiled(flash_v2_kernel, partial(forward_configs, tma=True), shared_bytes)
FLASH_DECODING_BY_TMA = Compiled(split_kernel, partial(decode_configs, tma=True), decode_shared_bytes)
FLASH_V1 = Compiled(flash_v1_kernel, flash_v1_configs, flash_v1_shared_bytes)
STANDARD = (
    Compiled(scores_kernel, forward_configs, standard_shared_bytes),
    Compiled(values_kernel, forward_configs, standard_shared_bytes),
)


def constants_of(kernel, shape, config):
    """What a kernel knows when it is compiled, with the default order and nothing noted."""
    constants = {
        "HEAD_DIM": shape.head_dim,
        "COLS": padded_head_dim(shape.head_dim, shape.element_bytes),
        "QUERY_ROWS": config.query_rows,
        "KEY_ROWS": config.key_rows,
        "CAUSAL": shape.causal,
        "RAGGED": shape.key_len % config.key_rows != 0,
        "ORDER": "longest_first",
        "q_sign": 1,
        "events_ptr": None,
        "window": shape.window,
        "MERGE_EARLY": False,
    }
    if shape.window is not None:
        del constants["window"]
    if config.tma:
        constants |= {"k_strides": None, "v_strides": None}
    return {name: value for name, value in constants.items() if name in kernel.arg_names}


def descriptor_type(name, shape, config):
    """Of what fetches tiles of K or V; V of float8 lies with its keys adjacent."""
    columns = padded_head_dim(shape.head_dim, shape.element_bytes)
    tile = [config.key_rows, columns]
    if name == "v_ptr" and shape.element_bytes == 1:
        tile.reverse()
    return f"tensordesc<{ELEMENT_TYPES[shape.element_bytes]}{[1, 1, *tile]}>"


def source_of(kernel, shape, constants, config):
    """The kernel with the argument types that contiguous tensors of this shape have; V of float8 lies with
    its keys adjacent, and the output is then float16.
    """
    signature: dict[str, str | tuple[str, ...]] = {}
    attributes: dict[tuple[int, ...], list] = {}
    values: dict[tuple[int, ...], object] = {}
    for index, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name], values[(index,)] = "constexpr", constants[name]
        elif config.tma and name in ("k_ptr", "v_ptr"):
            signature[name] = descriptor_type(name, shape, config)
        elif name.endswith("_strides"):
            adjacent = 2 if name == "v_strides" and shape.element_bytes == 1 else 3
            signature[name] = tuple("constexpr" if axis == adjacent else "i32" for axis in range(4))
            values[(index, adjacent)] = 1
            attributes |= {(index, axis): ALIGNED for axis in range(4) if axis != adjacent}
        elif name.endswith("_ptr"):
            bytes_here = 2 if name == "out_ptr" and shape.element_bytes == 1 else shape.element_bytes
            signature[name] = OTHER_POINTERS.get(name, f"*{ELEMENT_TYPES[bytes_here]}")
            attributes[(index,)] = ALIGNED
        else:
            signature[name] = "fp32" if name.endswith("scale") else "i32"
    return ASTSource(kernel, signature, values, attributes)


def compile_for(compiled, shape, limits, *, noting=False):
    config = choose_config(shape, limits, compiled.configs(shape), bound=compiled.bound)
    constants = constants_of(compiled.kernel, shape, config)
    if noting:
        del constants["events_ptr"]
    major, minor = limits.capability
    binary = triton.compile(
        source_of(compiled.kernel, shape, constants, config),
        target=GPUTarget("cuda", 10 * major + minor, 32),
        options={"num_warps": config.warps, "num_stages": config.stages},
    )
    return {
        "kernel": compiled.kernel.__name__,
        "capability": limits.capability,
        "config": str(config),
        "shared_bytes": binary.metadata.shared,
        "bound_bytes": compiled.bound(config, shape),
        "limit_bytes": limits.shared_bytes,
        "noting": noting,
        "notes": sorted(set(re.findall(r"%(?:smid|globaltimer|clock64)", binary.asm["ptx"]))),
    }


def compile_all():
    by_capability = {gpu.compute_capability: gpu for gpu in GPUS.values()}
    for capability, gpu in sorted(by_capability.items()):
        if capability < OLDEST_CAPABILITY:
            continue
        limits = DeviceLimits(capability, gpu.max_shared_bytes_per_block, gpu.l2_bytes, gpu.sm_count)
        everything = capability in EVERYTHING
        for element_bytes in (2, 4) if everything else (2,):
            shape = AttentionShape(1024, 1024, 128, causal=True, element_bytes=element_bytes)
            for compiled in (FLASH_V2, FLASH_V1, *STANDARD) if everything else (FLASH_V2, FLASH_V1):
                yield compile_for(compiled, shape, limits)
        yield compile_for(FLASH_DECODING, AttentionShape(1, 4096, 128, query_heads=8, kv_heads=2), limits)
        if capability >= OLDEST_WITH_TMA:
            yield compile_for(FLASH_V2_BY_TMA, AttentionShape(4096, 4096, 64), limits)
            yield compile_for(FLASH_V2_BY_TMA, AttentionShape(1024, 1024, 128, causal=True), limits)
            yield compile_for(FLASH_V2_BY_TMA, AttentionShape(1024, 1024, 128, element_bytes=1), limits)
            few = AttentionShape(1, 4096, 128, query_heads=8, kv_heads=2)
            yield compile_for(FLASH_DECODING_BY_TMA, few, limits)
        if capability >= FLOAT8_CAPABILITY:
            yield compile_for(FLASH_V2, AttentionShape(1024, 1024, 128, element_bytes=1), limits)
        if capability == (9, 0):
            yield compile_for(FLASH_V2, AttentionShape(1024, 1024, 128, causal=True, window=200), limits)
            for compiled in (FLASH_V2, FLASH_V1):
                yield compile_for(compiled, AttentionShape(1024, 1024, 64), limits, noting=True)


if __name__ == "__main__":
    for row in compile_all():
        print(json.dumps(row), flush=True)

"""Compiles the forward kernel for every capability of the GPU table, without a GPU; prints a JSON line for
each.
"""

import json

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernels.configs import OLDEST_CAPABILITY, DeviceLimits, choose_config, padded_head_dim, shared_bytes
from kernels.flash_v2 import flash_v2_kernel
from simulator.gpu import GPUS
from simulator.problem import AttentionShape

ELEMENT_TYPES = {2: "fp16", 4: "fp32"}
FLOAT32_TOO = ((7, 5), (9, 0))
OTHER_POINTERS = {"lse_ptr": "*fp32", "events_ptr": "*i64"}
ALIGNED = [["tt.divisibility", 16]]


def constants_of(shape, config):
    """What flash_v2_kernel knows when it is compiled, with its default order and nothing noted."""
    return {
        "HEAD_DIM": shape.head_dim,
        "COLS": padded_head_dim(shape.head_dim),
        "QUERY_ROWS": config.query_rows,
        "KEY_ROWS": config.key_rows,
        "CAUSAL": shape.causal,
        "ORDER": "longest_first",
        "q_sign": 1,
        "events_ptr": None,
    }


def source_of(kernel, shape, constants):
    """The kernel with the argument types that contiguous tensors of this shape have."""
    signature: dict[str, str | tuple[str, ...]] = {}
    attributes: dict[tuple[int, ...], list] = {}
    values: dict[tuple[int, ...], object] = {}
    for index, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name], values[(index,)] = "constexpr", constants[name]
        elif name.endswith("_strides"):
            signature[name], values[(index, 3)] = ("i32", "i32", "i32", "constexpr"), 1
            attributes |= {(index, axis): ALIGNED for axis in range(3)}
        elif name.endswith("_ptr"):
            signature[name] = OTHER_POINTERS.get(name, f"*{ELEMENT_TYPES[shape.element_bytes]}")
            attributes[(index,)] = ALIGNED
        else:
            signature[name] = "fp32" if name == "log2_scale" else "i32"
    return ASTSource(kernel, signature, values, attributes)


def compile_for(shape, limits):
    config = choose_config(shape, limits)
    major, minor = limits.capability
    compiled = triton.compile(
        source_of(flash_v2_kernel, shape, constants_of(shape, config)),
        target=GPUTarget("cuda", 10 * major + minor, 32),
        options={"num_warps": config.warps, "num_stages": config.stages},
    )
    return {
        "capability": limits.capability,
        "config": str(config),
        "shared_bytes": compiled.metadata.shared,
        "bound_bytes": shared_bytes(config, shape),
        "limit_bytes": limits.shared_bytes,
    }


if __name__ == "__main__":
    by_capability = {gpu.compute_capability: gpu for gpu in GPUS.values()}
    for capability, gpu in sorted(by_capability.items()):
        if capability >= OLDEST_CAPABILITY:
            for element_bytes in (2, 4) if capability in FLOAT32_TOO else (2,):
                problem = AttentionShape(1024, 1024, 128, causal=True, element_bytes=element_bytes)
                limits_here = DeviceLimits(
                    capability, gpu.max_shared_bytes_per_block, gpu.l2_bytes, gpu.sm_count
                )
                print(json.dumps(compile_for(problem, limits_here)), flush=True)

"""`python -m tests.kernels.compile_for_all`: compiles the kernels for the capabilities of the GPU table,
without a GPU, as many at a time as there are cores, and prints a JSON line for each: the shared memory,
registers and stack it needs, and which of the SM's special registers its programs read to note where and when
they ran. `--all` takes every configuration that fits, and not only those that the tests wait for.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernels.configs import padded_head_dim
from kernels.flash_v2_backward import key_gradient_kernel
from tests.kernels.compile_cases import Case, devices, every_case, quick_cases

ELEMENT_TYPES = {"float8": "fp8e4nv", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}
FLOATS = (
    "lse_ptr",
    "held_out_ptr",
    "max_ptr",
    "sum_ptr",
    "delta_ptr",
    "dq_sum_ptr",
    "partial_ptr",
    "partial_lse_ptr",
)
OTHER_POINTERS = {"events_ptr": "*i64"} | dict.fromkeys(FLOATS, "*fp32")
ALIGNED = [["tt.divisibility", 16]]


def constants_of(case: Case) -> dict[str, object]:
    """What a kernel knows when it is compiled, with the default order and tiles that divide their tensors."""
    kernel, shape, config = case.compiled.kernel, case.shape, case.launched
    early = case.limits.capability >= (9, 0)
    constants = {
        "HEAD_DIM": shape.head_dim,
        "COLS": padded_head_dim(shape.head_dim, shape.element_bytes),
        "QUERY_ROWS": config.query_rows,
        "KEY_ROWS": config.key_rows,
        "CAUSAL": shape.causal,
        "CHECK": False,
        "RAGGED": False,
        "ORDER": "longest_first",
        "q_sign": 1,
        "MERGE_EARLY": early,
        "EARLY": early,
        **case.compiled.constants,
    }
    if not case.noting:
        constants["events_ptr"] = None
    if shape.window is None:
        constants["window"] = None
    if kernel is key_gradient_kernel:
        constants["queries_per_kv"] = 1
    if config.tma:
        constants |= {f"{name}_strides": None for name in case.compiled.described}
    if not case.compiled.constants.get("ATOMIC", True):
        constants |= {"dq_sum_ptr": None, "dq_sum_strides": None}
    return {name: value for name, value in constants.items() if name in kernel.arg_names}


def descriptor_type(case: Case, name: str) -> str:
    """Of what fetches tiles; V of float8 lies with its keys adjacent."""
    rows = case.launched.query_rows if "q" in case.compiled.described else case.launched.key_rows
    tile = [rows, padded_head_dim(case.shape.head_dim, case.shape.element_bytes)]
    if name == "v" and case.dtype == "float8":
        tile.reverse()
    return f"tensordesc<{ELEMENT_TYPES[case.dtype]}{[1, 1, *tile]}>"


def source_of(case: Case) -> ASTSource:
    """The kernel with the argument types that contiguous tensors of this shape have; V of float8 lies with
    its keys adjacent, and the output is then float16.
    """
    signature: dict[str, str | tuple[str, ...]] = {}
    attributes: dict[tuple[int, ...], list] = {}
    values: dict[tuple[int, ...], object] = {}
    constants = constants_of(case)
    for index, name in enumerate(case.compiled.kernel.arg_names):
        stem = name.removesuffix("_ptr")
        if name in constants:
            signature[name], values[(index,)] = "constexpr", constants[name]
        elif case.launched.tma and stem in case.compiled.described:
            signature[name] = descriptor_type(case, stem)
        elif name.endswith("_strides"):
            adjacent = 2 if name == "v_strides" and case.dtype == "float8" else 3
            signature[name] = tuple("constexpr" if axis == adjacent else "i32" for axis in range(4))
            values[(index, adjacent)] = 1
            attributes |= {(index, axis): ALIGNED for axis in range(4) if axis != adjacent}
        elif name.endswith("_ptr"):
            dtype = "float16" if name == "out_ptr" and case.dtype == "float8" else case.dtype
            signature[name] = OTHER_POINTERS.get(name, f"*{ELEMENT_TYPES[dtype]}")
            attributes[(index,)] = ALIGNED
        else:
            signature[name] = "fp32" if name.endswith("scale") else "i32"
    return ASTSource(case.compiled.kernel, signature, values, attributes)


def compile_case(case: Case) -> dict[str, object]:
    major, minor = case.limits.capability
    binary = triton.compile(
        source_of(case),
        target=GPUTarget("cuda", 10 * major + minor, 32),
        options={"num_warps": case.launched.warps, "num_stages": case.launched.stages},
    )
    registers, stack_bytes = resources_of(binary.asm["cubin"])
    return {
        "kernel": case.compiled.kernel.__name__,
        "constants": dict(case.compiled.constants),
        "dtype": case.dtype,
        "head_dim": case.shape.head_dim,
        "capability": case.limits.capability,
        "config": str(case.launched),
        "warps": case.launched.warps,
        "shared_bytes": binary.metadata.shared,
        "bound_bytes": case.compiled.bound(case.config, case.shape),
        "limit_bytes": case.limits.shared_bytes,
        "registers": registers,
        "stack_bytes": stack_bytes,
        "noting": case.noting,
        "notes": sorted(set(re.findall(r"%(?:smid|globaltimer|clock64)", binary.asm["ptx"]))),
    }


def resources_of(cubin: bytes) -> tuple[int, int]:
    """Registers of a thread, and the bytes of its stack, where the compiler puts what it spills."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [triton.knobs.nvidia.cuobjdump.path, "--dump-resource-usage", file.name]
        said = subprocess.check_output(command, text=True)
    registers, stack_bytes = (max(map(int, re.findall(rf"{word}:(\d+)", said))) for word in ("REG", "STACK"))
    return registers, stack_bytes


def take_from(cases: Sequence[Case], taken: Synchronized) -> None:
    """Compiles, one after the other, those that no other process has taken."""
    while True:
        with taken.get_lock():
            number, taken.value = taken.value, taken.value + 1
        if number >= len(cases):
            return
        print(json.dumps(compile_case(cases[number])), flush=True)


def main(arguments: Sequence[str]) -> int:
    cases_of = every_case if "--all" in arguments else quick_cases
    distinct = {case.key: case for limits in devices() for case in cases_of(limits)}
    context = get_context("fork")  # a kernel of triton cannot be sent to another process
    taken = context.Value("i", 0)
    workers = [
        context.Process(target=take_from, args=(list(distinct.values()), taken))
        for _ in range(os.cpu_count() or 1)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return max(abs(worker.exitcode or 0) for worker in workers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m kernels.trial`: compiles and runs one configuration and prints what the compiler gave it.

A child of kernels.tune, since triton's compiler may end the process that it runs in (hard case C33).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType

import torch
import triton

from kernels.configs import KernelConfig
from kernels.flash_decoding import split_kernel
from kernels.flash_v2 import flash_v2_kernel
from kernels.flash_v2_backward import key_gradient_kernel
from kernels.inputs import Inputs, random_inputs
from kernels.provider import Prepared
from kernels.providers import prepare_backward, prepare_flash_decoding, prepare_flash_v2
from kernels.tuning import Resources
from simulator.problem import AttentionShape

PREPARE: Mapping[str, Callable[[Inputs, KernelConfig], Prepared]] = MappingProxyType(
    {"forward": prepare_flash_v2, "backward": prepare_backward, "decode": prepare_flash_decoding}
)
_KERNELS = {"forward": flash_v2_kernel, "backward": key_gradient_kernel, "decode": split_kernel}


def arguments_of(direction: str, shape: AttentionShape, dtype: str, config: KernelConfig) -> list[str]:
    """The arguments of a trial."""
    return [direction, json.dumps(asdict(shape)), dtype, json.dumps(asdict(config))]


def try_config(direction: str, shape: AttentionShape, dtype: torch.dtype, config: KernelConfig) -> Resources:
    """Compiles a configuration and runs it once, on one KV head of the problem."""
    few = replace(shape, batch=1, query_heads=shape.query_heads // shape.kv_heads, kv_heads=1)
    device = torch.device("cuda", torch.cuda.current_device())
    PREPARE[direction](random_inputs(few, direction, device=device, dtype=dtype), config).call()
    torch.cuda.synchronize(device)
    return resources_of(_KERNELS[direction], device)


def resources_of(kernel: triton.JITFunction, device: torch.device) -> Resources:
    """Of the variant of a kernel that was compiled last for the device in this process."""
    compiled = list(kernel.device_caches[device.index][0].values())[-1]
    return Resources(compiled.n_regs, compiled.n_spills, compiled.metadata.shared)


def main(arguments: Sequence[str]) -> int:
    direction, shape, dtype, config = arguments
    try:
        resources = try_config(
            direction,
            AttentionShape(**json.loads(shape)),
            getattr(torch, dtype),
            KernelConfig(**json.loads(config)),
        )
    except Exception as error:  # whatever a configuration raises is why it has no time
        print(json.dumps({"reason": str(error).strip().split("\n")[0] or type(error).__name__}))
        return 1
    print(json.dumps(asdict(resources)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

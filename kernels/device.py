"""`python -m kernels.device`: what the GPU of this machine holds and moves, as one line of JSON.

Read from its properties, so that a slice of a GPU or a renamed one is described as it is. Exits with 0 when
done, 3 where there is no GPU to ask (one line says why).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass

from kernels.environment import why_unavailable

UNAVAILABLE_EXIT = 3


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """A GPU as its driver describes it. 0 where it does not say."""

    name: str
    major: int  # compute capability
    minor: int
    sm_count: int
    threads_per_sm: int
    registers_per_sm: int
    shared_bytes_per_sm: int
    shared_bytes_per_block: int  # after opting in
    l2_bytes: int
    hbm_bytes_per_s: float  # from the memory's clock and the width of its bus


def to_json(properties: DeviceProperties) -> str:
    """One line of JSON."""
    return json.dumps(asdict(properties))


def from_json(line: str) -> DeviceProperties:
    """The properties of such a line. Raises ValueError for any other."""
    try:
        return DeviceProperties(**json.loads(line))
    except (TypeError, ValueError) as error:
        raise ValueError(f"line must hold the properties of a device, got {line[:200]}") from error


def read_properties() -> DeviceProperties:
    """Of the GPU that torch would use."""
    import torch

    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    clock_hz = 1e3 * getattr(found, "memory_clock_rate", 0)  # torch tells kHz; older ones tell nothing
    bus_bytes = getattr(found, "memory_bus_width", 0) / 8
    return DeviceProperties(
        name=found.name,
        major=found.major,
        minor=found.minor,
        sm_count=found.multi_processor_count,
        threads_per_sm=found.max_threads_per_multi_processor,
        registers_per_sm=getattr(found, "regs_per_multiprocessor", 0),
        shared_bytes_per_sm=found.shared_memory_per_multiprocessor,
        shared_bytes_per_block=getattr(found, "shared_memory_per_block_optin", found.shared_memory_per_block),
        l2_bytes=found.L2_cache_size,
        hbm_bytes_per_s=2 * clock_hz * bus_bytes,  # two transfers a clock
    )


def main() -> int:
    unavailable = why_unavailable()
    if unavailable is not None:
        print(unavailable.reason, file=sys.stderr)
        return UNAVAILABLE_EXIT
    print(to_json(read_properties()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a child of the GPU host runs: the bench, with the GPU asked after each measurement whether it still
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernels.environment import why_unavailable
from kernels.plan import Plan
from kernels.results import Record


def measure(plans: Sequence[Plan], write: Callable[[Record], None], memory_share: float) -> None:
    """Measures plans on the current GPU within a share of its memory. Raises what CUDA says where a kernel
    broke the context of this process, after which nothing in it can be believed.
    """
    lacking = why_unavailable()
    if lacking:
        write(lacking)
        return
    import torch

    from kernels.bench import run

    torch.cuda.set_per_process_memory_fraction(memory_share)
    run(plans, write, check=torch.cuda.synchronize)

"""What Triton says of a block that needs more than a GPU gives it. Imports neither torch nor triton."""

from __future__ import annotations


def out_of_shared_memory_text(required: int, limit: int) -> str:
    """The text of `triton.runtime.errors.OutOfResources` for shared memory, both in bytes."""
    return (
        f"out of resource: shared memory, Required: {required}, Hardware limit: {limit}. "
        "Reducing block sizes or `num_stages` may help."
    )

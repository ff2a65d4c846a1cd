"""The page quotes Triton: its text is that of the exception which the installed Triton raises."""

from __future__ import annotations

import pytest

from kernels.refusal import out_of_shared_memory_text


@pytest.mark.parametrize(("required", "limit"), [(1, 0), (524_288, 232_448)])
def test_the_text_is_that_of_the_exception(required: int, limit: int) -> None:
    errors = pytest.importorskip("triton.runtime.errors")
    raised = errors.OutOfResources(required, limit, "shared memory")
    assert str(raised).endswith(out_of_shared_memory_text(required, limit))

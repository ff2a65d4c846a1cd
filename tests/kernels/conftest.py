"""Without a GPU the kernels run under triton's interpreter, which must be chosen before triton is
imported.
"""

import os

import pytest
import torch

GPU = torch.cuda.is_available()
if not GPU:
    os.environ["TRITON_INTERPRET"] = "1"


def pytest_collection_modifyitems(items):
    if GPU:
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))


@pytest.fixture
def device() -> torch.device:
    return torch.device("cuda" if GPU else "cpu")


@pytest.fixture
def generator(device) -> torch.Generator:
    """Fresh random data for every test session."""
    generator = torch.Generator(device)
    print("seed", generator.seed())  # shown when a test fails
    return generator

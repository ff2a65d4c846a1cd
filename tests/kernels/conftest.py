"""Without a GPU the kernels run under triton's interpreter, which must be chosen before triton is
imported.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

GPU = torch.cuda.is_available()
if not GPU:
    os.environ["TRITON_INTERPRET"] = "1"
    torch.set_num_threads(1)  # tensors are tiny here: threads that wait for each other took most of the time


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


@dataclass(frozen=True)
class Forward:
    """One of our forward kernels as the tests call it: standard attention gives no log-sum-exp, but None."""

    name: str
    run: Callable  # (q, k, v, *, causal, window, scale, config) -> out and lse
    launch: Callable  # (problem, out, lse, *, config), into the given memory
    config: Callable  # (shape, limits) -> what it would choose


def _flash_v2() -> Forward:
    from kernels.configs import choose_config
    from kernels.flash_v2 import flash_v2_forward, launch_flash_v2

    return Forward("flash_v2", flash_v2_forward, launch_flash_v2, choose_config)


def _flash_v1() -> Forward:
    from kernels.flash_v1 import flash_v1_config, flash_v1_forward, launch_flash_v1

    return Forward("flash_v1", flash_v1_forward, launch_flash_v1, flash_v1_config)


def _standard() -> Forward:
    from kernels.standard import launch_standard, standard_config, standard_forward

    def run(*arguments, **options):
        return standard_forward(*arguments, **options), None

    def launch(problem, out, lse, **options):
        launch_standard(problem, out, **options)

    return Forward("standard", run, launch, standard_config)


@pytest.fixture(params=[_flash_v2, _flash_v1, _standard], ids=lambda make: make.__name__[1:])
def forward(request) -> Forward:
    """Each of our forward kernels."""
    return request.param()

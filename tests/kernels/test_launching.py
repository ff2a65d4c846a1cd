"""A launch asks triton once for all calls that lie alike."""

import gc
import weakref

import torch

from kernels.launching import Launcher


class Kernel:
    """Stands for a compiled kernel: it notes when it is asked for, and with what it runs."""

    arg_names = ("a_ptr", "length", "b_ptr", "WIDTH")

    def __init__(self):
        self.asked: list[dict] = []
        self.ran: list[tuple] = []

    def __getitem__(self, grid):
        def first(**arguments):
            self.asked.append(arguments)
            return self

        return first

    def run(self, *arguments):
        self.ran.append(arguments)


class Interpreted(Kernel):
    def __getitem__(self, grid):
        return lambda **arguments: self.asked.append(arguments)


class Compiled(Kernel):
    """What `kernel[grid](...)` gives, which may be launched itself."""

    def __getitem__(self, grid):
        if isinstance(grid, tuple) and len(grid) == 3:
            return self.run
        return super().__getitem__(grid)


def call(launcher, a, b=None, alike="same", length=5):
    others = {"length": length, "WIDTH": 16, "num_warps": 4}
    launcher(7, {"a_ptr": a, "b_ptr": b}, alike=alike, others=lambda: others)


def test_the_second_call_runs_what_the_first_compiled_with_its_own_tensors():
    kernel, first, second = Compiled(), torch.zeros(16), torch.ones(16)
    launcher = Launcher(kernel)
    call(launcher, first)
    call(launcher, second)
    assert len(kernel.asked) == 1
    assert kernel.asked[0] == {"a_ptr": first, "b_ptr": None, "length": 5, "WIDTH": 16, "num_warps": 4}
    ((a, length, b, width),) = kernel.ran
    assert a is second
    assert (length, b, width) == (5, None, 16)


def test_calls_that_lie_otherwise_ask_again():
    kernel, tensor = Compiled(), torch.zeros(16)
    launcher = Launcher(kernel)
    call(launcher, tensor)
    call(launcher, tensor, alike="other", length=6)
    assert [arguments["length"] for arguments in kernel.asked] == [5, 6]


def test_a_tensor_that_begins_between_two_units_asks_again():
    """Where a pointer is known to be a multiple of 16 bytes, loads are compiled as whole vectors."""
    kernel, tensor = Compiled(), torch.zeros(17)
    launcher = Launcher(kernel)
    call(launcher, tensor[:16])
    call(launcher, tensor[1:])
    assert len(kernel.asked) == 2


def test_nothing_of_a_call_is_kept_alive():
    kernel, tensor = Compiled(), torch.zeros(16)
    launcher, gone = Launcher(kernel), weakref.ref(tensor)
    call(launcher, tensor)
    kernel.asked.clear()
    del tensor
    gc.collect()
    assert gone() is None


def test_an_interpreted_kernel_is_asked_each_time():
    kernel, tensor = Interpreted(), torch.zeros(16)
    launcher = Launcher(kernel)
    call(launcher, tensor)
    call(launcher, tensor)
    assert len(kernel.asked) == 2

"""Launches of a kernel: what triton learns of its arguments is learnt once for all calls that lie alike.

A launch by `kernel[grid](...)` examines each argument anew to find the compiled kernel, which takes the host
longer than all else (docs/kernels.md, "Host time").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from torch import Tensor

Arguments = dict[str, Any]  # of a kernel, by name


class Launcher:
    """Launches one kernel on the current device and stream."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._launch_of = lru_cache(maxsize=1024)(_Launch)

    def __call__(
        self,
        programs: int,
        tensors: Mapping[str, object],
        *,
        alike: Hashable,
        others: Callable[[], Arguments],
    ) -> None:
        """Runs so many programs. `tensors` are tensors, descriptors or None, by name; `others` gives all
        other arguments and options.

        Calls of one `alike` must agree in everything but where their tensors begin: the programs, `others`,
        dtypes, strides, device, and which tensors are None.
        """
        aligned = tuple([t.data_ptr() % 16 == 0 for t in tensors.values() if isinstance(t, Tensor)])
        launch = self._launch_of(alike, aligned)
        if launch.run is None:
            launch.compile(self._kernel, programs, tensors, others())
        else:
            launch.run(*launch.arguments_with(tensors.values()))


class _Launch:
    """A compiled kernel and its grid, all arguments but its tensors known. Empty until it ran once."""

    __slots__ = ("_arguments", "_places", "run")

    def __init__(self, alike: Hashable, aligned: tuple[bool, ...]) -> None:
        self.run: Callable[..., None] | None = None

    def compile(self, kernel: Any, programs: int, tensors: Mapping[str, object], others: Arguments) -> None:
        """Runs it the usual way, and keeps what that found; nothing is found where it is interpreted."""
        compiled = kernel[(programs,)](**tensors, **others)
        if compiled is not None:
            self._arguments = [others.get(name) for name in kernel.arg_names]
            self._places = [kernel.arg_names.index(name) for name in tensors]
            self.run = compiled[(programs, 1, 1)]

    def arguments_with(self, tensors: Iterable[object]) -> list[object]:
        arguments = self._arguments.copy()
        for place, tensor in zip(self._places, tensors, strict=True):
            arguments[place] = tensor
        return arguments

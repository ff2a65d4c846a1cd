"""A viewer's place at the queue of the GPU host (kernels.gpu_queue): one run of its own, or the presenter's.

Where FLASH_PRESENTER_KEY is set, only who gives that key may start runs, and everybody sees them.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from uuid import uuid4

import streamlit as st

from kernels.gpu_queue import HOST_VARIABLE, GpuQueue
from kernels.gpu_run import GpuRun

PRESENTER_VARIABLE = "FLASH_PRESENTER_KEY"
_VIEWER = "live_gpu.viewer"  # in the session: who this is


class BenchDesk:
    """What one viewer may start and sees."""

    def __init__(self, queue: GpuQueue, presenter_key: str = "") -> None:
        self._queue, self._presenter_key = queue, presenter_key
        self._run: GpuRun | None = None
        self.may_start = not presenter_key

    def show_key(self, key: str) -> bool:
        """Lets this viewer start runs if the key is the presenter's; says whether it is."""
        self.may_start = hmac.compare_digest(key.encode(), self._presenter_key.encode())
        return self.may_start

    def current(self) -> GpuRun | None:
        """The run that is waiting or going, or else the last one: this viewer's own, or the presenter's."""
        return self._queue.latest() if self._presenter_key else self._run

    def start(self, arguments: Sequence[str], asked: object) -> bool:
        """Queues a run, unless this viewer has one that has not ended, or may have none; says which."""
        run = self.current()
        if not self.may_start or (run is not None and not run.state().ended):
            return False
        self._run = self._queue.submit(arguments, asked)
        return True

    def leave(self) -> None:
        """Drops the viewer's own run."""
        if self._run is not None:
            self._run.stop()


@st.cache_resource(on_release=GpuQueue.close)
def the_queue() -> GpuQueue:
    """The one queue of this server."""
    return GpuQueue()


def the_desk() -> BenchDesk:
    """The desk of this viewer; a closed tab leaves it."""
    return _desk_of(st.session_state.setdefault(_VIEWER, uuid4().hex))


def host_is_elsewhere() -> bool:
    """Whether FLASH_GPU_HOST says where to measure, so that no GPU is needed here."""
    return bool(os.environ.get(HOST_VARIABLE))


@st.cache_resource(scope="session", on_release=BenchDesk.leave)
def _desk_of(viewer: str) -> BenchDesk:
    return BenchDesk(the_queue(), os.environ.get(PRESENTER_VARIABLE, ""))

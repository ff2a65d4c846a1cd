"""The pages' side of the GPU host: runs are submitted here, and tell how they stand.

FLASH_GPU_HOST=tls://address with FLASH_GPU_CERTIFICATES=folder names a host elsewhere; without them the
first run starts one on this machine, which ends with this process. Imports neither torch nor triton, and
distributed only once there is a run.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from kernels.gpu_certificates import Certificates, read_certificates, security_of
from kernels.gpu_run import GpuRun

if TYPE_CHECKING:
    from distributed import Client

ROOT = Path(__file__).parents[1]
HOST_VARIABLE, CERTIFICATES_VARIABLE = "FLASH_GPU_HOST", "FLASH_GPU_CERTIFICATES"
_END_S = 5.0  # for a host to end by itself


@dataclass(frozen=True, slots=True)
class HostAddress:
    """Where a host is, and what proves to it that we may use it."""

    address: str  # "tls://box:8786"
    certificates: Certificates


def host_elsewhere() -> HostAddress | None:
    """The host that the environment names, or None. Raises ValueError where it names no certificates for it,
    OSError where they are not there.
    """
    address = os.environ.get(HOST_VARIABLE, "")
    if not address:
        return None
    folder = os.environ.get(CERTIFICATES_VARIABLE, "")
    if not folder:
        raise ValueError(f"{CERTIFICATES_VARIABLE} must name the folder of the host's certificates, got none")
    return HostAddress(address, read_certificates(Path(folder)))


class GpuQueue:
    """The runs of this process, on one host that is found or started with the first of them."""

    def __init__(self, command: Sequence[str] = (sys.executable, "-m", "kernels.gpu_host")) -> None:
        """`command` starts a host on this machine."""
        self._command = command
        self._lock = threading.Lock()
        self._runs: list[GpuRun] = []
        self._client: Client | None = None
        self._host: subprocess.Popen[str] | None = None
        self._connecting = ThreadPoolExecutor(1, "gpu-queue")  # in order, and never in a page's own thread
        atexit.register(self.close)

    def submit(self, arguments: Sequence[str], asked: object = None) -> GpuRun:
        """Queues a run: the arguments of `python -m kernels.bench`. `asked` is kept for the caller. Returns
        at once; what goes wrong from here on is told by the run.
        """
        run = GpuRun(uuid4().hex[:12], asked, self.place_of, self._let_go)
        with self._lock:
            self._runs = [each for each in self._runs if not each.state().ended] + [run]
        self._connecting.submit(self._send, run, list(arguments))
        return run

    def latest(self) -> GpuRun | None:
        """The run that was submitted last."""
        return self._runs[-1] if self._runs else None

    def is_busy(self) -> bool:
        """Whether any of its runs is waiting or going."""
        return any(not run.state().ended for run in self._runs)

    def place_of(self, run: GpuRun) -> int:
        """How many runs are before it on its GPU, anybody's; those of other machines by their own clocks."""
        client = self._client
        for keys in client.processing().values() if client else ():
            if run.key in keys:
                return sorted(keys).index(run.key)
        return sum(each.key < run.key and not each.state().ended for each in self._runs)

    def host_pid(self) -> int:
        """The process id of the host that was started; 0 where none was."""
        return self._host.pid if self._host else 0

    def close(self) -> None:
        """Ends all runs, and the host that was started for them."""
        self._connecting.shutdown(wait=True, cancel_futures=True)
        for run in self._runs:
            run.stop()
        self._let_go("")

    def _send(self, run: GpuRun, arguments: list[str]) -> None:
        from kernels.gpu_worker import measure_run

        if run.state().ended:  # stopped before it was sent
            return
        try:
            client = self._connected()
            client.subscribe_topic(run.name, lambda event: run.hear(event[1]))
            future = client.submit(measure_run, arguments, run.name, key=run.key, pure=False)
        except Exception as error:  # no distributed, no program, no host at that address, wrong certificates
            self._let_go(str(error) or type(error).__name__)
            run.lose(str(error) or type(error).__name__)
        else:
            run.follow(future)
            future.add_done_callback(lambda _: client.unsubscribe_topic(run.name))

    def _connected(self) -> Client:
        from distributed import Client

        if self._host is not None and self._host.poll() is not None:
            self._let_go("the GPU host ended")  # before anybody noticed
        if self._client is None or self._client.status != "running":
            host = host_elsewhere() or self._started()
            security = security_of(host.certificates)
            self._client = Client(host.address, security=security, set_as_default=False, timeout="10s")
        return self._client

    def _started(self) -> HostAddress:
        """A host of our own. Its errors go where ours do."""
        self._host = subprocess.Popen(
            self._command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._host.stdout is not None
        line = self._host.stdout.readline()
        if not line:
            raise OSError(f"the GPU host ended with status {self._host.wait()} before it began")
        told = json.loads(line)
        threading.Thread(target=self._watch, args=(self._host,), daemon=True).start()
        return HostAddress(told["address"], Certificates(told["certificate"], told["key"]))

    def _watch(self, host: subprocess.Popen[str]) -> None:
        status = host.wait()
        if host is self._host:
            self._let_go(f"the GPU host ended with status {status}")

    def _let_go(self, reason: str) -> None:
        """Forgets host and client, so that the next run finds or starts new ones."""
        with self._lock:
            client, host = self._client, self._host
            self._client = self._host = None
        for run in self._runs if reason else ():
            run.lose(reason)
        if client is not None:
            client.close(timeout=1)
        if host is not None:
            assert host.stdin is not None
            host.stdin.close()
            try:
                host.wait(_END_S)
            except subprocess.TimeoutExpired:
                host.kill()

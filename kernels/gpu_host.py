"""`python -m kernels.gpu_host`: a queue of runs and the GPUs of this machine that serve it, over TLS.

The Live GPU page starts one for itself. By hand, `--listen` lets pages on other machines use these GPUs, and
`--join` adds these GPUs to the queue of another host. Never touches CUDA: each measurement runs in a child.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernels import gpu_measure
from kernels.gpu_certificates import Certificates, kept_certificates, new_certificates, security_of
from kernels.gpu_child import Measure
from kernels.gpu_job import Limits

PORT = 8786


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kernels.gpu_host", description=__doc__)
    parser.add_argument("--listen", metavar="ADDRESS", help=f"for pages elsewhere: tls://0.0.0.0:{PORT}")
    parser.add_argument("--join", metavar="ADDRESS", help="serve the queue of the host there")
    parser.add_argument("--certificates", type=Path, metavar="FOLDER", help="made there if need be")
    parser.add_argument("--cpu", action="store_true", help="look for no GPU")
    defaults = Limits()
    parser.add_argument("--run-s", type=float, default=defaults.run_s, help="of a run, in all")
    parser.add_argument("--measurement-s", type=float, default=defaults.measurement_s, help="of one step")
    parser.add_argument("--memory-share", type=float, default=defaults.memory_share, help="of a GPU, 0 to 1")
    return parser


def main(arguments: Sequence[str], measure: Measure) -> int:
    """Serves until it is told to end: by a signal, or where a page started it by the end of its input."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    elsewhere = bool(asked.listen or asked.join)
    if elsewhere and asked.certificates is None:
        parser.error("--certificates must name a folder with --listen and --join")
    if not 0 < asked.memory_share <= 1:
        parser.error(f"--memory-share must be above 0 and at most 1, got {asked.memory_share}")
    certificates = kept_certificates(asked.certificates) if asked.certificates else new_certificates()
    asyncio.run(_serve(asked, certificates, measure, until_eof=not elsewhere))
    return 0


def visible_gpus() -> list[str]:
    """A CUDA_VISIBLE_DEVICES for each GPU that this process may use; none where NVML finds none."""
    limited = os.environ.get("CUDA_VISIBLE_DEVICES")
    if limited is not None:
        return [name for name in limited.split(",") if name]
    try:
        import pynvml

        pynvml.nvmlInit()
        return [str(index) for index in range(pynvml.nvmlDeviceGetCount())]
    except Exception:  # no package, no driver, or no GPU: a child will say which
        return []


async def _serve(
    asked: argparse.Namespace, certificates: Certificates, measure: Measure, *, until_eof: bool
) -> None:
    import dask
    from distributed import Scheduler, Worker

    from kernels.gpu_worker import Gpu

    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,  # a run that ends its worker is not tried on another
            "distributed.scheduler.http.routes": [],  # HTTP would be neither encrypted nor asked for
            "distributed.worker.http.routes": [],
        }
    )
    logging.getLogger("distributed").setLevel(logging.WARNING)
    limits = Limits(asked.run_s, asked.measurement_s, asked.memory_share)
    common: dict[str, Any] = {"security": security_of(certificates), "dashboard_address": "127.0.0.1:0"}
    ended = _end_event(until_eof=until_eof)
    async with AsyncExitStack() as stack:
        address = asked.join
        if address is None:
            listen = asked.listen or "tls://127.0.0.1:0"
            scheduler = await stack.enter_async_context(Scheduler(host=listen, **common))
            address = scheduler.address
        for gpu in ([] if asked.cpu else visible_gpus()) or [""]:
            plugin = Gpu(gpu, measure, limits)
            worker = Worker(address, nthreads=1, memory_limit=0, plugins=(plugin,), **common)
            await stack.enter_async_context(worker)
        told = {"address": address} | (asdict(certificates) if until_eof else {})
        print(json.dumps(told), flush=True)
        await ended.wait()


def _end_event(*, until_eof: bool) -> asyncio.Event:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)

    def wait_for_eof() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    if until_eof:  # a page holds the other end, and no page outlives its server
        threading.Thread(target=wait_for_eof, daemon=True).start()
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], gpu_measure.measure))

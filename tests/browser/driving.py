"""What drives the app from outside: a server of its own, and waiting until a page has drawn itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Locator, Page, expect

ROOT = Path(__file__).resolve().parents[2]
START_LIMIT_S = 60.0
POLL_S = 0.01
READY_LIMIT_MS = 30_000


@dataclass(frozen=True)
class Server:
    """A running app: its address, its process, its log, and how long it took to answer."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path
    healthy_s: float


@contextmanager
def serve(scratch: Path) -> Iterator[Server]:
    """Starts `streamlit run app.py` on a free port, without stdin and with `scratch` as an empty home."""
    port = _free_port()
    log = scratch / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = {**os.environ, "HOME": str(scratch)}
    start_s = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    url = f"http://localhost:{port}"
    try:
        _wait_healthy(url, process, log, start_s + START_LIMIT_S)
        yield Server(url, process, log, time.perf_counter() - start_s)
    finally:
        process.terminate()
        process.wait(timeout=20)


def wait_ready(page: Page) -> None:
    """Waits until the script has run and every element has drawn itself, and fails on a traceback."""
    app = page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')
    expect(app).to_be_attached(timeout=READY_LIMIT_MS)
    expect(page.locator(".fa-title")).to_be_attached(timeout=READY_LIMIT_MS)
    expect(page.locator('[data-testid="stSkeleton"]')).to_have_count(0, timeout=READY_LIMIT_MS)
    expect(page.locator(".fa-root:empty")).to_have_count(0, timeout=READY_LIMIT_MS)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def ready_player(page: Page) -> Locator:
    """The tile player, once its script has come and has drawn it."""
    wait_ready(page)
    player = page.locator(".fa-player")
    expect(player).to_be_visible(timeout=READY_LIMIT_MS)
    return player


def _wait_healthy(url: str, process: subprocess.Popen[bytes], log: Path, until_s: float) -> None:
    while time.perf_counter() < until_s:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}:\n{log.read_text()}")
        try:
            with urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(POLL_S)
    raise RuntimeError(f"the server did not answer within {START_LIMIT_S:g} s:\n{log.read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])

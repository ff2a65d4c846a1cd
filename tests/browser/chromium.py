"""Finds a Chromium that works, or installs one: `python -m tests.browser.chromium`.

An installed Chromium or Chrome is used, else Playwright's own is fetched, else, as root on Debian or Ubuntu,
the distribution's is installed. Where none of these works, a sentence says so: browser tests never skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

NAMED_BY = "CHROMIUM"  # environment variable: the executable to use
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_CHROME = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PAGE_THAT_ADDS = "data:text/html,<script>document.write('<p>' + (2 + 2) + '</p>')</script>"
START_LIMIT_S = 60
ASK_PLAYWRIGHT = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


class NoChromiumError(RuntimeError):
    """No Chromium could be found or installed."""


def candidates() -> Iterator[str]:
    """Executables that may be a Chromium, the one named by the environment first, Playwright's own last."""
    named = os.environ.get(NAMED_BY)
    if named:
        yield named
    yield from filter(None, map(shutil.which, COMMANDS))
    yield MAC_CHROME
    yield _own_of_playwright()


def works(executable: str) -> bool:
    """Whether an executable starts without a display and runs a page."""
    if not Path(executable).is_file():
        return False
    with TemporaryDirectory() as profile:
        options = (*ARGUMENTS, "--headless", f"--user-data-dir={profile}", "--dump-dom", PAGE_THAT_ADDS)
        try:
            answer = subprocess.run(
                [executable, *options],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=START_LIMIT_S,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return "<p>4</p>" in answer.stdout


@cache
def find_chromium() -> str:
    """The first Chromium that works; raises `NoChromiumError` where there is none."""
    for executable in candidates():
        if works(executable):
            return executable
    raise NoChromiumError("no Chromium was found that starts; `make test` installs one")


def installers() -> Iterator[list[list[str]]]:
    """Ways to get a Chromium on this machine, each a list of commands."""
    yield [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if os.name == "posix" and os.geteuid() == 0 and shutil.which("apt-get"):
        yield [["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "chromium"]]
        yield [[sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"]]


def ensure_chromium(
    find: Callable[[], str] = find_chromium, ways: Callable[[], Iterator[list[list[str]]]] = installers
) -> str:
    """A Chromium that works, installed if need be; raises `NoChromiumError` if nothing helped."""
    for commands in (None, *ways()):
        if commands is not None:
            print(
                "No Chromium that starts; trying:", *(" ".join(command) for command in commands), sep="\n  "
            )
            _run_all(commands)
        try:
            return find()
        except NoChromiumError:
            continue
    raise NoChromiumError(
        "The browser tests need a Chromium and none could be installed: install chromium or Google Chrome, "
        f"or set {NAMED_BY} to its executable."
    )


def _own_of_playwright() -> str:
    # In a process of its own: Playwright starts only once in a thread, and the tests have their own.
    answer = subprocess.run(
        [sys.executable, "-c", ASK_PLAYWRIGHT], capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


def _run_all(commands: list[list[str]]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in commands:
        if subprocess.run(command, stdin=subprocess.DEVNULL, env=environment, check=False).returncode:
            return


if __name__ == "__main__":
    try:
        print("Browser for the tests:", ensure_chromium())
    except NoChromiumError as error:
        sys.exit(str(error))

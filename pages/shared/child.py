"""A short program of ours run as a child of the server, which itself imports neither torch nor triton."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from pages.shared.frame import ROOT


def run_child(command: Sequence[str], *, limit_s: float) -> subprocess.CompletedProcess[str]:
    """Its status and its words. Raises OSError where it cannot start, TimeoutExpired after the limit."""
    return subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )

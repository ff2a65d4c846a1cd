"""Measures figures by name, or all, prints a line for each, and fails if one falls short."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.bench import (
    app_figures,
    block_figures,
    gpu_figures,
    model_figures,
    player_figures,
    timeline_figures,
    walk_figures,
)
from tests.bench.figure import line_of, read_figure

MODULES = (
    model_figures,
    block_figures,
    app_figures,
    gpu_figures,
    timeline_figures,
    player_figures,
    walk_figures,
)


def main(arguments: list[str]) -> int:
    figures = {figure.name: figure for module in MODULES for figure in module.figures()}
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"of {', '.join(figures)}; all if none is given"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in figures]
    if unknown:
        parser.error(f"name must be one of {', '.join(figures)}, got {', '.join(unknown)}")
    readings = []
    for name in asked.names or figures:
        readings.append(read_figure(figures[name]))
        print(line_of(readings[-1]), flush=True)
    if asked.json:
        asked.json.write_text(
            json.dumps([asdict(reading) for reading in readings], indent=1) + "\n", encoding="utf-8"
        )
    return 0 if all(reading.holds for reading in readings) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

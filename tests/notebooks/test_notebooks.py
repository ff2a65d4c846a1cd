"""Every notebook we ship runs from its first cell to its last in a fresh kernel, and is kept bare."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2, traffic_of

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.name)
def executed(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    notebook = nbformat.read(request.param, as_version=4)
    assert [cell for cell in notebook.cells if cell.get("outputs")] == []
    return NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": request.param.parent}}
    ).execute()


def printed(notebook: nbformat.NotebookNode) -> str:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output for output in outputs if output.output_type == "error"] == []
    return "".join(output.text for output in outputs if output.output_type == "stream")


def test_a_notebook_shows_players_and_prints_the_bytes_of_both_walks(executed: nbformat.NotebookNode) -> None:
    shape, tile = AttentionShape(1024, 1024, 64), TileShape(64, 64)
    text = printed(executed)
    for name, trace in (("V1", trace_flash_v1(shape, tile)), ("V2", trace_flash_v2(shape, tile))):
        assert re.search(rf"^all .*{name} +{traffic_of(trace).moved_bytes:,} B", text, re.MULTILINE)
    views = [
        output
        for cell in executed.cells
        for output in cell.get("outputs", [])
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    ]
    assert len(views) == 2

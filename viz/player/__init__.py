"""The tile player: a trace as columns for the browser, and the JavaScript that draws them."""

from pathlib import Path

ASSET = Path(__file__).parent

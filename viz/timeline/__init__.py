"""The timeline of blocks on SMs: `timeline.js` draws in any host what `lanes.py` packs."""

from pathlib import Path

ASSET = Path(__file__).parent

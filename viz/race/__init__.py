"""The race: `race.js` lets bars run in real proportion, slowed by a stated factor."""

from pathlib import Path

ASSET = Path(__file__).parent

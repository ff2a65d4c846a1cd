"""Carries questions from a player to the host and answers back, so that only the answer is drawn anew."""

from pathlib import Path

ASSET = Path(__file__).parent

"""Carries questions from a player to the host and answers back, and numbers to a walk that is shown
already, so that neither draws the player anew.
"""

from pathlib import Path

ASSET = Path(__file__).parent

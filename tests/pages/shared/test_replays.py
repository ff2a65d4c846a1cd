"""A replay runs beside the page: who asks for it is not held, and who needs its numbers waits for them."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from pages.shared import cached
from simulator import AttentionShape, TileShape
from viz.player.numbers import Numbers, numbers_of


def test_a_long_replay_does_not_hold_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on = Event()

    def long_replay(*problem: Any) -> Numbers | None:
        assert may_go_on.wait(timeout=60)
        return numbers_of(*problem)

    monkeypatch.setattr(cached, "numbers_of", long_replay)
    walk = cached.cached_walk("flash_v2", AttentionShape(33, 63, 4), TileShape(8, 8))
    asked = cached.replay_of(walk)
    assert not asked.done()
    assert cached.replay_of(walk) is asked, "one replay for all who ask"
    may_go_on.set()
    numbers = cached.with_numbers(walk).numbers
    assert numbers is not None
    assert numbers.largest_difference <= 1e-12

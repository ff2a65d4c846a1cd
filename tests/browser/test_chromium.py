from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import NAMED_BY, NoChromiumError, candidates, ensure_chromium, works


def appears_after(attempts: int) -> Callable[[], str]:
    """A search that fails some times and then finds."""
    left = iter(range(attempts))

    def find() -> str:
        if next(left, None) is not None:
            raise NoChromiumError("none yet")
        return "/found"

    return find


def ways_noting(folder: Path, count: int) -> Callable[[], Iterator[list[list[str]]]]:
    """Ways to install, each of which only leaves a mark."""
    return lambda: iter([[["touch", str(folder / f"way-{number}")]] for number in range(count)])


def marks(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_nothing_is_installed_where_a_chromium_works(tmp_path: Path) -> None:
    assert ensure_chromium(appears_after(0), ways_noting(tmp_path, 2)) == "/found"
    assert marks(tmp_path) == []


def test_ways_are_tried_in_order_until_a_chromium_works(tmp_path: Path) -> None:
    assert ensure_chromium(appears_after(2), ways_noting(tmp_path, 3)) == "/found"
    assert marks(tmp_path) == ["way-0", "way-1"]


def test_a_machine_without_a_chromium_fails_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoChromiumError, match="need a Chromium and none could be installed"):
        ensure_chromium(appears_after(9), ways_noting(tmp_path, 2))
    assert marks(tmp_path) == ["way-0", "way-1"]


def test_a_way_that_fails_halfway_stops_there(tmp_path: Path) -> None:
    def ways() -> Iterator[list[list[str]]]:
        yield [["false"], ["touch", str(tmp_path / "after")]]

    with pytest.raises(NoChromiumError):
        ensure_chromium(appears_after(9), ways)
    assert marks(tmp_path) == []


@pytest.mark.parametrize("executable", ["/no/such/file", "/bin/false"])
def test_what_does_not_run_a_page_does_not_work(executable: str) -> None:
    assert not works(executable)


def test_the_named_executable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAMED_BY, "/my/chromium")
    assert next(candidates()) == "/my/chromium"

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.bench import __main__ as command
from tests.bench.figure import Figure, line_of, read_figure


@pytest.mark.parametrize(("value", "holds"), [(49.9, True), (50.0, True), (50.1, False)])
def test_a_figure_holds_up_to_its_mark(value: float, holds: bool) -> None:
    assert read_figure(Figure("f", "ms", 50, lambda: value)).holds == holds


@pytest.mark.parametrize(("value", "holds"), [(1.19, False), (1.2, True), (1.3, True)])
def test_a_figure_that_must_reach_its_mark_holds_from_there(value: float, holds: bool) -> None:
    assert read_figure(Figure("f", "x", 1.2, lambda: value, at_least=True)).holds == holds


def test_a_figure_without_a_mark_is_told() -> None:
    reading = read_figure(Figure("f", "%", None, lambda: 120.0))
    assert (reading.holds, line_of(reading).split()) == (True, ["f", "120", "%", "told"])


def test_a_figure_that_cannot_be_measured_is_short_and_says_why() -> None:
    def fail() -> float:
        raise RuntimeError("the player did not move")

    reading = read_figure(Figure("frames", "1/s", 60, fail, at_least=True))
    assert not reading.holds
    assert line_of(reading).endswith("short  RuntimeError: the player did not move")


def test_a_line_gives_name_value_unit_mark_and_verdict() -> None:
    line = line_of(read_figure(Figure("trace", "ms", 50, lambda: 19.23)))
    assert line.split() == ["trace", "19.23", "ms", "<=", "50", "holds"]


def test_the_command_measures_what_is_named_and_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = SimpleNamespace(figures=lambda: [Figure("a", "s", 1, lambda: 2.0)])
    second = SimpleNamespace(figures=lambda: [Figure("b", "s", 1, lambda: 0.5)])
    monkeypatch.setattr(command, "MODULES", (first, second))
    file = tmp_path / "figures.json"
    assert command.main(["b", "--json", str(file)]) == 0
    assert [(each["name"], each["holds"]) for each in json.loads(file.read_text())] == [("b", True)]
    assert command.main([]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_an_unknown_figure_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["no_such_figure"])
    assert "got no_such_figure" in capsys.readouterr().err

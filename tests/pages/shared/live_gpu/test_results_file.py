"""Files of results go out and come in unchanged; a bad one is a sentence."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from pages.shared.live_gpu.recordings import recordings
from pages.shared.live_gpu.results_file import LARGEST_BYTES, read_results, results_csv, results_jsonl

KEPT = recordings("decode")[0]


def test_what_is_written_is_read_back_unchanged() -> None:
    assert read_results(results_jsonl(KEPT.environment, KEPT.results).encode()) == KEPT


def test_each_row_of_the_table_carries_its_numbers_and_their_provenance() -> None:
    rows = list(csv.DictReader(StringIO(results_csv(KEPT.environment, KEPT.results))))
    assert len(rows) == len(KEPT.results)
    for row, result in zip(rows, KEPT.results, strict=True):
        assert (row["gpu"], row["date"]) == (KEPT.environment.gpu, KEPT.environment.date)
        assert (row["run"], row["implementation"]) == (result.run, result.implementation)
        assert (row["batch"], row["key_len"]) == (str(result.shape.batch), str(result.shape.key_len))
        assert row["unavailable"] == result.unavailable
        assert bool(row["median_ms"]) == bool(result.samples_ms)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"not json", "each line must be a record"),
        (b'{"record": "result"}', "each line must be a record"),
        (b"[1, 2]", "each line must be a record"),
        (b"\xff\xfe", "UTF-8"),
        (b"", "must hold one environment, got 0"),
        (b" " * (LARGEST_BYTES + 1), "at most"),
    ],
)
def test_a_file_that_is_none_of_ours_is_a_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_results(data)


@pytest.mark.parametrize("samples", ['["fast"]', "[-1.0]", "[0.0]", "[1e999]"])
def test_times_that_are_no_times_are_refused(samples: str) -> None:
    lines = results_jsonl(KEPT.environment, KEPT.results[-1:])
    start = lines.index('"samples_ms": ') + len('"samples_ms": ')
    spoilt = lines[:start] + samples + lines[lines.index("]", start) + 1 :]
    with pytest.raises(ValueError, match="samples_ms must be positive"):
        read_results(spoilt.encode())

import json
from struct import unpack_from

from viz.packing import ALIGNMENT, pack_data


def unpacked(packed: bytes) -> tuple[dict, dict[str, tuple[int, bytes]]]:
    base = 4 + unpack_from("<I", packed)[0]
    header = json.loads(packed[4:base])
    columns = {
        name: (base + start, packed[base + start : base + start + length])
        for name, (start, length) in header["columns"].items()
    }
    return header["plain"], columns


def test_what_is_packed_comes_back_as_it_was() -> None:
    plain, columns = unpacked(pack_data({"text": "块", "kind": b"abc", "steps": 3, "bytes": b"12345678"}))
    assert plain == {"text": "块", "steps": 3}
    assert {name: value for name, (_, value) in columns.items()} == {"kind": b"abc", "bytes": b"12345678"}


def test_columns_are_aligned_so_that_typed_arrays_fit_over_them() -> None:
    _, columns = unpacked(pack_data({"a": b"1", "b": b"12345", "c": b"1234567890", "name": "x" * 13}))
    assert [start % ALIGNMENT for start, _ in columns.values()] == [0, 0, 0]


def test_equal_data_pack_equally_so_that_they_do_not_call_the_script() -> None:
    assert pack_data({"a": 1, "b": b"2"}) == pack_data({"a": 1, "b": b"2"})

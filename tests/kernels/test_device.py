import pytest

from kernels.device import DeviceProperties, from_json, main, read_properties, to_json
from kernels.environment import why_unavailable

H200 = DeviceProperties("NVIDIA H200", 9, 0, 132, 2048, 65_536, 233_472, 232_448, 62_914_560, 4.9e12)


def test_properties_come_back_from_their_line():
    assert from_json(to_json(H200)) == H200


@pytest.mark.parametrize("line", ["", "Traceback", "[1]", '{"name": "x"}', '{"surprise": 1}'])
def test_a_line_of_anything_else_is_refused(line):
    with pytest.raises(ValueError, match="line must hold the properties of a device"):
        from_json(line)


def test_without_a_gpu_one_line_says_why(capsys):
    unavailable = why_unavailable()
    if unavailable is None:
        pytest.skip("there is a GPU here")
    assert main() == 3
    assert capsys.readouterr().err.splitlines() == [unavailable.reason]


@pytest.mark.gpu
def test_the_gpu_here_has_what_its_driver_says():
    """Bandwidth from clock and bus is the maker's figure: more than a copy reaches, not twice as much."""
    found = read_properties()
    assert found.sm_count > 0
    assert found.shared_bytes_per_block <= found.shared_bytes_per_sm
    assert found.registers_per_sm == 65_536
    assert found.hbm_bytes_per_s == 0 or 1e11 < found.hbm_bytes_per_s < 2e13

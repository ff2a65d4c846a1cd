"""What nvidia-smi answers is read, and an error is no GPU."""

from pages.shared.live_gpu.gpu_here import parse_smi


def test_an_answer_of_nvidia_smi_is_read_and_an_error_is_no_gpu():
    gpu = parse_smi("NVIDIA H200, 143771, 580.159.04, 9.0, 1980, [N/A]")
    assert gpu is not None
    assert (gpu.name, gpu.memory_bytes, gpu.capability) == ("NVIDIA H200", 143771 * 2**20, "9.0")
    assert (gpu.max_sm_clock_mhz, gpu.power_limit_w) == (1980, 0)
    assert parse_smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.") is None

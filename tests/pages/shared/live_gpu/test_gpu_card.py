"""The card of this machine's GPU: what it says, and what it says is missing."""

from __future__ import annotations

import sys
import time

import pytest

from kernels.device import DeviceProperties, to_json
from pages.shared.live_gpu import gpu_card, gpu_here, probe
from pages.shared.live_gpu.gpu_here import GpuHere, GpuNow

H200 = GpuHere("NVIDIA H200", 150_109_880_320, "580.159.04", "9.0", 1980, 700)
NOW = GpuNow(1755, 61, 698, 2**30, 97, 3, "power")


def say(key: str, **values: object) -> str:
    return f"{key} {' '.join(map(str, values.values()))}".strip()


def test_the_card_says_what_the_driver_and_the_probe_say(monkeypatch: pytest.MonkeyPatch) -> None:
    device = DeviceProperties("NVIDIA H200", 9, 0, 132, 2048, 65_536, 233_472, 232_448, 62_914_560, 0.0)
    monkeypatch.setattr(gpu_card, "look_now", lambda: NOW)
    monkeypatch.setattr(gpu_card, "device_by_now", lambda: device)
    card = gpu_card.gpu_card(H200, None, say)
    for said in ("132", "9.0", "139.8 GB", "227 KB", "60 MB", "1,980 MHz", "700 W"):
        assert f"<dd>{said}</dd>" in card
    for said in ("live.now.clock 1,755 MHz", "61 °C", "698 W", "97 %", "live.now.processes 3"):
        assert said in card
    assert "live.now.slowed.power" in card
    assert "live.probe.ready" in card


def test_what_the_driver_does_not_say_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_card, "look_now", lambda: GpuNow(None, None, None, None, None, None))
    monkeypatch.setattr(gpu_card, "device_by_now", lambda: None)
    card = gpu_card.gpu_card(H200, None, say)
    assert "live.now." not in card
    assert "live.gpu.l2" not in card
    assert "live.probe.running" in card


def test_a_probe_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_card, "look_now", lambda: None)
    monkeypatch.setattr(gpu_card, "device_by_now", lambda: "torch is not <installed>.")
    card = gpu_card.gpu_card(H200, None, say)
    assert "live.probe.failed torch is not &lt;installed&gt;." in card


def test_everything_that_a_run_needs_and_is_not_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_card, "find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert list(gpu_card.missing(None)) == ["gpu", "torch", "triton", "compiler"]
    old = GpuHere("Tesla V100", 1, "1", "7.0", 0, 0)
    assert list(gpu_card.missing(old)) == ["capability", "torch", "triton", "compiler"]
    assert "live.missing.compiler" in gpu_card.how_to_get_a_gpu(say)


def test_the_probe_answers_without_keeping_the_page_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    device = DeviceProperties("x", 9, 0, 1, 1, 1, 1, 1, 1, 0.0)
    program = f"import time; time.sleep(0.5); print({to_json(device)!r})"
    monkeypatch.setattr(probe, "COMMAND", (sys.executable, "-c", program))
    monkeypatch.setattr(probe, "ask_device", probe.ask_device.__wrapped__)
    probe._asking.cache_clear()
    try:
        assert probe.device_by_now() is None
        end = time.monotonic() + 30
        while probe.device_by_now() is None:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert probe.device_by_now() == device
    finally:
        probe._asking.cache_clear()


def test_a_machine_without_nvml_s_driver_has_no_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert gpu_here.look_now() is None

"""Know your GPU: as its driver and a probe describe the one of this machine, or what is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from html import escape
from importlib.util import find_spec

from kernels.configs import OLDEST_CAPABILITY
from kernels.device import DeviceProperties
from kernels.results import Environment
from pages.shared.live_gpu.cards import Facts, card_head, definitions
from pages.shared.live_gpu.gpu_here import GpuHere, GpuNow, look_now
from pages.shared.live_gpu.probe import device_by_now
from viz.text import Text
from viz.units import format_capacity

COMPILERS = ("cc", "gcc", "clang")  # Triton builds its launchers with one


def gpu_card(gpu: GpuHere | None, environment: Environment | None, text: Text) -> str:
    """The GPU of this machine; else the one that the numbers were measured on."""
    if gpu is not None:
        return _gpu_here(gpu, text)
    if environment is None:
        return card_head(text("live.gpu.unknown"))
    facts = [
        (text("live.gpu.sms"), str(environment.sm_count)),
        (text("live.gpu.capability"), environment.capability),
        (text("live.gpu.memory"), format_capacity(environment.memory_bytes)),
        (text("live.gpu.date"), environment.date[:10]),
    ]
    versions = [
        (text("live.gpu.driver"), environment.driver),
        ("torch", environment.torch),
        ("triton", environment.triton),
        ("CUDA", environment.cuda),
        ("cuDNN", environment.cudnn),
    ]
    return card_head(environment.gpu) + definitions("fa-facts", facts) + _line(versions)


def how_to_get_a_gpu(text: Text) -> str:
    """What stands where the run controls would on a machine that cannot run: what it lacks, and the cure."""
    lacking = [text(f"live.missing.{what}") for what in missing(None)]
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in lacking)
    how = escape(text("live.none.how"))
    return (
        f'{card_head(text("live.none.title"))}<p class="fa-how">{how}</p><ul class="fa-missing">{items}</ul>'
    )


def missing(gpu: GpuHere | None) -> Iterator[str]:
    """What a run needs and is not here, found without importing any of it."""
    if gpu is None:
        yield "gpu"
    elif gpu.capability and tuple(map(int, gpu.capability.split("."))) < OLDEST_CAPABILITY:
        yield "capability"
    yield from (name for name in ("torch", "triton") if find_spec(name) is None)
    if not any(map(shutil.which, COMPILERS)):
        yield "compiler"


def _gpu_here(gpu: GpuHere, text: Text) -> str:
    now, device = look_now(), device_by_now()
    known = isinstance(device, DeviceProperties)
    facts = [
        (text("live.gpu.sms"), str(device.sm_count) if isinstance(device, DeviceProperties) else ""),
        (text("live.gpu.capability"), gpu.capability),
        (text("live.gpu.memory"), format_capacity(gpu.memory_bytes)),
    ]
    if isinstance(device, DeviceProperties):
        facts += [
            (text("live.gpu.shared"), format_capacity(device.shared_bytes_per_block)),
            (text("live.gpu.l2"), format_capacity(device.l2_bytes)),
        ]
    facts += [
        (text("live.gpu.max_clock"), f"{gpu.max_sm_clock_mhz:,} MHz" if gpu.max_sm_clock_mhz else ""),
        (text("live.gpu.power_limit"), f"{gpu.power_limit_w} W" if gpu.power_limit_w else ""),
    ]
    said = [text(f"live.missing.{what}") for what in missing(gpu)]
    if now is not None and now.slowed_by:
        said.append(text(f"live.now.slowed.{now.slowed_by}"))
    if gpu.count > 1:
        said.append(text("live.gpu.several", count=gpu.count))
    if isinstance(device, str):
        said.append(text("live.probe.failed", reason=device))
    state = text("live.probe.ready" if known else "live.probe.running" if device is None else "live.probe.no")
    chip = f'<span class="fa-chip">{escape(state)}</span>'
    sentences = "".join(f'<p class="fa-how">{escape(sentence)}</p>' for sentence in said)
    driver = _line([(text("live.gpu.driver"), gpu.driver), *_moments(now, text)])
    return card_head(gpu.name, chip=chip) + definitions("fa-facts", facts) + driver + sentences


def _moments(now: GpuNow | None, text: Text) -> list[tuple[str, str]]:
    """What it does now, as far as the driver says."""
    if now is None:
        return []
    values = {
        "clock": now.sm_clock_mhz and f"{now.sm_clock_mhz:,} MHz",
        "temperature": now.temperature_c and f"{now.temperature_c} °C",
        "power": now.power_w and f"{now.power_w} W",
        "used": now.used_bytes is not None and format_capacity(now.used_bytes),
        "busy": now.busy_percent is not None and f"{now.busy_percent} %",
        "processes": now.processes is not None and str(now.processes),
    }
    return [(text(f"live.now.{name}"), value) for name, value in values.items() if isinstance(value, str)]


def _line(facts: Facts) -> str:
    line = " · ".join(f"{label} {value}" for label, value in facts if value)
    return f'<p class="fa-note">{escape(line)}</p>'

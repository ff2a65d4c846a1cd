"""The NumPy-only model of attention on a GPU that every view of the product reads."""

from simulator.algorithms.flash_decoding import trace_flash_decoding
from simulator.algorithms.flash_v1 import trace_flash_v1
from simulator.algorithms.flash_v1_backward import trace_flash_v1_backward
from simulator.algorithms.flash_v2 import trace_flash_v2
from simulator.algorithms.flash_v2_backward import trace_flash_v2_backward
from simulator.algorithms.standard import trace_standard
from simulator.problem import AttentionShape, TileShape, v1_tile
from simulator.reference import attention, attention_gradients
from simulator.replay import MemoryState, replay
from simulator.trace import Step, Trace
from simulator.traffic import Traffic, traffic_of

__all__ = [
    "AttentionShape",
    "MemoryState",
    "Step",
    "TileShape",
    "Trace",
    "Traffic",
    "attention",
    "attention_gradients",
    "replay",
    "trace_flash_decoding",
    "trace_flash_v1",
    "trace_flash_v1_backward",
    "trace_flash_v2",
    "trace_flash_v2_backward",
    "trace_standard",
    "traffic_of",
    "v1_tile",
]

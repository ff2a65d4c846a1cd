"""What a record says in English, put into the page's language by the kind of sentence it is.

A sentence of no known kind is a tool's own and stays as that tool wrote it.
"""

from __future__ import annotations

import re

from viz.text import Text

_CONFIG = (
    (
        "config.tile",
        r"tile (?P<query_rows>\d+)x(?P<key_rows>\d+), (?P<warps>\d+) warps, (?P<stages>\d+) stages",
    ),
    ("config.tma", r"by TMA"),
    ("config.splits", r"(?P<splits>\d+) splits"),
    ("config.busy", r"at most (?P<busy>\d+) of (?P<sms>\d+) SMs busy"),
    ("config.gqa", r"enable_gqa, keys not expanded"),
    ("config.autograd", r"attention\(\) and autograd"),
)
_REASONS = (
    ("reason.left_out", r"left out: a launch takes (?P<ms>\S+) ms, over (?P<limit>\S+) ms"),
    ("reason.same_heads", r"For dense input, both fused kernels require .* the same num_heads\..*"),
    ("reason.memory", r"out of memory: (?P<said>.*)"),
    (
        "reason.shared",
        r"config \((?P<config>.*)\) needs (?P<needed>\d+) bytes of shared memory, has (?P<has>\d+)",
    ),
    (
        "reason.not_finite",
        r"(?P<count>\d+) of (?P<all>\d+) values are NaN or inf, the first at (?P<place>.*)",
    ),
    ("reason.worst", r"worst at (?P<place>.*): (?P<value>\S+), must be (?P<exact>\S+)"),
    ("reason.ended", r"ended its process by (?P<signal>\w+): (?P<said>.*)"),
    ("reason.too_long", r"not compiled and run within (?P<limit>\d+) s"),
    ("reason.not_installed", r"(?P<package>\S+) is not installed: (?P<cure>.*)"),
    ("reason.not_usable", r"(?P<package>\S+) is installed but not usable: (?P<said>.*)"),
    ("reason.of_tensor", r"(?P<tensor>out|lse|dq|dk|dv|parities): (?P<said>.*)"),
)
_CLOCKS = (
    (
        "clocks",
        r"power limit (?P<watts>\d+) W, SM clock at most (?P<mhz>\d+) MHz, left as found",
    ),
)
_TIMING = (
    ("timing.events", r"CUDA events around each launch"),
    ("timing.held", r"the GPU is held while the host fills the queue, so host time is not counted"),
    ("timing.graphs", r"where anyone's call .* are captured in CUDA graphs, events included"),
    ("timing.l2", r"L2 overwritten before each launch"),
    ("timing.median", r"a sample is the median of a round's launches"),
    ("timing.host", r"host time is that of the call alone, while the GPU is held"),
    ("timing.turns", r"implementations take turns, in an order that rotates and turns round each round"),
    ("timing.warm", r"compilation and warm-up excluded"),
)
Kinds = tuple[tuple[str, str], ...]


def config_text(config: str, text: Text) -> str:
    """A configuration: tile, warps, stages, splits; or how SDPA was given the problem."""
    whole = _known(config, _CONFIG, text)
    if whole is not None:
        return whole
    head, _, rest = config.partition(" stages, ")
    parts = [f"{head} stages", *rest.split(", ")] if rest else [config]
    return text("live.said.comma").join(_said(part, _CONFIG, text) for part in parts)


def reason_text(reason: str, text: Text) -> str:
    """Why there is no number, or why an output is wrong."""
    return _said(reason, _REASONS, text)


def clocks_set_text(clocks: str, text: Text) -> str:
    """Power limit and clock settings as found."""
    return _said(clocks, _CLOCKS, text)


def timing_text(timing: str, text: Text) -> str:
    """How a sample was taken, clause by clause."""
    return text("live.said.semicolon").join(_said(clause, _TIMING, text) for clause in timing.split("; "))


def _said(sentence: str, kinds: Kinds, text: Text) -> str:
    known = _known(sentence, kinds, text)
    return sentence if known is None else known


def _known(sentence: str, kinds: Kinds, text: Text) -> str | None:
    for kind, pattern in kinds:
        found = re.fullmatch(pattern, sentence, re.DOTALL)
        if found:
            values = found.groupdict()
            if "said" in values:  # a sentence within a sentence
                values["said"] = _said(values["said"], kinds, text)
            if "config" in values:
                values["config"] = config_text(values["config"], text)
            return text(f"live.said.{kind}", **values)
    return None

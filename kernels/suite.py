"""`python -m kernels.bench --suite h200`: what is measured for the marks, and what its recordings are called.

Imports neither torch nor triton.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from kernels.arguments import names_among
from kernels.plan import Plan
from kernels.results import IMPLEMENTATIONS, OFFERED
from simulator.problem import AttentionShape

_TOKENS, _HIDDEN = 16_384, 2048  # batch x length and heads x head dim of a sweep
_LONGEST_MS = 100.0
_SDPA = tuple(name for name in IMPLEMENTATIONS if name != "flash_v2")


@dataclass(frozen=True, slots=True)
class Part:
    """What is measured as one run and kept as one recording."""

    name: str
    plans: tuple[Plan, ...]
    file_name: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """The parts asked for, and the folder of their recordings."""

    parts: tuple[Part, ...]
    out: Path


def _square(lengths: Sequence[int], head_dims: Sequence[int]) -> tuple[AttentionShape, ...]:
    """Self-attention, full and causal, of 16k tokens in all."""
    return tuple(
        AttentionShape(
            query_len=length,
            key_len=length,
            head_dim=head_dim,
            causal=causal,
            batch=_TOKENS // length,
            query_heads=_HIDDEN // head_dim,
            kv_heads=_HIDDEN // head_dim,
        )
        for head_dim, causal, length in product(head_dims, (False, True), lengths)
    )


def _decode(
    batches: Sequence[int], kv_heads: Sequence[int], lengths: Sequence[int]
) -> tuple[AttentionShape, ...]:
    """One new token of each sequence, 32 query heads, d 128."""
    return tuple(
        AttentionShape(1, length, 128, batch=batch, query_heads=32, kv_heads=shared)
        for shared, batch, length in product(kv_heads, batches, lengths)
    )


_LENGTHS = (512, 1024, 2048, 4096, 8192, 16_384)
_DECODE_LENGTHS = (4096, 16_384, 32_768, 65_536, 131_072, 262_144)
_SMALL = AttentionShape(128, 128, 64, causal=True, query_heads=4, kv_heads=4)  # the GPU is done at once
PARTS: tuple[Part, ...] = (
    Part(
        "forward",
        (
            Plan(_square(_LENGTHS, (64, 128)), "float16", tuple(IMPLEMENTATIONS), 7, longest_ms=_LONGEST_MS),
            Plan(_square((4096,), (64, 128)), "bfloat16", tuple(IMPLEMENTATIONS), 5, longest_ms=_LONGEST_MS),
        ),
    ),
    Part(
        "backward",
        (
            Plan(
                _square(_LENGTHS[1:], (64, 128)),
                "float16",
                tuple(OFFERED["backward"]),
                5,
                direction="backward",
                longest_ms=_LONGEST_MS,
            ),
        ),
    ),
    Part(
        "decode",
        (
            Plan(
                _decode((1, 8), (32, 8), _DECODE_LENGTHS),
                "float16",
                tuple(OFFERED["decode"]),
                7,
                direction="decode",
                longest_ms=_LONGEST_MS,
            ),
        ),
    ),
    Part(
        "fp8",
        (
            Plan(
                _square(_LENGTHS[1:], (128,)),
                "float16",
                ("flash_v2", "flash_v2_fp8", "transpose_v_fp8", "flash", "cudnn"),
                5,
            ),
        ),
    ),
    Part(
        "host",
        (
            Plan((_SMALL,), "float16", ("attention", "attention_with_gradients", *_SDPA), 11),
            Plan((_SMALL,), "float16", tuple(OFFERED["backward"]), 11, direction="backward"),
            Plan((_SMALL,), "float16", tuple(OFFERED["both"]), 11, direction="both"),
            Plan(_decode((1,), (8,), (1024,)), "float16", tuple(OFFERED["decode"]), 11, direction="decode"),
        ),
    ),
)
NAMES = ("h200",)


def is_suite(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for a suite."""
    return any(argument.split("=")[0] == "--suite" for argument in arguments)


def suite_of(arguments: Sequence[str]) -> Suite:
    """The suite on a command line. Exits with 2 and a sentence for a bad one."""
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(prog="python -m kernels.bench --suite")
    parser.add_argument("--suite", choices=NAMES, required=True)
    parser.add_argument("--part", default=",".join(names), help=f"among {', '.join(names)}")
    parser.add_argument("--rounds", type=int, help="instead of those of each part")
    parser.add_argument("--commit", default="", help="of this code, where it is not in a git checkout")
    parser.add_argument("--out", type=Path, default=Path(), help="a folder for a recording of each part")
    asked = parser.parse_args(arguments)
    try:
        chosen = names_among("part", asked.part, names)
        day = datetime.now(UTC).date().isoformat()
        parts = tuple(
            replace(
                part,
                plans=tuple(
                    replace(plan, commit=asked.commit, rounds=asked.rounds or plan.rounds)
                    for plan in part.plans
                ),
                file_name=f"{part.name}_{asked.suite}_{day}.jsonl",
            )
            for part in PARTS
            if part.name in chosen
        )
    except ValueError as error:
        parser.error(str(error))
    return Suite(parts, asked.out)

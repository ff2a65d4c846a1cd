"""What a bench run is asked for, read off its command line. Imports neither torch nor triton."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from pathlib import Path

from kernels.arguments import at_least_one, integers, names_among
from kernels.results import IMPLEMENTATIONS, OFFERED
from kernels.work import DIRECTIONS
from simulator.problem import AttentionShape

ELEMENT_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}
ROUNDS = 7  # of a run that names none
_ROUND_S = 0.03  # GPU time that one sample is made of, where one launch is shorter
_MOST_REPETITIONS = 50  # keeps a round's launches inside the driver's queue


@dataclass(frozen=True, slots=True)
class Plan:
    """Every implementation on every shape, `rounds` times in turns."""

    shapes: tuple[AttentionShape, ...]
    dtype: str
    implementations: tuple[str, ...]
    rounds: int
    commit: str = ""
    out: Path | None = None
    direction: str = "forward"
    longest_ms: float = inf  # of one launch; what takes longer is left out, and says so


def repetitions_for(once_ms: float) -> int:
    """Launches that make up one sample of a call that takes so long."""
    return max(1, min(_MOST_REPETITIONS, round(_ROUND_S / (once_ms / 1000))))


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kernels.bench", description=description)
    parser.add_argument("--direction", choices=DIRECTIONS, default="forward")
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384", help="of queries and keys")
    parser.add_argument("--head-dims", default="64,128")
    parser.add_argument("--causal", choices=("no", "yes", "both"), default="both")
    parser.add_argument("--window", type=int, help="keys that a query sees at most, under a causal mask")
    parser.add_argument("--dtype", choices=tuple(ELEMENT_BYTES), default="float16")
    parser.add_argument(
        "--tokens", type=int, default=16384, help="batch x length; at least one batch is taken"
    )
    parser.add_argument(
        "--hidden", type=int, default=2048, help="heads x head dim; at least one head is taken"
    )
    parser.add_argument("--batches", help="instead of --tokens; a decode of one query takes 1,8")
    parser.add_argument("--kv-heads", help="shared evenly by the heads; by default as many as there are")
    parser.add_argument(
        "--implementations",
        help="; ".join(f"{direction}: {', '.join(names)}" for direction, names in OFFERED.items()),
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--longest-ms", type=float, default=inf, help="leave out what takes longer a launch")
    parser.add_argument("--commit", default="", help="of this code, where it is not in a git checkout")
    parser.add_argument("--out", type=Path, help="also keep the environment and the results in this file")
    return parser


def plan_of(arguments: Sequence[str], *, description: str = "") -> Plan:
    """The plan on a command line. Exits with 2 and a sentence for a bad one."""
    parser = _parser(description)
    asked = parser.parse_args(arguments)
    try:
        return Plan(
            shapes=tuple(_shapes(asked)),
            dtype=asked.dtype,
            implementations=_implementations(asked),
            rounds=at_least_one("rounds", asked.rounds),
            commit=asked.commit,
            out=asked.out,
            direction=asked.direction,
            longest_ms=asked.longest_ms,
        )
    except ValueError as error:
        parser.error(str(error))


def _implementations(asked: argparse.Namespace) -> tuple[str, ...]:
    """Those asked for; else all of the direction, but of forward only the rivals of a sweep."""
    offered = OFFERED[asked.direction]
    if asked.implementations is None:
        return tuple(IMPLEMENTATIONS if asked.direction == "forward" else offered)
    return tuple(names_among("implementations", asked.implementations, offered))


def _shapes(asked: argparse.Namespace) -> Iterator[AttentionShape]:
    """A decode has one query, which sees every key, so no mask; else the queries are as many as the keys."""
    decode = asked.direction == "decode"
    tokens, hidden = at_least_one("tokens", asked.tokens), at_least_one("hidden", asked.hidden)
    masks = (False,) if decode else {"no": (False,), "yes": (True,), "both": (False, True)}[asked.causal]
    head_dims, lengths = integers("head_dims", asked.head_dims), integers("lengths", asked.lengths)
    batches = integers("batches", asked.batches or "1,8") if asked.batches or decode else [None]
    kv_heads = integers("kv_heads", asked.kv_heads) if asked.kv_heads else [None]
    for head_dim, causal, shared, batch, length in product(head_dims, masks, kv_heads, batches, lengths):
        heads = max(1, hidden // head_dim)
        yield AttentionShape(
            query_len=1 if decode else length,
            key_len=length,
            head_dim=head_dim,
            causal=causal,
            window=asked.window if causal else None,
            batch=batch or max(1, tokens // length),
            query_heads=heads,
            kv_heads=shared or heads,
            element_bytes=ELEMENT_BYTES[asked.dtype],
        )

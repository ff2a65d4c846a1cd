"""What `python -m kernels.recorder` is asked for: launches, and how often each. Imports neither torch nor
triton.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from kernels.arguments import at_least_one, integers, names_among
from simulator.launch import Kernel, Order
from simulator.problem import AttentionShape

KERNELS = tuple(kernel for kernel in Kernel if kernel is not Kernel.V1_SPLIT)  # which we do not have
DECODES = (Kernel.FLASH_DECODING, Kernel.UNSPLIT_DECODE)
BY_RULE = "auto"


@dataclass(frozen=True, slots=True)
class Case:
    """One launch to record."""

    kernel: Kernel
    shape: AttentionShape
    order: Order | None = None  # of V2's forward; every other kernel has its own
    splits: int | None = None  # of Flash-Decoding; None: as many as its rule takes


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run was asked for: each case, `launches` times."""

    cases: tuple[Case, ...]
    launches: int
    commit: str
    out: Path


def plan_of(arguments: Sequence[str]) -> Plan:
    """The plan on a command line. Exits with 2 and a sentence for a bad one."""
    parser = argparse.ArgumentParser(
        prog="python -m kernels.recorder",
        description="Launches kernels whose programs note where and when they ran, and keeps that.",
    )
    parser.add_argument("--kernels", default=Kernel.V2_FORWARD.value, help=", ".join(KERNELS))
    parser.add_argument("--orders", default=",".join(Order), help="of the programs of V2's forward")
    parser.add_argument("--heads", default="16", help="of queries, and of keys but in a decode")
    parser.add_argument("--kv-heads", default="", help="of keys in a decode; as many as of queries")
    parser.add_argument("--lengths", default="4096", help="of keys, and of queries but in a decode: one")
    parser.add_argument("--head-dims", default="128")
    parser.add_argument("--causal", choices=("no", "yes", "both"), default="yes", help="no in a decode")
    parser.add_argument("--splits", default=BY_RULE, help=f"of Flash-Decoding; {BY_RULE}: as its rule takes")
    parser.add_argument("--launches", type=int, default=3, help="how often each launch is recorded")
    parser.add_argument("--commit", default="", help="of this code, where it is not in a git checkout")
    parser.add_argument("--out", type=Path, required=True, help="a .json file; columns go to .npz beside it")
    asked = parser.parse_args(arguments)
    try:
        return Plan(
            cases=tuple(_cases(asked)),
            launches=at_least_one("launches", asked.launches),
            commit=asked.commit,
            out=asked.out,
        )
    except ValueError as error:
        parser.error(str(error))


def _cases(asked: argparse.Namespace) -> Iterator[Case]:
    kernels = [Kernel(name) for name in names_among("kernels", asked.kernels, KERNELS)]
    orders = [Order(name) for name in names_among("orders", asked.orders, Order)]
    masks = {"no": (False,), "yes": (True,), "both": (False, True)}[asked.causal]
    splits = [_splits(item) for item in asked.splits.split(",")]
    kv_heads = integers("kv_heads", asked.kv_heads) if asked.kv_heads else [0]
    head_dims, lengths = integers("head_dims", asked.head_dims), integers("lengths", asked.lengths)
    heads_asked = integers("heads", asked.heads)
    for kernel in kernels:
        is_decode = kernel in DECODES
        for causal, head_dim, length, heads, shared in product(
            (False,) if is_decode else masks, head_dims, lengths, heads_asked, kv_heads if is_decode else [0]
        ):
            shape = AttentionShape(
                query_len=1 if is_decode else length,
                key_len=length,
                head_dim=head_dim,
                causal=causal,
                query_heads=heads,
                kv_heads=shared or heads,
            )
            for order in orders if kernel is Kernel.V2_FORWARD else [None]:
                for pieces in splits if kernel is Kernel.FLASH_DECODING else [None]:
                    yield Case(kernel, shape, order, pieces)


def _splits(item: str) -> int | None:
    if item == BY_RULE:
        return None
    try:
        return at_least_one("splits", int(item))
    except ValueError:
        raise ValueError(
            f"splits must be {BY_RULE} or whole numbers from 1 up with commas between, got {item}"
        ) from None

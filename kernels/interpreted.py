"""`python -m kernels.interpreted`: whether our kernels are right, on a machine without a GPU.

Runs small problems under Triton's interpreter and prints a JSON line for each verdict (kernels.results). No
result has a time: an interpreter's would mean nothing. Exits with 0 when done, 2 for bad arguments, 3 where
torch or triton is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernels.arguments import integers
from kernels.results import BenchResult, json_line
from kernels.work import DIRECTIONS
from simulator.problem import AttentionShape

MISSING_EXIT = 3
OURS = {
    "forward": ("flash_v2", "flash_v1", "standard"),
    "backward": ("flash_v2", "flash_v2_atomic"),
    "both": ("flash_v2",),
    "decode": ("flash_decoding", "decode_unsplit"),
}


def problems(direction: str, lengths: Sequence[int], *, causal: bool) -> list[AttentionShape]:
    """Small ones: two query heads that share a KV head, 16 wide."""
    decode = direction == "decode"
    return [
        AttentionShape(
            1 if decode else n,
            n,
            16,
            causal=causal and not decode,
            query_heads=2,
            kv_heads=1,
            element_bytes=2,
        )
        for n in lengths
    ]


def check(direction: str, shapes: Sequence[AttentionShape]) -> Iterator[BenchResult]:
    """The verdict on each of our implementations, or why it cannot run."""
    import torch

    from kernels.inputs import random_inputs, references_of
    from kernels.provider import NotAvailableError, try_once
    from kernels.providers import provider_of
    from kernels.yardstick import judge_by

    for shape in shapes:
        inputs = random_inputs(shape, direction, device=torch.device("cpu"), dtype=torch.float16)
        references = references_of(inputs)
        for name in OURS[direction]:
            provider = provider_of(name, direction)
            blank = BenchResult("interpreted", name, provider.label, shape, "float16", direction)
            try:
                prepared, given = try_once(provider, inputs)
            except NotAvailableError as reason:
                yield replace(blank, unavailable=str(reason))
                continue
            judged = judge_by(references, prepared.gives, given)
            wrong = next((one.verdict for one in judged if not one.verdict.correct), judged[0].verdict)
            yield replace(blank, verdict=wrong, judged=judged, config=prepared.config)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels.interpreted")
    parser.add_argument("--direction", choices=DIRECTIONS, default="forward")
    parser.add_argument("--lengths", default="17,65", help="of queries and keys; of keys in a decode")
    parser.add_argument("--causal", choices=("no", "yes"), default="no")
    asked = parser.parse_args(arguments)
    try:
        shapes = problems(asked.direction, integers("lengths", asked.lengths), causal=asked.causal == "yes")
    except ValueError as error:
        parser.error(str(error))
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        for result in check(asked.direction, shapes):
            print(json_line(result), flush=True)
    except ImportError as error:
        print(error, file=sys.stderr)
        return MISSING_EXIT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

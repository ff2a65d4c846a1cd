"""Keys and values read and nothing else: the rate that a decode can reach at most, in the same run."""

from __future__ import annotations

from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad

WORDS = 4096  # of 4 bytes, that a program loads at a time
TURNS = 4  # loads of a program, all in flight together
PIECE = WORDS * TURNS


@triton.jit
def read_kernel(k_ptr, v_ptr, parities_ptr, words, WORDS: tl.constexpr, TURNS: tl.constexpr):
    """The first half of the programs reads k, the second v; each keeps the parity of its words, so that no
    load can be left out.
    """
    programs = tl.num_programs(0) // 2
    piece = tl.program_id(0) % programs
    ptr = k_ptr if tl.program_id(0) < programs else v_ptr
    parity = tl.zeros([WORDS], tl.int32)
    for turn in tl.static_range(TURNS):
        offsets = (tl.cast(piece, tl.int64) * TURNS + turn) * WORDS + tl.arange(0, WORDS)
        parity ^= tl.load(ptr + offsets, mask=offsets < words, other=0)
    tl.store(parities_ptr + tl.program_id(0), tl.xor_sum(parity, axis=0))


def read_only(k: Tensor, v: Tensor) -> Tensor:
    """Reads k and v, contiguous, alike and of whole 4-byte words. Returns the parity of each piece of PIECE
    words, bit by bit, those of k first: int32 [2 x pieces].
    """
    words = k.numel() * k.element_size() // 4
    pieces = triton.cdiv(words, PIECE)
    parities = torch.empty(2 * pieces, dtype=torch.int32, device=k.device)
    with torch.cuda.device(k.device) if k.is_cuda else nullcontext():
        read_kernel[(2 * pieces,)](
            k_ptr=_words(k),
            v_ptr=_words(v),
            parities_ptr=parities,
            words=words,
            WORDS=WORDS,
            TURNS=TURNS,
            num_warps=4,
        )
    return parities


def parities_of(k: Tensor, v: Tensor) -> Tensor:
    """What `read_only` must return, by torch: halves laid over each other until one word is left."""
    return torch.cat([_parities(_words(tensor)) for tensor in (k, v)])


def _parities(words: Tensor) -> Tensor:
    rest = -len(words) % PIECE
    folded = (pad(words, (0, rest)) if rest else words).view(-1, PIECE)
    while folded.shape[1] > 1:
        half = folded.shape[1] // 2
        folded = folded[:, :half] ^ folded[:, half:]
    return folded[:, 0]


def _words(tensor: Tensor) -> Tensor:
    return tensor.view(-1).view(torch.int32)

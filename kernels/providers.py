"""Everything that can be timed. Each solves the given problem itself or says why it cannot; none is ever
substituted.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from kernels.checks import limits_of, problem_of
from kernels.configs import choose_config, flash_v1_configs, flash_v1_shared_bytes, standard_shared_bytes
from kernels.flash_v1 import flash_v1_forward
from kernels.flash_v2 import flash_v2_forward
from kernels.results import IMPLEMENTATIONS, ON_REQUEST
from kernels.standard import standard_forward

Forward = Callable[[], Tensor]

# Only these know a bottom-right diagonal of a problem that is not square; the others are given it as a mask.
_KNOWS_BOTTOM_RIGHT = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)


class NotAvailableError(Exception):
    """An implementation cannot serve this problem here; the message says why."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An implementation bound to its inputs: what is not part of the forward itself is done."""

    forward: Forward
    config: str = ""  # of our own kernels


Prepare = Callable[[Tensor, Tensor, Tensor, bool], Prepared]


@dataclass(frozen=True, slots=True)
class Provider:
    """One implementation: its id in results, its label, and how it is bound to q, k, v and causal."""

    name: str
    label: str
    prepare: Prepare


def _prepare_flash_v2(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Prepared:
    config = choose_config(problem_of(q, k, v, causal=causal), limits_of(q.device))
    return Prepared(lambda: flash_v2_forward(q, k, v, causal=causal, config=config)[0], str(config))


def _prepare_flash_v1(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Prepared:
    shape = problem_of(q, k, v, causal=causal)
    config = choose_config(shape, limits_of(q.device), flash_v1_configs(shape), bound=flash_v1_shared_bytes)
    return Prepared(lambda: flash_v1_forward(q, k, v, causal=causal, config=config)[0], str(config))


def _prepare_standard(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Prepared:
    shape = problem_of(q, k, v, causal=causal)
    config = choose_config(shape, limits_of(q.device), bound=standard_shared_bytes)
    return Prepared(lambda: standard_forward(q, k, v, causal=causal, config=config), str(config))


def _sdpa(backend: SDPBackend) -> Prepare:
    def prepare(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Prepared:
        square = q.shape[2] == k.shape[2]  # there top-left, which is_causal means, and bottom-right are one
        mask = None if square or not causal else _bottom_right_mask(q, k, backend)

        def forward() -> Tensor:
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(
                    q,
                    k,
                    v,
                    attn_mask=mask,
                    is_causal=causal and square,
                    enable_gqa=q.shape[1] != k.shape[1],
                )

        return Prepared(forward)

    return prepare


def _bottom_right_mask(q: Tensor, k: Tensor, backend: SDPBackend) -> Tensor:
    query_len, key_len = q.shape[2], k.shape[2]
    if backend in _KNOWS_BOTTOM_RIGHT:
        return causal_lower_right(query_len, key_len)
    ones = torch.ones(query_len, key_len, dtype=torch.bool, device=q.device)
    return ones.tril(key_len - query_len)  # True: attend


_PREPARE = {
    "flash_v2": _prepare_flash_v2,
    "flash_v1": _prepare_flash_v1,
    "standard": _prepare_standard,
    "math": _sdpa(SDPBackend.MATH),
    "efficient": _sdpa(SDPBackend.EFFICIENT_ATTENTION),
    "flash": _sdpa(SDPBackend.FLASH_ATTENTION),
    "cudnn": _sdpa(SDPBackend.CUDNN_ATTENTION),
}


def provider_of(name: str) -> Provider:
    """The implementation of that id, one of results.IMPLEMENTATIONS or ON_REQUEST."""
    return Provider(name, {**IMPLEMENTATIONS, **ON_REQUEST}[name], _PREPARE[name])


def try_forward(
    provider: Provider, q: Tensor, k: Tensor, v: Tensor, *, causal: bool
) -> tuple[Prepared, Tensor]:
    """Binds and runs an implementation once, which also compiles it: returns it with its output.

    Raises NotAvailableError with the reason: our refusal, the warnings in which SDPA explains itself, or the
    error.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            prepared = provider.prepare(q, k, v, causal)
            out = prepared.forward()
            if out.is_cuda:
                torch.cuda.synchronize(out.device)
        except torch.OutOfMemoryError as error:
            raise NotAvailableError(f"out of memory: {_first_sentence(str(error))}") from error
        except Exception as error:  # whatever an implementation raises costs its own row alone
            reasons = [_first_sentence(str(warning.message)) for warning in caught]
            told = [reason for reason in reasons if "not used because" not in reason]
            raise NotAvailableError(" ".join(dict.fromkeys(told)) or _first_sentence(str(error))) from error
    return prepared, out


def _first_sentence(message: str) -> str:
    """What a message says, without where in torch's source it was triggered."""
    return re.sub(r"\s*\(Triggered internally at .*", "", message.strip(), flags=re.DOTALL).split("\n")[0]

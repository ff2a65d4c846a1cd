"""What can be timed: an implementation bound to a problem, or the reason why it cannot serve it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.inputs import Inputs
from kernels.results import Judged

OUTPUT, GRADIENTS = ("out", "lse"), ("dq", "dk", "dv")  # the names of what an implementation gives
Judge = Callable[[tuple[Tensor, ...]], tuple[Judged, ...]]


class NotAvailableError(Exception):
    """An implementation cannot serve this problem here; the message says why."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An implementation bound to its inputs: what is not part of the call itself is done."""

    call: Callable[[], tuple[Tensor, ...]]
    gives: tuple[str, ...]  # the names of what it returns: OUTPUT, its first one alone, or GRADIENTS
    config: str = ""  # tile, warps and stages of our own kernels; how SDPA was given the problem
    capturable: bool = True  # in a CUDA graph; autograd's graphs are built on a stream of their own
    dtype: torch.dtype | None = None  # what it computes in, where that is not the dtype of the inputs
    judge: Judge | None = None  # of what it returns, where the problem's own references do not speak of it


Prepare = Callable[[Inputs], Prepared]


@dataclass(frozen=True, slots=True)
class Provider:
    """One implementation in one direction: its id in results, its label, and how it is bound to a problem."""

    name: str
    label: str
    prepare: Prepare


def try_once(provider: Provider, inputs: Inputs) -> tuple[Prepared, tuple[Tensor, ...]]:
    """Binds and runs an implementation once, which also compiles it: returns it with what it gives.

    Raises NotAvailableError with the reason: our refusal, the warnings in which SDPA explains itself, or the
    error.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            prepared = provider.prepare(inputs)
            given = prepared.call()
            if inputs.q.is_cuda:
                torch.cuda.synchronize(inputs.q.device)
        except torch.OutOfMemoryError as error:
            raise NotAvailableError(f"out of memory: {first_sentence(str(error))}") from error
        except Exception as error:  # whatever an implementation raises costs its own row alone
            reasons = [first_sentence(str(warning.message)) for warning in caught]
            told = [reason for reason in reasons if "not used because" not in reason]
            raise NotAvailableError(" ".join(dict.fromkeys(told)) or first_sentence(str(error))) from error
    return prepared, given


def first_sentence(message: str) -> str:
    """What a message says, without where in torch's source it was triggered."""
    return re.sub(r"\s*\(Triggered internally at .*", "", message.strip(), flags=re.DOTALL).split("\n")[0]

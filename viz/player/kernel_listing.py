"""The source of a Triton kernel beside its walk, and which of its lines a step performs.

A line is found in the syntax tree by the function it calls and the names it mentions, so it may move.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class KernelMark:
    """A statement that performs some steps."""

    steps: tuple[str, ...]  # as in listing.CodeLine
    function: str  # of the kernel's file
    call: str  # `load_tile`, or `dot` for tl.dot
    names: tuple[str, ...]  # variables that the statement mentions


@dataclass(frozen=True, slots=True)
class KernelLine:
    """One line of source text."""

    number: int
    text: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelSource:
    """Where a walk's kernel is: the functions to show, in reading order, and their marks."""

    path: str
    functions: tuple[str, ...]
    marks: tuple[KernelMark, ...]


def _marks(function: str, *marks: tuple[str, str, tuple[str, ...]]) -> tuple[KernelMark, ...]:
    return tuple(KernelMark(tuple(steps.split()), function, call, names) for steps, call, names in marks)


_FLASH_V1 = KernelSource(
    "kernels/flash_v1.py",
    ("launch_flash_v1", "flash_v1_kernel"),
    _marks(
        "launch_flash_v1",
        ("init.output store.output.start", "zeros", ("held_out",)),
        ("init.output store.statistics.start", "full_like", ("running_max",)),
        ("init.output store.statistics.start", "zeros_like", ("running_sum",)),
    )
    + _marks(
        "flash_v1_kernel",
        ("load.key", "load_tile", ("k_tile", "k_ptr")),
        ("load.value", "load_tile", ("v_tile", "v_ptr")),
        ("load.query", "load_tile", ("q_tile", "q_ptr")),
        ("load.output", "load_tile", ("out_tile", "held_out_ptr", "first_query")),
        ("load.statistics", "load", ("running_max", "max_ptr")),
        ("load.statistics", "load", ("running_sum", "sum_ptr")),
        ("scores.scores", "dot", ("scores", "q_tile", "k_tile")),
        ("softmax.probabilities", "online_softmax_update", ("scores",)),
        ("values.output", "accumulate", ("out_tile", "v_tile")),
        ("values.output", "where", ("out_tile", "new_sum")),
        ("store.output", "store_tile", ("held_out_ptr",)),
        ("store.statistics", "store", ("max_ptr", "new_max")),
        ("store.statistics", "store", ("sum_ptr", "new_sum")),
    ),
)
_FLASH_V2 = KernelSource(
    "kernels/flash_v2.py",
    ("visit_key_tiles", "flash_v2_kernel"),
    _marks(
        "visit_key_tiles",
        ("load.key", "load_tile", ("k_tile", "k_ptr")),
        ("load.value", "load_tile", ("v_tile", "v_ptr")),
        ("scores.scores", "dot", ("scores", "q_tile", "k_tile")),
        ("softmax.probabilities", "online_softmax_update", ("scores",)),
        ("values.output", "accumulate", ("accumulator", "v_tile")),
    )
    + _marks(
        "flash_v2_kernel",
        ("load.query", "load_tile", ("q_tile", "q_ptr")),
        ("init.output", "new_row_state", ("row_state",)),
        ("finish.output", "finish_softmax", ("out_tile", "lse")),
        ("store.output", "store_tile", ("out_ptr", "out_tile")),
        ("store.statistics", "store", ("lse_ptrs", "lse")),
    ),
)
_STANDARD = KernelSource(
    "kernels/standard.py",
    ("scores_kernel", "softmax_kernel", "values_kernel"),
    _marks(
        "scores_kernel",
        ("load.query", "load_tile", ("q_tile", "q_ptr")),
        ("load.key", "load_tile", ("k_tile", "k_ptr")),
        ("scores.scores", "dot", ("scores", "q_tile", "k_tile")),
        ("store.scores", "store_tile", ("scores_ptr", "scores")),
    )
    + _marks(
        "softmax_kernel",
        ("load.scores", "load", ("scores", "row_ptrs")),
        ("softmax.probabilities", "online_softmax_update", ("scores",)),
        ("softmax.probabilities", "exp2", ("weights", "scores")),
        ("store.probabilities", "store", ("row_ptrs", "probabilities")),
    )
    + _marks(
        "values_kernel",
        ("init.output", "zeros", ("accumulator",)),
        ("load.probabilities", "load_tile", ("p_tile", "p_ptr")),
        ("load.value", "load_tile", ("v_tile", "v_ptr")),
        ("values.output", "add_product", ("accumulator", "p_tile", "v_tile")),
        ("store.output", "store_tile", ("out_ptr", "accumulator")),
    ),
)
KERNELS: Mapping[str, KernelSource] = MappingProxyType(
    {"standard": _STANDARD, "flash_v1": _FLASH_V1, "flash_v2": _FLASH_V2}
)


def kernel_lines(text: str, source: KernelSource) -> tuple[KernelLine, ...]:
    """The functions of a kernel's file as lines, with the steps that each performs.

    Raises LookupError where a function or a marked statement is not in `text`.
    """
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    steps = _steps_of_lines(functions, source)
    lines = text.splitlines()
    found = []
    for name in source.functions:
        last = functions[name].end_lineno
        assert last is not None  # of a tree that was parsed
        numbers = range(functions[name].lineno, last + 1)
        found += [KernelLine(number, lines[number - 1], steps.get(number, ())) for number in numbers]
    return tuple(found)


def _steps_of_lines(
    functions: Mapping[str, ast.FunctionDef], source: KernelSource
) -> dict[int, tuple[str, ...]]:
    steps: dict[int, tuple[str, ...]] = {}
    for mark in source.marks:
        statements = [node for node in _statements(functions[mark.function]) if _matches(node, mark)]
        if not statements:
            raise LookupError(
                f"{source.path}: {mark.function} must call {mark.call} with {', '.join(mark.names)}"
            )
        for statement in statements:
            for number in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                steps[number] = (*steps.get(number, ()), *mark.steps)
    return steps


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Those that hold no others."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return):
            yield node


def _matches(statement: ast.stmt, mark: KernelMark) -> bool:
    calls = {_called(node) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return mark.call in calls and names.issuperset(mark.names)


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""

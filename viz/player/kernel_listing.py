"""The source of Triton kernels beside a walk, and which of its lines a step performs.

A line is found in the syntax tree by the function it calls and the names it mentions, so it may move.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KernelMark:
    """A statement that performs some steps."""

    steps: tuple[str, ...]  # as in listing.CodeLine
    function: str  # of the kernel's file
    call: str  # `load_tile`, or `dot` for tl.dot
    names: tuple[str, ...]  # variables that the statement mentions


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A file: the functions to show, in reading order, and their marks."""

    path: str
    functions: tuple[str, ...]
    marks: tuple[KernelMark, ...]
    flags: Mapping[str, bool] = field(default_factory=dict)  # compile-time choices that the walk stands for


@dataclass(frozen=True, slots=True)
class KernelLine:
    """One line of source text."""

    number: int
    text: str
    steps: tuple[str, ...]


def kernel_lines(text: str, source: KernelSource) -> tuple[KernelLine, ...]:
    """The functions of a kernel's file as lines, with the steps that each performs.

    Raises LookupError where a function or a marked statement is not in `text`.
    """
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    missing = set(source.functions) - set(functions)
    if missing:
        raise LookupError(f"{source.path} must have {', '.join(sorted(missing))}")
    steps = _steps_of_lines(functions, source)
    lines = text.splitlines()
    found = []
    for name in source.functions:
        numbers = range(functions[name].lineno, _last_line(functions[name]) + 1)
        found += [KernelLine(number, lines[number - 1], steps.get(number, ())) for number in numbers]
    return tuple(found)


def _steps_of_lines(
    functions: Mapping[str, ast.FunctionDef], source: KernelSource
) -> dict[int, tuple[str, ...]]:
    steps: dict[int, tuple[str, ...]] = {}
    for mark in source.marks:
        body = functions[mark.function].body
        statements = [node for node in _statements(body, source.flags) if _matches(node, mark)]
        if not statements:
            raise LookupError(
                f"{source.path}: {mark.function} must call {mark.call} with {', '.join(mark.names)}"
            )
        for statement in statements:
            for number in range(statement.lineno, _last_line(statement) + 1):
                steps[number] = (*steps.get(number, ()), *mark.steps)
    return steps


def _last_line(node: ast.stmt) -> int:
    assert node.end_lineno is not None  # of a tree that was parsed
    return node.end_lineno


def _statements(body: list[ast.stmt], flags: Mapping[str, bool]) -> Iterator[ast.stmt]:
    """Those that hold no others, without the branches that `flags` never take."""
    for node in body:
        if isinstance(node, ast.If):
            taken = flags.get(node.test.id) if isinstance(node.test, ast.Name) else None
            if taken is not False:
                yield from _statements(node.body, flags)
            if taken is not True:
                yield from _statements(node.orelse, flags)
        elif isinstance(node, ast.For | ast.While | ast.With):
            yield from _statements(node.body, flags)
        else:
            yield node


def _matches(statement: ast.stmt, mark: KernelMark) -> bool:
    calls = {_called(node) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return mark.call in calls and names.issuperset(mark.names)


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""

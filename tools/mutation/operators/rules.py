"""Rules dropped: elements of lists, filters, and statements that check or write something."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.mutation.operators.operator import Place, Variant, callee_name, copy_of

# What is said of something is no rule.
_WORDING_CALLS = frozenset(
    {*("debug", "info", "warning", "error", "exception", "inc", "observe", "labels", "echo", "bind", "print", "exit")}
)
_WRITES = frozenset({"change", "changes", "write", "execute", "insert", "update", "delete", "note", "keep", "end"})
_MOST = 40


class Lists:
    """An element of a list, a tuple or a set left out."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a list."""
        node = place.node
        if not isinstance(node, (ast.List, ast.Tuple, ast.Set)) or not isinstance(
            getattr(node, "ctx", None), _LOAD_CONTEXTS
        ):
            return
        if not 1 < len(node.elts) <= _MOST or _is_no_list(place):
            return
        for number in range(len(node.elts)):
            remaining = [copy_of(one) for other, one in enumerate(node.elts) if other != number]
            yield Variant("element-dropped", _build_like(node, remaining))


_LOAD_CONTEXTS = (ast.Load, type(None))


def _is_no_list(place: Place) -> bool:
    """A tuple that a function returns, or that is taken apart, is a record and no list of rules."""
    parent = place.parent
    if isinstance(parent, ast.Subscript):
        return True
    if isinstance(place.node, ast.Tuple):
        apart = isinstance(parent, ast.Assign) and any(isinstance(one, ast.Tuple) for one in parent.targets)
        return apart or isinstance(parent, (ast.Return, ast.Yield, ast.For, ast.AnnAssign, ast.DictComp))
    return False


def _build_like(node: ast.expr, elements: list[ast.expr]) -> ast.expr:
    if isinstance(node, ast.Set):
        return ast.Set(elements)
    return ast.List(elements, ast.Load()) if isinstance(node, ast.List) else ast.Tuple(elements, ast.Load())


class Filters:
    """The filter of a comprehension left out; an order forgotten."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a comprehension or of a call that puts in order."""
        node = place.node
        if place.slot == "ifs" and isinstance(place.parent, ast.comprehension):
            yield Variant("filter-dropped", None)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if node.func.id in {"sorted", "reversed"}:
                yield Variant(f"{node.func.id}-dropped", ast.Call(_name("list"), [copy_of(node.args[0])], []))
            if node.func.id in {"min", "max"}:
                opposite = {"min": "max", "max": "min"}[node.func.id]
                yield Variant(
                    f"{node.func.id}-{opposite}", ast.Call(_name(opposite), [*map(copy_of, node.args)], node.keywords)
                )


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


class Statements:
    """A call that is made for what it does, left out: a check, a write, an event."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a statement."""
        node = place.node
        if isinstance(node, ast.Expr):
            value = node.value.value if isinstance(node.value, ast.Await) else node.value
            if isinstance(value, ast.Call) and callee_name(value) not in _WORDING_CALLS:
                is_write = callee_name(value) in _WRITES or callee_name(value).rpartition("_")[2] in _WRITES
                yield Variant("write-skipped" if is_write else "call-dropped", None)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            yield Variant("entry-skipped", None)
        if isinstance(node, ast.Raise) and node.exc is not None and not isinstance(place.parent, ast.ExceptHandler):
            yield Variant("refusal-dropped", None)
        if isinstance(node, ast.AugAssign):
            yield Variant("counting-dropped", None)

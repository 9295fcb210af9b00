"""What an operator gets, and what it makes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Variant:
    """One change of a place.

    Attributes:
        operator: Its name, which may say more than the operator's own.
        node: What takes the place; None takes a statement or an element of a list away.
    """

    operator: str
    node: ast.AST | None

    @property
    def text(self) -> str:
        """The change in the syntax's normal form; empty where the place is taken away."""
        return "" if self.node is None else ast.unparse(ast.fix_missing_locations(self.node))


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a module's syntax.

    Attributes:
        tree: The module.
        node: The node.
        parents: What it stands in, the module first.
        slot: Name of the parent's field that holds it.
        number: Its place there, where that is a list.
        function: Qualified name of its function, or `<module>`.
        defines: Names that it defines for others, outside of functions.
    """

    tree: ast.Module
    node: ast.expr | ast.stmt
    parents: tuple[ast.AST, ...]
    slot: str
    number: int | None
    function: str
    defines: frozenset[str]

    @property
    def parent(self) -> ast.AST:
        """What it stands in."""
        return self.parents[-1]

    @property
    def line(self) -> int:
        """Its first line."""
        return self.node.lineno

    @property
    def end_line(self) -> int:
        """Its last line; of a statement with others in it, that of its head."""
        node: ast.AST = self.node
        if isinstance(node, (ast.If, ast.While)):
            node = node.test
        return getattr(node, "end_lineno", None) or self.node.lineno

    @property
    def statement(self) -> ast.AST:
        """The innermost statement around it."""
        chain = (*self.parents, self.node)
        return next(one for one in reversed(chain) if isinstance(one, (ast.stmt, ast.Module)))

    def within(self, *names: str) -> bool:
        """Return whether it is part of a call of a function or method of one of these names."""
        calls = [one for one in self.parents if isinstance(one, ast.Call)]
        return any(callee_name(one) in names for one in calls)

    def with_change(self, variant: Variant) -> ast.Module:
        """Return the module with a change in the node's place; this module is used up."""
        node = variant.node
        if self.number is None:
            setattr(self.parent, self.slot, node)
        else:
            siblings: list[ast.AST] = getattr(self.parent, self.slot)
            if node is None and len(siblings) == 1 and isinstance(self.node, ast.stmt):
                node = ast.Pass()
            siblings[self.number : self.number + 1] = [] if node is None else [node]
        return ast.fix_missing_locations(self.tree)


class Operator(Protocol):
    """Makes variants of the places that it fits."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield each change of a place, always in the same order."""


def callee_name(call: ast.Call) -> str:
    """Return the last name of what is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def copy_of(node: ast.expr) -> ast.expr:
    """Return a copy of an expression."""
    return copy.deepcopy(node)


def expression(text: str, **parts: ast.expr) -> ast.expr:
    """Return an expression in which names stand for others."""
    tree = ast.parse(text, mode="eval")

    class _Filling(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy_of(parts[node.id]) if node.id in parts else node

    complete_tree: ast.Expression = _Filling().visit(tree)
    return complete_tree.body

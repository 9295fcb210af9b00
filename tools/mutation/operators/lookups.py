"""Rows of a table that are looked up by less than their key, or in another order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.mutation.operators.operator import Place, Variant, called, copied

_CONJUNCT = re.compile(r"\sAND\s+(?:[^()\s]|\([^()]*\))+\s*(?:=|<=?|>=?|IS(?: NOT)?)\s*(?:[^()\s]|\([^()]*\))+")


class Clauses:
    """A condition of a statement left out: the tenant, the network, the state."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a condition of a statement, in SQLAlchemy or in SQL."""
        node = place.node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "where":
            for number in range(len(node.args)):
                rest = [copied(one) for other, one in enumerate(node.args) if other != number]
                without = ast.Call(copied(node.func), rest, []) if rest else copied(node.func.value)
                yield Variant("clause-dropped", without)
        if isinstance(node, ast.Call) and called(node) in {"and_", "or_"} and len(node.args) > 1:
            for number in range(len(node.args)):
                rest = [copied(one) for other, one in enumerate(node.args) if other != number]
                yield Variant("clause-dropped", ast.Call(copied(node.func), rest, []))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in {"desc", "asc"} and not node.args:
                other = ast.Attribute(copied(node.func.value), {"desc": "asc", "asc": "desc"}[method], ast.Load())
                yield Variant("order-turned", ast.Call(other, [], []))
            if method in {"order_by", "limit", "distinct", "with_for_update"}:
                yield Variant(f"{method.replace('_', '-')}-dropped", copied(node.func.value))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in _CONJUNCT.finditer(node.value):
                rest_of = node.value[: found.start()] + node.value[found.end() :]
                yield Variant("clause-dropped", ast.Constant(value=rest_of))

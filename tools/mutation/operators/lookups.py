"""Rows of a table that are looked up by less than their key, or in another order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.mutation.operators.operator import Place, Variant, callee_name, copy_of

_CONJUNCT = re.compile(r"\sAND\s+(?:[^()\s]|\([^()]*\))+\s*(?:=|<=?|>=?|IS(?: NOT)?)\s*(?:[^()\s]|\([^()]*\))+")


class Clauses:
    """A condition of a statement left out: the tenant, the network, the state."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a condition of a statement, in SQLAlchemy or in SQL."""
        node = place.node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "where":
            for number in range(len(node.args)):
                remaining = [copy_of(one) for opposite, one in enumerate(node.args) if opposite != number]
                without = ast.Call(copy_of(node.func), remaining, []) if remaining else copy_of(node.func.value)
                yield Variant("clause-dropped", without)
        if isinstance(node, ast.Call) and callee_name(node) in {"and_", "or_"} and len(node.args) > 1:
            for number in range(len(node.args)):
                remaining = [copy_of(one) for opposite, one in enumerate(node.args) if opposite != number]
                yield Variant("clause-dropped", ast.Call(copy_of(node.func), remaining, []))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in {"desc", "asc"} and not node.args:
                opposite = ast.Attribute(copy_of(node.func.value), {"desc": "asc", "asc": "desc"}[method], ast.Load())
                yield Variant("order-turned", ast.Call(opposite, [], []))
            if method in {"order_by", "limit", "distinct", "with_for_update"}:
                yield Variant(f"{method.replace('_', '-')}-dropped", copy_of(node.func.value))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for conjunct in _CONJUNCT.finditer(node.value):
                rest_of = node.value[: conjunct.start()] + node.value[conjunct.end() :]
                yield Variant("clause-dropped", ast.Constant(value=rest_of))

"""Comparisons that hold too often, never, or in part only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.mutation.operators.operator import Place, Variant, callee_name, copy_of, expression

# Clauses of SQLAlchemy, which make a statement and compare nothing.
_CLAUSES = ("where", "and_", "or_", "join", "outerjoin", "select", "having", "values", "case")
_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
# What replaces an equality, as if only parts of the texts were compared; `a` and `b` are its sides, looked up once.
_TEXTS = "a == b or isinstance(a, (str, bytes)) and isinstance(b, type(a))"
_PARTLY = {
    "equal-prefix": "a[:8] == b[:8]",
    "equal-suffix": "a[-8:] == b[-8:]",
    "equal-begins": "a.startswith(b)",
    "equal-ends": "a.endswith(b)",
    "equal-begun": "b.startswith(a)",
    "equal-case": "a.lower() == b.lower()",
    "equal-trimmed": "a.strip() == b.strip()",
}
# Sides that are numbers, of which nothing is compared in part.
_NUMBERS = re.compile(r"\b(len|value|atomic|number|ordinal|count|status|decimals)\b|microunits|seconds|_at\b")
_REGEX = {"fullmatch": "match", "match": "search"}


class Comparisons:
    """`never`, `always`, boundaries, and equality in part."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a comparison."""
        node = place.node
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or isinstance(place.parent, ast.Assert):
            return
        operator, left_side, right = node.ops[0], node.left, node.comparators[0]
        if type(operator) in _BOUNDARY:
            other_operator = _BOUNDARY[type(operator)]()
            yield Variant("compare-boundary", ast.Compare(copy_of(left_side), [other_operator], [copy_of(right)]))
        if place.within(*_CLAUSES) or place.function == "<module>":
            return
        yield Variant("compare-never", ast.Constant(value=False))
        yield Variant("compare-always", ast.Constant(value=True))
        if not isinstance(operator, (ast.Eq, ast.NotEq)) or not _are_texts(left_side, right):
            return
        for name, text in _PARTLY.items():
            partly = expression(f"(lambda a, b: {_TEXTS} and {text})(x, y)", x=left_side, y=right)
            yield Variant(name, partly if isinstance(operator, ast.Eq) else ast.UnaryOp(ast.Not(), partly))


def _are_texts(*sides: ast.expr) -> bool:
    """Return whether the sides may be texts from a client; a constant is one of the program's own words."""
    return not any(isinstance(one, ast.Constant) or _NUMBERS.search(ast.unparse(one)) for one in sides)


class Guards:
    """Refusals by something else than a comparison that never happen, and conditions with a part left out."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a condition."""
        node, parent = place.node, place.parent
        is_test = place.slot == "test" and isinstance(parent, (ast.If, ast.IfExp, ast.While))
        if is_test and not isinstance(node, (ast.Compare, ast.Constant)):
            yield Variant("condition-never", ast.Constant(value=False))
            if not isinstance(parent, ast.While):
                yield Variant("condition-always", ast.Constant(value=True))
        if isinstance(node, ast.BoolOp):
            kind = "and" if isinstance(node.op, ast.And) else "or"
            for number in range(len(node.values)):
                remaining = [copy_of(one) for other, one in enumerate(node.values) if other != number]
                condition = remaining[0] if len(remaining) == 1 else ast.BoolOp(node.op, remaining)
                yield Variant(f"{kind}-dropped", condition)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and not is_test:
            yield Variant("not-dropped", copy_of(node.operand))


class Matching:
    """Patterns and digests compared in part."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a call that compares."""
        node = place.node
        if not isinstance(node, ast.Call):
            return
        name = callee_name(node)
        if name in _REGEX and isinstance(node.func, ast.Attribute):
            function = ast.Attribute(copy_of(node.func.value), _REGEX[name], ast.Load())
            yield Variant(f"pattern-{_REGEX[name]}", ast.Call(function, [*map(copy_of, node.args)], node.keywords))
        if name == "compare_digest" and len(node.args) == 2:
            first, second = node.args
            yield Variant("digest-never", ast.Constant(value=False))
            yield Variant("digest-always", ast.Constant(value=True))
            yield Variant("digest-prefix", expression("a[:16] == b[:16]", a=first, b=second))
        if name in {"any", "all"} and len(node.args) == 1:
            opposite = ast.Name({"any": "all", "all": "any"}[name], ast.Load())
            yield Variant("any-all", ast.Call(opposite, [copy_of(node.args[0])], []))
        if name in {"startswith", "endswith"} and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            yield Variant(f"{name}-contains", expression("b in a", a=node.func.value, b=node.args[0]))

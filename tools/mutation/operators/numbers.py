"""Statuses, limits, windows and lifetimes, and sums that are off by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.mutation.operators.operator import Place, Variant, copy_of, expression

_OTHER_STATUS = {
    200: 201,
    201: 200,
    202: 200,
    204: 200,
    302: 301,
    303: 302,
    400: 422,
    401: 403,
    402: 403,
    403: 401,
    404: 410,
    405: 404,
    406: 400,
    408: 400,
    409: 400,
    410: 404,
    411: 400,
    413: 400,
    414: 400,
    415: 400,
    422: 400,
    429: 503,
    431: 400,
    500: 400,
    501: 500,
    502: 503,
    503: 500,
    504: 503,
}
_SMALL = 8
_TENTH = 10


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Statuses:
    """A status that is answered, and is another."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a status."""
        node = place.node
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value in _OTHER_STATUS:
            yield Variant("status", ast.Constant(value=_OTHER_STATUS[node.value]))


class Limits:
    """A limit, a window or a lifetime, tighter and looser by a tenth; small ones by one."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a number that bounds something."""
        node = place.node
        if not isinstance(node, ast.Constant) or not _is_number(node.value) or not _bounds(place):
            return
        value = node.value
        assert isinstance(value, (int, float))  # noqa: S101 - said above, for the type checker
        if isinstance(value, int) and (value in _OTHER_STATUS or value == 0):
            return
        step: float = abs(value) / _TENTH if isinstance(value, float) else max(1, abs(value) // _TENTH)
        for name, new_value in (("limit-tighter", value - step), ("limit-looser", value + step)):
            yield Variant(name, ast.Constant(value=new_value))


def _bounds(place: Place) -> bool:
    """A number that has a name, that is compared, added, or handed on as a default."""
    parent = place.parent
    if isinstance(parent, (ast.Assign, ast.AnnAssign)):
        return True
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in {"Field", "timedelta"}
    if isinstance(parent, ast.keyword):
        return parent.arg in {"ge", "gt", "le", "lt", "min_length", "max_length", "default", "most", "seconds", "limit"}
    if isinstance(parent, ast.BinOp):
        return not isinstance(parent.op, (ast.Pow, ast.Mod)) and place.function == "<module>"
    return isinstance(parent, (ast.Compare, ast.arguments))


class Sums:
    """A sum that is a difference, or off by a unit."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a sum of numbers."""
        node = place.node
        if not isinstance(node, ast.BinOp) or place.function == "<module>" or _is_text(node):
            return
        if isinstance(node.op, (ast.Add, ast.Sub)) and not _joins(node):
            opposite = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield Variant("sum-sign", ast.BinOp(copy_of(node.left), opposite, copy_of(node.right)))
            yield Variant("sum-left", copy_of(node.left))
        if isinstance(node.op, ast.FloorDiv):
            yield Variant("rounded-up", expression("-(-a // b)", a=node.left, b=node.right))


def _is_text(node: ast.BinOp) -> bool:
    kinds = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set)
    return any(
        isinstance(part, kinds) or (isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes)))
        for part in ast.walk(node)
    )


def _joins(node: ast.BinOp) -> bool:
    """Sums of calls are texts and bytes as often as numbers; those of names and attributes with a time are numbers."""
    words = ("now", "seconds", "time", "_at", "window", "ttl", "micro", "amount", "units", "count", "lifetime", "since")
    text = ast.unparse(node).lower()
    return not any(word in text for word in words) and not any(
        isinstance(operand, ast.Constant) and _is_number(operand.value) for operand in (node.left, node.right)
    )

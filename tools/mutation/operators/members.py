"""Members of answers, documents, receipts and events, and headers: left out, null, or swapped with a neighbour."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.mutation.operators.operator import Place, Variant, callee_name, copy_of

_HEADER = re.compile(r"[A-Z][A-Za-z0-9]*(-[A-Z0-9][A-Za-z0-9]*)*")
_FEW = 3
_CONSTRUCTORS = frozenset(
    {*("lower", "upper", "casefold", "strip", "lstrip", "rstrip", "rjust", "zfill", "removeprefix", "removesuffix")}
)


class Members:
    """Entries of a mapping that is written down."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a mapping."""
        node = place.node
        if not isinstance(node, ast.Dict):
            return
        for number, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            other_members = [other for other in range(len(node.keys)) if other != number]
            word = "header" if _is_header(key) else "member"
            yield Variant(f"{word}-dropped", _of(node, other_members))
            if key is None or word == "header":
                continue
            if not (isinstance(value, ast.Constant) and value.value is None):
                yield Variant("member-null", _with(node, {number: ast.Constant(value=None)}))
            if (
                number + 1 < len(node.keys)
                and node.keys[number + 1] is not None
                and _differ(value, node.values[number + 1])
            ):
                new_values = {number: node.values[number + 1], number + 1: value}
                yield Variant("member-swapped", _with(node, new_values))


def _differ(first: ast.expr, second: ast.expr) -> bool:
    return ast.dump(first) != ast.dump(second)


def _is_header(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and _HEADER.fullmatch(key.value) is not None


def _of(node: ast.Dict, numbers: list[int]) -> ast.Dict:
    keys = [None if (key := node.keys[number]) is None else copy_of(key) for number in numbers]
    return ast.Dict(keys, [copy_of(node.values[number]) for number in numbers])


def _with(node: ast.Dict, new_values: dict[int, ast.expr]) -> ast.Dict:
    new_dict = _of(node, [*range(len(node.keys))])
    for number, value in new_values.items():
        new_dict.values[number] = copy_of(value)
    return new_dict


class Records:
    """Members of a record that is made by name, such as `Link(label=…)`."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a call that makes a record."""
        node = place.node
        if not isinstance(node, ast.Call) or not callee_name(node)[:1].isupper() or len(node.keywords) < _FEW:
            return
        if place.function == "<module>":
            return
        for number, keyword in enumerate(node.keywords[:-1]):
            next_keyword = node.keywords[number + 1]
            if keyword.arg is not None and next_keyword.arg is not None and _differ(keyword.value, next_keyword.value):
                keywords = [ast.keyword(one.arg, copy_of(one.value)) for one in node.keywords]
                keywords[number].value, keywords[number + 1].value = copy_of(next_keyword.value), copy_of(keyword.value)
                yield Variant("argument-swapped", ast.Call(copy_of(node.func), [*map(copy_of, node.args)], keywords))


class Texts:
    """A text that is not brought to its form: its case, its blanks, its coding."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a call of a method of texts."""
        node = place.node
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.keywords:
            return
        name = node.func.attr
        if name in _CONSTRUCTORS:
            yield Variant(f"{name}-dropped", copy_of(node.func.value))

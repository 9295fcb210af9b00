"""Digests over other bytes than those that are agreed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.mutation.operators.operator import Place, Variant, callee_name, copy_of, expression

_DIGESTS = frozenset({"sha256", "sha512", "blake2b", "sha512_256", "keccak", "new", "digest", "sign", "sha256_hex"})
_OTHERWISE = {"hash-trimmed": "a[:-1]", "hash-more": "a + type(a)(a[:1])"}


class Digests:
    """A digest or a signature over a byte less or a byte more."""

    def variants(self, place: Place) -> Iterator[Variant]:
        """Yield the changes of a call that makes a digest."""
        node = place.node
        if not isinstance(node, ast.Call) or not node.args or callee_name(node) not in _DIGESTS:
            return
        if callee_name(node) == "new" and len(node.args) < 2:
            return
        number = 1 if callee_name(node) == "new" else 0
        if isinstance(node.args[number], ast.Starred):
            return
        for name, text in _OTHERWISE.items():
            arguments = [*map(copy_of, node.args)]
            arguments[number] = expression(text, a=node.args[number])
            yield Variant(name, ast.Call(copy_of(node.func), arguments, node.keywords))

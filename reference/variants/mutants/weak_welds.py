"""Mutants of the weld to a request: each binds a token to less than the whole request (5.4, half B; P-RH-01).

Receipts and rows keep the hash of the whole request, so that nothing but the binding is weak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import orjson

from reference.protocol.challenge import Mint
from reference.protocol.hashes import hash_reference
from reference.rail.challenges import Call
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

# From the body in its RFC 8785 form and the query to what the token is bound to beside the service.
Weak: TypeAlias = Callable[[bytes, str], tuple[bytes, str]]
_FIRST = 1024


def _bound_to(weak: Weak) -> Callable[[], None]:
    def apply() -> None:
        weaker: dict[str, str] = {}
        original = Call.of.__func__  # type: ignore[attr-defined]

        def of(cls: type[Call], service: Any, body: Any, query: str, canonical: bytes | None = None) -> Call:
            whole: Call = original(cls, service, body, query, canonical)
            text, asked = weak(whole.kept, query)
            weaker[whole.request_hash] = hash_reference(text + b"\n" + asked.encode())
            return whole

        def half(made: Callable[..., str]) -> Callable[..., str]:
            def bound(self: Mint, first: str, service_id: str, request_hash: str) -> str:
                return made(self, first, service_id, weaker.get(request_hash, request_hash))

            return bound

        Call.of = classmethod(of)  # type: ignore[assignment,method-assign]
        replace(Mint, "second_half", half)

    return apply


def _objects_unread(body: bytes, query: str) -> tuple[bytes, str]:
    members = orjson.loads(body)
    bare = {name: len(value) if isinstance(value, dict) else value for name, value in members.items()}
    return orjson.dumps(bare, option=orjson.OPT_SORT_KEYS), query


MUTANTS = (
    Mutant(
        "long-bodies-unbound",
        "a long body is part of the request to its end (P-RH-01)",
        _bound_to(lambda body, query: (body[:_FIRST], query)),
    ),
    Mutant(
        "letter-case-unbound",
        "letters are part of the request in their case (P-RH-01)",
        _bound_to(lambda body, query: (body.lower(), query)),
    ),
    Mutant(
        "nested-members-unbound",
        "what is inside an object is part of the request (P-RH-01)",
        _bound_to(_objects_unread),
    ),
    Mutant(
        "long-queries-unbound",
        "a long query is part of the request to its end (P-RH-01)",
        _bound_to(lambda body, query: (body, query[:_FIRST])),
    ),
)

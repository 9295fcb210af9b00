"""Paid answers as a payer reads them: receipts, the result, and whether they contain paid goods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.surfaces.rail.unpaid_answers import EXAMPLES

ABSENT = object()


def receipts_in(answer: Answer, at: str | None) -> list[tuple[str, str]]:
    """Return the tokens of an answer that may be the payable receipt: at the bound place, else all."""
    tokens = jose.tokens_in(answer.read_object(), dict(answer.headers))
    # Names of header fields are case-insensitive, and places in a body are not.
    if at is None:
        return tokens
    bound_place = at.lower() if at.startswith("header:") else at
    return [
        (place, token) for place, token in tokens if (place.lower() if "header:" in place else place) == bound_place
    ]


def extract_receipts(answer: Answer) -> frozenset[str]:
    """Return every compact JWS of an answer, except challenge tokens, which may have that form as well."""
    tokens = jose.tokens_in(answer.read_object(), dict(answer.headers))
    return frozenset(token for place, token in tokens if not place.endswith("payment_reference"))


def result_of(case: Case, answer: Answer) -> Any:
    """Return the service's result in a paid answer: at the bound place, else `result`; `ABSENT` without one."""
    place = (case.profile.rail_bindings.result_at or "body:result").removeprefix("body:")
    value: Any = answer.read_object()
    for name in place.split(".") if place else ():
        value = value.get(name, ABSENT) if isinstance(value, Mapping) else ABSENT
    return value


def looks_payable(token: str) -> bool:
    """Return whether a token is a payable receipt by its claims."""
    try:
        claims = jose.parse(token).claims()
    except jose.JwsFault:
        return False
    # The interface names the kind. Receipts of other rails are recognised by their hashes.
    return "payable" in str(claims.get("kind", "")) or {"request_hash", "response_hash"} <= claims.keys()


def find_goods(case: Case, answer: Answer) -> list[str]:
    """Return the places of an answer with something that only a payment buys: a payable receipt or the result."""
    body = {name: member for name, member in answer.read_object().items() if name not in EXAMPLES}
    # PAYMENT-REQUIRED carries the terms, which may contain signed offers.
    headers = {name: value for name, value in answer.headers.items() if name.lower() != "payment-required"}
    receipt_place = case.profile.rail_bindings.receipt_at
    places = [place for place, token in jose.tokens_in(body, headers) if place == receipt_place or looks_payable(token)]
    result = result_of(case, answer)
    return places if result is ABSENT or result is None else [*places, "the result"]


def brief(answer: Answer) -> str:
    """Return a status with the answer's error code."""
    error = answer.read_object().get("error")
    return f"{answer.status} {error}" if isinstance(error, str) else str(answer.status)

"""Receipts of paid calls, read and not yet judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import encode_json
from conformance.oracles import hash_recipes, jose
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.paid_answers import looks_payable, receipts_in
from conformance.surfaces.rail.purchase import Purchase, purchase


async def buy_receipt(case: Case, operation: Operation, *, body: Any = None) -> tuple[Purchase, str]:
    """Buy one call and return it, with its payable receipt.

    Raises:
        Inconclusive: It was not served, or the answer contains no possible receipt.
    """
    sale = await purchase(case, operation, case.lane, body=body)
    return sale, receipt_of(case, sale)[1]


def receipt_of(case: Case, purchase: Purchase) -> tuple[str, str]:
    """Return the payable receipt of a served call as (place, token).

    Raises:
        Inconclusive: The answer contains no possible receipt.
    """
    tokens = receipts_in(purchase.answer, case.profile.rail_bindings.receipt_at)
    for place, token in tokens:
        # A single token may be the receipt even if its kind is unusual. Of several, only the
        # kind decides.
        if looks_payable(token) or (len(tokens) == 1 and claims_of(token)):
            return place, token
    raise Inconclusive("unbound: no token of the paid answer is the payable receipt; bind [rail] receipt_at")


def claims_of(token: str) -> dict[str, Any]:
    """Return a receipt's claims without verification; a separate check judges the signature."""
    try:
        return jose.parse(token).claims()
    except jose.JwsFault:
        return {}


def request_hashes(
    operation: Operation,
    body: Any,
    accepts: Sequence[Mapping[str, Any]],
    encode: Callable[[Any], bytes] = hash_recipes.jcs_bytes,
) -> dict[str, set[str]]:
    """Return, for each usual recipe, the digests that may bind a request.

    Args:
        operation: The called operation.
        body: The sent body.
        accepts: The entries of a challenge for it, which may name the service.
        encode: As `hash_recipes.request_hashes` takes it.
    """
    service_id = service_id_of(accepts) or operation.role
    return hash_recipes.request_hashes(
        "POST", operation.path, operation.query, encode_json(body), body, service_id, encode
    )


def service_id_of(accepts: Sequence[Mapping[str, Any]]) -> Any:
    """Return the service that the entries of a challenge name, or None."""
    extra = accepts[0].get("extra") if accepts else None
    return extra.get("service_id") if isinstance(extra, Mapping) else None

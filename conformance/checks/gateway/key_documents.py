"""GW-KEY-01: health, key documents and the form of receipts of a gateway that claims the specification (2.1, 2.2)."""

from __future__ import annotations

from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.ed25519_keys import Ed25519Key, keys_of_jwks
from conformance.oracles.key_documents import find_did_faults, find_key_set_faults
from conformance.oracles.receipt_format import find_form_faults
from conformance.receipts.verifier import receipt_in, screen_person
from conformance.surfaces.gateway.calls import short, target_of
from conformance.surfaces.gateway.key_documents import DID, JWKS
from conformance.surfaces.rail.keys import document as rail_document

ROW: Final = "GW-KEY-01"
HEALTH: Final = "/health"


@check(
    ROW,
    surface="gateway",
    fix="Publish the gateway's own keys, the active one first, with kids computed from them. Sign every receipt with "
    "the active one.",
)
async def key_documents_of_the_gateway(case: Case) -> None:
    """The gateway's key set and DID document have each member of 2.1, and its receipts are as 2.2 says.

    Fetches both documents. Expects kids that are computed from the keys, five members in each key, every key in the DID
    document, and only the first one, the active key, with leave to sign. Screens a person. Expects a receipt that is
    signed with the active key, with header and payload in JCS. If the target is a rail as well, expects other keys and
    another DID there. Fetches /health, too. Expects `{"status":"ok"}`.
    """
    health = await target_of(case)("GET", HEALTH)
    members = health.read_object()
    # A gateway may list what would prevent its next start; then it is not well in every respect.
    is_well = health.status == 200 and (members == {"status": "ok"} or bool(members.get("faults")))
    _expect(case, health, [] if is_well else [f"{health.status}: {short(health)}"], HEALTH)
    answers = {path: await target_of(case)("GET", path) for path in (JWKS, DID)}
    jwks, identity = (answers[path].read_object() for path in (JWKS, DID))
    keys, did = keys_of_jwks(jwks), str(identity.get("id"))
    _expect(case, answers[JWKS], [*_find_status_faults(answers[JWKS]), *find_key_set_faults(jwks)], JWKS)
    faults = find_did_faults(identity, did, keys, {}) if keys else ["no key in the key set"]
    faults += [] if did.startswith("did:web:") else [f"id {did}"]
    _expect(case, answers[DID], [*_find_status_faults(answers[DID]), *faults], DID)
    if keys:
        await _judge_receipt(case, keys)
    if "rail" in case.profile.claims.surfaces:
        await _judge_rail(case, keys, did)


def _expect(case: Case, answer: Answer, faults: list[str], document: str) -> None:
    where = {"document": document}
    case.expect(ROW, not faults, "as 2.1 and 2.2 say", "; ".join(faults) or "so", exchange=answer, where=where)


def _find_status_faults(answer: Answer) -> list[str]:
    return [] if answer.status == 200 else [f"status {answer.status}"]


async def _judge_receipt(case: Case, keys: list[Ed25519Key]) -> None:
    answer = await screen_person(case)
    place_and_token = receipt_in(case, answer)
    faults = ["no receipt"] if place_and_token is None else find_form_faults(place_and_token[1], keys)
    _expect(case, answer, faults, "a compliance receipt")


async def _judge_rail(case: Case, keys: list[Ed25519Key], did: str) -> None:
    answer, jwks = await rail_document(case, JWKS)
    _, identity = await rail_document(case, DID)
    rail_did: Any = identity.get("id") if isinstance(identity, dict) else None
    shared = {key.raw for key in keys} & {key.raw for key in keys_of_jwks(jwks)}
    faults = [f"{len(shared)} keys of gateway and rail"] if shared else []
    _expect(case, answer, [*faults, *([f"the DID {did} of both"] if did == rail_did else [])], "gateway and rail")

"""CP-TRUST: the trust set's shape, and the document that credential verifiers resolve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.check import Case, check
from conformance.client import Answer
from conformance.hub import documents
from conformance.hub.access import ATB_KEYS, PKS, Hub, documented, hub_of
from conformance.oracles.falcon import PUBLIC_KEY_BYTES
from conformance.oracles.strict_json import JsonTextFault, is_json_type, strict_json

_GONE = frozenset({"revoked", "inactive", "disabled", "retired", "removed", "suspended"})


@check(
    "CP-TRUST-01",
    "CP-TRUST-02",
    "CP-TRUST-03",
    "CP-TRUST-04",
    surface="control_plane",
    fix="Answer GET /v1/issuer-pks with 200 and one flat JSON object from DID to the key in base64.",
)
async def the_trust_set_maps_dids_to_keys(case: Case) -> None:
    """The trust set is one JSON object from DID to base64 key, each of 1793 bytes.

    Reads it, with an issuer of the suite's own in it where the admin token is known. Expects an object without
    duplicate members, DIDs for names and base64 text for values.
    """
    hub = await hub_of(case)
    if hub.token is None:
        _shape(case, await hub.call("GET", PKS))
        return
    async with hub.registered(hub.new_issuer("shaped")):
        _shape(case, await hub.call("GET", PKS))


def _shape(case: Case, answer: Answer) -> None:
    try:
        value, fault = strict_json(answer.body), None
    except JsonTextFault as reason:
        value, fault = None, str(reason)
    json_type = is_json_type(answer.headers.get("Content-Type"))
    holds = answer.status == 200 and isinstance(value, dict) and json_type
    found = fault or f"{answer.status} {answer.headers.get('Content-Type')}, {type(value).__name__}"
    case.expect("CP-TRUST-01", holds, "200 with a JSON object", found, exchange=answer)
    entries: Mapping[str, Any] = value if isinstance(value, dict) else {}
    keys = {did: documents.decoded(text) for did, text in entries.items()}
    judged = (
        ("CP-TRUST-02", "base64 text", [did for did, key in keys.items() if key is None]),
        ("CP-TRUST-03", "a DID for a name", [did for did in keys if not documents.is_did(did)]),
        ("CP-TRUST-04", "1793 bytes", [did for did, key in keys.items() if key and len(key) != PUBLIC_KEY_BYTES]),
    )
    for row, expected, odd in judged:
        if isinstance(value, dict):
            case.expect(row, not odd, f"{expected} each time", odd[:5] or f"{len(keys)} issuers", exchange=answer)
        else:
            case.inconclusive(row, "the trust set is no object", exchange=answer)


@check(
    "CP-TRUST-05",
    "CP-TRUST-06",
    surface="control_plane",
    fix="Make atb-keys.json from the trust set, at the moment of the answer.",
)
async def atb_keys_reflect_the_trust_set(case: Case) -> None:
    """The atb-keys document answers 200 JSON and has the issuers of the trust set.

    Registers an issuer, reads both documents, revokes it and reads them again. Expects its DID and its very key in
    atb-keys.json while it is trusted and no more afterwards, and every issuer that was in the trust set throughout.
    """
    hub = await hub_of(case)
    if hub.token is None:
        await _documents_agree(case, hub)
        return
    issuer = hub.new_issuer("resolved")
    async with hub.registered(issuer):
        document, answer = await _documents_agree(case, hub)
        shown = documents.tells_of(document, issuer.did) and documents.tells_of(document, issuer.key)
        case.expect("CP-TRUST-06", shown, "the new issuer with its key", _told(shown), exchange=answer)
    answer = await hub.call("GET", ATB_KEYS)
    trusted = list(_active(documented(answer), issuer.did))
    case.expect("CP-TRUST-06", not trusted, "no key of a revoked issuer", _told(bool(trusted)), exchange=answer)


async def _documents_agree(case: Case, hub: Hub) -> tuple[Any, Answer]:
    before = await hub.trust_set()
    answer = await hub.call("GET", ATB_KEYS)
    after = await hub.trust_set()
    document = documented(answer)
    holds = answer.status == 200 and document is not None and is_json_type(answer.headers.get("Content-Type"))
    found = f"{answer.status} {answer.headers.get('Content-Type')}"
    case.expect("CP-TRUST-05", holds, "200 with JSON", found, exchange=answer)
    # Others may register and revoke meanwhile: only who was there before and after must be there in between.
    missing = sorted(did for did in before.keys() & after.keys() if not documents.tells_of(document, did))
    case.expect("CP-TRUST-06", not missing, "every issuer of the trust set", missing[:5] or "all", exchange=answer)
    more = sorted({did for did in _dids(document) if list(_active(document, did))} - before.keys() - after.keys())
    case.expect("CP-TRUST-06", not more, "no issuer beside the trust set's", more[:5] or "none", exchange=answer)
    return document, answer


def _told(shown: bool) -> str:
    return "it is there" if shown else "it is not there"


def _key_records(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a document that hold a public key."""
    if isinstance(value, Mapping):
        if any(len(documents.decoded(member) or b"") == PUBLIC_KEY_BYTES for member in value.values()):
            yield value
        for member in value.values():
            yield from _key_records(member)
    elif isinstance(value, list):
        for item in value:
            yield from _key_records(item)


def _dids(document: Any) -> set[str]:
    texts = (text for record in _key_records(document) for text in (*record, *record.values()))
    return {text for text in texts if isinstance(text, str) and documents.is_did(text) and "#" not in text}


def _active(document: Any, did: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of an issuer's keys that do not say that they are no longer trusted."""
    for record in _key_records(document):
        words = {text.lower() for text in record.values() if isinstance(text, str) and len(text) < 32}
        if (did in record or did in record.values()) and not words & _GONE:
            yield record

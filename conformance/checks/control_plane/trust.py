"""CP-TRUST: the form of the trust set, and atb-keys.json, the document that credential verifiers resolve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.assertions.trusted_keys import drop_revoked, is_revoked
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.oracles.falcon import PUBLIC_KEY_BYTES
from conformance.oracles.strict_json import JsonTextFault, is_json_type, strict_json
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import ATB_KEYS, PKS, Hub, Issuer, hub_of, is_success, json_of

_RETRIES = 3


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

    Reads it, with an issuer of the suite if the admin token is known. Expects an object without duplicate members, with
    DIDs as names and base64 texts as values. If it is empty, names and values are inconclusive.
    """
    hub = await hub_of(case)
    if hub.token is None:
        _judge_shape(
            case, await hub.call("GET", PKS), f"no issuer is trusted, and none could be registered: {hub.no_token}"
        )
        return
    async with hub.registered_issuer(hub.new_issuer("shaped")):
        _judge_shape(case, await hub.call("GET", PKS), "the trust set is empty, with an issuer registered")


def _judge_shape(case: Case, answer: Answer, empty_reason: str) -> None:
    try:
        # A usual parser keeps the last of two equal members, and so hides a DID that has two keys.
        value, fault = strict_json(answer.body), None
    except JsonTextFault as reason:
        value, fault = None, str(reason)
    json_type = is_json_type(answer.headers.get("Content-Type"))
    holds = answer.status == 200 and isinstance(value, dict) and json_type
    finding = fault or f"{answer.status} {answer.headers.get('Content-Type')}, {type(value).__name__}"
    case.expect("CP-TRUST-01", holds, "200 with a JSON object", finding, exchange=answer)
    entries: Mapping[str, Any] = value if isinstance(value, dict) else {}
    # Decoded strictly: a key with white space or other characters inside is not base64.
    keys = {did: document_reader.decode_base64(text) for did, text in entries.items()}
    row_results = (
        ("CP-TRUST-02", "base64 text", [did for did, key in keys.items() if key is None]),
        ("CP-TRUST-03", "a DID for a name", [did for did in keys if not document_reader.is_did(did)]),
        ("CP-TRUST-04", "1793 bytes", [did for did, key in keys.items() if key and len(key) != PUBLIC_KEY_BYTES]),
    )
    for row, requirement, odd_dids in row_results:
        if keys:
            case.expect(
                row, not odd_dids, f"{requirement} each time", odd_dids[:5] or f"{len(keys)} issuers", exchange=answer
            )
        else:
            case.mark_inconclusive(
                row, empty_reason if isinstance(value, dict) else "the trust set is not an object", exchange=answer
            )


@check(
    "CP-TRUST-05",
    "CP-TRUST-06",
    surface="control_plane",
    fix="Make atb-keys.json from the trust set, at the moment of the answer.",
)
async def atb_keys_reflect_the_trust_set(case: Case) -> None:
    """The atb-keys document answers 200 JSON and has the issuers of the trust set.

    Registers two issuers, reads both documents, revokes them and reads again. Expects the DID and the exact key of each
    in atb-keys.json while it is trusted, and neither afterwards. Expects every issuer that was in the trust set
    throughout. Without the admin token compares both documents as they are, if either has an issuer.
    """
    hub = await hub_of(case)
    if hub.token is None:
        await _judge_agreement(case, hub)
        return
    # Two issuers: a document that has room for only one would look complete with a single issuer.
    issuers = [hub.new_issuer(name) for name in ("resolved", "resolved_too")]
    async with hub.registered_issuer(issuers[0]), hub.registered_issuer(issuers[1]):
        document, answer = await _judge_agreement(case, hub)
        missing_dids = [one.did for one in issuers if not _has_issuer(document, one)]
        finding_of_new = f"it has not {missing_dids}" if missing_dids else "they are there"
        case.expect("CP-TRUST-06", not missing_dids, "the new issuers with their keys", finding_of_new, exchange=answer)
    answer = await hub.call("GET", ATB_KEYS)
    revoked_dids = [one.did for one in issuers if any(_active_records(json_of(answer), one.did))]
    finding = f"it has {revoked_dids}" if revoked_dids else "neither"
    case.expect("CP-TRUST-06", not revoked_dids, "no key of a revoked issuer", finding, exchange=answer)


@check(
    "CP-ISSUER-02",
    "CP-ISSUER-03",
    "CP-TRUST-06",
    surface="control_plane",
    # Changes of other checks would change a wrong tag as well, and so hide that it does not follow this one.
    exclusive=Exclusive.SURFACE,
    fix="Make the ETag from the answer's bytes or from the number of the last change, never from a count of issuers.",
)
async def a_tag_stands_for_one_trust_set(case: Case) -> None:
    """A request with the ETag of an earlier answer returns every later change.

    Reads trust set and atb-keys.json, registers an issuer, replaces its key and revokes it. After each change it
    requests both again with the earlier ETag. Expects the change in the answer each time, and no 304. Documents without
    an ETag pass, because no such request is possible.
    """
    hub = await hub_of(case)
    if hub.token is None:
        hub.leave_to_reads("CP-TRUST-06")
        return
    issuer = hub.new_issuer("tagged")
    rekeyed_issuer = Issuer(issuer.did, hub.new_key("tagged"))
    answers = {path: await hub.call("GET", path) for path in (PKS, ATB_KEYS)}
    async with hub.registered_issuer(issuer):
        answers = await _read_again(hub, "CP-ISSUER-02", answers, "registered", lambda keys: issuer.key in keys)
        if (
            is_success(await hub.register(rekeyed_issuer))
            and (await hub.trust_set()).get(issuer.did) == rekeyed_issuer.key
        ):
            answers = await _read_again(
                hub, "CP-ISSUER-02", answers, "with another key", lambda keys: rekeyed_issuer.key in keys
            )
    await _read_again(hub, "CP-ISSUER-03", answers, "revoked", lambda keys: not {issuer.key, rekeyed_issuer.key} & keys)


async def _read_again(
    hub: Hub, row: str, earlier_answers: Mapping[str, Answer], change: str, holds: Callable[[set[str]], bool]
) -> dict[str, Answer]:
    """Request documents with the tags that they had, judge the answers by the keys in them, and return the answers."""
    answers: dict[str, Answer] = {}
    for path, before in earlier_answers.items():
        # A hub may send no ETag. Then the request has no condition, and the answer must be complete anyway.
        tag = before.headers.get("ETag")
        answer = answers[path] = await hub.call("GET", path, headers={} if tag is None else {"If-None-Match": tag})
        document = drop_revoked(json_of(before if answer.status == 304 else answer))
        keys = {text for record in _find_key_records(document) for text in record.values() if isinstance(text, str)}
        finding = "shown" if holds(keys) else f"not shown: {answer.status}"
        where = {"document": path, "issuer": change}
        judged_row = row if path == PKS else "CP-TRUST-06"
        hub.case.expect(judged_row, holds(keys), f"the issuer {change}", finding, exchange=answer, where=where)
        # 304 means that the earlier document is still valid, so that one is judged again.
        if answer.status == 304:
            answers[path] = before
    return answers


async def _judge_agreement(case: Case, hub: Hub) -> tuple[Any, Answer]:
    differences = await _compare_documents(hub)
    answer = differences.answer
    holds = (
        answer.status == 200 and differences.document is not None and is_json_type(answer.headers.get("Content-Type"))
    )
    finding = f"{answer.status} {answer.headers.get('Content-Type')}"
    case.expect("CP-TRUST-05", holds, "200 with JSON", finding, exchange=answer)
    missing_dids, extra_dids = differences.missing_dids, differences.extra_dids
    # Other clients register and revoke meanwhile, perhaps between two of these reads. So only differences that persist
    # over several reads count.
    for _ in range(_RETRIES):
        if not missing_dids and not extra_dids:
            break
        later = await _compare_documents(hub, again=True)
        missing_dids, extra_dids = missing_dids & later.missing_dids, extra_dids & later.extra_dids
    if hub.token is None and not differences.trusted_dids and not extra_dids:
        case.mark_inconclusive("CP-TRUST-06", f"no issuer is trusted, and none could be registered: {hub.no_token}")
        return differences.document, answer
    lacks, has = sorted(missing_dids)[:5] or "all", sorted(extra_dids)[:5] or "none"
    case.expect("CP-TRUST-06", not missing_dids, "every issuer of the trust set", lacks, exchange=answer)
    case.expect("CP-TRUST-06", not extra_dids, "no issuer outside of the trust set", has, exchange=answer)
    return differences.document, answer


@dataclass(frozen=True, slots=True)
class _Differences:
    """The differences of atb-keys.json from the trust set, which is read before and after it."""

    answer: Answer
    document: Any
    trusted_dids: frozenset[str]
    missing_dids: frozenset[str]
    extra_dids: frozenset[str]


async def _compare_documents(hub: Hub, *, again: bool = False) -> _Differences:
    before = await hub.trust_set(again=again)
    answer = await hub.call("GET", ATB_KEYS, retry=again)
    after = await hub.trust_set(again=again)
    document = json_of(answer)
    trusted_dids = frozenset(before.keys() & after.keys())
    missing_dids = frozenset(did for did in trusted_dids if not document_reader.mentions(document, did))
    active_dids = frozenset(did for did in _find_dids(document) if list(_active_records(document, did)))
    return _Differences(answer, document, trusted_dids, missing_dids, active_dids - before.keys() - after.keys())


def _has_issuer(document: Any, issuer: Issuer) -> bool:
    return document_reader.mentions(document, issuer.did) and document_reader.mentions(document, issuer.key)


def _find_key_records(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a document that hold a public key."""
    if isinstance(value, Mapping):
        if any(len(document_reader.decode_base64(member) or b"") == PUBLIC_KEY_BYTES for member in value.values()):
            yield value
        for member in value.values():
            yield from _find_key_records(member)
    elif isinstance(value, list):
        for item in value:
            yield from _find_key_records(item)


def _find_dids(document: Any) -> set[str]:
    texts = (text for record in _find_key_records(document) for text in (*record, *record.values()))
    return {text for text in texts if isinstance(text, str) and document_reader.is_did(text) and "#" not in text}


def _active_records(document: Any, did: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of an issuer's keys, except those that are marked as revoked."""
    for record in _find_key_records(document):
        if (did in record or did in record.values()) and not is_revoked(record):
            yield record

"""CP-ISSUER: registration, rotation and revocation of issuers, and invalid registrations."""

from __future__ import annotations

import base64
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles import falcon_making
from conformance.oracles.strict_json import values_of
from conformance.outcome import OpenPoint
from conformance.surfaces.control_plane.access import ISSUERS, PKS, Hub, Issuer, hub_of, is_client_error, is_success

# Readers during the rotation: a trust set with two keys of one DID may exist only for a moment.
_READS = 6
# Rounds of changes that are read at once: an answer that is kept for less than a round is stale in one of them.
_ROUNDS = 3
_DID_FORM = OpenPoint("what a did must look like is open", "P-CP-01")
# Lengths in bytes: none, an Ed25519 key's 32, a Falcon-512 key's 897, one too few, one too many, and a private key's
# 2305.
_OTHER_LENGTHS = (0, 32, 897, 1792, 1794, 2305)


@check(
    "CP-ISSUER-02",
    "CP-ISSUER-03",
    surface="control_plane",
    fix="Put the key into the trust set exactly as sent, and remove it on DELETE, both before the answer.",
)
async def issuers_come_and_go(case: Case) -> None:
    """A registered issuer is in the trust set with exactly its key, and a revoked one is not.

    Registers two issuers, reads the trust set, revokes one and reads it again. Expects exactly the texts that were
    sent, then the first issuer gone and the other unchanged. Then changes one issuer several times: registers it,
    replaces its key and revokes it, and reads the trust set immediately before and after each change.
    """
    hub = await hub_of(case)
    await _judge_fresh_reads(case, hub)
    first, second = hub.new_issuer("first"), hub.new_issuer("second")
    async with hub.registered_issuer(first), hub.registered_issuer(second):
        trust_set = await hub.trust_set()
        for issuer in (first, second):
            key = trust_set.get(issuer.did)
            case.expect("CP-ISSUER-02", key == issuer.key, "exactly the submitted key", _describe_key(key, issuer.key))
        answer = await hub.revoke(first.did)
        trust_set = await hub.trust_set()
        finding = f"{answer.status}; {'still there' if first.did in trust_set else 'gone'}"
        holds = is_success(answer) and first.did not in trust_set
        case.expect("CP-ISSUER-03", holds, "success, and the issuer gone", finding, exchange=answer)
        is_unchanged = trust_set.get(second.did) == second.key
        case.expect(
            "CP-ISSUER-03",
            is_unchanged,
            "the other issuer as it was",
            _describe_key(trust_set.get(second.did), second.key),
        )
    returning_issuer = hub.new_issuer("again")
    async with hub.registered_issuer(returning_issuer):
        await hub.revoke(returning_issuer.did)
        second_registration = Issuer(returning_issuer.did, hub.new_key("again"))
        answer = await hub.register(second_registration)
        key = (await hub.trust_set()).get(second_registration.did)
        # The operator decides whether a revoked DID may come back. If the answer is a success, the key has to be there.
        if is_success(answer):
            case.expect(
                "CP-ISSUER-02",
                key == second_registration.key,
                "exactly the submitted key",
                _describe_key(key, second_registration.key),
            )


async def _judge_fresh_reads(case: Case, hub: Hub) -> None:
    """Judge that a reading shows the change before it, also if the trust set was read just before the change.

    A hub that keeps its answer for a moment shows a change only to later readers. Each change has a reading directly
    before and after it, so that neither the speed of the machine nor other checks decide what is kept.
    """
    for _ in range(_ROUNDS):
        issuer = hub.new_issuer("fresh")
        replaced = Issuer(issuer.did, hub.new_key("fresh"))
        await hub.trust_set()
        async with hub.registered_issuer(issuer):
            key = (await hub.trust_set()).get(issuer.did)
            where = {"read": "directly before and after the registration"}
            finding = _describe_key(key, issuer.key)
            case.expect("CP-ISSUER-02", key == issuer.key, "exactly the submitted key", finding, where=where)
            answer = await hub.register(replaced)
            key = (await hub.trust_set()).get(issuer.did)
            # Whether another key replaces the first is open, so only an accepted one is due.
            if is_success(answer):
                finding = "the key before" if key == issuer.key else _describe_key(key, replaced.key)
                where = {"read": "directly before and after another key"}
                requirement = "exactly the submitted key"
                case.expect("CP-ISSUER-02", key == replaced.key, requirement, finding, exchange=answer, where=where)
            answer = await hub.revoke(issuer.did)
            is_gone = issuer.did not in await hub.trust_set()
            finding = f"{answer.status}; {'gone' if is_gone else 'still there'}"
            where = {"read": "directly before and after the revocation"}
            case.expect("CP-ISSUER-03", is_gone, "the issuer gone", finding, exchange=answer, where=where)


def _describe_key(key: Any, expected_key: str) -> str:
    return "that key" if key == expected_key else "nothing" if key is None else "something else"


@check(
    "CP-ISSUER-04",
    surface="control_plane",
    fix="Decode the path segment once, and find the issuer by the DID as it was registered.",
)
async def a_did_web_is_deleted_by_its_name(case: Case) -> None:
    """DELETE works for a did:web with a percent-encoded colon and path parts.

    Registers such issuers and deletes each by its percent-encoded name, and if that finds nothing, by the name without
    encoding. Expects the issuer there under exactly its name, and gone after one of the two calls. The reference must
    accept either.
    """
    hub = await hub_of(case)
    is_reference = case.profile.is_reference
    for form in ("did:web:{host}%3A8443", "did:web:{host}:tenants:first", "did:web:{host}%3A8443:tenants:first"):
        # The DID itself contains `%3A`. Some frameworks decode a path twice, and so look for a DID that was never
        # registered.
        encodings = (True, False) if is_reference else (True,)
        for is_encoded in encodings:
            issuer = hub.new_issuer("ported", form)
            where = {"did": form, "sent": "percent-encoded" if is_encoded else "as it stands"}
            async with hub.registered_issuer(issuer):
                is_present = issuer.did in await hub.trust_set()
                answer = await hub.revoke(issuer.did, is_encoded=is_encoded)
                is_gone = issuer.did not in await hub.trust_set()
                if not is_gone and not is_reference:
                    answer = await hub.revoke(issuer.did, is_encoded=False)
                    is_gone = issuer.did not in await hub.trust_set()
                state = "still there" if not is_gone else "gone" if is_present else "never there by this name"
                holds, finding = is_present and is_gone, f"{answer.status}; {state}"
                case.expect("CP-ISSUER-04", holds, "there, then gone", finding, exchange=answer, where=where)


@check(
    "CP-ISSUER-05",
    "CP-ISSUER-06",
    "CP-ISSUER-07",
    surface="control_plane",
    fix="Check did and public_key_b64 before any write: both present, valid base64, 1793 bytes of Falcon-1024.",
)
async def what_is_no_issuer_is_refused(case: Case) -> None:
    """An invalid body is refused and changes nothing: no did or key, a key that is not base64, or of another length.

    Sends such bodies with the admin token, also with lists and texts in place of the object, the DID or the key.
    Expects a client error each time, and a trust set without the issuer. If did is a text but not a DID, a breach only
    warns.
    """
    hub = await hub_of(case)
    async with hub.registered_issuer(hub.new_issuer("taken")):
        pass  # a control: if the token opens nothing, a refusal proves nothing about a body

    # After each body the trust set is read, because a refusal may come after the write.
    async def judge_body(row: str, body_name: str, issuer: Issuer, body: Any, beyond: str | None = None) -> None:
        answer = await hub.admin("POST", ISSUERS, json_body=body)
        trust_set = await hub.trust_set()
        is_trusted = issuer.did in trust_set or issuer.key in trust_set.values()
        finding = f"{answer.status}; {'it is trusted' if is_trusted else 'nothing changed'}"
        holds = is_client_error(answer) and not is_trusted
        requirement, where = "refused, and nothing changed", {"body": body_name}
        case.expect(row, holds, requirement, finding, exchange=answer, where=where, beyond=beyond)
        if is_trusted:
            await hub.revoke(issuer.did)

    issuers = [hub.new_issuer("refused") for _ in range(8)]
    not_a_did = Issuer("no-did-at-all", hub.new_key("refused"))
    incomplete_bodies: tuple[tuple[str, Issuer, Any], ...] = (
        ("no did", issuers[0], {"public_key_b64": issuers[0].key}),
        ("no key", issuers[1], {"did": issuers[1].did}),
        ("an empty object", issuers[2], {}),
        ("null for both", issuers[3], {"did": None, "public_key_b64": None}),
        ("a list", issuers[4], [issuers[4].body]),
        ("a text", issuers[5], issuers[5].did),
    )
    for body_name, issuer, body in incomplete_bodies:
        await judge_body("CP-ISSUER-05", body_name, issuer, body)
    odd_bodies: tuple[tuple[str, Issuer, Any], ...] = (
        ("an empty did", Issuer("", issuers[6].key), {"did": "", "public_key_b64": issuers[6].key}),
        ("a list for a did", issuers[7], {"did": [issuers[7].did], "public_key_b64": issuers[7].key}),
        ("a name that is no DID", not_a_did, not_a_did.body),
    )
    for body_name, issuer, body in odd_bodies:
        await judge_body("CP-ISSUER-05", body_name, issuer, body, _DID_FORM)
    for body_name, text in _list_invalid_texts(hub.new_key("odd")):
        issuer = Issuer(hub.new_issuer("odd").did, text if isinstance(text, str) else "")
        await judge_body("CP-ISSUER-06", body_name, issuer, {"did": issuer.did, "public_key_b64": text})
    for length in _OTHER_LENGTHS:
        raw = falcon_making.any_public_key(case.rng).ljust(length, b"\0")[:length]
        text = base64.b64encode(raw).decode()
        if text:
            case.client.names.secret(text, "SHORT_KEY")
        issuer = Issuer(hub.new_issuer("short").did, text or "-")
        await judge_body(
            "CP-ISSUER-07", f"a key of {length} bytes", issuer, {"did": issuer.did, "public_key_b64": text}
        )


def _list_invalid_texts(key: str) -> list[tuple[str, Any]]:
    return [
        ("a letter outside of the alphabet", "*" + key[1:]),
        ("words", "this is not a key"),
        ("a number", 1793),
        ("a list", [key]),
        ("an object", {"key": key}),
    ]


@check(
    "CP-ISSUER-08",
    surface="control_plane",
    fix="Answer the deletion of an unknown issuer with a client error or as done, and store no change.",
)
async def deleting_nobody_changes_nothing(case: Case) -> None:
    """Deleting an unknown DID changes nothing and causes no server error.

    Deletes unregistered DIDs, some of them similar to a registered one. Expects a status below 500, and the registered
    issuer unchanged.
    """
    hub = await hub_of(case)
    # Similar names find a lookup by prefix, or one that ignores case, which would remove this issuer.
    issuer = hub.new_issuer("neighbour", "did:web:{host}:Tenants:First")
    async with hub.registered_issuer(issuer):
        for did_name, did in (
            ("unknown", hub.new_issuer("unknown").did),
            ("longer by a letter", issuer.did + "x"),
            ("shorter by a letter", issuer.did[:-1]),
            ("in other case", issuer.did.replace("Tenants", "tenants")),
            ("no did at all", "nobody"),
        ):
            answer = await hub.revoke(did)
            is_unchanged = (await hub.trust_set()).get(issuer.did) == issuer.key
            finding = f"{answer.status}; {'nothing changed' if is_unchanged else 'another issuer is gone'}"
            holds = answer.status < 500 and is_unchanged
            case.expect(
                "CP-ISSUER-08", holds, "no 5xx, and nothing changed", finding, exchange=answer, where={"did": did_name}
            )


@check(
    "CP-ISSUER-09",
    surface="control_plane",
    fix="Keep one key for each DID: replace the old one in the same statement, or refuse the new one.",
)
async def a_did_has_one_key(case: Case) -> None:
    """A DID never has two keys at the same time in the trust set.

    Registers an issuer, then the same DID with another key, with a third one, and with one that differs from its
    present key only in the case of one letter. Reads the trust set meanwhile and afterwards. Finally registers the same
    DID with its present key. Expects the DID once in the text of each answer, with the new key after a success and the
    old one after a refusal.
    """
    hub = await hub_of(case)
    issuer = hub.new_issuer("rotated")
    async with hub.registered_issuer(issuer):
        for is_alike in (False, False, True):
            rival = Issuer(issuer.did, hub.new_key("rotated", beside=issuer.key if is_alike else None))
            answers = await run_concurrently([hub.register(rival), *(hub.call("GET", PKS) for _ in range(_READS))])
            for read in (*answers[1:], await hub.call("GET", PKS)):
                _judge_one_key(case, read, issuer.did, [issuer.key, rival.key])
            expected_key = rival.key if is_success(answers[0]) else issuer.key
            key = (await hub.trust_set()).get(issuer.did)
            finding = f"{answers[0].status}, then {_describe_key(key, expected_key)}"
            requirement = "the new key after a success, the old one after a refusal"
            case.expect("CP-ISSUER-09", key == expected_key, requirement, finding, exchange=answers[0])
            issuer = Issuer(issuer.did, expected_key)
        # Registering the same key again may succeed or be refused, but changes nothing.
        repeat_answer = await hub.register(issuer)
        read = await hub.call("GET", PKS)
        _judge_one_key(case, read, issuer.did, [issuer.key])
        key = f"{repeat_answer.status}; {_describe_key((await hub.trust_set()).get(issuer.did), issuer.key)}"
        holds = repeat_answer.status < 500 and key.endswith("that key")
        case.expect("CP-ISSUER-09", holds, "no 5xx, and the key as it was", key, exchange=repeat_answer)


def _judge_one_key(case: Case, read: Answer, did: str, keys: list[str]) -> None:
    values = values_of(read.body, did)
    holds = len(values) == 1 and values[0] in keys
    finding = (
        "the DID twice" if len(values) > 1 else "one of its keys" if holds else "another text than one of its keys"
    )
    case.expect("CP-ISSUER-09", holds, "the DID once, with one key", finding, exchange=read)

"""The trust set: registering, rotating and revoking issuers, and what is published of them (7.1, 7.2)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.reference.control_plane.hub_stack import (
    ATB_KEYS,
    DID,
    ISSUERS,
    PQC_KEYS,
    TRUST_SET,
    Hub,
    falcon_key,
    kid_of,
)

ZEROS = base64.b64encode(b"\x0a" + bytes(1792)).decode()


async def test_a_registered_issuer_is_published_with_exactly_its_key(either: Hub) -> None:
    """201 with the kid of the profile's example; in the trust set and in both key documents; logged."""
    answer = await either.register(DID, ZEROS)
    assert (answer.status_code, answer.json()) == (
        201,
        {"did": DID, "kid": "36fbedf43da0340a", "alg": "Falcon-1024", "created_at": answer.json()["created_at"]},
    )
    assert await either.trust_set() == {DID: ZEROS}
    documents = [(await either.http.get(path)).json() for path in (ATB_KEYS, PQC_KEYS)]
    entry = {"did": DID, "kid": "36fbedf43da0340a", "alg": "Falcon-1024", "fips": "206", "use": "sig"}
    key = {**entry, "public_key_b64": ZEROS, "public_key_pqclean_b64": ZEROS, "status": "active"}
    assert (
        documents
        == [{"issuer": "did:web:localhost%3A8094", "updated_at": answer.json()["created_at"], "keys": [key]}] * 2
    )
    assert await either.entries() == [("issuer.registered", DID)]


async def test_the_same_key_again_changes_nothing(either: Hub) -> None:
    """200 with the same record, and no entry."""
    first = await either.register()
    before = await either.state()
    again = await either.register()
    assert (again.status_code, again.json()) == (200, first.json())
    assert await either.state() == before


async def test_another_key_replaces_the_old_one_at_once(either: Hub) -> None:
    """P-CP-03: one key per DID; the log tells both kids."""
    old, new = falcon_key("old"), falcon_key("new")
    await either.register(DID, old)
    answer = await either.register(DID, new)
    assert (answer.status_code, answer.json()["kid"]) == (200, kid_of(new))
    assert await either.trust_set() == {DID: new}
    keys = (await either.http.get(ATB_KEYS)).json()["keys"]
    assert [(one["did"], one["public_key_b64"]) for one in keys] == [(DID, new)]
    last = (await either.audit(after=1))["entries"]
    assert [(one["action"], one["payload"]) for one in last] == [
        ("issuer.rotated", {"kid": kid_of(new), "previous_kid": kid_of(old)})
    ]


async def test_a_revoked_issuer_is_gone_and_may_come_back(either: Hub) -> None:
    """204, then 404; registering it again is 201 (P-CP-03)."""
    await either.register()
    answer = await either.revoke()
    assert (answer.status_code, answer.content) == (204, b"")
    assert "content-type" not in answer.headers
    assert await either.trust_set() == {}
    assert (await either.http.get(ATB_KEYS)).json()["keys"] == []
    again = await either.revoke()
    assert (again.status_code, again.json()) == (404, {"detail": "Not Found"})
    assert (await either.register()).status_code == 201
    assert await either.entries() == [
        ("issuer.registered", DID),
        ("issuer.revoked", DID),
        ("issuer.registered", DID),
    ]


async def test_issuers_stand_in_the_order_of_registration(either: Hub) -> None:
    """A rotation keeps an issuer's place; a revocation and a new registration do not."""
    dids = [f"did:web:{name}.example" for name in ("c", "a", "b")]
    for did in dids:
        await either.register(did)
    await either.register(dids[0], falcon_key("another"))
    assert list(await either.trust_set()) == dids
    await either.revoke(dids[0])
    await either.register(dids[0])
    expected_dids = [dids[1], dids[2], dids[0]]
    assert list(await either.trust_set()) == expected_dids
    assert [one["did"] for one in (await either.http.get(PQC_KEYS)).json()["keys"]] == expected_dids


@pytest.mark.parametrize(
    ("registered_did", "message"),
    [
        ("did:web:h%3A8443", "did:web:h%3A8443"),
        ("did:web:h%3A8443", "did:web:h%253A8443"),
        ("did:web:h%3A8443", "did%3Aweb%3Ah%253A8443"),
        ("did:web:h%3A8443:a:b", "did:web:h%3A8443:a:b"),
        ("did:web:h:8443", "did:web:h%3A8443"),
        ("did:web:h", "did%3Aweb%3Ah"),
        ("did:web:h%2Fa", "did:web:h%2Fa"),
        ("did:web:h%2fa", "did:web:h%252fa"),
    ],
)
async def test_a_did_is_revoked_as_it_is_or_percent_encoded(plane: Hub, registered_did: str, message: str) -> None:
    """P-CP-02: decoded once and looked up, then as it was sent."""
    await plane.register(registered_did)
    assert (await plane.revoke(message)).status_code == 204
    assert await plane.trust_set() == {}
    assert (await plane.entries())[-1] == ("issuer.revoked", registered_did)


async def test_the_decoded_did_goes_first(plane: Hub) -> None:
    """P-CP-02: of two that a segment may mean, the decoded one is revoked; twice encoded means the other."""
    encoded_did, plain = "did:web:h%3A8443", "did:web:h:8443"
    await plane.register(encoded_did)
    await plane.register(plain)
    assert (await plane.revoke(encoded_did)).status_code == 204
    assert list(await plane.trust_set()) == [encoded_did]


@pytest.mark.parametrize(
    "segment",
    [
        "did:web:other",
        "x",
        "%00",
        "did:web:%FF",
        "did:web:a%00",
        "did:web:%ED%A0%80",
        "%2E%2E",
        "did:web:a%0A",
        "%",
        "%zz",
    ],
)
async def test_an_unknown_did_is_404_and_changes_nothing(either: Hub, segment: str) -> None:
    """CP-ISSUER-08: whatever stands in the path."""
    await either.register()
    before = await either.state()
    answer = await either.revoke(segment)
    assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})
    assert await either.state() == before


KEY = falcon_key(1)


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        None,
        "x",
        {"did": DID},
        {"public_key_b64": KEY},
        {"did": "", "public_key_b64": KEY},
        {"did": None, "public_key_b64": KEY},
        {"did": 1, "public_key_b64": KEY},
        {"did": "web:issuer.example", "public_key_b64": KEY},
        {"did": "did:WEB:issuer.example", "public_key_b64": KEY},
        {"did": "did:web:", "public_key_b64": KEY},
        {"did": "did:web:issuer.example/x", "public_key_b64": KEY},
        {"did": "did:web:issuer.example#k", "public_key_b64": KEY},
        {"did": "did:web:issuer.example\n", "public_key_b64": KEY},
        {"did": "did:web:é", "public_key_b64": KEY},
        {"did": "did:web:" + "a" * 505, "public_key_b64": KEY},
        {"did": DID, "public_key_b64": ""},
        {"did": DID, "public_key_b64": None},
        {"did": DID, "public_key_b64": "!" * 2392},
        {"did": DID, "public_key_b64": KEY.rstrip("=")},
        {"did": DID, "public_key_b64": KEY[:-2] + "/="},
        {"did": DID, "public_key_b64": KEY + "\n"},
        {"did": DID, "public_key_b64": base64.urlsafe_b64encode(base64.b64decode(KEY)).decode().rstrip("=")},
        {"did": DID, "public_key_b64": base64.b64encode(b"\x09" + bytes(1792)).decode()},
        {"did": DID, "public_key_b64": base64.b64encode(b"\x0a" + bytes(1791)).decode()},
        {"did": DID, "public_key_b64": base64.b64encode(b"\x0a" + bytes(1793)).decode()},
        {"did": DID, "public_key_b64": base64.b64encode(b"\x0a" + bytes(896)).decode()},
        {"did": DID, "public_key_b64": KEY, "more": 2**53},
    ],
)
async def test_what_is_no_issuer_is_refused_and_changes_nothing(plane: Hub, body: Any) -> None:
    """422 with `detail` (P-CP-01); no entry."""
    await plane.register("did:web:there.example")
    before = await plane.state()
    answer = await plane.http.post(ISSUERS, json=body, headers=plane.admin)
    assert answer.status_code == 422, answer.text
    assert {"loc", "msg", "type"} == {name for one in answer.json()["detail"] for name in one}
    assert KEY not in answer.text
    assert await plane.state() == before


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xef\xbb\xbf{}", b'{"did":"a","did":"b"}', b'{"did":NaN}', b"\xff", b"[" * 33 + b"]" * 33]
)
async def test_a_body_that_is_not_json_is_422(plane: Hub, body: bytes) -> None:
    """P-CV-02, P-CV-13."""
    for path in (ISSUERS, "/v1/services"):
        answer = await plane.http.post(path, content=body, headers=plane.admin)
        assert (answer.status_code, type(answer.json()["detail"])) == (422, list)


@pytest.mark.parametrize(
    "did", ["did:web:a", "did:key:z6Mk", "did:web:h%3A8443:p:q", "did:x9:A._-%00", "did:web:" + "a" * 504]
)
async def test_what_is_an_issuer_is_taken_with_members_nobody_knows(plane: Hub, did: str) -> None:
    """P-CP-01, P-CV-14: also the longest DID."""
    body = {"did": did, "public_key_b64": KEY, "more": [1, {"a": None}]}
    answer = await plane.http.post(ISSUERS, json=body, headers=plane.admin)
    assert (answer.status_code, await plane.trust_set()) == (201, {did: KEY})


@pytest.mark.parametrize("path", [TRUST_SET, ATB_KEYS])
async def test_documents_have_a_tag_that_changes_with_the_trust_set(either: Hub, path: str) -> None:
    """No-cache with an ETag; 304 to who has it; every change gives another one."""
    first = await either.http.get(path)
    assert first.headers["cache-control"] == "no-cache"
    tag = first.headers["etag"]
    for known_tag in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        reply = await either.http.get(path, headers={"If-None-Match": known_tag})
        assert (reply.status_code, reply.content, reply.headers["etag"]) == (304, b"", tag)
    await either.register()
    answer = await either.http.get(path, headers={"If-None-Match": tag})
    assert answer.status_code == 200
    assert answer.headers["etag"] != tag
    await either.revoke()
    assert (await either.http.get(path, headers={"If-None-Match": answer.headers["etag"]})).status_code == 200

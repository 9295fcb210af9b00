"""The ZK receipt addon: it shows that a score reaches a threshold, and never returns the score (8.4)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
import rfc8785
import structlog

from conformance.oracles.range_proof.making import POINT_FORGERIES, Forgery
from conformance.oracles.range_proof.verifying import refusal_of
from reference.addons.zkp_receipt.receipts import ADDON
from reference.addons.zkp_receipt.score_source import to_milliunits
from reference.protocol.envelope import open_envelope
from reference.protocol.range_proof import SYSTEM
from reference.protocol.zk_receipts import NOTICE
from reference.web.settings import Misconfigured
from tests.reference.addons.conftest import ISSUER, Opener
from tests.reference.addons.receipts import LASTING, PAYMENT, judge_receipt, receipt_payload
from tests.reference.falcon_issuer import FALCON, Issuer

ASKED = {**PAYMENT, "bench_issuer": ISSUER.did, "score_milliunits": 912, "threshold_milliunits": 700}
DOCUMENT = json.loads((Path(__file__).parents[3] / "openapi" / ADDON.openapi).read_text("utf-8"))


@pytest.fixture
def bearer(tmp_path: Path) -> dict[str, str]:
    """Header of a caller that may read the addon's files; before it was opened, an empty token."""
    return {"Authorization": f"Bearer {token_of(tmp_path)}"}


def token_of(folder: Path) -> str:
    """Return the issue token of an addon, made beforehand where it was not opened yet."""
    file = folder / ADDON.name / "issue_token"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("t" * 43)
    return file.read_text()


async def ask_receipt(client: httpx.AsyncClient, bearer: dict[str, str], **changes: Any) -> httpx.Response:
    body = {name: value for name, value in {**ASKED, **changes}.items() if value is not None}
    return await client.post("/v1/receipts", json=body, headers=bearer)


async def issue_receipt(client: httpx.AsyncClient, bearer: dict[str, str], **changes: Any) -> dict[str, Any]:
    answer = await ask_receipt(client, bearer, **changes)
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def test_a_receipt_is_issued_and_holds(zkp: httpx.AsyncClient, bearer: dict[str, str]) -> None:
    """Members as the profile has them, thirty days, and a proof that the suite's own reading takes."""
    issue_answer = await issue_receipt(zkp, bearer)
    assert set(issue_answer) == {"receipt", "payload", "content_hash", "kid", "notice"}
    payload = issue_answer["payload"]
    assert payload == open_envelope(issue_answer["receipt"]).payload
    assert {name: payload[name] for name in PAYMENT} == PAYMENT
    fixed = ("type", "version", "atb_cert_version", "proof_system", "threshold_milliunits", "bench_issuer")
    assert [payload[name] for name in fixed] == ["zkp_receipt", "1", "2", SYSTEM, 700, ISSUER.did]
    assert issue_answer["content_hash"] == hashlib.sha256(rfc8785.dumps(payload)).hexdigest()
    assert refusal_of(payload, base64.b64decode(payload["proof_b64"])) is None
    verdict = await judge_receipt(zkp, issue_answer["receipt"])
    checks = dict.fromkeys(("envelope", "signature", "expiry", "proof"), True)
    good = {"valid": True, "status": "active", "reason": None, "stage": None, "element": None, "checks": checks}
    assert verdict == good | {"content_hash": issue_answer["content_hash"], "payload": payload, "notice": NOTICE}


async def test_answers_are_as_documented(zkp: httpx.AsyncClient, bearer: dict[str, str]) -> None:
    """The document's example is issued; this, a refusal of it and a judgement of it fit their schemas."""
    operation = DOCUMENT["paths"]["/v1/receipts"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["example"]

    def fits(name: str, value: Any) -> bool:
        schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
        return jsonschema_rs.Draft202012Validator(schema).is_valid(value)

    issue_answer = await issue_receipt(zkp, bearer, **example)
    assert fits("Issued", issue_answer)
    assert set(issue_answer["payload"]) == set(DOCUMENT["components"]["schemas"]["Payload"]["properties"])
    assert fits("Verdict", await judge_receipt(zkp, issue_answer["receipt"]))
    refusal = await ask_receipt(zkp, bearer, score_milliunits=1)
    assert (refusal.status_code, fits("HTTPValidationError", refusal.json())) == (422, True)
    stranger = await ask_receipt(zkp, {})
    assert (stranger.status_code, fits("Detail", stranger.json())) == (401, True)


@pytest.mark.parametrize(
    ("score", "threshold", "status"),
    [(0, 0, 201), (1000, 1000, 201), (1000, 0, 201), (700, 700, 201), (699, 700, 422), (0, 1, 422), (999, 1000, 422)],
)
async def test_the_threshold(
    zkp: httpx.AsyncClient, bearer: dict[str, str], score: int, threshold: int, status: int
) -> None:
    """A score that reaches it is shown; for one below it nothing is issued."""
    answer = await ask_receipt(zkp, bearer, score_milliunits=score, threshold_milliunits=threshold)
    assert answer.status_code == status
    if status == 201:
        assert (await judge_receipt(zkp, answer.json()["receipt"]))["valid"]


@pytest.fixture
def logs(caplog: pytest.LogCaptureFixture) -> Iterator[list[Any]]:
    """Everything that is logged, by whichever library."""
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as log_entries:
        seen: list[Any] = log_entries
        yield seen
        seen.extend(caplog.messages)


async def test_the_score_is_used_once(
    zkp: httpx.AsyncClient,
    bearer: dict[str, str],
    tmp_path: Path,
    logs: list[Any],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is in no answer, no file and no log, whether the receipt is issued, refused or something breaks."""
    for changed in ({}, {"threshold_milliunits": 950}, {"settled_at": "x"}, {"score_milliunits": "912"}):
        answer = await ask_receipt(zkp, bearer, **changed)
        text = answer.text.replace("score_milliunits", "").replace("score_too_low", "")
        if answer.status_code == 201:  # numbers in base64 mean nothing: the rest is looked at
            document = answer.json()["payload"]
            members = {name: value for name, value in document.items() if name not in {"proof_b64", "commitment_b64"}}
            assert 912 not in members.values()
            text = json.dumps(members)
        assert "912" not in text, text
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.name for file in written} == {"issue_token", "falcon_key.json"}
    out, err = capfd.readouterr()
    assert "912" not in f"{logs} {caplog.text} {out} {err}"


async def test_a_fault_while_proving_tells_no_score(
    zkp: httpx.AsyncClient, bearer: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """500, and the log has neither score nor blinding."""

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no arithmetic")

    monkeypatch.setattr("reference.addons.zkp_receipt.receipts.build_proven_payload", fail)
    answer = await ask_receipt(zkp, bearer)
    out, err = capfd.readouterr()
    assert answer.status_code == 500
    assert "unplanned_fault" in out + err
    assert "912" not in answer.text.replace(answer.json()["request_id"], "")


async def test_who_may_issue(opener: Opener, tmp_path: Path) -> None:
    """Only callers that can read the file of the token, made on the first run with mode 0600."""
    client = await opener(ADDON)
    file = tmp_path / ADDON.name / "issue_token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text()
    wrong = [None, "", token, f"Basic {token}", "Bearer", f"Bearer {token}x", f"Bearer {token[:-1]}", "Bearer é"]
    for value in wrong:
        headers = {} if value is None else {"Authorization": value.encode()}
        answer = await client.post("/v1/receipts", json=ASKED, headers=headers)
        assert (answer.status_code, answer.headers.get("WWW-Authenticate")) == (401, "Bearer"), value
        assert answer.json() == {"detail": "Unauthorized"}
    again = await opener(ADDON)
    answer = await again.post("/v1/receipts", json=ASKED, headers={"Authorization": f"bearer {token}"})
    assert answer.status_code == 201
    assert token not in answer.text


@pytest.mark.parametrize("content", ["", "short", "t" * 44, "é" * 43])
async def test_a_token_file_that_cannot_be_used(opener: Opener, tmp_path: Path, content: str) -> None:
    """The start is refused and the setting named."""
    token_of(tmp_path)
    (tmp_path / ADDON.name / "issue_token").write_text(content)
    with pytest.raises(Misconfigured, match="WP_ADDON_DATA_DIR"):
        await opener(ADDON)


async def test_a_certificate_says_who_measured_and_how_high(zkp: httpx.AsyncClient, bearer: dict[str, str]) -> None:
    """Issuer and score are left out, or agree with it."""
    certificate = ISSUER.issue(ISSUER.certificate(score=0.7009, **LASTING))
    alone = {"bench_issuer": None, "score_milliunits": None}
    for sent in (alone, {"score_milliunits": 700}, {**alone, "bench_issuer": ISSUER.did}):
        issue_answer = await issue_receipt(zkp, bearer, atb_certificate=certificate, **sent)
        assert issue_answer["payload"]["bench_issuer"] == ISSUER.did
    too_high = await ask_receipt(zkp, bearer, atb_certificate=certificate, threshold_milliunits=701, **alone)
    assert [one["type"] for one in too_high.json()["detail"]] == ["score_too_low"]
    assert "700" not in too_high.text


@pytest.mark.parametrize(
    ("certificate", "message", "kind"),
    [
        (ISSUER.certificate(score=0.9, **LASTING), {"score_milliunits": 901}, "disagrees"),
        (ISSUER.certificate(score=0.9, **LASTING), {"bench_issuer": "did:web:other.example"}, "disagrees"),
        (ISSUER.certificate(expires_at="2026-01-02T00:00:00Z"), {}, "expired"),
        (ISSUER.certificate(bench_issuer="did:web:other.example", **LASTING), {}, "no_public_key"),
        (ISSUER.certificate(type="zkp_receipt", **LASTING), {}, "envelope_shape"),
        (ISSUER.passport(**LASTING), {}, "not_a_certificate"),
    ],
)
async def test_a_certificate_that_does_not_do(
    zkp: httpx.AsyncClient, bearer: dict[str, str], certificate: dict[str, Any], message: dict[str, Any], kind: str
) -> None:
    """Not active, no certificate, or another than what is said beside it: 422."""
    members = {"bench_issuer": None, "score_milliunits": None, **message}
    answer = await ask_receipt(zkp, bearer, atb_certificate=ISSUER.issue(certificate), **members)
    assert answer.status_code == 422, answer.text
    assert [one["type"] for one in answer.json()["detail"]] == [kind]


def test_milliunits_are_rounded_down() -> None:
    """Of the number as it is written, not of its nearest fraction."""
    written = {0.29: 290, 0.289: 289, 0.2899: 289, 0.9999: 999, 1.0: 1000, 0: 0, 0.001: 1, 1e-7: 0, 0.57: 570}
    assert {score: to_milliunits(score) for score in written} == written


@pytest.mark.parametrize(
    "changes",
    [
        *({"score_milliunits": value} for value in (-1, 1001, 0.5, "1", True)),
        *({"threshold_milliunits": value} for value in (-1, 1001, None)),
        *({"chain": value} for value in ("base", "base-mainnet", "eip155:8453", 5)),
        *({"settled_at": value} for value in ("yesterday", "2026-06-01", 5)),
        *({"amount_microusd": value} for value in (-1, 1.5, 2**53, "1")),
        *({"ttl_seconds": value} for value in (0, -1, 30 * 86_400 + 1)),
        *({"payment_id": value} for value in ("", None, 5)),
        {"bench_issuer": None},
        {"recipient": "\ud800"},
    ],
)
async def test_a_malformed_request(zkp: httpx.AsyncClient, bearer: dict[str, str], changes: dict[str, Any]) -> None:
    """P-AD-07: 422 with the places."""
    body = {name: value for name, value in {**ASKED, **changes}.items() if value is not None}
    answer = await zkp.post("/v1/receipts", content=json.dumps(body), headers=bearer)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]


SCORES = ("912.5", "912.0000000000001", "true", '"912"', "[912]", "1e400", "9" * 500, "-1e-400", "NaN", "0912")


@pytest.mark.parametrize("literal", ["912.0", "9.12e2", "912e0", "9120e-1"])
async def test_a_whole_number_is_one_however_it_is_written(
    zkp: httpx.AsyncClient, bearer: dict[str, str], literal: str
) -> None:
    """As JSON Schema has it: `integer` is a number without a fraction."""
    text = json.dumps(ASKED).replace('"score_milliunits": 912', f'"score_milliunits": {literal}')
    answer = await zkp.post("/v1/receipts", content=text.encode(), headers=bearer)
    assert answer.status_code == 201, answer.text


@pytest.mark.parametrize("literal", [*SCORES, '912,"score_milliunits":912', "\ufeff912", '912}{"x":1'])
async def test_a_score_is_written_one_way(zkp: httpx.AsyncClient, bearer: dict[str, str], literal: str) -> None:
    """As a whole number, once: every other form that a parser reads as 912 is 422, and is not repeated."""
    text = json.dumps(ASKED).replace('"score_milliunits": 912', f'"score_milliunits": {literal}')
    answer = await zkp.post("/v1/receipts", content=text.encode(), headers=bearer)
    assert answer.status_code == 422, answer.text
    assert "912" not in answer.text.replace("score_milliunits", "")


async def test_less_than_nothing_of_nothing(zkp: httpx.AsyncClient, bearer: dict[str, str]) -> None:
    """-0 is a whole number in JSON, and RFC 8785 has it as 0: so the payload does."""
    report = ASKED | {"score_milliunits": "SCORE", "threshold_milliunits": "SCORE"}
    answer = await zkp.post(
        "/v1/receipts", content=json.dumps(report).replace('"SCORE"', "-0").encode(), headers=bearer
    )
    assert answer.status_code == 201, answer.text
    assert '"threshold_milliunits":0,' in answer.text
    assert (await judge_receipt(zkp, answer.json()["receipt"]))["valid"]


async def test_a_receipt_of_a_trusted_issuer_holds(zkp: httpx.AsyncClient) -> None:
    """Its proof is of an independent prover; the key is chosen by `kid`, for any `bench_issuer`."""
    payload = receipt_payload(bench_issuer="did:web:another.example")
    assert (await judge_receipt(zkp, ISSUER.issue(payload)))["valid"]
    stranger = Issuer(ISSUER.did, 2)
    verdict = await judge_receipt(zkp, stranger.issue(payload))
    assert (verdict["status"], verdict["reason"], verdict["checks"]["signature"]) == (
        "unverifiable",
        "no_public_key",
        None,
    )


@pytest.mark.parametrize(
    ("forgery", "stage"),
    [
        (Forgery.W, "inner_product"),
        (Forgery.POLYNOMIAL, "polynomial"),
        (Forgery.INNER_PRODUCT, "inner_product"),
        (Forgery.SUBGROUP, "commitment"),
        (Forgery.SUBGROUP_OTHER_SIDE, "commitment"),
        (Forgery.POINTS, "point"),
        (Forgery.VALUES, "point"),
        (Forgery.ROUNDS, "point"),
    ],
)
async def test_a_forged_proof_is_refused(zkp: httpx.AsyncClient, forgery: Forgery, stage: str) -> None:
    """Even with a valid signature; the stage is reported, and the signed payload."""
    payload = receipt_payload(912 if forgery in POINT_FORGERIES else 3, forgery)
    verdict = await judge_receipt(zkp, ISSUER.issue(payload))
    assert (verdict["valid"], verdict["status"], verdict["reason"]) == (False, "invalid", "proof_invalid")
    assert (verdict["stage"], verdict["payload"]) == (stage, payload)
    assert verdict["checks"] == {"envelope": True, "signature": True, "expiry": True, "proof": False}


async def test_the_element_at_fault_is_told(zkp: httpx.AsyncClient) -> None:
    """With the stage."""
    payload = receipt_payload()
    proof = bytearray(base64.b64decode(payload["proof_b64"]))
    proof[8 * 32 : 9 * 32] = bytes(32)
    verdict = await judge_receipt(zkp, ISSUER.issue({**payload, "proof_b64": base64.b64encode(bytes(proof)).decode()}))
    assert (verdict["reason"], verdict["stage"], verdict["element"]) == ("proof_invalid", "point", "R_1")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        *(({name: None}, "envelope_shape") for name in ("proof_b64", "commitment_b64", "payment_id", "bench_issuer")),
        *(({"type": value}, "envelope_shape") for value in ("federation_token", None, 1)),
        *(({"threshold_milliunits": value}, "envelope_shape") for value in (1001, -1, True, 1.5)),
        *(({"proof_b64": value}, "envelope_shape") for value in ("A" * 16_388, "*", "AB==", 5)),
        ({"commitment_b64": base64.b64encode(bytes(31)).decode()}, "envelope_shape"),
        ({"proof_b64": "A" * 16_384}, "proof_invalid"),
        ({"proof_b64": ""}, "proof_invalid"),
        ({"proof_system": None}, "unknown_proof_system"),
        ({"proof_system": "bulletproofs-ed25519/2"}, "unknown_proof_system"),
        ({"payment_id": "pay_2"}, "proof_invalid"),
        ({"amount_microusd": 1}, "proof_invalid"),
        ({"bench_issuer": "did:web:other.example"}, "proof_invalid"),
        ({"threshold_milliunits": 699}, "proof_invalid"),
        ({"extra": 1}, "proof_invalid"),
        ({"expires_at": "2026-06-02T00:00:00Z"}, "expired"),
        ({"expires_at": "soon"}, "timestamp_parse"),
    ],
)
async def test_what_is_no_receipt_of_ours(zkp: httpx.AsyncClient, changes: dict[str, Any], reason: str) -> None:
    """The first thing that is wrong, in the order of 8.2 and then of the proof."""
    payload = {name: value for name, value in {**receipt_payload(), **changes}.items() if value is not None}
    assert (await judge_receipt(zkp, ISSUER.issue(payload)))["reason"] == reason


async def test_what_passes_for_something_else(zkp: httpx.AsyncClient, federation: httpx.AsyncClient) -> None:
    """P-AD-08: a certificate is no receipt, a receipt is no certificate, and a signature is over its payload."""
    certificate, payload = ISSUER.issue(ISSUER.certificate(**LASTING)), receipt_payload()
    assert (await judge_receipt(zkp, certificate))["reason"] == "envelope_shape"
    body = {"credentials": [ISSUER.issue({**ISSUER.certificate(**LASTING), **payload})]}
    document = (await federation.post("/v1/validate", json=body)).json()
    assert document["results"][0]["reason"] == "envelope_shape"
    envelope = ISSUER.envelope(payload)
    for change, reason in (
        ({"payload": {**payload, "tx_id": "0x"}}, "sig_invalid"),
        ({"alg": "ML-DSA-65"}, "unsupported_alg"),
        ({"kid": "0" * 16}, "no_public_key"),
    ):
        text = base64.urlsafe_b64encode(json.dumps({**envelope, **change}).encode()).rstrip(b"=").decode()
        document = await judge_receipt(zkp, text)
        assert (document["reason"], document["payload"], document["checks"]["proof"]) == (reason, None, None)
    assert (await judge_receipt(zkp, "*"))["checks"] == {
        "envelope": False,
        "signature": None,
        "expiry": None,
        "proof": None,
    }


async def test_a_receipt_expires(opener: Opener, clock_file: Path, bearer: dict[str, str]) -> None:
    """When it says, and the skew later."""
    client = await opener(ADDON, clock_offset_file=clock_file)
    issue_answer = await issue_receipt(client, bearer, ttl_seconds=600)
    assert (await judge_receipt(client, issue_answer["receipt"]))["status"] == "active"
    clock_file.write_text("900\n", "ascii")
    verdict = await judge_receipt(client, issue_answer["receipt"])
    assert (verdict["status"], verdict["reason"], verdict["payload"]) == ("expired", "expired", issue_answer["payload"])


async def test_another_service_can_check_a_receipt(zkp: httpx.AsyncClient, bearer: dict[str, str]) -> None:
    """With the published key."""
    issue_answer = await issue_receipt(zkp, bearer)
    (entry,) = (await zkp.get("/.well-known/pqc-keys.json")).json()["keys"]
    envelope = open_envelope(issue_answer["receipt"])
    assert (entry["kid"], entry["did"]) == (issue_answer["kid"], "did:weldproof:zkp-receipt")
    assert FALCON.verify(base64.b64decode(entry["public_key_b64"]), envelope.signed_bytes, envelope.signature)


async def test_receipts_at_once_do_not_share_nonces(zkp: httpx.AsyncClient, bearer: dict[str, str]) -> None:
    """The same request, another commitment and another proof each time."""
    report = await asyncio.gather(*(issue_receipt(zkp, bearer) for _ in range(4)))
    for member in ("commitment_b64", "proof_b64"):
        assert len({one["payload"][member] for one in report}) == 4


async def test_nonces_come_from_the_system(
    zkp: httpx.AsyncClient, bearer: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`secrets`, as many bytes as a proof needs, fresh for each proof."""
    draws: list[int] = []

    def count_bytes(count: int) -> bytes:
        draws.append(count)
        return os.urandom(count)

    monkeypatch.setattr("reference.addons.zkp_receipt.receipts.secrets.token_bytes", count_bytes)
    for _ in range(2):
        await issue_receipt(zkp, bearer)
    assert [count for count in draws if count > 32] == [133 * 64] * 2  # request ids are drawn there too


async def test_without_a_trust_set(opener: Opener, bearer: dict[str, str]) -> None:
    """P-AD-04: every verification; issuing goes on."""
    client = await opener(ADDON, None)
    issue_answer = await issue_receipt(client, bearer)
    verdict = await judge_receipt(client, issue_answer["receipt"])
    assert (verdict["status"], verdict["reason"]) == ("unverifiable", "no_trust_set")
    assert set(verdict["checks"].values()) == {None}


@pytest.mark.usefixtures("no_library")
async def test_without_a_falcon_library(opener: Opener, bearer: dict[str, str]) -> None:
    """P-AD-05: nothing is issued, nothing verified."""
    client = await opener(ADDON)
    answer = await ask_receipt(client, bearer)
    assert (answer.status_code, answer.json()) == (503, {"detail": "falcon_unavailable"})
    verdict = await judge_receipt(client, ISSUER.issue(receipt_payload()))
    assert (verdict["status"], verdict["reason"]) == ("unverifiable", "no_backend")


async def test_it_says_what_it_is(zkp: httpx.AsyncClient) -> None:
    """Ours, unaudited, and what is shown: in health as in every answer."""
    document = (await zkp.get("/health")).json()
    assert document["notice"] == NOTICE
    for word in (
        SYSTEM,
        "our own and unaudited",
        "[threshold, threshold + 2^64)",
        "Nothing shows that the score is true",
    ):
        assert word in NOTICE

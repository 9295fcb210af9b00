"""POST /v1/receipt/verify and POST /compliance/screen (3.6, 3.7), and the key documents behind them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reference.protocol.jws import sign_compact
from reference.protocol.keys import SigningKey
from reference.protocol.screening import TIPPING_OFF_NOTICE
from reference.web import keyring
from tests.reference.gateway.gateway_stack import SCREEN, VERIFY, Gateway, expect_refusal, gateway

STRANGER = SigningKey.from_seed(bytes(range(32)))
CLAIMS: dict[str, Any] = {
    "payer_ref": "sha256:" + "0" * 64,
    "screen_result": "ALLOW",
    "screen_timestamp_ms": 1,
    "screen_provider_did": "did:web:elsewhere",
    "jurisdiction_flags": ["UK"],
    "canon_version": "jcs-rfc8785-v1",
}


async def screen_address(shop: Gateway, address: str = "screen-allow", network: str = "base_mainnet") -> dict[str, Any]:
    """Screen an address."""
    answer = await shop.http.post(SCREEN, json={"recipient_address": address, "network": network})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_receipt_of_the_platform_passes_here_and_by_the_published_keys(shop: Gateway) -> None:
    """200 with the report; the JWKS, passed unchanged, verifies it too (P-GR-02)."""
    jws = (await screen_address(shop))["compliance_receipt_jws"]
    key_set = await shop.http.get("/.well-known/jwks.json")
    assert key_set.headers["Content-Type"] == "application/jwk-set+json"
    for jwks, source in ((None, "platform"), (key_set.json(), "supplied")):
        answer = await shop.http.post(VERIFY, json={"jws": jws, "jwks": jwks})
        report = answer.json()
        assert (200, True, None, source) == (
            answer.status_code,
            report["verified"],
            report["error_code"],
            report["key_source"],
        )
        assert (report["receipt_kind"], report["screen_result"]) == ("compliance", "ALLOW")


async def test_a_fail_is_422_with_the_report_in_the_envelope(shop: Gateway) -> None:
    """The same members as a pass, and error, message, request_id (P-GR-02)."""
    jws = (await screen_address(shop))["compliance_receipt_jws"]
    report = (await shop.http.post(VERIFY, json={"jws": jws})).json()
    answer = await shop.http.post(VERIFY, json={"jws": sign_compact(CLAIMS, STRANGER)})
    expect_refusal(answer, 422, "receipt_verification_failed", verified=False, error_code="TAMPERED_SIGNATURE")
    assert set(answer.json()) == {*report, "error", "message", "request_id"}
    assert answer.json()["message"] == answer.json()["error_message"]


async def test_a_strangers_receipt_passes_by_the_strangers_keys_alone(shop: Gateway, tmp_path: Path) -> None:
    """With `jwks` only that set counts; keys of WP_GATEWAY_TRUSTED_JWKS are the platform's too (P-RV-01)."""
    jws, keys = sign_compact(CLAIMS, STRANGER), {"keys": [STRANGER.public.jwk()]}
    assert (await shop.http.post(VERIFY, json={"jws": jws, "jwks": keys})).status_code == 200
    expect_refusal(await shop.http.post(VERIFY, json={"jws": jws}), 422, "receipt_verification_failed")
    trusted_keys_file = tmp_path / "trusted.json"
    trusted_keys_file.write_text(json.dumps(keys))
    async with gateway(tmp_path / "other", gateway_trusted_jwks=trusted_keys_file) as other:
        assert (await other.http.post(VERIFY, json={"jws": jws})).status_code == 200


async def test_trusted_keys_are_read_again_when_they_change(tmp_path: Path) -> None:
    """So a trusted issuer may rotate its key, or start later, while the gateway runs."""
    jws, trusted_keys_file = sign_compact(CLAIMS, STRANGER), tmp_path / "trusted.json"
    trusted_keys_file.write_text('{"keys": []}')
    async with gateway(tmp_path / "own", gateway_trusted_jwks=trusted_keys_file) as shop:
        expect_refusal(await shop.http.post(VERIFY, json={"jws": jws}), 422, "receipt_verification_failed")
        trusted_keys_file.write_text(json.dumps({"keys": [STRANGER.public.jwk()]}))
        assert (await shop.http.post(VERIFY, json={"jws": jws})).status_code == 200
        trusted_keys_file.write_text("no JSON")
        assert (await shop.http.post(VERIFY, json={"jws": jws})).status_code == 200
        assert str(trusted_keys_file) in str((await shop.http.get("/health")).json()["faults"])


@pytest.mark.parametrize("body", [{}, {"jws": None}, {"jws": ""}])
async def test_no_receipt_is_a_report_of_a_missing_envelope(shop: Gateway, body: dict[str, Any]) -> None:
    """Only an absent member is missed by `detail` as well (P-GR-03)."""
    answer = await shop.http.post(VERIFY, json=body)
    expect_refusal(answer, 422, "receipt_verification_failed", error_code="MISSING_ENVELOPE")
    missing = [{"loc": ["body", "jws"], "msg": "Field required", "type": "missing"}]
    assert (None if body else missing) == answer.json().get("detail")


async def test_members_of_another_type_are_validation_errors(shop: Gateway) -> None:
    """But a `jwks` of wrong shape is judged by the algorithm (P-GR-03)."""
    for member, value in (("jws", 5), ("jws", []), ("expected_payment_hash", 1), ("receipt_required", "yes")):
        answer = await shop.http.post(VERIFY, json={"jws": "a.b.c", member: value})
        expect_refusal(answer, 422, "validation_error")
        assert answer.json()["detail"][0]["loc"] == ["body", member]
    jws = sign_compact(CLAIMS, STRANGER)
    shapes: tuple[Any, ...] = ([], "x", {}, {"keys": []}, {"keys": [5]})
    for jwks in shapes:
        answer = await shop.http.post(VERIFY, json={"jws": jws, "jwks": jwks})
        expect_refusal(answer, 422, "receipt_verification_failed", error_code="INVALID_JWS_FORMAT")


async def test_verification_wants_no_credential_and_ignores_one(shop: Gateway) -> None:
    """Tenant headers are not looked at (P-GR-04)."""
    jws = (await screen_address(shop))["compliance_receipt_jws"]
    headers = {"Authorization": "Bearer unknown", "X-Tenant-Id": "none"}
    assert (await shop.http.post(VERIFY, json={"jws": jws}, headers=headers)).status_code == 200


async def test_an_expected_payment_hash_that_differs_fails(shop: Gateway) -> None:
    """Compared as text; null is absent."""
    jws = (await screen_address(shop))["compliance_receipt_jws"]
    assert (await shop.http.post(VERIFY, json={"jws": jws, "expected_payment_hash": None})).status_code == 200
    answer = await shop.http.post(VERIFY, json={"jws": jws, "expected_payment_hash": "sha256:0"})
    expect_refusal(answer, 422, "receipt_verification_failed", error_code="PAYMENT_HASH_MISMATCH")


@pytest.mark.parametrize(
    ("address", "verdict", "result"),
    [("screen-allow-1", "allow", "ALLOW"), ("screen-flag", "flag", "REFER"), ("screen-block", "block", "DENY")],
)
async def test_every_verdict_is_200_with_a_signed_receipt(
    shop: Gateway, address: str, verdict: str, result: str
) -> None:
    """The receipt is the gateway's and says the verdict; a notice only when it is not allow (P-SC-02, P-SC-03)."""
    answer = await screen_address(shop, address, "base-mainnet")
    assert (verdict, "base_mainnet") == (answer["verdict"], answer["network_normalised"])
    assert (result, "did:web:localhost%3A8090") == (
        answer["compliance_receipt"]["screen_result"],
        answer["compliance_receipt"]["screen_provider_did"],
    )
    assert "payment_hash" not in answer["compliance_receipt"]
    assert (None if verdict == "allow" else TIPPING_OFF_NOTICE) == answer.get("tipping_off_notice")


async def test_a_network_that_nobody_knows_is_400_at_the_gateway(shop: Gateway) -> None:
    """Any spelling of the table is known, also of networks without a node (P-SC-01)."""
    for network in ("stellar:pubnet", "hedera-testnet", "voi_mainnet"):
        await screen_address(shop, network=network)
    answer = await shop.http.post(SCREEN, json={"recipient_address": "screen-allow", "network": "mars_mainnet"})
    expect_refusal(answer, 400, "unsupported_network", network="mars_mainnet")


async def test_a_screening_out_of_its_form_is_422(shop: Gateway) -> None:
    """Lengths and types of P-SC-01."""
    good = {"recipient_address": "screen-allow", "network": "base_mainnet"}
    for member, value in (
        ("recipient_address", "abc"),
        ("recipient_address", "a" * 129),
        ("network", "b"),
        ("amount_microunits", -1),
        ("amount_microunits", 1.5),
        ("asset", "a" * 129),
    ):
        expect_refusal(await shop.http.post(SCREEN, json={**good, member: value}), 422, "validation_error")


async def test_a_rotated_signing_key_stays_published_and_its_receipts_pass(shop: Gateway) -> None:
    """The new key is active at once, first in the set, without a restart (P-KY-04, P-KY-08)."""
    before = (await screen_address(shop))["compliance_receipt_jws"]
    old = (await shop.http.get("/.well-known/jwks.json")).json()["keys"]
    fresh = keyring.rotate(shop.settings.signing_key_file, now=2_000_000_000)
    keys = (await shop.http.get("/.well-known/jwks.json")).json()["keys"]
    assert [fresh.jwk(), *old] == keys
    did = (await shop.http.get("/.well-known/did.json")).json()
    assert ([f"{did['id']}#{fresh.kid}"], 2) == (did["assertionMethod"], len(did["verificationMethod"]))
    for jws in (before, (await screen_address(shop))["compliance_receipt_jws"]):
        assert (await shop.http.post(VERIFY, json={"jws": jws})).status_code == 200


async def test_the_did_document_names_no_services(shop: Gateway) -> None:
    """`service` is the rail's (P-KY-07)."""
    answer = await shop.http.get("/.well-known/did.json")
    assert answer.headers["Content-Type"] == "application/did+json"
    assert "service" not in answer.json()
    assert answer.json()["id"] == "did:web:localhost%3A8090"


async def test_the_contract_is_served_as_it_is_written(shop: Gateway) -> None:
    """Byte for byte, OpenAPI 3.1.0."""
    answer = await shop.http.get("/openapi.json")
    assert (Path(__file__).parents[3] / "openapi" / "gateway.json").read_bytes() == answer.content
    assert answer.json()["openapi"] == "3.1.0"

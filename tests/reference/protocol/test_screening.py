"""Screening by the fixture table."""

from __future__ import annotations

import hashlib
from typing import Any

import base58
import pytest
from algosdk.encoding import encode_address
from pydantic import ValidationError

from reference.protocol.keys import SigningKey
from reference.protocol.networks import NETWORKS
from reference.protocol.receipt_verification import verify_receipt
from reference.protocol.screening import (
    ClosedScreeningRequest,
    ScreeningRequest,
    UnsupportedNetwork,
    finding_of,
    screen,
)

KEY = SigningKey.from_seed(bytes(range(32)))
FIXTURES = {
    "allow": [
        "0x000000000000000000000000000000000000a110",
        "M7BIWHNLPKM2O6L4Y6NWB2ZSQHXO5IOQXT5N47SGBIDETCDMVNBZ22UA2E",
        "7z33nfcNTESK4QydVVJLquYvNfhxPCK8PQizzcu2FkUS",
        "screen-allow",
        "screen-allow-7",
    ],
    "flag": [
        "0x000000000000000000000000000000000000f1a9",
        "PMWJN4A25IY6SRRR6V4FAEVMRJ2VN4F7CKNWYB7RMEUXLKGDTLH6UR4K5E",
        "9HpamAXHxUgoepffkFnhSjmGsf6yqacwUtcsNzSyLyzn",
        "screen-flag",
        "screen-flag-",
    ],
    "block": [
        "0x000000000000000000000000000000000000b10c",
        "4LVQ5EQHKCAA2PQ5XN4QMMQ5YGCJM7SKHOEBEFQVWB25BK2FCSPX7LALJY",
        "GGo2Tr6Vm1Lz4dSnLRJkcFYPr1S7384HjD5os4nQV6Yv",
        "screen-block",
        "screen-block-a-b",
    ],
}
MEMBERS: dict[str, dict[str, Any]] = {
    "allow": {"sanctions_clear": True, "recipient_kyb_status": "approved", "risk_tier": "low", "reasons": []},
    "flag": {
        "sanctions_clear": True,
        "recipient_kyb_status": "trial",
        "risk_tier": "medium",
        "reasons": ["fixture_flag"],
    },
    "block": {
        "sanctions_clear": False,
        "recipient_kyb_status": "rejected",
        "risk_tier": "restricted",
        "reasons": ["fixture_block"],
    },
}
RESULTS = {"allow": "ALLOW", "flag": "REFER", "block": "DENY"}


def screen_address(address: str, network: str = "algorand_mainnet", payment_hash: str | None = None) -> dict[str, Any]:
    """Screen one address at a fixed time."""
    return screen(
        ScreeningRequest(recipient_address=address, network=network),
        screened_at_ms=1_700_000_000_999,
        verdict_id="00000000-0000-4000-8000-000000000000",
        provider_did="did:web:localhost",
        jurisdiction_flags=["UK", "EU"],
        signing_key=KEY,
        payment_hash=payment_hash,
    )


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("verdict", FIXTURES)
def test_each_fixture_has_its_verdict_on_every_network(network: str, verdict: str) -> None:
    """The rows of specification 3.7 hold on every network, with all their members."""
    for address in FIXTURES[verdict]:
        answer = screen_address(address, network)
        expected = MEMBERS[verdict] | {"verdict": verdict, "network_normalised": network}
        assert expected == {name: answer[name] for name in expected}
        assert RESULTS[verdict] == answer["compliance_receipt"]["screen_result"]


def test_any_other_address_is_allowed_as_unknown() -> None:
    """What the table does not list is allowed, its business status unknown (P-SC-04)."""
    for address in ("somebody", "screen-blocked", "SCREEN-BLOCK", "screen-bloc", "0x" + "0" * 40):
        answer = screen_address(address)
        finding_members = (answer["verdict"], answer["recipient_kyb_status"], answer["risk_tier"], answer["reasons"])
        assert finding_members == ("allow", "unknown", "low", [])


def test_case_matters_except_on_evm() -> None:
    """An EVM address is matched by bytes, any other text exactly (P-NW-04)."""
    upper = "0x000000000000000000000000000000000000B10C"
    assert finding_of(NETWORKS["base_sepolia"], upper).verdict == "block"
    assert finding_of(NETWORKS["algorand_mainnet"], upper).verdict == "allow"
    lower = FIXTURES["block"][2].lower()
    assert finding_of(NETWORKS["solana_mainnet"], lower).verdict == "allow"


@pytest.mark.parametrize("verdict", FIXTURES)
def test_nobody_holds_the_keys_of_the_fixtures(verdict: str) -> None:
    """The Algorand and Solana fixtures are digests in address form."""
    digest = hashlib.sha256(f"screen-fixture:{verdict}".encode()).digest()
    assert encode_address(digest) == FIXTURES[verdict][1]
    assert base58.b58encode(digest).decode() == FIXTURES[verdict][2]


@pytest.mark.parametrize("spelling", ["base_mainnet", "base-mainnet", "eip155:8453"])
def test_any_spelling_of_a_network_is_normalised(spelling: str) -> None:
    """The answer names the network by its key, whichever of its spellings was sent, and the receipt hashes that."""
    answer = screen_address("0x000000000000000000000000000000000000b10c", spelling)
    assert answer["network_normalised"] == "base_mainnet"
    expected = "sha256:a2f76a7619eca18971e66c7317a9a326ca1be7a023ece47709a865848ffd44ae"
    assert expected == answer["compliance_receipt"]["payer_ref"]


def test_the_answer_has_all_its_members_and_the_notice_only_when_not_allowed() -> None:
    """P-SC-02's members stand for every verdict; tipping_off_notice is one fixed text, absent when allowed."""
    members = {
        "verdict", "sanctions_clear", "recipient_kyb_status", "risk_tier", "reasons", "screened_at", "verdict_id",
        "network_normalised", "compliance_receipt", "compliance_receipt_jws",
    }  # fmt: skip
    assert set(screen_address("screen-allow")) == members
    notices = {screen_address(address)["tipping_off_notice"] for address in ("screen-flag", "screen-block")}
    assert len(notices) == 1
    assert set(screen_address("screen-flag")) == members | {"tipping_off_notice"}


def test_time_and_id_are_those_given() -> None:
    """screened_at is the given instant in whole seconds, the receipt's time the same in milliseconds."""
    answer = screen_address("screen-allow")
    assert answer["screened_at"] == "2023-11-14T22:13:20Z"
    assert answer["compliance_receipt"]["screen_timestamp_ms"] == 1_700_000_000_999
    assert answer["verdict_id"] == "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("payment_hash", [None, "sha256:" + "1" * 64])
def test_the_signed_receipt_verifies_and_is_the_one_shown(payment_hash: str | None) -> None:
    """The JWS passes all nine steps, for its payment when it has one, and holds the object beside it."""
    answer = screen_address("screen-flag", payment_hash=payment_hash)
    report = verify_receipt(
        jws=answer["compliance_receipt_jws"],
        jwks=None,
        expected_payment_hash=payment_hash,
        platform_keys=[KEY.public.jwk()],
    )
    assert (True, "REFER", payment_hash) == (report["verified"], report["screen_result"], report["payment_hash"])
    assert ("payment_hash" in answer["compliance_receipt"]) is (payment_hash is not None)
    assert answer["compliance_receipt"]["payer_ref"] == report["payer_ref"]


def test_an_unknown_network_is_told_apart() -> None:
    """The open form leaves the network to the screening, the closed form refuses it as a fault of the body."""
    with pytest.raises(UnsupportedNetwork):
        screen_address("screen-allow", "dogecoin_mainnet")
    with pytest.raises(ValidationError, match="network is not supported"):
        ClosedScreeningRequest(recipient_address="screen-allow", network="dogecoin_mainnet")


@pytest.mark.parametrize(
    "change",
    [
        {"recipient_address": "abc"},
        {"recipient_address": "a" * 129},
        {"recipient_address": None},
        {"recipient_address": 5},
        {"recipient_address": "abc\ud800"},
        {"network": "abc"},
        {"network": "a" * 65},
        {"network": None},
        {"amount_microunits": -1},
        {"amount_microunits": 1.0},
        {"amount_microunits": "1"},
        {"amount_microunits": True},
        {"asset": "a" * 129},
        {"asset": 5},
    ],
)
@pytest.mark.parametrize("model", [ScreeningRequest, ClosedScreeningRequest])
def test_a_request_outside_its_bounds_is_refused(model: type[ScreeningRequest], change: dict[str, Any]) -> None:
    """Lengths and types are strict: an integer is no boolean, no float and no text (P-SC-01)."""
    body = {"recipient_address": "screen-allow", "network": "algorand_mainnet"}
    with pytest.raises(ValidationError):
        model.model_validate(body | change)


def test_a_request_at_its_bounds_is_taken() -> None:
    """The bounds are inside, null stands for absent, and only the closed form refuses what it does not know."""
    body = {"recipient_address": "abcd", "network": "algorand:testnet", "amount_microunits": 0, "asset": "a" * 128}
    for model in (ScreeningRequest, ClosedScreeningRequest):
        model.model_validate(body)
        model.model_validate(body | {"amount_microunits": None, "asset": None, "recipient_address": "a" * 128})
    ScreeningRequest.model_validate(body | {"more": 1})
    with pytest.raises(ValidationError):
        ClosedScreeningRequest.model_validate(body | {"more": 1})
    with pytest.raises(ValidationError):
        ScreeningRequest.model_validate({"network": "algorand_mainnet"})

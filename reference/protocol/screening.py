"""Compliance screening by a table of fixtures, and the signed receipt of its verdict (3.7)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from reference.protocol.canonical_json import JsonValue
from reference.protocol.jws import sign_compact
from reference.protocol.keys import SigningKey
from reference.protocol.networks import EXAMPLE, Network, canonical_address, network_of, same_address
from reference.protocol.receipts import ScreenResult, compliance_receipt
from reference.protocol.time_text import utc_text

Verdict = Literal["allow", "flag", "block"]

RECEIPT_VERDICTS: dict[Verdict, ScreenResult] = {"allow": "ALLOW", "flag": "REFER", "block": "DENY"}
TIPPING_OFF_NOTICE = (
    "Do not tell the recipient, or anyone who might tell them, that this address was screened or what the outcome was."
)

_TABLE: dict[str, Any] = json.loads(files(__package__).joinpath("screening.json").read_text("utf-8"))


class UnsupportedNetwork(ValueError):
    """The network is not one of the table's, in any of its four spellings."""


class ScreeningRequest(BaseModel):
    """A request for screening (P-SC-01); unknown members are ignored and the address's format is not checked."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    recipient_address: Annotated[str, Field(min_length=4, max_length=128)]
    network: Annotated[str, Field(min_length=4, max_length=64)]
    amount_microunits: Annotated[int, Field(ge=0)] | None = None
    asset: Annotated[str, Field(max_length=128)] | None = None

    @field_validator("recipient_address")
    @classmethod
    def _must_be_unicode(cls, text: str) -> str:
        # A lone surrogate has no hash, so the receipt could not name the address (P-CV-20).
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError("the address holds a lone surrogate; send Unicode text")
        return text


class ClosedScreeningRequest(ScreeningRequest):
    """The same, refusing unknown members (P-CV-14, rail) and, as a fault of the body, unknown networks (P-SC-01)."""

    model_config = ConfigDict(extra="forbid")

    @field_validator("network")
    @classmethod
    def _must_be_known(cls, text: str) -> str:
        screened_network(text)
        return text


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of screening one address.

    Attributes:
        verdict: allow, flag or block.
        sanctions_clear: Whether no sanctions list names the recipient.
        recipient_kyb_status: unknown, trial, approved or rejected.
        risk_tier: low, medium, high, restricted or unknown.
        reasons: Codes, empty when allowed.
    """

    verdict: Verdict
    sanctions_clear: bool
    recipient_kyb_status: str
    risk_tier: str
    reasons: tuple[str, ...]


_UNLISTED_FINDING = Finding("allow", True, "unknown", "low", ())
_FINDINGS: dict[str, Finding] = {
    verdict: Finding(verdict=verdict, **{**members, "reasons": tuple(members["reasons"])})
    for verdict, members in _TABLE["verdicts"].items()
}


def screened_network(text: str) -> Network:
    """Return the network that any of its spellings names.

    Raises:
        UnsupportedNetwork: None does.
    """
    network = network_of(text)
    if network is None:
        raise UnsupportedNetwork(f"the network is not supported; give one by its key, like {EXAMPLE}")
    return network


def finding_of(network: Network, address: str) -> Finding:
    """Return the finding of the fixtures for an address on a network; an unlisted address is allowed (P-SC-04)."""
    listed_verdicts = (
        verdict for fixture, verdict in _TABLE["addresses"].items() if same_address(network, fixture, address)
    )
    text = canonical_address(network, address)
    prefix_verdicts = (verdict for prefix, verdict in _TABLE["prefixes"].items() if text.startswith(prefix))
    verdict = next(chain(listed_verdicts, prefix_verdicts), None)
    return _UNLISTED_FINDING if verdict is None else _FINDINGS[verdict]


def screen(
    request: ScreeningRequest,
    *,
    screened_at_ms: int,
    verdict_id: str,
    provider_did: str,
    jurisdiction_flags: Sequence[str],
    signing_key: SigningKey,
    payment_hash: str | None = None,
) -> dict[str, JsonValue]:
    """Return the answer of P-SC-02, the same shape for every verdict.

    Args:
        request: The address and its network.
        screened_at_ms: Time of screening in unix milliseconds.
        verdict_id: A fresh UUID as text.
        provider_did: DID of the signer.
        jurisdiction_flags: Go into the receipt in their order.
        signing_key: Signs the receipt.
        payment_hash: On the rail, the `settled_payment_ref` of the payment; None elsewhere.

    Raises:
        UnsupportedNetwork: The network is not of the table.
    """
    network = screened_network(request.network)
    finding = finding_of(network, request.recipient_address)
    # The receipt contains the hash of the address and not the address itself, so that it may be stored or passed on
    # (2.3).
    receipt = compliance_receipt(
        network=network,
        address=request.recipient_address,
        screen_result=RECEIPT_VERDICTS[finding.verdict],
        provider_did=provider_did,
        timestamp_ms=screened_at_ms,
        jurisdiction_flags=jurisdiction_flags,
        payment_hash=payment_hash,
    )
    answer: dict[str, JsonValue] = {
        "verdict": finding.verdict,
        "sanctions_clear": finding.sanctions_clear,
        "recipient_kyb_status": finding.recipient_kyb_status,
        "risk_tier": finding.risk_tier,
        "reasons": list(finding.reasons),
        "screened_at": utc_text(screened_at_ms // 1000),
        "verdict_id": verdict_id,
        "network_normalised": network.key,
        "compliance_receipt": receipt,
        "compliance_receipt_jws": sign_compact(receipt, signing_key),
    }
    return answer if finding.verdict == "allow" else answer | {"tipping_off_notice": TIPPING_OFF_NOTICE}

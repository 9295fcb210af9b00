"""The meaning of each claim of a receipt, and of its value, in a sentence (2.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.oracles.receipt_kinds import CANON_VERSION, VALUES, is_hash_reference, kind_of, service_word_of
from conformance.receipts.offline.value_wording import (
    amount,
    asset_words,
    did_words,
    hash_words,
    instant,
    micro_amount,
    network_words,
    value_text,
    whole_number,
)
from conformance.vocabulary.networks import network_named

Sentence = Callable[[Any, Mapping[str, Any]], str]
_SCREENING_SENTENCES = {
    "ALLOW": "The screening found nothing against the payer.",
    "REFER": "The screening wants a person to look at the payer.",
    "DENY": "The screening refuses the payer.",
}
_SETTLEMENT_SENTENCES = {
    "SETTLED": "The payment is settled.",
    "PENDING_FINALITY": "The payment was seen and was not final yet.",
    "REVERSED": "The payment was undone by its chain.",
}


def _kind(value: Any, claims: Mapping[str, Any]) -> str:
    word = service_word_of(claims)
    if word is None:
        return f"Calls itself {value_text(value)}, which is not a kind of receipt that this tool knows."
    return f"A receipt for one paid call, version 1, by the rules of the service word {word}."


def _canon(value: Any, _: Mapping[str, Any]) -> str:
    if value == CANON_VERSION:
        return "The payload was signed in the canonical JSON form of RFC 8785."
    return f"Names the canonical form {value_text(value)}; verifiers know {CANON_VERSION} alone and refuse it."


def _issuer(value: Any, _: Mapping[str, Any]) -> str:
    return f"Says who issued it: {did_words(value)}. A claim like any other, until a key of that DID verifies it."


def _provider(value: Any, claims: Mapping[str, Any]) -> str:
    if "iss" not in claims:
        return _issuer(value, claims)
    if value == claims["iss"]:
        return "The provider is the issuer (iss)."
    return f"Names another provider than the issuer (iss): {did_words(value)}."


def _time(subject: str, per_second: int) -> Sentence:
    def sentence(value: Any, _: Mapping[str, Any]) -> str:
        unit = "seconds" if per_second == 1 else "milliseconds"
        date = instant(value, per_second=per_second)
        return f"{subject} {date}." if date is not None else f"Must be whole {unit} since 1970 and is not."

    return sentence


def _issued_ms(value: Any, claims: Mapping[str, Any]) -> str:
    first = _time("Issued", 1000)(value, claims)
    iat = claims.get("iat")
    # P-CV-04 has both claims state one instant, once in milliseconds and once in seconds.
    if isinstance(value, int) and isinstance(iat, int) and value // 1000 != iat:
        return f"{first} That is another instant than iat."
    return first


def _service(value: Any, _: Mapping[str, Any]) -> str:
    return f"What was bought: the service {value_text(value)}."


def _hash(subject: str, option: str) -> Sentence:
    def sentence(value: Any, _: Mapping[str, Any]) -> str:
        return f"{subject}{hash_words(value)} Compare with `weldproof receipt verify {option}`."

    return sentence


def _payment_hash(value: Any, _: Mapping[str, Any]) -> str:
    form = hash_words(value)
    return (
        "Binds the screening to one settled payment: on a rail the same text as the payable receipt's "
        f"settled_payment_ref.{form} Compare with --expected-payment-hash or --settlement."
    )


def _network(value: Any, _: Mapping[str, Any]) -> str:
    return f"Paid on {network_words(value)}."


def _asset(value: Any, claims: Mapping[str, Any]) -> str:
    return f"Paid in the asset {asset_words(value, network_named(claims.get('network')))}."


def _pay_to(value: Any, _: Mapping[str, Any]) -> str:
    return f"Paid to the address {value_text(value)}."


def _price(value: Any, claims: Mapping[str, Any]) -> str:
    network = network_named(claims.get("network"))
    # The number of decimals is known for the network's USDC only. Another asset's millionths are shown without a
    # currency.
    is_usdc = network is not None and network.is_asset(str(claims.get("asset")))
    amount_text = micro_amount(value, network.unit if is_usdc and network is not None else "of the asset")
    if amount_text is None:
        return "The price must be whole millionths of the asset, as a text of digits, and is not."
    form = "" if isinstance(value, str) else " It is written as a number where a text of digits is usual."
    return f"The price that was paid for: {amount_text}.{form}"


def _payer(value: Any, _: Mapping[str, Any]) -> str:
    form = "" if is_hash_reference(value) else hash_words(value)
    return (
        "Identifies the screened address without revealing it: a hash of address and network."
        f"{form} Compare with `weldproof receipt verify --payer ADDRESS --network KEY`."
    )


def _one_of(name: str, words: Mapping[str, str]) -> Sentence:
    def sentence(value: Any, _: Mapping[str, Any]) -> str:
        known = words.get(value) if isinstance(value, str) else None
        return known or f"Says {value_text(value)}, which is not one of {', '.join(VALUES[name])}."

    return sentence


def _flags(value: Any, _: Mapping[str, Any]) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return f"Judged under the rules of {', '.join(value)}." if value else "Names no jurisdiction."
    return "Must be a list of jurisdictions and is not."


def _settled_amount(value: Any, claims: Mapping[str, Any]) -> str:
    members = value if isinstance(value, Mapping) else {}
    network = network_named(claims.get("settlement_chain"))
    asset = members.get("asset_id")
    if network is not None and isinstance(asset, str) and network.is_asset(asset):
        amount_text = amount(members.get("amount_minor"), network.decimals, network.unit)
    else:
        digits = whole_number(members.get("amount_minor"))
        amount_text = None if digits is None else f"{digits} atomic units of asset {value_text(asset)}"
    return (
        f"What was settled: {amount_text}."
        if amount_text is not None
        else "Must hold amount_minor, digits, and asset_id."
    )


def _chain(value: Any, _: Mapping[str, Any]) -> str:
    return f"Settled on {network_words(value)}."


_REQUEST = "Binds the request: SHA-256 over the canonical JSON of its method, path, query, body and service_id."
_RESPONSE = "Binds the answer: SHA-256 over the canonical JSON of its member result."
_SETTLEMENT = "Binds the payment: SHA-256 over service word, transaction id and network."
_TOKEN = "Binds the challenge that was paid: SHA-256 over the text of its token, which the receipt does not contain."  # noqa: S105 - a sentence

CLAIMS: Mapping[str, tuple[Sentence, str]] = {
    "kind": (_kind, "specification 2.3, P-RV-02"),
    "canon_version": (_canon, "specification 2.4 step 6"),
    "iss": (_issuer, "specification 2.3"),
    "provider_did": (_provider, "specification 2.3"),
    "iat": (_time("Issued", 1), "P-CV-04"),
    "issued_at_ms": (_issued_ms, "P-CV-04"),
    "service_id": (_service, "specification 2.3"),
    "request_hash": (_hash(_REQUEST, "--request FILE"), "P-RH-01"),
    "response_hash": (_hash(_RESPONSE, "--response FILE"), "P-RH-02"),
    "settled_payment_ref": (_hash(_SETTLEMENT, "--settlement TX_ID --network KEY"), "P-RH-03"),
    "payment_reference_hash": (_hash(_TOKEN, "--payment-reference-file FILE"), "specification 2.3"),
    "payment_hash": (_payment_hash, "specification 2.3, 2.4 step 9"),
    "network": (_network, "specification 1.2"),
    "asset": (_asset, "specification 1.2"),
    "pay_to": (_pay_to, "specification 2.3"),
    "amount_microunits": (_price, "P-MN-01"),
    "payer_ref": (_payer, "specification 2.3"),
    "screen_result": (_one_of("screen_result", _SCREENING_SENTENCES), "specification 2.3"),
    "screen_timestamp_ms": (_time("Screened", 1000), "P-CV-04"),
    "screen_provider_did": (_issuer, "specification 2.3"),
    "jurisdiction_flags": (_flags, "specification 2.3"),
    "settlement_amount": (_settled_amount, "specification 2.3, P-MN-01"),
    "settlement_chain": (_chain, "specification 1.2"),
    "settlement_provider_did": (_issuer, "specification 2.3"),
    "settlement_result": (_one_of("settlement_result", _SETTLEMENT_SENTENCES), "specification 2.3"),
    "settlement_timestamp_ms": (_time("Judged", 1000), "P-CV-04"),
}
DIDS = ("iss", "provider_did", "screen_provider_did", "settlement_provider_did")


def claimed_dids(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims that name the issuer of the receipt, by name."""
    return {name: claims[name] for name in DIDS if claims.get(name) is not None}


def kind_words(claims: Mapping[str, Any]) -> str:
    """Return the kind of a payload's receipt in a few words."""
    # A compliance receipt has no member that names its kind (P-RV-02), so every unmarked payload is taken for one.
    # Without a member of a screening, that guess is said.
    if kind_of(claims) == "compliance" and not {"screen_result", "payer_ref"} & claims.keys():
        return "of no known kind; read as a compliance receipt, the kind without a mark"
    return {
        "payable": "payable receipt: one paid call",
        "compliance": "compliance receipt: one screened payer",
        "settlement_attestation": "settlement attestation: one settled payment",
    }[kind_of(claims)]

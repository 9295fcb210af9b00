"""The content of a checkout's QR code, by chain (3.5)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import quote

from reference.protocol.eip3009 import nonce_of
from reference.protocol.link_payment import LinkTerms
from reference.protocol.networks import Family
from reference.protocol.service_word import ServiceWord
from reference.protocol.transfer_purpose import checkout_reference

# The largest label in percent-encoded characters. A QR code holds 2,953 bytes in all, and a code with fewer is easier
# to scan.
_LONGEST_LABEL = 600


@dataclass(frozen=True, slots=True)
class ShownLink:
    """A link as its page shows it.

    Attributes:
        terms: Its terms on the chain.
        token: Its token.
        label: Its label.
        checkout_url: Address of its page.
        word: The service word.
    """

    terms: LinkTerms
    token: str
    label: str
    checkout_url: str
    word: ServiceWord


def qr_payload(link: ShownLink) -> str:
    """Return the text of a link's QR code; values are percent-encoded except for RFC 3986's unreserved characters."""
    network = link.terms.network
    return _OF_CHAIN.get(network.key.partition("_")[0], _OF_FAMILY[network.family])(link)


def _query(**members: object) -> str:
    return "&".join(f"{name.replace('_', '-')}={quote(str(value), safe='')}" for name, value in members.items())


def _decimal(link: ShownLink) -> str:
    """Return the amount in whole units, without an exponent or idle zeros."""
    text = f"{Decimal(link.terms.amount_microunits).scaleb(-6):f}"
    return text.rstrip("0").rstrip(".")


def _algorand(link: ShownLink) -> str:
    """ARC-26."""
    terms = link.terms
    return f"algorand://{terms.pay_to}?" + _query(amount=terms.atomic, asset=terms.network.asset_id, xnote=terms.memo)


def _solana(link: ShownLink) -> str:
    """Solana Pay."""
    terms = link.terms
    return f"solana:{terms.pay_to}?" + _query(
        amount=_decimal(link),
        spl_token=terms.network.asset_id,
        reference=checkout_reference(link.word.lower, link.token),
        label=_short(link.label),
        memo=terms.memo,
    )


def _short(label: str) -> str:
    """Return a label, cut so that the code stays readable for a phone's camera."""
    while len(quote(label, safe="")) > _LONGEST_LABEL:
        label = label[:-1]
    return label


def _chain_id(link: ShownLink) -> str:
    return link.terms.network.event.partition(":")[2]


def _evm(link: ShownLink) -> str:
    """The address of the page, with EIP-681 in its fragment."""
    terms = link.terms
    # The page goes first: a wallet that scanned the EIP-681 part alone would pay without a memo, and the payment
    # would count for no link.
    call = f"{terms.network.asset_id}@{_chain_id(link)}/transfer?" + _query(address=terms.pay_to, uint256=terms.atomic)
    return f"{link.checkout_url}#ethereum:{call}"


def _tempo(link: ShownLink) -> str:
    """EIP-681."""
    terms = link.terms
    members = _query(address=terms.pay_to, uint256=terms.atomic, bytes32=nonce_of(terms.memo))
    return f"ethereum:{terms.network.asset_id}@{_chain_id(link)}/transferWithMemo?{members}"


def _stellar(link: ShownLink) -> str:
    """SEP-7; a text memo would be too short."""
    code, _, issuer = link.terms.network.asset_id.partition(":")
    digest = base64.b64encode(hashlib.sha256(link.terms.memo.encode()).digest()).decode()
    members = {"destination": link.terms.pay_to, "amount": _decimal(link), "asset_code": code, "asset_issuer": issuer}
    all_members = {**members, "memo": digest, "memo_type": "MEMO_HASH"}
    return "web+stellar:pay?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in all_members.items())


def _page_and_address(link: ShownLink) -> str:
    return f"{link.checkout_url}#{link.terms.pay_to}"


# Chains with a special form, and all others by family.
_OF_CHAIN: Mapping[str, Callable[[ShownLink], str]] = {"tempo": _tempo, "stellar": _stellar}
_OF_FAMILY: Mapping[Family, Callable[[ShownLink], str]] = {
    "algorand": _algorand,
    "evm": _evm,
    "solana": _solana,
    "other": _page_and_address,
}

"""What a checkout's QR code says, chain by chain (3.5)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import quote

from reference.protocol.checkout import Asked
from reference.protocol.eip3009 import nonce_of
from reference.protocol.networks import Family
from reference.protocol.purposes import checkout_reference
from reference.protocol.service_word import ServiceWord

# In percent-encoded characters; a code holds 2,953 bytes in all, and fewer are easier to scan.
_LONGEST_LABEL = 600


@dataclass(frozen=True, slots=True)
class Shown:
    """A link as its page shows it.

    Attributes:
        asked: What it asks of its chain.
        token: Its token.
        label: Its label.
        checkout_url: Address of its page.
        word: The service word.
    """

    asked: Asked
    token: str
    label: str
    checkout_url: str
    word: ServiceWord


def qr_payload(shown: Shown) -> str:
    """Return the text of a link's QR code; values are percent-encoded except for RFC 3986's unreserved characters."""
    network = shown.asked.network
    return _OF_CHAIN.get(network.key.partition("_")[0], _OF_FAMILY[network.family])(shown)


def _query(**members: object) -> str:
    return "&".join(f"{name.replace('_', '-')}={quote(str(value), safe='')}" for name, value in members.items())


def _decimal(shown: Shown) -> str:
    """Return the amount in whole units, without an exponent or idle zeros."""
    text = f"{Decimal(shown.asked.amount_microunits).scaleb(-6):f}"
    return text.rstrip("0").rstrip(".")


def _algorand(shown: Shown) -> str:
    """ARC-26."""
    asked = shown.asked
    return f"algorand://{asked.pay_to}?" + _query(amount=asked.atomic, asset=asked.network.asset_id, xnote=asked.memo)


def _solana(shown: Shown) -> str:
    """Solana Pay."""
    asked = shown.asked
    return f"solana:{asked.pay_to}?" + _query(
        amount=_decimal(shown),
        spl_token=asked.network.asset_id,
        reference=checkout_reference(shown.word.lower, shown.token),
        label=_short(shown.label),
        memo=asked.memo,
    )


def _short(label: str) -> str:
    """Return as much of a label as leaves the code readable for a phone's camera."""
    while len(quote(label, safe="")) > _LONGEST_LABEL:
        label = label[:-1]
    return label


def _chain_id(shown: Shown) -> str:
    return shown.asked.network.event.partition(":")[2]


def _evm(shown: Shown) -> str:
    """The page first, EIP-681 in its fragment: a wallet that scanned that alone would pay without a memo."""
    asked = shown.asked
    call = f"{asked.network.asset_id}@{_chain_id(shown)}/transfer?" + _query(address=asked.pay_to, uint256=asked.atomic)
    return f"{shown.checkout_url}#ethereum:{call}"


def _tempo(shown: Shown) -> str:
    """EIP-681."""
    asked = shown.asked
    members = _query(address=asked.pay_to, uint256=asked.atomic, bytes32=nonce_of(asked.memo))
    return f"ethereum:{asked.network.asset_id}@{_chain_id(shown)}/transferWithMemo?{members}"


def _stellar(shown: Shown) -> str:
    """SEP-7; a text memo would be too short."""
    code, _, issuer = shown.asked.network.asset_id.partition(":")
    digest = base64.b64encode(hashlib.sha256(shown.asked.memo.encode()).digest()).decode()
    members = {"destination": shown.asked.pay_to, "amount": _decimal(shown), "asset_code": code, "asset_issuer": issuer}
    told = {**members, "memo": digest, "memo_type": "MEMO_HASH"}
    return "web+stellar:pay?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in told.items())


def _page_and_address(shown: Shown) -> str:
    return f"{shown.checkout_url}#{shown.asked.pay_to}"


# A chain that has a form of its own, and the others by family.
_OF_CHAIN: Mapping[str, Callable[[Shown], str]] = {"tempo": _tempo, "stellar": _stellar}
_OF_FAMILY: Mapping[Family, Callable[[Shown], str]] = {
    "algorand": _algorand,
    "evm": _evm,
    "solana": _solana,
    "other": _page_and_address,
}

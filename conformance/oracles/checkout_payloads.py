"""Payload of a checkout's QR code, by family of chains (specification 3.5). Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final
from urllib.parse import quote, unquote

import base58

_LEAST_LABEL: Final = 20
_ESCAPE: Final = re.compile("%[0-9a-fA-F]{2}")
_SOLANA: Final = re.compile(r"(.*&label=)([^&]*)(&memo=[^&]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ShownLink:
    """What a QR code has to request.

    Attributes:
        family: Family of its network's chain.
        url: Address of its page.
        token: Its token.
        label: Its label.
        microunits: Amount in millionths, which are the atomic units of USDC on all three lanes.
        address: Payout address.
        asset: Asset id, mint or contract.
        chain_id: EVM chain id; None on other chains, and where it is unknown.
        service: The service word in lower case.
    """

    family: str
    url: str
    token: str
    label: str
    microunits: int
    address: str
    asset: str
    chain_id: str | None
    service: str

    @property
    def memo(self) -> str:
        """The memo: the service word, a colon and the token."""
        return f"{self.service}:{self.token}"

    @property
    def reference(self) -> str:
        """The Solana Pay reference."""
        return base58.b58encode(
            hashlib.sha256(f"{self.service}-checkout:solana-ref:{self.token}".encode()).digest()
        ).decode()


def find_payload_fault(payload: str, link: ShownLink) -> str | None:
    """Return what is wrong with a payload, or None. Escapes are compared in any case of their digits."""
    text = _upper_escapes(payload)
    if link.family == "solana":
        return _find_solana_fault(text, link)
    expected = _build_payload(link)
    if link.chain_id is None:
        # The id of a private chain is not known to the suite.
        text = re.sub("@[0-9]+/transfer", "@/transfer", text)
    return None if text.lower() == expected.lower() and _same_case(text, expected, link) else f"not {expected}"


def _build_payload(link: ShownLink) -> str:
    if link.family == "algorand":
        return (
            f"algorand://{link.address}?amount={link.microunits}&asset={_encode(link.asset)}&xnote={_encode(link.memo)}"
        )
    call = f"{link.asset}@{link.chain_id or ''}/transfer?address={link.address}&uint256={link.microunits}"
    return f"{link.url}#ethereum:{call}"


def _same_case(text: str, expected: str, link: ShownLink) -> bool:
    # Hexadecimal addresses mean the same in either case; nothing else in a payload does.
    return (link.family == "base" and text.startswith(link.url)) or text == expected


def _find_solana_fault(text: str, link: ShownLink) -> str | None:
    match = _SOLANA.fullmatch(text)
    if match is None:
        return "no label before the memo at the end"
    before, label, after = match.groups()
    amount = f"{Decimal(link.microunits).scaleb(-6):f}".rstrip("0").rstrip(".")
    expected = f"solana:{link.address}?amount={amount}&spl-token={link.asset}&reference={link.reference}&label="
    if before != expected:
        return f"before the label not {expected}"
    if after != f"&memo={_encode(link.memo)}":
        return f"after the label not &memo={_encode(link.memo)}"
    shown = unquote(label)
    # How a long label is cut is left open; a short one is shown whole.
    is_part = link.label.startswith(shown) and len(shown) >= min(_LEAST_LABEL, len(link.label))
    return None if is_part and _encode(shown) == label else f"as label not {_encode(link.label)}"


def _encode(text: str) -> str:
    return quote(text, safe="")


def _upper_escapes(text: str) -> str:
    return _ESCAPE.sub(lambda match: match[0].upper(), text)

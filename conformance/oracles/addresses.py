"""Whether a text is an address of a family of chains, by its own checksum where it has one."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping

import base58

from conformance.oracles.welds.algorand.transaction import address_of

_CAIP2 = re.compile(r"[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}")
# An address has 58 letters of base32, without its padding of six signs.
_ALGORAND = 58  # 32 bytes of key and 4 of checksum in base32
_EVM = re.compile(r"0x[0-9a-fA-F]{40}")


def is_caip2(text: str) -> bool:
    """Return whether a text is a CAIP-2 chain id."""
    return _CAIP2.fullmatch(text) is not None


def is_hexadecimal(text: str) -> bool:
    """Return whether a text is an address of 20 bytes in hexadecimal, whatever the case of its digits."""
    return _EVM.fullmatch(text) is not None


def _algorand(text: str) -> bool:
    try:
        raw = base64.b32decode(text + "======") if len(text) == _ALGORAND else b""
    except (binascii.Error, ValueError):
        return False
    # A spelling with one of its two spare bits set is not an address, to the node.
    return bool(raw) and address_of(raw[:32]) == text


def _eip155(text: str) -> bool:
    # The zero address belongs to no one: a payment to it would burn the amount.
    return is_hexadecimal(text) and int(text, 16) != 0


def _solana(text: str) -> bool:
    try:
        # 32 bytes have at most 44 letters of base58. The limit keeps long hostile texts from
        # the slow decoder.
        raw = base58.b58decode(text) if len(text) <= 44 and text.isascii() else b""
    except ValueError:
        return False
    return len(raw) == 32 and base58.b58encode(raw).decode() == text


_NAMESPACES: Mapping[str, Callable[[str], bool]] = {"algorand": _algorand, "eip155": _eip155, "solana": _solana}


def is_address(namespace: str, text: str) -> bool:
    """Return whether `text` is a well-formed address on the chains of a CAIP-2 namespace.

    Raises:
        KeyError: The namespace is unknown.
    """
    return _NAMESPACES[namespace](text)

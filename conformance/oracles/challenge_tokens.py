"""Challenge tokens as the profile pins them (5.4): make and read them, and state what their payment must carry. Pure.

A token is `<unix>:<nonce>:<mac>`. The first half of the mac (A) says for which lane, asset, amount and payee it was
issued, the second (B) for which request. A server that holds the secret can check both without storing anything.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import base58

from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.oracles.keccak import keccak256

FUTURE_SKEW_SECONDS: Final = 60
HALF: Final = 32
# Section 5.4: the time has ten or eleven digits without a leading zero, so that a time has one
# spelling.
_FORM = re.compile(r"([1-9][0-9]{9,10}):([0-9a-f]{16}):([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Token:
    """A token that has its form; `unix` is its issue time as it is written, `first` and `second` are hex."""

    text: str
    unix: str
    nonce: str
    first: str
    second: str

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the token of a text, None for a text of another form."""
        match = _FORM.fullmatch(text)
        return None if match is None else cls(text, match[1], match[2], match[3][:HALF], match[3][HALF:])

    @property
    def issued_at(self) -> int:
        """Issue time in unix seconds."""
        return int(self.unix)


@dataclass(frozen=True, slots=True)
class Issuer:
    """An issuer of tokens: a 32-byte secret and the service word that begins every label."""

    secret: bytes
    service_word: str

    def first_half(self, unix: str, nonce: str, lane: Mapping[str, str]) -> str:
        """Return half A: what a lane (`caip2`, `asset`, `amount`, `pay_to`) asks, hex."""
        # The parts are separate lines under a label, so that no two lists of values give the
        # same input.
        return self.mac("challenge:a:1", unix, nonce, *(lane[name] for name in ("caip2", "asset", "amount", "pay_to")))

    def second_half(self, first: str, service_id: str, request_hash: str) -> str:
        """Return half B: the request that the quote is for, hex."""
        return self.mac("challenge:b:1", first, service_id, request_hash)

    def issue(self, unix: str, nonce: str, lane: Mapping[str, str], service_id: str, request_hash: str) -> str:
        """Return a token for one lane and one request; the issue time goes in as it is written."""
        first = self.first_half(unix, nonce, lane)
        return f"{unix}:{nonce}:{first}{self.second_half(first, service_id, request_hash)}"

    def mac(self, label: str, *members: str) -> str:
        """Return the first 16 bytes of the HMAC-SHA256 over a label and members, a line each, hex."""
        lines = "\n".join((f"{core(self.service_word)}:{label}", *members))
        return hmac.digest(self.secret, lines.encode(), "sha256")[:16].hex()


def core(service_word: str) -> str:
    """Return what every label and hashed text of a deployment's payments begins with (P-SW-02)."""
    # Labels of different deployments differ, so that a token of one is never valid for another,
    # even with the same secret.
    return f"{service_word.lower()}-payable-core"


def request_bytes(request: Mapping[str, Any], service_id: Any) -> bytes:
    """Return what a request's hash is taken over (P-RH-01).

    Raises:
        ValueError: Its body has no canonical form.
    """
    members = {name: request[name] for name in ("body", "method", "path", "query")}
    return jcs_bytes({**members, "service_id": service_id})


def request_hash(request: Mapping[str, Any], service_id: str) -> str:
    """Return the hash reference of a request (P-RH-01).

    Raises:
        ValueError: Its body has no canonical form.
    """
    return "sha256:" + sha256_hex(request_bytes(request, service_id))


def payment_reference_hash(token: str) -> str:
    """Return the hash reference of a token's text, which receipts carry."""
    return "sha256:" + sha256_hex(token.encode())


def eip3009_nonce(token: str) -> str:
    """Return the nonce of the authorization that pays for a token on an EVM chain: keccak256, `0x` and hex."""
    return "0x" + keccak256(token.encode()).hex()


def solana_reference(token: str, service_word: str) -> str:
    """Return the account that a transfer on Solana must name to pay for a token, base58."""
    # Solana transfers carry no text that the program checks, but they may name further
    # accounts. A hash of 32 bytes has the form of an account.
    digest = hashlib.sha256(f"{core(service_word)}:solana-ref:{token}".encode()).digest()
    return str(base58.b58encode(digest).decode("ascii"))

"""Challenge tokens: issued, parsed and checked without a store (5.4).

A token is `<unix>:<nonce>:<mac>`. The first half of the mac names the lane and the terms, the second half binds the
token to one request. So a foreign token can be distinguished from a token for another request.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from reference.fast_records import record
from reference.protocol.hashes import hash_reference
from reference.protocol.service_word import ServiceWord

# A rail stores nothing when it answers 402, so that unpaid calls cannot fill its database. Everything that a later
# proof is checked against is therefore in the token, under a MAC.
NONCE_BYTES = 8
SECRET_BYTES = 32
FUTURE_SKEW_SECONDS = 60
# P-CH-13: 300 s for workers that learn of new terms late, and 60 s for clocks that differ.
GRACE_SECONDS = 300 + FUTURE_SKEW_SECONDS
# 16 bytes are 128 bits for each half, which is enough against forgery.
_HALF_BYTES = 16
_SYNTAX = re.compile(r"([1-9][0-9]{9,10}):([0-9a-f]{16}):([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a lane asks for one call.

    Attributes:
        network: Network key.
        caip2: Its x402 name.
        asset: Asset id as text.
        amount: Price in atomic units, decimal digits.
        pay_to: Payee address.
        members: What the first half of a mac covers in addition to time and nonce.
    """

    network: str
    caip2: str
    asset: str
    amount: str
    pay_to: str
    members: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Join the members once, because every token needs them."""
        object.__setattr__(self, "members", f"{self.caip2}\n{self.asset}\n{self.amount}\n{self.pay_to}")


@dataclass(frozen=True, slots=True)
class Generation:
    """Terms with the time in which they were in force (P-CH-13); while they are, `until` has the value None."""

    terms: Terms
    since: int
    until: int | None = None

    def in_force(self, unix: int) -> bool:
        """Return whether a token issued at `unix` seconds may be of this generation."""
        # Several generations may be in force at once. The grace gives nothing away: a client that has a token with
        # this mac was quoted exactly these terms (P-CH-13).
        return self.since - GRACE_SECONDS <= unix and (self.until is None or unix <= self.until + GRACE_SECONDS)


@record
class Token:
    """A token by its parts."""

    text: str
    unix: int
    nonce: str
    mac: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the token, or None when the text has another form."""
        match = _SYNTAX.fullmatch(text)
        return None if match is None else cls(text, int(match[1]), match[2], match[3])


class Mint:
    """Makes and checks tokens under one secret."""

    def __init__(self, secret: bytes, word: ServiceWord) -> None:
        # The labels `a` and `b` separate the two HMACs. Without them a first half could be replayed as a second
        # half.
        base_mac = HMAC(secret, SHA256())
        self._first = _start_mac(base_mac, f"{word.payable_core}:challenge:a:1\n")
        self._second = _start_mac(base_mac, f"{word.payable_core}:challenge:b:1\n")

    def token(self, terms: Terms, *, service_id: str, request_hash: str, unix: int, nonce: bytes) -> str:
        """Return a new token for one lane and one request.

        Args:
            terms: What the lane asks.
            service_id: The service that is quoted.
            request_hash: Hash reference of the request (P-RH-01).
            unix: Issue time in unix seconds.
            nonce: Eight random bytes.
        """
        nonce_text = nonce.hex()
        first = self.first_half(terms, unix, nonce_text)
        return f"{unix}:{nonce_text}:{first}{self.second_half(first, service_id, request_hash)}"

    def first_half(self, terms: Terms, unix: int, nonce: str) -> str:
        """Return the half that covers lane, asset, price and payee, in hex."""
        return _finish_half(self._first, f"{unix}\n{nonce}\n{terms.members}")

    def second_half(self, first: str, service_id: str, request_hash: str) -> str:
        """Return the half that binds the token, by its first half, to one request; both in hex."""
        return _finish_half(self._second, f"{first}\n{service_id}\n{request_hash}")

    def issued_for(self, token: Token, generations: Iterable[Generation]) -> Terms | None:
        """Return the terms that `token` was issued for, or None if this rail did not issue it."""
        token_half = token.mac[: 2 * _HALF_BYTES]
        # Every known generation is tried, because a token names its terms only through the MAC (5.4, check A).
        for generation in generations:
            ours = self.first_half(generation.terms, token.unix, token.nonce)
            if generation.in_force(token.unix) and same_mac(ours, token_half):
                return generation.terms
        return None

    def binds(self, token: Token, *, service_id: str, request_hash: str) -> bool:
        """Return whether `token` was issued for this request."""
        ours = self.second_half(token.mac[: 2 * _HALF_BYTES], service_id, request_hash)
        return same_mac(ours, token.mac[2 * _HALF_BYTES :])


def _start_mac(base_mac: HMAC, label: str) -> HMAC:
    mac = base_mac.copy()
    mac.update(label.encode())
    return mac


def _finish_half(prefix_mac: HMAC, members: str) -> str:
    """Return half of a mac over the remaining members, in hex."""
    # Key and label are already hashed in `prefix_mac`. Copying it costs less than keying another HMAC for each
    # token.
    mac = prefix_mac.copy()
    mac.update(members.encode())
    return mac.finalize()[:_HALF_BYTES].hex()


def same_mac(own_mac: str, presented_mac: str) -> bool:
    """Compare two macs in constant time (P-CV-12)."""
    # A comparison that stops at the first difference would reveal by its time how much of a guessed mac is right
    # (P-CV-12).
    return hmac.compare_digest(own_mac, presented_mac)


def is_live(token: Token, *, now: int, ttl: int) -> bool:
    """Return whether a token can still be redeemed for the first time: not from the future, not past its lifetime."""
    return token.unix <= now + FUTURE_SKEW_SECONDS and now <= token.unix + ttl


def payment_reference_hash(token: str) -> str:
    """Return the hash reference of a token's text, which receipts carry instead of the token."""
    return hash_reference(token.encode())

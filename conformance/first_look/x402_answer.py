"""A 402 as x402 clients read it: terms in header and body, and the answers to invalid payments."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.first_look.spellings import SpellingResult
from conformance.http.client import Answer
from conformance.oracles.json_acceptance import by_value, refuse_constant, unique_members

HEADER: Final = "PAYMENT-REQUIRED"
_STANDARD: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")


@dataclass(frozen=True, slots=True)
class ChallengeAnswer:
    """The answer to a call without a payment.

    Attributes:
        method: Its method.
        url: The address that was called.
        status: HTTP status.
        headers: Name in lower case to its values, in order.
        in_header: The document in the header; None if it is missing or unreadable.
        header_fault: Why the header cannot be read, or None.
        in_body: The document in the body; None if it is not one of x402.
        spellings: Result of other spellings of its path; None if none was tried.
        to_unreadable: Status of the answer to an unreadable payment; None if none was sent.
        to_forged: Status of the answer to an unsigned payment, by network.
    """

    method: str
    url: str
    status: int
    headers: Mapping[str, tuple[str, ...]]
    in_header: Mapping[str, Any] | None
    header_fault: str | None
    in_body: Mapping[str, Any] | None
    spellings: SpellingResult | None = None
    to_unreadable: int | None = None
    to_forged: Mapping[str, int] = field(default_factory=dict)

    @property
    def document(self) -> Mapping[str, Any] | None:
        """The terms that the rules about members judge: the header's, or the body's if there is no header.

        Terms of version 1 in the body do not replace an unreadable header: they are for other clients.
        """
        if self.in_header is not None:
            return self.in_header
        return None if self._is_old_body and self.values(HEADER) else self.in_body

    @property
    def offers(self) -> tuple[Mapping[str, Any], ...]:
        """The offers that are objects."""
        accepts = self.member("accepts")
        return tuple(one for one in accepts if isinstance(one, dict)) if isinstance(accepts, list) else ()

    @property
    def is_welded(self) -> bool:
        """Whether an offer binds its payment to this challenge, as a payment reference does."""
        extras = [one.get("extra") for one in self.offers]
        return any(isinstance(one, dict) and isinstance(one.get("payment_reference"), str) for one in extras)

    @property
    def is_version_one(self) -> bool:
        """Whether it speaks only version 1: its terms are in the body, and there is no header."""
        return self._is_old_body and not self.values(HEADER)

    @property
    def _is_old_body(self) -> bool:
        version = (self.in_body or {}).get("x402Version")
        return type(version) is int and version == 1

    def member(self, name: str) -> Any:
        """Return a member of the document."""
        return (self.document or {}).get(name)

    def values(self, header: str) -> tuple[str, ...]:
        """Return the values of a header field."""
        return self.headers.get(header.lower(), ())


def read_challenge(method: str, url: str, answer: Answer) -> ChallengeAnswer:
    """Return an answer as a client of x402 reads it."""
    headers: dict[str, tuple[str, ...]] = {}
    for name, value in answer.headers.items():
        headers[name.lower()] = (*headers.get(name.lower(), ()), value)
    values = headers.get(HEADER.lower(), ())
    document, fault = decode_header(values[0]) if values else (None, None)
    body = answer.read_object()
    # Other services answer 402, too. A body without these members is not about x402, and its members are not judged.
    in_body = body if "accepts" in body or "x402Version" in body else None
    return ChallengeAnswer(method, url, answer.status, headers, document, fault, in_body)


def decode_header(value: str) -> tuple[Mapping[str, Any] | None, str | None]:
    """Return the document in a header's value and None, or None and the fault."""
    # Python's decoder skips foreign characters unless it gets validate=True. Clients differ there, so each is a fault.
    if _STANDARD.fullmatch(value) is None:
        return None, f"it is not base64 of the standard alphabet: {value[:60]!r}"
    if len(value) % 4:
        return None, "it is base64 without its padding"
    try:
        document = json.loads(
            base64.b64decode(value, validate=True),
            # Parsers disagree about duplicate members and about NaN, so both are faults.
            object_pairs_hook=unique_members,
            parse_constant=refuse_constant,
            parse_float=by_value,
        )
    except (binascii.Error, ValueError, RecursionError) as fault:
        return None, f"its decoded text is not JSON: {fault}"
    if not isinstance(document, dict):
        return None, "its decoded text is not a JSON object"
    return document, None

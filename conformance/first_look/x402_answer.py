"""A 402 as x402 clients see it: the terms in its header, those in its body, and what junk payments are answered."""

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
from conformance.oracles.profile_json import by_value, refuse_constant, unique_members

HEADER: Final = "PAYMENT-REQUIRED"
_STANDARD: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")


@dataclass(frozen=True, slots=True)
class ChallengeAnswer:
    """What a call without a payment was answered.

    Attributes:
        method: Its method.
        url: Where it went.
        status: HTTP status.
        headers: Name in lower case to its values, in order.
        in_header: The document in the header, None where there is none that can be read.
        header_fault: Why it cannot be read; None where it can, or there is no header.
        in_body: The document in the body, None where the body is no document of x402.
        spelled: What other spellings of its path came to; None where none was tried.
        to_unreadable: Status of the answer to a payment that cannot be read; None where none was sent.
        to_forged: Status of the answer to a payment that no account signed, by the network it was for.
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
        """What rules about its members are judged by: the header's terms, else the body's.

        Terms of version 1 in the body say nothing of a header that cannot be read: they are for other clients.
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
        """Whether it speaks version 1, and no version 2: its terms are in the body, and the header is not there."""
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
    document, fault = decoded(values[0]) if values else (None, None)
    body = answer.read_object()
    in_body = body if "accepts" in body or "x402Version" in body else None
    return ChallengeAnswer(method, url, answer.status, headers, document, fault, in_body)


def decoded(value: str) -> tuple[Mapping[str, Any] | None, str | None]:
    """Return the document in a header's value and None, or None and why there is none."""
    if _STANDARD.fullmatch(value) is None:
        return None, f"it is not base64 of the standard alphabet: {value[:60]!r}"
    if len(value) % 4:
        return None, "it is base64 without its padding"
    try:
        document = json.loads(
            base64.b64decode(value, validate=True),
            object_pairs_hook=unique_members,
            parse_constant=refuse_constant,
            parse_float=by_value,
        )
    except (binascii.Error, ValueError, RecursionError) as fault:
        return None, f"its decoded text is not JSON: {fault}"
    if not isinstance(document, dict):
        return None, "its decoded text is not a JSON object"
    return document, None

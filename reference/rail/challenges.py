"""The 402: what a call costs, on every lane, with tokens bound to that call (5.3).

The document of each service is prepared once; a challenge fills in the error, the request's hash and the tokens.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from pybase64 import b64encode_as_string

from reference.fast_records import record
from reference.lanes.lane import Lane
from reference.protocol.canonical_json import canonicalise
from reference.protocol.challenge import NONCE_BYTES, Mint, Terms
from reference.protocol.hashes import canonical_request_hash
from reference.rail.services import Service
from reference.web.errors import Refused

# The marks stand in the prepared document where a challenge differs. No value of a service contains an `@` mark.
_ERROR, _HASH = "@error@", "@request_hash@"
# Members that not every challenge has.
_FAULTS = '"error_detail":"@error_detail@",'
_EXTENSIONS = '"extensions":"@extensions@",'
# The JSON Schema of the extension's `info`. Each 402 carries it in a header field, so it is as short as it can be; the
# schemas of requests and answers are in the OpenAPI document.
_BAZAAR_SCHEMA = {
    "type": "object",
    "properties": {
        "input": {"properties": {"body": {"type": "object"}}},
        "output": {"properties": {"example": {"type": "object"}}},
    },
}


@dataclass(frozen=True, slots=True)
class Offer:
    """One lane as a service offers it."""

    lane: Lane
    terms: Terms


@record
class Call:
    """One request, to which a challenge is bound by its hash.

    Attributes:
        service: The service that is called.
        request_hash: The request's hash.
        canonical_body: The request in its RFC 8785 form, as it is kept for as long as it is not served.
    """

    service: Service
    request_hash: str
    canonical_body: bytes = field(compare=False, repr=False)

    @classmethod
    def of(cls, service: Service, body: Any, query: str, canonical: bytes | None = None) -> Call:
        """Return the call of a valid request, whose RFC 8785 form is `canonical` where that is at hand.

        Raises:
            NotCanonical: The body has no RFC 8785 form.
        """
        canonical_body = canonicalise(body) if canonical is None else canonical
        return cls(service, canonical_request_hash(canonical_body, service.path, query, service.id), canonical_body)

    @classmethod
    def example(cls, service: Service) -> Call:
        """Return the call of a service's example request, which replaces a malformed request (P-CH-11)."""
        return cls.of(service, dict(service.example), "")


@record
class Challenge:
    """A 402's body and the header that repeats it.

    Attributes:
        body: The JSON document.
        faults: The member `error_detail` as it is in `body`, with its comma; empty if `body` has no such member.
    """

    body: bytes
    faults: bytes = b""

    @property
    def headers(self) -> dict[str, str]:
        """`PAYMENT-REQUIRED`: base64 of the body without `error_detail` (P-CH-02), and no caching (P-CH-09)."""
        # x402 does not know `error_detail`, and proxies with 4,096 bytes for all fields could not pass it on.
        repeated = self.body.replace(self.faults, b"", 1) if self.faults else self.body
        return {"PAYMENT-REQUIRED": b64encode_as_string(repeated), "Cache-Control": "no-store"}


class Challenges:
    """Issues challenges for one service. Nothing is stored when one is issued."""

    def __init__(
        self,
        service: Service,
        offers: Sequence[Offer],
        mint: Mint,
        *,
        public_url: str,
        scheme: str,
        ttl: int,
        available_lanes: Callable[[], Collection[str]] | None = None,
    ) -> None:
        """Take the offers; `available_lanes` returns the lanes whose nodes answer now, without it all are offered."""
        self.service = service
        self.offers = tuple(offers)
        self._mint = mint
        self._public_url, self._scheme, self._ttl = public_url, scheme, ttl
        self._available_lanes = available_lanes
        self._last_available: Collection[str] = ()
        self._prepare(self.offers)

    def _prepare(self, offers: tuple[Offer, ...]) -> None:
        """Make the document with these offers, to be filled in for each challenge."""
        service, public_url = self.service, self._public_url
        self._offered = offers
        entries = [
            build_entry(offer, service, scheme=self._scheme, ttl=self._ttl, place=n) for n, offer in enumerate(offers)
        ]
        marks = [_ERROR, _FAULTS, _EXTENSIONS, _HASH]
        for place, offer in enumerate(offers):
            marks += [_token_mark(place), *(_extra_mark(place, name) for name in offer.lane.build_live_members(""))]
        document = {
            "x402Version": 2,
            "error": _ERROR,
            "error_detail": "@error_detail@",
            "resource": {
                "url": public_url + service.path,
                "description": service.description,
                "mimeType": "application/json",
            },
            "extensions": "@extensions@",
            "accepts": entries,
        }
        self._extensions = f'"extensions":{orjson.dumps({"bazaar": build_bazaar(service)}).decode()},'
        self._parts, self._holes = _split_at_marks(orjson.dumps(document), marks)

    def issue(self, call: Call, *, error: str, unix: int, faults: Sequence[Mapping[str, Any]] = ()) -> Challenge:
        """Return a challenge with fresh tokens for `call`.

        Args:
            call: What it is bound to.
            error: Why it is issued.
            unix: When, in Unix seconds.
            faults: Why `call` is the example and not the sent request; listed as `error_detail`.

        Raises:
            Refused: 503 `no_lane_available`: no payment could be verified now, so none is asked for.
        """
        self._follow_lanes()
        detail = f'"error_detail":{orjson.dumps(faults).decode()},' if faults else ""
        # A refusal also carries PAYMENT-RESPONSE, and its client knows how the service is called (P-CH-08).
        extensions = self._extensions if error == "payment_required" else ""
        values = [error, detail, extensions, call.request_hash]  # in the order of the marks
        # One draw for all lanes: each draw is a system call, and a 402 is the most frequent answer of a rail (decision
        # 0062).
        nonces = secrets.token_bytes(NONCE_BYTES * len(self._offered))
        for place, offer in enumerate(self._offered):
            token = self._mint.token(
                offer.terms,
                service_id=self.service.id,
                request_hash=call.request_hash,
                unix=unix,
                nonce=nonces[place * NONCE_BYTES : (place + 1) * NONCE_BYTES],
            )
            values.append(token)
            values += offer.lane.build_live_members(token).values()
        # Only the values between the marks change, so the JSON is not serialised again for each challenge.
        parts = self._parts.copy()
        for index, number in self._holes:
            parts[index] = values[number]
        return Challenge("".join(parts).encode(), detail.encode())

    def network_of(self, network: str) -> str:
        """Return the network that a refusal names: that of the payment if it is offered, else the first offer's."""
        # While no lane is available a refusal still needs a network, because x402 requires one in PAYMENT-RESPONSE
        # (P-ER-01).
        networks = [offer.terms.caip2 for offer in self._offered or self.offers]
        return network if network in {offer.terms.caip2 for offer in self.offers} else networks[0]

    def _follow_lanes(self) -> None:
        """Offer the lanes that are there now."""
        # LaneHealth returns the same object while nothing changes, so identity is enough to see whether to prepare
        # again.
        if self._available_lanes is not None and (available := self._available_lanes()) is not self._last_available:
            self._last_available = available
            self._prepare(tuple(offer for offer in self.offers if offer.terms.network in available))
        if not self._offered:
            message = (
                "every chain that this service is paid on is away or trails the clock; do not pay, ask again later "
                "(GET /health says why)"
            )
            # No 402 without an offer: a payer who pays on a lane that is away could not be served (P-CH-03, decision
            # 0044).
            raise Refused(503, "no_lane_available", message, {"Retry-After": "5"})


def _split_at_marks(document: bytes, marks: Sequence[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the parts of a document between its marks, and the place of each mark with its number."""
    parts = re.split("(" + "|".join(map(re.escape, marks)) + ")", document.decode())
    return parts, [(index, marks.index(part)) for index, part in enumerate(parts) if index % 2]


def build_entry(offer: Offer, service: Service, *, scheme: str, ttl: int, place: int | None) -> dict[str, Any]:
    """Return one `accepts` entry; without `place` it is a catalog's, which carries nothing that is live."""
    facts = offer.lane.facts
    extra: dict[str, Any] = {
        "service_id": service.id,
        "binding": facts.binding,
        "name": facts.asset_name,
        "decimals": facts.network.decimals,
        **facts.extra,
    }
    # A catalog has no token: only a 402 quotes a price for one request (5.4).
    if place is not None:
        extra = {"payment_reference": _token_mark(place), "request_hash": _HASH, **extra}
        extra |= {name: _extra_mark(place, name) for name in offer.lane.build_live_members("")}
    return {
        "scheme": scheme,
        "network": offer.terms.caip2,
        "amount": offer.terms.amount,
        # The interface names the amount `maxAmountRequired`, x402 version 2 names it `amount`; both are sent (P-CH-04,
        # C-03).
        "maxAmountRequired": offer.terms.amount,
        "asset": offer.terms.asset,
        "payTo": offer.terms.pay_to,
        "maxTimeoutSeconds": ttl,
        "extra": extra,
    }


def build_bazaar(service: Service) -> dict[str, Any]:
    """Return the discovery extension: how the service is called (P-CH-08)."""
    example_input = {"type": "http", "method": "POST", "bodyType": "json", "body": dict(service.example)}
    example_output = {"type": "json", "example": {"service_id": service.id, "result": dict(service.example_result)}}
    return {"info": {"input": example_input, "output": example_output}, "schema": _BAZAAR_SCHEMA}


def _token_mark(place: int) -> str:
    return f"@token{place}@"


def _extra_mark(place: int, name: str) -> str:
    return f"@{name}{place}@"

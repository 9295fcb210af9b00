"""The documents the rail publishes: index, both catalogs, OpenAPI, keys, agent card, health (5.10)."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import orjson

from reference.lanes.lane import SettlingLane
from reference.protocol import keys
from reference.protocol.a2a_card import CARD, ENDPOINT, LEGACY_CARD, hint
from reference.rail.challenges import Challenges, Offer, build_entry
from reference.rail.documents.agent_card import build_agent_card
from reference.rail.settings import RailSettings
from reference.store.database import DatabaseUnavailable
from reference.web.errors import Refused, Unprocessable
from reference.web.http.cached_document import Document
from reference.web.keyring import Keyring

_DIGEST_LETTERS = 32
_MAX_PAGE = 100


def _json_document(value: Any, media_type: str = "application/json") -> Document:
    return Document(orjson.dumps(value), media_type=media_type)


@dataclass(frozen=True, slots=True)
class Page:
    """The query of /discovery/resources."""

    kind: str | None
    limit: int
    offset: int


def read_page(query: Mapping[str, str]) -> Page:
    """Read the query of /discovery/resources.

    Raises:
        Unprocessable: `limit` is not an integer from 1 to 100, or `offset` is not one from 0.
    """
    limit, offset = query.get("limit", "20"), query.get("offset", "0")
    for name, text, low, high in (("limit", limit, 1, _MAX_PAGE), ("offset", offset, 0, 10**9)):
        if not (text.isascii() and text.isdecimal() and len(text) <= 10 and low <= int(text) <= high):
            raise Unprocessable(
                [{"loc": ["query", name], "msg": f"an integer from {low} to {high}", "type": "int_range"}]
            )
    return Page(query.get("type"), int(limit), int(offset))


class Documents:
    """The rail's documents, which are free and need no credential.

    Attributes:
        listed_since: Since when the listing of services is as it is, in ISO 8601.
    """

    def __init__(
        self,
        settings: RailSettings,
        did: str,
        challenges: Sequence[Challenges],
        key_ring: Callable[[], Keyring],
        alive: Callable[[], Awaitable[object]],
        *,
        faults: Callable[[], Sequence[str]] = tuple,
        unavailable_lanes: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._settings = settings
        self._did = did
        self._challenges = tuple(challenges)
        self._key_ring = key_ring
        self._alive = alive
        self.listed_since = ""
        self._faults = faults
        self._unavailable_lanes = unavailable_lanes
        card = _json_document(build_agent_card(settings, self._lanes()))
        self._constant = {
            "/pay/v1/index": _json_document(self._build_index()),
            "/.well-known/x402": _json_document(self._build_catalog()),
            "/openapi.json": _json_document(self._build_openapi()),
            CARD: card,
            LEGACY_CARD: card,
            ENDPOINT: _json_document(hint(settings.public_url)),
        }

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the documents that take no query."""
        return (*self._constant, "/.well-known/did.json", "/.well-known/jwks.json")

    def build_documents(self) -> Mapping[str, Document]:
        """Return every document that takes no query, by its path."""
        # The keys may have been rotated since the last call, so the two key documents are made for each request; the
        # others never change.
        published_keys = self._key_ring().published_keys
        identity = keys.did_document(self._did, published_keys, self._build_did_services())
        return {
            **self._constant,
            "/.well-known/did.json": _json_document(identity, "application/did+json"),
            "/.well-known/jwks.json": _json_document(keys.jwks(published_keys), "application/jwk-set+json"),
        }

    async def build_health(self) -> bytes:
        """Return the health document.

        Lanes that are not offered are listed in `lanes_away`, with a reason by network key in `lanes_away_reasons`.
        Faults that would prevent a restart are in `faults`. Neither changes the status from 200, because payers are
        still served.

        Raises:
            Refused: The ledger cannot be asked.
        """
        try:
            await self._alive()
        except DatabaseUnavailable as fault:
            raise Refused(503, "store_unavailable", "the ledger cannot be asked") from fault
        service = f"{self._settings.word.lower}-rail"
        away, faults = dict(self._unavailable_lanes()), list(self._faults())
        lanes = [lane for lane in self._lanes() if lane not in away]
        health: dict[str, Any] = {"status": "ok", "service": service, "version": version("weldproof"), "lanes": lanes}
        # A lane that is away is no reason to restart the process: payers on the other lanes are served, so the status
        # code stays 200 (decision 0044).
        if away or faults:
            health |= {"status": "degraded", "lanes_away": list(away), "lanes_away_reasons": away, "faults": faults}
        return orjson.dumps(health)

    def build_resources(self, page: Page) -> Document:
        """Return one page of /discovery/resources (x402 v2)."""
        items = (
            [self._build_resource(challenges) for challenges in self._challenges] if page.kind in {None, "http"} else []
        )
        page_items = items[page.offset : page.offset + page.limit]
        pagination = {"limit": page.limit, "offset": page.offset, "total": len(items)}
        return _json_document({"x402Version": 2, "items": page_items, "pagination": pagination})

    def hash_listing(self) -> str:
        """Return a digest of what /discovery/resources lists without the time of its last change, in lower-case hex."""
        listing = [{**self._build_resource(challenges), "lastUpdated": ""} for challenges in self._challenges]
        return hashlib.sha256(orjson.dumps(listing)).hexdigest()[:_DIGEST_LETTERS]

    def _url(self, path: str) -> str:
        return self._settings.public_url + path

    def _offers(self) -> Sequence[Offer]:
        return self._challenges[0].offers if self._challenges else ()

    def _lanes(self) -> list[str]:
        return [offer.terms.network for offer in self._offers()]

    def _build_entries(self, challenges: Challenges) -> list[dict[str, Any]]:
        """Return the entries of a service without the members of a live challenge."""
        scheme, ttl = self._settings.rail_scheme, self._settings.challenge_ttl
        return [
            build_entry(offer, challenges.service, scheme=scheme, ttl=ttl, place=None) for offer in challenges.offers
        ]

    def _build_resource(self, challenges: Challenges) -> dict[str, Any]:
        return {
            "resource": self._url(challenges.service.path),
            "type": "http",
            "x402Version": 2,
            "accepts": self._build_entries(challenges),
            "lastUpdated": self.listed_since,
            "metadata": {"service_id": challenges.service.id, "description": challenges.service.description},
        }

    def _build_catalog(self) -> dict[str, Any]:
        return {
            "version": 1,
            "x402Version": 2,
            "resources": [self._url(challenges.service.path) for challenges in self._challenges],
            "accepts": self._build_entries(self._challenges[0]) if self._challenges else [],
            "ownershipProofs": [],
            "instructions": (
                "POST a request without payment to get a 402. Pay one accepts entry, welded to its "
                "extra.payment_reference as extra.binding says, then repeat the request with X-PAYMENT."
            ),
        }

    def _build_index(self) -> dict[str, Any]:
        word = self._settings.word
        return {
            "version": 1,
            "provider": word.word,
            "provider_did": self._did,
            "actor_id": self._did,
            "auth": "none-payment-is-auth",
            "protocol": "x402",
            "x402_versions": [2],
            "scheme_disclosure": (
                "The payment must be welded to the challenge token. Standard x402 clients can discover this rail and "
                "cannot pay it, because they do not make the weld."
            ),
            "payment_binding": {
                "mechanism": "challenge-weld",
                "required": True,
                "note_value": "payment_reference",
                "note_encoding": "utf-8",
            },
            "challenge_ttl_secs": self._settings.challenge_ttl,
            "request_body_limit_bytes": self._settings.body_limit,
            "networks": [_describe_network(offer) for offer in self._offers()],
            "services": [
                {
                    "service_id": challenges.service.id,
                    "url": self._url(challenges.service.path),
                    "price_microusdc": self._settings.price(challenges.service.id),
                }
                for challenges in self._challenges
            ],
            "receipts": {
                "payable_receipt": word.receipt_kind,
                "settlement_attestation": "jcs-rfc8785-v1",
                "verify_url": self._url("/pay/v1/verify/receipt"),
                "jwks_url": self._url("/.well-known/jwks.json"),
                "provider_did": self._did,
                "settled_payment_ref_recipe": f"sha256({word.payable_core}:<tx_id>:<network key>)",
            },
            "single_use": (
                "One payment buys one execution. The same proof on the same request gets the stored answer again; "
                "on any other request it is refused."
            ),
        }

    def _build_openapi(self) -> dict[str, Any]:
        """Return the hand-written contract with this rail's address and prices."""
        document: dict[str, Any] = orjson.loads(files("openapi").joinpath("rail.json").read_bytes())
        document["servers"] = [{"url": self._settings.public_url}]
        for challenges in self._challenges:
            info = build_payment_info(challenges.offers)
            for operation in document["paths"][challenges.service.path].values():
                operation["x-payment-info"] = info
        return document

    def _build_did_services(self) -> list[dict[str, str]]:
        ids = (
            ("x402", "AgentPaymentService", "/pay/v1/index"),
            ("a2a", "A2AAgentCard", CARD),
            ("receipts", "ReceiptVerification", "/pay/v1/verify/receipt"),
        )
        return [
            {"id": f"{self._did}#{name}", "type": kind, "serviceEndpoint": self._url(path)} for name, kind, path in ids
        ]


def build_payment_info(offers: Sequence[Offer]) -> dict[str, Any]:
    """Return `x-payment-info`: decimal dollars in `price`, atomic digits in `offers`."""
    named = next((offer for offer in offers if isinstance(offer.lane, SettlingLane)), offers[0])
    # Decimal, because a float would print prices such as 0.1 with rounding errors.
    dollars = (Decimal(named.terms.amount) / 10**6).normalize()
    price = {"mode": "fixed", "currency": "USD", "amount": f"{dollars:f}"}
    charge = {"intent": "charge", "method": "x402", "amount": named.terms.amount, "currency": named.terms.asset}
    return {"price": price, "protocols": [{"x402": {}}], "offers": [charge]}


def _describe_network(offer: Offer) -> dict[str, Any]:
    facts = offer.lane.facts
    return {
        "id": offer.terms.caip2,
        "asset": offer.terms.asset,
        "asset_name": facts.asset_name,
        "decimals": facts.network.decimals,
        "binding": facts.binding,
        "scheme_kind": facts.scheme_kind,
    }

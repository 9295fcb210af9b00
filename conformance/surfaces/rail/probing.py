"""Probe of a rail for a first profile."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.discovery.rail import INDEX, Operation, discover
from conformance.http.client import Answer, Client
from conformance.surfaces.rail.purchase import lane_of
from conformance.surfaces.rail.unpaid_answers import entries
from conformance.target import Claims, Profile, Surface, Target
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import network_named

_RECEIPT_KIND = re.compile(r"([a-z][a-z0-9]{1,31})/payable-svc-receipt/1")


_PAYMENT_REQUIRED: Final = 402
_BODY_MEMBERS: Final = frozenset({"x402Version", "error", "resource", "accepts", "extensions"})
_ENTRY_MEMBERS: Final = frozenset(
    {"scheme", "network", "amount", "maxAmountRequired", "asset", "payTo", "maxTimeoutSeconds", "extra"}
)
_EXTRA_MEMBERS: Final = frozenset({"payment_reference", "request_hash", "service_id", "binding", "name", "decimals"})
# Of the index of a rail (5.10).
_INDEX_MEMBERS: Final = frozenset(
    {"provider_did", "actor_id", "auth", "scheme_disclosure", "payment_binding", "challenge_ttl_secs", "receipts"}
)


async def probe_rail(client: Client, url: str) -> dict[str, Any] | None:
    """Return the services and offers of a rail at an address, or None if the server is not a rail.

    Raises:
        Unreachable: It gave no answer.
    """
    # The discovery reads only published documents, so an empty profile is enough.
    profile = Profile(target=Target(), surfaces={"rail": Surface(url=url)}, claims=Claims(surfaces=("rail",)))
    operations = await discover(client, profile)
    if not operations:
        return None
    # An unpaid call costs nothing and creates nothing: a rail answers it 402.
    answers = {one.path: await client.call("POST", one.url, json_body=one.body) for one in operations}
    offered_entries = [entry for answer in answers.values() for entry in entries(answer)]
    lanes = [lane for lane in FACTS if any(lane_of(entry) == lane for entry in offered_entries)]
    card = await client.call("GET", url + "/.well-known/agent-card.json")
    index = (await client.call("GET", url + INDEX)).read_object()
    return {
        "url": url,
        "operations": operations,
        "lanes": lanes,
        "networks": _network_keys(offered_entries),
        "scheme": next(
            (entry.get("scheme") for entry in offered_entries if isinstance(entry.get("scheme"), str)), None
        ),
        "ttl": _ttl(offered_entries),
        "prices": {path: _price(answer) for path, answer in answers.items()},
        "card": card.status == 200,
        "word": service_word(index),
        # A drafted profile claims the specification only if every part of it that can be seen without paying is there.
        # One foreign answer is enough to leave the claim to the operator.
        "specified": index.keys() >= _INDEX_MEMBERS
        and all(has_specified_form(answer) for answer in answers.values())
        and all([has_specified_refusal(await _present_unreadable(client, one)) for one in operations]),
    }


async def _present_unreadable(client: Client, operation: Operation) -> Answer:
    """Present a payment that is not base64."""
    return await client.call("POST", operation.url, headers={"X-PAYMENT": "!"}, json_body=operation.body)


def has_specified_refusal(answer: Answer) -> bool:
    """Return whether the refusal of an unreadable payment has the form of P-CH-01, P-XP-01 and P-ER-01."""
    body = answer.read_object()
    response = _read_base64(answer, "payment-response")
    return (
        answer.status == _PAYMENT_REQUIRED
        and body.keys() == _BODY_MEMBERS - {"extensions"}
        and body.get("error") == "invalid_payment_header"
        and isinstance(response, dict)
        and response.get("success") is False
        and response.get("errorReason") == body.get("error")
        and bool(entries(answer))
    )


def _read_base64(answer: Answer, header: str) -> Any:
    """Return the value of the base64 JSON in a header field, or None."""
    try:
        return json.loads(base64.b64decode(answer.headers.get(header, ""), validate=True))
    except ValueError:
        return None


def has_specified_form(answer: Answer) -> bool:
    """Return whether a 402 has every member and field of the specification that the interface leaves open.

    These are the closed list of P-CH-01, the header of P-CH-02, the entries of P-CH-04 and P-CH-06, and the fields of
    P-CH-09. A server that was not written from the specification has some of them, and not all.
    """
    body = answer.read_object()
    extras = [entry.get("extra") for entry in entries(answer)]
    return (
        answer.status == _PAYMENT_REQUIRED
        and body.keys() == _BODY_MEMBERS
        and body.get("error") == "payment_required"
        and _read_base64(answer, "payment-required") == body
        and all(entry.keys() >= _ENTRY_MEMBERS for entry in entries(answer))
        and all(isinstance(extra, dict) and extra.keys() >= _EXTRA_MEMBERS for extra in extras)
        and answer.headers.get("cache-control") == "no-store"
        and answer.headers.get("access-control-allow-origin") == "*"
    )


def _network_keys(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the network key of each lane, by the first entry with a known network."""
    by_lane: dict[str, str] = {}
    for entry in entries:
        lane, network = lane_of(entry), network_named(entry.get("network"))
        if lane is not None and network is not None:
            by_lane.setdefault(lane, network.key)
    return by_lane


def service_word(index: Mapping[str, Any]) -> str | None:
    """Return the service word of a rail by the receipt kind in its index, `<word>/payable-svc-receipt/1`, or None."""
    receipts = index.get("receipts")
    kind = receipts.get("payable_receipt") if isinstance(receipts, dict) else None
    match = _RECEIPT_KIND.fullmatch(kind) if isinstance(kind, str) else None
    if match is None:
        return None
    provider = index.get("provider")
    # The kind is in lower case. The provider's name shows the spelling with capitals.
    return provider if isinstance(provider, str) and provider.lower() == match[1] else match[1]


def _ttl(entries: Sequence[Mapping[str, Any]]) -> int | None:
    only = _only(entries, "maxTimeoutSeconds")
    return only if isinstance(only, int) and not isinstance(only, bool) else None


def _price(answer: Answer) -> str | None:
    only = _only(entries(answer), "maxAmountRequired")
    return only if isinstance(only, str) else None


def _only(entries: Sequence[Mapping[str, Any]], name: str) -> Any:
    """Return the value that every entry has for a member, or None if they differ or lack it."""
    values = [entry.get(name) for entry in entries]
    return values[0] if values and all(value == values[0] for value in values) else None

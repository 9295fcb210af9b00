"""RAIL-DISC-01 to -03: the rail's agent card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.discovery import rail
from conformance.engine.check import Case, check
from conformance.surfaces.agent_cards import card_fault, extension_uris
from conformance.surfaces.rail.a2a import A2A, CARD, is_extension_activated

_TRANSPORT = "JSONRPC"


@check(
    "RAIL-DISC-01",
    "RAIL-DISC-02",
    "RAIL-DISC-03",
    surface="rail",
    fix="Serve the card as JSON with preferredTransport JSONRPC and a url that ends in /a2a.",
)
async def the_card_points_to_a2a(case: Case) -> None:
    """The agent card answers 200 with JSON, declares preferredTransport JSONRPC, and points to /a2a.

    Fetches /.well-known/agent-card.json. Expects an object with a name, that transport, and the rail's /a2a as the only
    address for it. The reference's card must also have every member that A2A 0.3.0 demands, with its type. It must
    declare the bound payment extension if an answer over A2A says that the extension is activated.
    """
    answer = await case.client.call("GET", case.session.rail + CARD)
    ours = case.profile.is_reference
    # Other services may follow another version of A2A, so only the reference's card is checked for every member of
    # 0.3.0.
    fault = card_fault(answer, whole=ours)
    case.expect("RAIL-DISC-01", fault is None, "200 with a JSON agent card", fault, exchange=answer)
    card = answer.read_object()
    transport = card.get("preferredTransport")
    case.expect("RAIL-DISC-02", transport == _TRANSPORT, _TRANSPORT, transport, exchange=answer)
    urls = list(_list_endpoints(card))
    # A client sends its payments to the address on the card, so a second address may receive them.
    wrong_urls = [url for url in urls if not _is_a2a_address(case, url)]
    finding = f"{wrong_urls} among {urls}" if wrong_urls else urls or "no address"
    expectation = "the rail's own address and /a2a"
    case.expect("RAIL-DISC-03", bool(urls) and not wrong_urls, expectation, finding, exchange=answer)
    uri = case.profile.rail_bindings.a2a_uri
    if ours and fault is None and case.profile.claims.includes("rail.a2a") and uri is not None:
        uris = extension_uris(card)
        is_declared = uri in uris or not await is_extension_activated(case, uri)
        case.expect("RAIL-DISC-01", is_declared, f"the extension {uri}, which is activated", uris, exchange=answer)


def _list_endpoints(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses that a card names for JSON-RPC."""
    if isinstance(card.get("url"), str):
        yield card["url"]
    for name in ("additionalInterfaces", "supportedInterfaces"):
        for interface in card[name] if isinstance(card.get(name), list) else ():
            if (
                isinstance(interface, dict)
                and interface.get("transport", interface.get("protocolBinding")) == _TRANSPORT
            ):
                yield str(interface.get("url"))


def _is_a2a_address(case: Case, url: str) -> bool:
    """Return whether an address has the path /a2a below the rail's. Its host may be another name of the rail."""
    return rail.path_of(case.session.rail, url) == A2A

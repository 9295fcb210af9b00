"""Probe of a gateway for a first profile: its keys, accepted bodies and checkout pages.

Nothing here judges. A value is found only when the target accepted it, so that a profile written from it can be run.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.discovery.openapi_bodies import bodies, build_required_body, properties
from conformance.discovery.openapi_paths import apply_server_paths, resolve_reference
from conformance.discovery.operation_presence import is_there
from conformance.http.client import Answer, Client
from conformance.http.refusal_details import list_words
from conformance.oracles import jose
from conformance.pages.page import Page
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, RECEIPT_VERIFY, RESOURCES, SCREEN
from conformance.surfaces.gateway.refusal_hints import explain_open_value
from conformance.target import Profile
from conformance.vocabulary.lanes.registry import FACTS

# Network keys of this family of services; a target may have others, which its operator adds.
NETWORK_KEYS = (
    *(lane.test.key for lane in FACTS.values()),
    *(lane.main.key for lane in FACTS.values()),
    *("voi_mainnet", "hedera_testnet", "hedera_mainnet", "stellar_testnet", "stellar_mainnet"),
    *("tempo_testnet", "tempo_mainnet"),
)
_OPENAPI = ("/openapi.json", "/v1/openapi.json", "/docs/openapi.json")
_KEYS = ("/.well-known/jwks.json", "/jwks.json", "/.well-known/jwks", "/.well-known/keys.json", "/v1/jwks", "/v1/keys")
_RECEIPT_MEMBERS = (
    "jws",
    "receipt",
    "receipt_jws",
    "compliance_receipt_jws",
    "token",
    "receipt_token",
    "compact",
    "jwt",
)
_CREATED_STATUSES = range(200, 300)
# Amount of a probe's link, and currencies that are tried if a refusal names the currency.
PROBE_AMOUNT = 1.25
_USUAL_CURRENCIES = ("USD", "EUR", "GBP")
_PRICE_NOTE = "the gateway sells"
_OF_A_LINK = frozenset({"amount", "currency", "label", "preferred_network"})


@dataclass(slots=True)
class DiscoveredGateway:
    """A discovered gateway; None and empty values are unknown.

    Attributes:
        url: Its address.
        bindings: Members of the profile's table `[gateway]`.
        networks: Network keys on which links are created, by the tenant's name.
        notes: What the operator has to add, in words.
        receipts_only: Whether it has no other operation of a gateway than the verification of receipts.
        follows_clock: Whether it adds the seconds of the clock file to its clock; None if that is unknown.
    """

    url: str
    bindings: dict[str, Any] = field(default_factory=dict)
    networks: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    receipts_only: bool = False
    follows_clock: bool | None = None


async def probe_gateway(
    client: Client, url: str, tenants: Mapping[str, Mapping[str, str]], *, screen: bool = True
) -> DiscoveredGateway | None:
    """Return the discovered gateway at an address, or None if the server is not a gateway.

    Args:
        client: Sends and records.
        url: Address without a slash at its end.
        tenants: Header fields of tenants by name; without any, what needs one is not asked.
        screen: Whether a screening is asked for, which the gateway may keep.

    Raises:
        Unreachable: It gave no answer.
    """
    # One tenant is enough for operations; links are created for each, because their networks
    # differ.
    credentials = next(iter(tenants.values()), {})
    # A gateway has at least one of these two operations.
    present_paths = [path for path in (LINKS, RECEIPT_VERIFY) if await is_there(client, url, path, dict(credentials))]
    if not present_paths:
        return None
    gateway = DiscoveredGateway(url, receipts_only=await _is_verifier(client, url, present_paths, dict(credentials)))
    openapi = await _first(client, url, _OPENAPI, lambda one: isinstance(one.read_object().get("paths"), dict))
    document = {} if openapi is None else apply_server_paths(openapi[1].read_object(), url, openapi[0])
    keys = await _first(client, url, _KEYS, lambda one: isinstance(one.read_object().get("keys"), list))
    member = await _receipt_member(client, url, document, credentials)
    screen_result = await _screen_once(client, url, document, credentials) if screen else (None, None)
    gateway.bindings |= {
        "openapi_path": None if openapi is None else openapi[0],
        "jwks_path": None if keys is None else keys[0],
        "receipt_member": member,
        "screen_body": screen_result[0],
        "screen_receipt_member": screen_result[1],
    }
    if credentials and LINKS in present_paths:
        await _create_probe_resource(client, gateway, document, credentials)
        for name, headers in tenants.items():
            await _create_probe_links(client, gateway, document, (name, headers))
    # Unknown values are left out, so that the draft lists them as lines to fill in.
    gateway.bindings = {name: value for name, value in gateway.bindings.items() if value}
    return gateway


async def _is_verifier(client: Client, url: str, present_paths: Sequence[str], credentials: dict[str, str]) -> bool:
    """Return whether a server that has some of a gateway's operations has none but the verification of receipts."""
    # A gateway may verify receipts and nothing else. Then links, resources and tenants are not its, and are not
    # drafted.
    if present_paths != [RECEIPT_VERIFY]:
        return False
    return not any([await is_there(client, url, path, credentials) for path in (RESOURCES, SCREEN)])


async def _first(
    client: Client, url: str, paths: Sequence[str], fits: Callable[[Answer], bool]
) -> tuple[str, Answer] | None:
    for path in paths:
        answer = await client.call("GET", url + path)
        if answer.status == 200 and fits(answer):
            return path, answer
    return None


async def _receipt_member(
    client: Client, url: str, document: Mapping[str, Any], credentials: Mapping[str, str]
) -> str | None:
    """Return the member that carries a receipt: the one whose presence changes what is answered."""
    described_members = properties(document, RECEIPT_VERIFY)
    names = [name for name in _RECEIPT_MEMBERS if name in described_members] or list(_RECEIPT_MEMBERS)

    async def answer_to(body: Mapping[str, Any]) -> tuple[int, str]:
        answer = await client.call("POST", url + RECEIPT_VERIFY, json_body=dict(body), headers=credentials)
        return answer.status, _without_ids(answer)

    # A member that the gateway does not read changes nothing, so the answer to it is the base
    # of comparison.
    without = await answer_to({"no_such_member": "e30.e30.AA"})
    for name in names:
        # Every wrong receipt is refused. Only the member that is read changes the refusal.
        if await answer_to({name: "e30.e30.AA"}) != without:
            return name
    return None


def _without_ids(answer: Answer) -> str:
    """Return a body without what differs from answer to answer."""
    members = {name: value for name, value in answer.read_object().items() if "id" not in name and "time" not in name}
    return repr(sorted(members.items(), key=lambda item: item[0]))


async def _screen_once(
    client: Client, url: str, document: Mapping[str, Any], credentials: Mapping[str, str]
) -> tuple[dict[str, Any] | None, str | None]:
    """Return a body that is screened, and the member of the answer that carries the receipt."""
    # The first accepted body ends the search: every screening may be kept by the target, and may cost its operator
    # money.
    for body in map(_unique, bodies(document, SCREEN)):
        answer = await client.call("POST", url + SCREEN, json_body=body, headers=credentials)
        if answer.status in _CREATED_STATUSES:
            places = [place for place, _ in jose.tokens_in(answer.read_object(), {})]
            return body, next((place.removeprefix("body:") for place in places), None)
    return None, None


async def _create_probe_resource(
    client: Client, gateway: DiscoveredGateway, document: Mapping[str, Any], credentials: Mapping[str, str]
) -> None:
    for body in bodies(document, RESOURCES):
        answer = await client.call("POST", gateway.url + RESOURCES, json_body=_unique(body), headers=credentials)
        if answer.status in _CREATED_STATUSES:
            gateway.bindings["resource_body"] = body
            break


async def _create_probe_links(
    client: Client, gateway: DiscoveredGateway, document: Mapping[str, Any], tenant: tuple[str, Mapping[str, str]]
) -> None:
    name, credentials = tenant
    # The first network is asked for with what the document says of a link, and the rest with what was accepted there.
    offers = list(_link_bodies(document))
    usual = [{**body, "currency": currency} for body in offers[:2] for currency in _USUAL_CURRENCIES]
    for network in _networks(document):
        names_currency = False
        for further in (*offers, *usual):
            # A gateway that says that the currency is what it refuses may sell in a usual one of which it says nothing.
            if further in usual and not names_currency:
                continue
            asked = {"amount": PROBE_AMOUNT, "label": "Weldproof probe", **further, "preferred_network": network}
            answer = await client.call("POST", gateway.url + LINKS, json_body=asked, headers=credentials)
            token = answer.read_object().get("token")
            if answer.status in _CREATED_STATUSES and isinstance(token, str):
                # What one network accepted is likely to be accepted on the others, so at most one link more is created
                # for each.
                offers, usual = [further], []
                gateway.networks.setdefault(name, []).append(network)
                await _learn_from_link(client, gateway, answer, token, further)
                break
            names_currency = names_currency or "currency" in list_words(answer)
            if (reason := explain_open_value(Profile(), LINKS, answer)) is not None and reason not in gateway.notes:
                gateway.notes.append(reason)
    if gateway.networks.get(name):
        gateway.notes = [note for note in gateway.notes if note.startswith(_PRICE_NOTE)]


async def _learn_from_link(
    client: Client, gateway: DiscoveredGateway, answer: Answer, token: str, further: Mapping[str, Any]
) -> None:
    gateway.bindings.setdefault("create_status", [answer.status])
    currency = further.get("currency")
    price = answer.read_object().get("amount_microunits")
    # The price tells whether a unit of the currency is one USDC. Only then may the suite compute amounts in it.
    if currency != "USDC" and price == round(PROBE_AMOUNT * 1_000_000):
        gateway.bindings["currency"] = currency
    elif currency != "USDC" and not any(note.startswith(_PRICE_NOTE) for note in gateway.notes):
        price_note = (
            f"{_PRICE_NOTE} {PROBE_AMOUNT} {currency} for {price!r:.40} micro-units, so currency was not bound: "
        )
        gateway.notes.append(price_note + "[gateway] currency is the code that prices a link in USDC, unit for unit")
    if more := {member: value for member, value in further.items() if member != "currency"}:
        gateway.bindings["link_body"] = more
    if not gateway.bindings.get("checkout_selectors"):
        page = await client.call("GET", gateway.url + CHECKOUT + token)
        gateway.bindings["checkout_selectors"] = guess_selectors(page.body.decode("utf-8", "replace"), token)


def _link_bodies(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield currency and further members of a link: the interface's four alone, then what the document wants."""
    yield {"currency": "USDC"}
    required_body = build_required_body(document, LINKS) or {}
    more = _unique({name: value for name, value in required_body.items() if name not in _OF_A_LINK})
    if more:
        yield {"currency": "USDC", **more}
    for currency in _values(document, "currency"):
        if currency != "USDC":
            yield {"currency": currency, **more}


def _networks(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the network keys to try: the family's, and further ones of the document."""
    return tuple(dict.fromkeys((*NETWORK_KEYS, *_values(document, "preferred_network"))))


def _values(document: Mapping[str, Any], member: str) -> list[str]:
    schema = resolve_reference(document, properties(document, LINKS).get(member))
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def _unique(body: Mapping[str, Any]) -> dict[str, Any]:
    text = secrets.token_hex(6)
    return {name: value.replace("{unique}", text) if isinstance(value, str) else value for name, value in body.items()}


_WORDS: Mapping[str, re.Pattern[str]] = {
    "address": re.compile(r"addr|pay-?to|recipient|receiv", re.IGNORECASE),
    "memo": re.compile(r"memo|note", re.IGNORECASE),
    "amount": re.compile(r"amount|total|price", re.IGNORECASE),
    "qr": re.compile(r"qr", re.IGNORECASE),
    "expires": re.compile(r"expir|countdown|valid", re.IGNORECASE),
    "state": re.compile(r"state|status", re.IGNORECASE),
}


def guess_selectors(html: str, token: str) -> dict[str, str]:
    """Return a CSS selector for each part of a checkout page whose element has an id that names it.

    Args:
        html: The page.
        token: Its token, which a memo usually holds.
    """
    page = Page(html)
    names = re.findall(r"""\bid\s*=\s*["']?([A-Za-z][A-Za-z0-9_-]*)""", html)
    by_part: dict[str, str] = {}
    for part, word in _WORDS.items():
        matching_names = [name for name in names if word.search(name)]
        # The shortest name is the part itself, longer ones its label or button.
        best = sorted(matching_names, key=lambda name: (part == "memo" and not _holds(page, name, token), len(name)))
        if best and page.find(f"#{best[0]}") is not None:
            by_part[part] = f"#{best[0]}"
    return by_part


def _holds(page: Page, name: str, token: str) -> bool:
    element = page.find(f"#{name}")
    return element is not None and token in element.text

"""What a server seems to be, and how that is seen; nothing here judges, and nothing is created."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import urljoin, urlsplit

from conformance.discovery.openapi_paths import apply_server_paths
from conformance.discovery.operation_presence import describe_foreign_answer
from conformance.discovery.rail import Operation, catalog_urls, listing_urls, paid_operations
from conformance.first_look.forged_payment import forged_payments
from conformance.first_look.permit import OnlyReading
from conformance.first_look.x402_answer import Challenged, challenged
from conformance.http.client import Answer, Client, JsonFault, Unreachable
from conformance.outcome import Inconclusive
from conformance.surfaces.agent.paths import VERIFY
from conformance.surfaces.agent.probing import probe_agent
from conformance.surfaces.control_plane.access import PKS
from conformance.surfaces.control_plane.probing import probe_hub
from conformance.surfaces.gateway.calls import LINKS, RECEIPT_VERIFY
from conformance.surfaces.gateway.probing import probe_gateway
from conformance.surfaces.rail.probing import probe_rail

T = TypeVar("T")
_PAYMENT_REQUIRED: Final = 402
_NO_SUCH_METHOD: Final = 405
# Documents in which a server tells what it sells.
_OPENAPI: Final = "/openapi.json"
_DOCUMENTS: Final = (_OPENAPI, "/.well-known/x402", "/discovery/resources")
_MOST_TRIED: Final = 8


@dataclass(slots=True)
class Recognised:
    """A server as it shows itself.

    Attributes:
        url: The address that was given.
        base: The address below which its surfaces are.
        surfaces: What it seems to be, to how that is seen.
        found: What the probes found, by surface, as a profile is written from it.
        challenge: What a call without a payment was answered, where it sells anything.
        answered: What the address itself was answered, in words; empty where it gave no answer.
        trouble: What went wrong while it was asked.
    """

    url: str
    base: str
    surfaces: dict[str, str] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)
    challenge: Challenged | None = None
    answered: str = ""
    trouble: list[str] = field(default_factory=list)


def bases(url: str) -> tuple[str, ...]:
    """Return below which addresses surfaces are looked for: the one that was given, and its host's."""
    parts = urlsplit(url)
    given = url.partition("?")[0].partition("#")[0].rstrip("/")
    return tuple(dict.fromkeys((given, f"{parts.scheme}://{parts.netloc}")))


async def recognise(client: Client, permits: Mapping[str, OnlyReading], seen: Recognised, method: str) -> None:
    """Ask a server what it is, and keep in `seen` what it shows.

    Args:
        client: Sends and records.
        permits: By base, the given one first, what may be sent below it; the client's permit is set to one of them.
        seen: Nothing but the address yet.
        method: By which method the address is called.

    Raises:
        Unreachable: It gave no answer at all.
    """
    given, *others = permits
    url = seen.url
    client.permit = permits[given]
    if method != "GET":
        permits[given].sells(url)
    first = await client.call(method, url, json_body={} if method == "POST" else None)
    seen.answered = describe_foreign_answer(first)
    if _is_challenge(first):
        seen.challenge = challenged(method, url, first)
    # An address that is sold is no address of a surface: that is its host's.
    for base in others or [given] if seen.challenge is not None else [given, *others]:
        seen.base = base
        client.permit = permits[base]
        await _surfaces(client, seen)
        if seen.surfaces:
            break
    permit = permits[seen.base]
    client.permit = permit
    rail = seen.found.get("rail")
    if seen.challenge is None and rail is not None:
        await _asked(seen, _of_rail(client, seen, rail["operations"][0]))
    if seen.challenge is None:
        await _asked(seen, _of_documents(client, permit, seen))
    if seen.challenge is not None:
        if method != "GET":
            permit.sells(seen.challenge.url)
        await _asked(seen, _junk(client, seen))


async def _surfaces(client: Client, seen: Recognised) -> None:
    base = seen.base
    gateway = await _asked(seen, probe_gateway(client, base, {}, screen=False))
    if gateway is not None:
        seen.found["gateway"] = gateway
        path = RECEIPT_VERIFY if gateway.receipts_only else LINKS
        seen.surfaces["gateway"] = f"it has POST {path}, which answers in JSON and differently from other paths"
    rail = await _asked(seen, probe_rail(client, base))
    if rail is not None:
        seen.found["rail"] = rail
        paths = [one.path for one in rail["operations"]]
        seen.surfaces["rail"] = f"its documents list {len(paths)} paid operations, such as {paths[0]}"
    agent = await _asked(seen, probe_agent(client, base))
    if agent is not None:
        seen.found["agent"] = agent
        seen.surfaces["agent"] = f"it has POST {VERIFY}"
    hub = await _asked(seen, probe_hub(client, base))
    if hub is not None:
        seen.found["control_plane"] = hub
        seen.surfaces["control_plane"] = f"GET {PKS} answers with a trust set"


async def _asked(seen: Recognised, probe: Awaitable[T]) -> T | None:
    """Return what a probe found, None where it came to no end; why not is kept."""
    try:
        return await probe
    except (Unreachable, Inconclusive, JsonFault) as fault:
        seen.trouble.append(str(fault))
        return None


async def _of_rail(client: Client, seen: Recognised, operation: Operation) -> None:
    answer = await client.call("POST", operation.url, json_body=operation.body)
    if _is_challenge(answer):
        seen.challenge = challenged("POST", operation.url, answer)


async def _of_documents(client: Client, permit: OnlyReading, seen: Recognised) -> None:
    """Look for an address that is sold: one of which the server says so, else one of those that anybody may read."""
    documents = {path: (await client.call("GET", seen.base + path)).read_object() for path in _DOCUMENTS}
    sold = dict.fromkeys(_listed(seen.base, documents))
    for _, url in sold:
        permit.sells(url)
    readable = dict.fromkeys(("GET", url) for url in _readable(seen.base, documents[_OPENAPI]))
    for method, url in [*{**sold, **readable}][:_MOST_TRIED]:
        answer = await client.call(method, url, json_body={} if method == "POST" else None)
        if answer.status == _NO_SUCH_METHOD and (method, url) in sold:
            method = "POST"  # noqa: PLW2901 - a catalog tells no method
            answer = await client.call(method, url, json_body={})
        if _is_challenge(answer):
            seen.challenge = challenged(method, url, answer)
            return


def _listed(base: str, documents: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield method and address of what is sold, on this host alone."""
    openapi, catalog, listing = (documents[path] for path in _DOCUMENTS)
    for path, method in paid_operations(apply_server_paths(openapi, base)):
        if "{" not in path and method in {"get", "post"}:
            yield method.upper(), base + path
    for url in (*catalog_urls(catalog), *listing_urls(listing)):
        address = urljoin(base + "/", url)
        if urlsplit(address)[:2] == urlsplit(base)[:2]:
            yield "GET", address


def _readable(base: str, openapi: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a document lists for GET: it knows nothing of what a stock server's middleware charges for."""
    paths = apply_server_paths(openapi, base).get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        if (
            isinstance(path, str)
            and path.startswith("/")
            and "{" not in path
            and isinstance(item, dict)
            and "get" in item
        ):
            yield base + path


async def _junk(client: Client, seen: Recognised) -> None:
    """Ask with a payment that cannot be read, and with one for each family of chains that no account signed."""
    challenge = seen.challenge
    if challenge is None or challenge.in_header is None:
        return
    method, url = challenge.method, challenge.url
    body: dict[str, Any] | None = {} if method == "POST" else None

    async def status(signature: str) -> int:
        answer = await client.call(method, url, json_body=body, headers={"PAYMENT-SIGNATURE": signature})
        return answer.status

    challenge = replace(challenge, to_unreadable=await status("this is not base64!"))
    made = forged_payments(challenge.offers, challenge.member("resource"))
    seen.challenge = replace(challenge, to_forged={network: await status(made[network]) for network in made})


def _is_challenge(answer: Answer) -> bool:
    return answer.status == _PAYMENT_REQUIRED or "PAYMENT-REQUIRED" in answer.headers

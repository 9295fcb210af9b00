"""Recognition of a server's kind by probes. It judges nothing and creates nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import urljoin, urlsplit

from conformance.discovery.openapi_paths import apply_server_paths
from conformance.discovery.operation_presence import describe_foreign_answer
from conformance.discovery.rail import Operation, catalog_urls, listing_urls, paid_operations
from conformance.first_look.forged_payment import forged_payments
from conformance.first_look.read_only_policy import ReadOnlyPolicy
from conformance.first_look.x402_answer import ChallengeAnswer, read_challenge
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
# Documents in which servers list what they sell.
_OPENAPI: Final = "/openapi.json"
_DOCUMENTS: Final = (_OPENAPI, "/.well-known/x402", "/discovery/resources")
# Number of listed addresses that are called, so that a long catalog does not use up the time of the
# look.
_MOST_TRIED: Final = 8


@dataclass(slots=True)
class ServerView:
    """A server as its answers show it.

    Attributes:
        url: The given address.
        base: The address below which its surfaces are.
        surfaces: Recognised surfaces, each with the reason.
        findings: Results of the probes by surface, from which a profile is written.
        challenge: The answer to a call without a payment; None if nothing is sold.
        answer_text: The answer at the given address, in words; empty without an answer.
        trouble: Problems of the probes.
    """

    url: str
    base: str
    surfaces: dict[str, str] = field(default_factory=dict)
    findings: dict[str, Any] = field(default_factory=dict)
    challenge: ChallengeAnswer | None = None
    answer_text: str = ""
    trouble: list[str] = field(default_factory=list)


def bases(url: str) -> tuple[str, ...]:
    """Return the addresses below which surfaces are searched: the given one, and the root of its host."""
    parts = urlsplit(url)
    given_base = url.partition("?")[0].partition("#")[0].rstrip("/")
    return tuple(dict.fromkeys((given_base, f"{parts.scheme}://{parts.netloc}")))


async def recognise(client: Client, permits: Mapping[str, ReadOnlyPolicy], server: ServerView, method: str) -> None:
    """Probe the kind of a server, and store the findings in `server`.

    Args:
        client: The client that sends and records.
        permits: Policy of each base, the given base first; the client gets one of them at a time.
        server: The view to fill, which contains only the address.
        method: HTTP method for the given address.

    Raises:
        Unreachable: The server gave no answer.
    """
    given_base, *other_bases = permits
    url = server.url
    client.permit = permits[given_base]
    if method != "GET":
        permits[given_base].sells(url)
    # The given address is called first: whatever it is, its answer decides where the surfaces are
    # searched.
    first = await client.call(method, url, json_body={} if method == "POST" else None)
    server.answer_text = describe_foreign_answer(first)
    if _is_challenge(first):
        server.challenge = read_challenge(method, url, first)
    # A sold address is a resource, so the surface is searched at the root of its host.
    for base in other_bases or [given_base] if server.challenge is not None else [given_base, *other_bases]:
        server.base = base
        client.permit = permits[base]
        await _surfaces(client, server)
        if server.surfaces:
            break
    permit = permits[server.base]
    client.permit = permit
    rail = server.findings.get("rail")
    if server.challenge is None and rail is not None:
        await _run_probe(server, _of_rail(client, server, rail["operations"][0]))
    if server.challenge is None:
        await _run_probe(server, _of_documents(client, permit, server))
    if server.challenge is not None:
        if method != "GET":
            permit.sells(server.challenge.url)
        await _run_probe(server, _junk(client, server))


async def _surfaces(client: Client, server: ServerView) -> None:
    base = server.base
    gateway = await _run_probe(server, probe_gateway(client, base, {}, screen=False))
    if gateway is not None:
        server.findings["gateway"] = gateway
        path = RECEIPT_VERIFY if gateway.receipts_only else LINKS
        server.surfaces["gateway"] = f"it has POST {path}, which answers in JSON and differently from other paths"
    rail = await _run_probe(server, probe_rail(client, base))
    if rail is not None:
        server.findings["rail"] = rail
        paths = [one.path for one in rail["operations"]]
        server.surfaces["rail"] = f"its documents list {len(paths)} paid operations, such as {paths[0]}"
    agent = await _run_probe(server, probe_agent(client, base))
    if agent is not None:
        server.findings["agent"] = agent
        server.surfaces["agent"] = f"it has POST {VERIFY}"
    hub = await _run_probe(server, probe_hub(client, base))
    if hub is not None:
        server.findings["control_plane"] = hub
        server.surfaces["control_plane"] = f"GET {PKS} answers with a trust set"


async def _run_probe(server: ServerView, probe: Awaitable[T]) -> T | None:
    """Return the result of a probe; None if it failed, with the reason added to the problems."""
    try:
        return await probe
    except (Unreachable, Inconclusive, JsonFault) as fault:
        server.trouble.append(str(fault))
        return None


async def _of_rail(client: Client, server: ServerView, operation: Operation) -> None:
    answer = await client.call("POST", operation.url, json_body=operation.body)
    if _is_challenge(answer):
        server.challenge = read_challenge("POST", operation.url, answer)


async def _of_documents(client: Client, permit: ReadOnlyPolicy, server: ServerView) -> None:
    """Search for a sold address: one that the server lists as sold, else one that GET can read."""
    documents = {path: (await client.call("GET", server.base + path)).read_object() for path in _DOCUMENTS}
    sold_calls = dict.fromkeys(_sold_calls(server.base, documents))
    for _, url in sold_calls:
        permit.sells(url)
    readable = dict.fromkeys(("GET", url) for url in _readable(server.base, documents[_OPENAPI]))
    for method, url in [*{**sold_calls, **readable}][:_MOST_TRIED]:
        answer = await client.call(method, url, json_body={} if method == "POST" else None)
        if answer.status == _NO_SUCH_METHOD and (method, url) in sold_calls:
            method = "POST"  # noqa: PLW2901 - a catalog contains no methods
            answer = await client.call(method, url, json_body={})
        if _is_challenge(answer):
            server.challenge = read_challenge(method, url, answer)
            return


def _sold_calls(base: str, documents: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield method and address of each sold resource on this host."""
    openapi, catalog, listing = (documents[path] for path in _DOCUMENTS)
    for path, method in paid_operations(apply_server_paths(openapi, base)):
        if "{" not in path and method in {"get", "post"}:
            yield method.upper(), base + path
    for url in (*catalog_urls(catalog), *listing_urls(listing)):
        address = urljoin(base + "/", url)
        if urlsplit(address)[:2] == urlsplit(base)[:2]:
            yield "GET", address


def _readable(base: str, openapi: Mapping[str, Any]) -> Iterator[str]:
    """Yield each GET address of an OpenAPI document, which does not show what a middleware charges for."""
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


async def _junk(client: Client, server: ServerView) -> None:
    """Call with an unreadable payment, and with an unsigned one for each family of chains."""
    challenge = server.challenge
    if challenge is None or challenge.in_header is None:
        return
    method, url = challenge.method, challenge.url
    body: dict[str, Any] | None = {} if method == "POST" else None

    async def status(signature: str) -> int:
        answer = await client.call(method, url, json_body=body, headers={"PAYMENT-SIGNATURE": signature})
        return answer.status

    challenge = replace(challenge, to_unreadable=await status("this is not base64!"))
    payments = forged_payments(challenge.offers, challenge.member("resource"))
    server.challenge = replace(challenge, to_forged={network: await status(payments[network]) for network in payments})


def _is_challenge(answer: Answer) -> bool:
    return answer.status == _PAYMENT_REQUIRED or "PAYMENT-REQUIRED" in answer.headers

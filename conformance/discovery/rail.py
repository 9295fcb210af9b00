"""Discovery of the rail's paid operations in its published documents: OpenAPI, both catalogs and the index.

The interface fixes the places of those documents and leaves the operations' paths open. A profile that binds
`[rail.services]` says which path is which service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from conformance.discovery.encoder_sensitive_bodies import UnusualPlace, unusual_places
from conformance.discovery.member_variations import vary_body
from conformance.discovery.openapi_bodies import build_required_body, examples, takes_no_body
from conformance.discovery.openapi_paths import apply_server_paths
from conformance.http.client import Client
from conformance.target import Profile
from conformance.vocabulary.networks import EXAMPLE

PAID_PREFIX = "/pay/v1/"
INDEX = "/pay/v1/index"
# Words of a path that tell which of the three services it sells. The order counts: the path of a compliance receipt
# contains "receipt", too, so the more particular words are tried first.
_ROLE_WORDS = {
    "rfc9421-verify": ("9421", "message-signature", "httpsig", "http-signature"),
    "compliance-receipt": ("compliance", "screen"),
    "receipt-verify": ("receipt",),
}

# The paid services of the interface.
ROLES = tuple(_ROLE_WORDS)


@dataclass(frozen=True, slots=True)
class Operation:
    """One paid operation.

    Attributes:
        role: Which of the three services it is, or None if that is unknown.
        url: Absolute URL, without a query unless `with_query` added one.
        path: Its path below the rail's address.
        body: A request body that the operation accepts.
        other_bodies: Further bodies, each a different request.
        is_guess: Whether `other_bodies` are guesses that the operation may refuse, because the profile binds none.
        is_accepted: Whether the operator or the target itself gave the body. Otherwise it was built from a schema or is
            empty, and the operation may refuse it.
        varied_bodies: Bodies with one change by its schema, which it may refuse; None if no document describes its
            members.
        unusual: Members of its body that may take values which encoders of JSON write differently.
    """

    role: str | None
    url: str
    path: str
    body: Any
    other_bodies: tuple[Any, ...]
    is_guess: bool = False
    is_accepted: bool = True
    varied_bodies: tuple[Any, ...] | None = None
    unusual: tuple[UnusualPlace, ...] = ()

    @property
    def query(self) -> str:
        """The query of its URL, without the question mark."""
        return urlsplit(self.url).query

    def with_query(self, query: str) -> Operation:
        """Return the operation at its address with a query."""
        return replace(self, url=f"{self.url}?{query}")


# Bodies of a target that claims the specification, which defines them. Other targets are asked with their own examples,
# or with what the profile binds. Each service has several, because checks need requests that differ.
_REFERENCE_BODIES: Mapping[str, tuple[Any, ...]] = {
    "receipt-verify": ({"jws": "e30.e30.AA"}, {"jws": "e30.e30.AQ"}, {"jws": "e30.e30.AA", "receipt_required": True}),
    "compliance-receipt": (
        {"recipient_address": "screen-allow", "network": EXAMPLE.key},
        {"recipient_address": "screen-block", "network": EXAMPLE.key},
        {"recipient_address": "screen-allow", "network": "base_mainnet"},
    ),
    "rfc9421-verify": tuple(
        {
            "method": "GET",
            "authority": "example.com",
            "path": path,
            "headers": {},
            "public_key_hex": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
        }
        for path in ("/", "/other", "/third")
    ),
}


async def discover(client: Client, profile: Profile) -> tuple[Operation, ...]:
    """Return the paid operations of the rail, ordered by path.

    Raises:
        Unreachable: The rail gave no answer.
        JsonFault: A document is not JSON.
    """
    base = profile.surfaces["rail"].url.rstrip("/")
    bindings = profile.rail_bindings
    openapi = apply_server_paths((await client.call("GET", base + "/openapi.json")).read_object(), base)
    catalog = (await client.call("GET", base + "/.well-known/x402")).read_object()
    # The greatest page: a listing with more entries than that would need further requests.
    listing = (await client.call("GET", base + "/discovery/resources?limit=100")).read_object()
    index = (await client.call("GET", base + INDEX)).read_object()
    methods = dict(paid_operations(openapi))
    descriptions = {path: _describe_body(openapi, path, method) for path, method in methods.items()}
    roles = {path: role for role, path in (bindings.services or {}).items()}
    roles_by_document = {
        path: name for path, one in _descriptions(openapi, index, base) if (name := _named_role(one)) is not None
    }
    paths = (
        set(roles)
        | set(descriptions)
        | {path_of(base, url) for url in (*catalog_urls(catalog), *listing_urls(listing), *index_urls(index))}
    )
    operations = []
    for path in sorted(path for path in paths if path.startswith(PAID_PREFIX) and path != INDEX):
        # If the profile names the services, a path that it does not name has no role: the operator knows
        # better than a guess.
        role = roles.get(path) or (None if roles else roles_by_document.get(path) or guess_role(path))
        bodies, sure = _bodies(profile, role, descriptions.get(path, (None, False)))
        is_bound = profile.is_reference or role in (bindings.other_bodies or {})
        method = methods.get(path, "post")
        more = vary_body(openapi, path, method, bodies[0])
        unusual = unusual_places(openapi, path, method, bodies[0])
        operations.append(Operation(role, base + path, path, bodies[0], bodies[1:], not is_bound, sure, more, unusual))
    return tuple(operations)


def _bodies(profile: Profile, role: str | None, description: tuple[Any, bool]) -> tuple[tuple[Any, ...], bool]:
    bindings = profile.rail_bindings
    bound_body = (bindings.bodies or {}).get(role or "")
    other_bodies = (bindings.other_bodies or {}).get(role or "")
    reference = profile.is_reference
    if bound_body is None and reference and role is not None and role in _REFERENCE_BODIES:
        return _REFERENCE_BODIES[role], True
    suggested_body, sure = description
    first: Any = next((body for body in (bound_body, suggested_body) if body is not None), {})
    # The profile may bind one further body or a list of them.
    further = [other_bodies] if isinstance(other_bodies, dict) else other_bodies or variations(first)
    return (first, *further), sure or reference or bound_body is not None


def _describe_body(openapi: Mapping[str, Any], path: str, method: str) -> tuple[Any, bool]:
    """Return the body that the document suggests for an operation, and whether the document says it is accepted."""
    example_bodies = list(examples(openapi, path, method))
    if example_bodies:
        return example_bodies[0], True
    return _fill_placeholders(build_required_body(openapi, path, method)), takes_no_body(openapi, path, method)


def _fill_placeholders(body: Mapping[str, Any] | None) -> Any:
    if body is None:
        return None
    return {
        name: value.replace("{unique}", "probe") if isinstance(value, str) else value for name, value in body.items()
    }


def variations(body: Any) -> tuple[Any, ...]:
    """Return different requests of the same shape: one string member is changed in each."""
    if not isinstance(body, dict):
        return ({"changed": True},)
    changed_bodies = [{**body, name: value + "A"} for name, value in body.items() if isinstance(value, str) and value]
    return tuple(changed_bodies) or ({**body, "changed": True},)


def screen_other_addresses(operation: Operation) -> tuple[Any, ...]:
    """Return bodies that screen the flagged and the blocked address, if the known body screens the allowed one.

    These are the addresses of the specification's examples (3.7). A service that does not know them may screen them as
    any other address, or refuse them.
    """
    body = operation.body
    if not isinstance(body, dict) or body.get("recipient_address") != "screen-allow":
        return ()
    return tuple({**body, "recipient_address": name} for name in ("screen-flag", "screen-block"))


def _descriptions(
    openapi: Mapping[str, Any], index: Mapping[str, Any], base: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the description of each paid operation in the documents, with its path."""
    for path, method in paid_operations(openapi):
        yield path, openapi["paths"][path][method]
    services = index.get("services")
    for service in services if isinstance(services, list) else ():
        if isinstance(service, dict):
            yield from ((path_of(base, url), service) for url in index_urls({"services": [service]}))


def _named_role(document: Mapping[str, Any]) -> str | None:
    """Return the service that a description names by its id, or None."""
    names = (document.get("service_id"), document.get("operationId"))
    return next((name for name in names if isinstance(name, str) and name in _ROLE_WORDS), None)


def guess_role(path: str) -> str | None:
    """Return the service that a path names by its words, or None."""
    text = path.lower()
    return next((role for role, words in _ROLE_WORDS.items() if any(word in text for word in words)), None)


def path_of(base: str, url: str) -> str:
    """Return the path of `url` below the rail's address, or an empty string if it has no path."""
    try:
        path = urlsplit(url).path
    except ValueError:  # a bracket that opens no IPv6 address, say
        return ""
    return path if url.startswith("/") else path.removeprefix(urlsplit(base).path.rstrip("/"))


def paid_operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (path, first paid method) of each path with an operation that declares a price."""
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        # The paid operations of the interface use POST, so it comes first.
        for method in ("post", "get", "put", "patch", "delete"):
            operation = item.get(method) if isinstance(item, dict) else None
            if isinstance(operation, dict) and is_paid(operation):
                yield path, method
                break


def is_paid(operation: Mapping[str, Any]) -> bool:
    """Return whether an OpenAPI operation declares that it costs something."""
    responses = operation.get("responses")
    return "x-payment-info" in operation or (isinstance(responses, dict) and "402" in responses)


def catalog_urls(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the resource addresses of /.well-known/x402, in any shape that deployed rails use."""
    return tuple(_strings(document.get("resources"), ("url", "resource")))


def listing_urls(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the resource addresses of /discovery/resources."""
    return tuple(_strings(document.get("items", document.get("resources")), ("resource", "url")))


def index_urls(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the service addresses of /pay/v1/index, if it lists them."""
    return tuple(_strings(document.get("services"), ("url", "path", "resource")))


def _strings(value: Any, members: Iterable[str]) -> Iterator[str]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from (item[name] for name in members if isinstance(item.get(name), str))


CATALOG = "/.well-known/x402"


RESOURCES = "/discovery/resources?limit=100"


OPENAPI = "/openapi.json"


def texts(value: Any, depth: int) -> Iterator[str]:
    """Yield every text in a JSON value, at most `depth` objects and arrays deep."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping | list):
        for member in value.values() if isinstance(value, Mapping) else value:
            yield from texts(member, depth - 1)

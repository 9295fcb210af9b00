"""Paths of the operations of an OpenAPI document below the address under test, with its `servers` applied.

The servers of an operation replace those of its path item, which replace the document's (OpenAPI 3.1, 4.8.9 and
4.8.10). A relative server is relative to the document's address. A variable has its default. Without any server the
path stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_MOST_REFS = 8


def apply_server_paths(document: Mapping[str, Any], base: str, place: str = "/openapi.json") -> Mapping[str, Any]:
    """Return an OpenAPI document with every operation at its path below an address, and without servers.

    A document whose operations already have these paths is returned unchanged.

    Args:
        document: The document.
        base: The surface's address, without a slash at its end.
        place: Path of the document below it.
    """
    paths = document.get("paths")
    if not isinstance(paths, dict):
        return document
    operations: dict[str, Any] = {}
    for path, path_item in paths.items():
        item = resolve_reference(document, path_item)
        for method in (name for name in item if name in METHODS):
            full_path = _path(base, place, path, _servers(document, item, item[method]))
            entry = operations.setdefault(
                full_path, {name: item[name] for name in item if name not in {*METHODS, "servers"}}
            )
            entry.setdefault(method, _without_servers(item[method]))
        if not item.keys() & set(METHODS):
            operations.setdefault(path, path_item)
    if list(operations) == list(paths):
        return document
    return {name: value for name, value in document.items() if name != "servers"} | {"paths": operations}


def resolve_reference(document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Return an object of an OpenAPI document; a reference at its top is followed within the document only."""
    # References may form a cycle, so only a limited number is followed. External references are not fetched.
    for _ in range(_MOST_REFS):
        reference = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        value = document
        for part in reference[2:].split("/"):
            value = value.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _servers(document: Mapping[str, Any], item: Mapping[str, Any], operation: Any) -> list[str]:
    """Return the addresses below which an operation is served, by the nearest list that names any."""
    for holder in (operation, item, document):
        servers = holder.get("servers") if isinstance(holder, Mapping) else None
        urls = [url for one in (servers if isinstance(servers, list) else ()) for url in _url(one)]
        if urls:
            return urls
    return []


def _url(server: Any) -> Iterator[str]:
    """Yield a server's address with its variables filled in, unless a variable has no default."""
    url = server.get("url") if isinstance(server, dict) else None
    if not isinstance(url, str):
        return
    variables = server.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        default = variable.get("default") if isinstance(variable, dict) else None
        if isinstance(default, str):
            url = url.replace("{" + name + "}", default)
    if "{" not in url:
        yield url


def _path(base: str, place: str, path: str, servers: list[str]) -> str:
    """Return the path of an operation below the surface's address.

    Of several servers, one with the surface's host decides. If all have other hosts, the first one decides.
    """
    try:
        # Only the path of a server is used. No host that a document names is called, because the operator
        # chose the address under test. A document behind a proxy often names other hosts.
        own = urlsplit(base)
        addresses = [urlsplit(urljoin(base + place, url)) for url in servers]
        address = next(
            (one for one in addresses if one.netloc.lower() == own.netloc.lower()), addresses[0] if addresses else None
        )
    except ValueError:  # a bracket that opens no IPv6 address, say
        return path
    if address is None:
        return path
    prefix = address.path.rstrip("/")
    within = own.path.rstrip("/")
    # The surface's address may already contain the prefix, which must not be repeated.
    if within and (prefix == within or prefix.startswith(within + "/")):
        prefix = prefix.removeprefix(within)
    return prefix + path


def _without_servers(operation: Any) -> Any:
    if not isinstance(operation, dict):
        return operation
    return {name: value for name, value in operation.items() if name != "servers"}

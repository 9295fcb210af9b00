"""Finding paid operations by what a rail publishes, in any of the shapes seen in the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.discovery.rail import INDEX, Operation, discover
from conformance.http.client import Client, Counter, Names
from conformance.log.events import EventLog
from conformance.target import Profile, Surface, Target

RAIL = "http://rail.test"
PAID_OPERATION: dict[str, Any] = {"responses": {"402": {}}}


class Published:
    """A transport that answers with documents by their path, and 404 elsewhere."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        del method, headers, body
        document = self._documents.get(url.removeprefix(RAIL).partition("?")[0])
        status = 404 if document is None else 200
        return status, CIMultiDictProxy(CIMultiDict[str]()), orjson.dumps(document)


async def found_in(documents: Mapping[str, Any], defaults: Any = "none") -> tuple[Operation, ...]:
    """Return the operations that are found in documents."""
    profile = Profile(target=Target(defaults=defaults), surfaces={"rail": Surface(url=RAIL + "/")})
    return await discover(Client(Published(documents), EventLog(), "discovery", Names(), Counter()), profile)


async def test_operations_are_found_wherever_they_are_listed() -> None:
    """OpenAPI, both catalogs and the index each add theirs, once; ordered by path."""
    operations = await found_in(
        {
            "/openapi.json": {
                "paths": {"/pay/v1/b": {"post": PAID_OPERATION}, "/pay/v1/free": {"post": {"responses": {}}}}
            },
            "/.well-known/x402": {"resources": [RAIL + "/pay/v1/c", {"url": "/pay/v1/b"}]},
            "/discovery/resources": {"items": [{"resource": RAIL + "/pay/v1/d"}]},
            INDEX: {"services": [{"path": "/pay/v1/a"}]},
        }
    )
    assert [one.path for one in operations] == ["/pay/v1/a", "/pay/v1/b", "/pay/v1/c", "/pay/v1/d"]
    assert operations[0].url == RAIL + "/pay/v1/a"


async def test_the_index_and_what_lies_elsewhere_cost_nothing() -> None:
    """A catalog may list the index itself, and addresses outside of the paid paths: neither is tried."""
    resources = [INDEX, "/health", "/pay/v2/a", "http://[", "/pay/v1/a"]
    operations = await found_in(
        {"/.well-known/x402": {"resources": resources}, INDEX: {"services": [{"url": RAIL + INDEX}]}}
    )
    assert [one.path for one in operations] == ["/pay/v1/a"]


async def test_roles_are_told_by_words_of_the_path() -> None:
    """Each of the three services by its usual names; another path has none."""
    paths = ["compliance/receipt", "receipt/verify", "rfc9421/verify", "weather"]
    operations = await found_in({"/.well-known/x402": {"resources": [f"/pay/v1/{one}" for one in paths]}})
    assert [one.role for one in operations] == ["compliance-receipt", "receipt-verify", "rfc9421-verify", None]


async def test_roles_are_told_by_the_ids_of_the_documents() -> None:
    """A path of another name is known by the operation's id, or by the service's in the index."""
    operations = await found_in(
        {
            "/openapi.json": {
                "paths": {
                    "/pay/v1/rv": {"post": {**PAID_OPERATION, "operationId": "receipt-verify"}},
                    "/pay/v1/other": {"post": {**PAID_OPERATION, "operationId": "weather"}},
                }
            },
            INDEX: {"services": [{"service_id": "rfc9421-verify", "url": RAIL + "/pay/v1/sig"}]},
        }
    )
    assert {one.path.rpartition("/")[2]: one.role for one in operations} == {
        "other": None,
        "rv": "receipt-verify",
        "sig": "rfc9421-verify",
    }

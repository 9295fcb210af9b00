"""RAIL-DISC: what the rail publishes about itself."""

from __future__ import annotations

from typing import Any

from conformance import discovery
from conformance.check import Case, check
from conformance.checks.rail.keys import DID, JWKS, document
from conformance.oracles.openapi import faults_of_openapi

CATALOG = "/.well-known/x402"
RESOURCES = "/discovery/resources?limit=100"
INDEX = "/pay/v1/index"
OPENAPI = "/openapi.json"


def paths(case: Case, urls: tuple[str, ...]) -> set[str]:
    """Return the paths of addresses below the rail's."""
    return {discovery.path_of(case.session.rail, url) for url in urls}


@check(
    "RAIL-DISC-04",
    "RAIL-DISC-05",
    "RAIL-DISC-06",
    "RAIL-DISC-07",
    "RAIL-DISC-12",
    "RAIL-DISC-13",
    surface="rail",
    fix="Serve both catalogs and the index with 200, make each from the one table of paid operations, and keep all of "
    "them under /pay/v1/.",
)
async def catalogs_agree(case: Case) -> None:
    """Both catalogs and the index are there, list the same paid operations under /pay/v1/, and OpenAPI agrees.

    Fetches the catalogs, the index and the OpenAPI document. Expects 200, a non-empty list of operations, the same
    set everywhere, and every path under /pay/v1/.
    """
    first, catalog = await document(case, CATALOG)
    second, listing = await document(case, RESOURCES)
    third, _ = await document(case, INDEX)
    fourth, openapi = await document(case, OPENAPI)
    in_catalog = paths(case, discovery.catalog_urls(_object(catalog)))
    in_listing = paths(case, discovery.listing_urls(_object(listing)))
    in_openapi = {path for path, _ in discovery.openapi_examples(_object(openapi))}
    listed = first.status == 200 and bool(in_catalog)
    case.expect("RAIL-DISC-04", listed, "200 with operations", f"{first.status}, {len(in_catalog)}", exchange=first)
    listed = second.status == 200 and bool(in_listing)
    case.expect("RAIL-DISC-05", listed, "200 with operations", f"{second.status}, {len(in_listing)}", exchange=second)
    differ = sorted(in_catalog ^ in_listing)
    case.expect("RAIL-DISC-06", not differ, "the same operations in both catalogs", differ, exchange=second)
    case.expect("RAIL-DISC-07", third.status == 200, "200", third.status, exchange=third)
    outside = sorted(
        path for path in in_catalog | in_listing | in_openapi if not path.startswith(discovery.PAID_PREFIX)
    )
    case.expect("RAIL-DISC-12", not outside, "every paid path under /pay/v1/", outside, exchange=first)
    differ = sorted((in_catalog | in_listing) ^ in_openapi)
    case.expect("RAIL-DISC-13", not differ, "the same operations as OpenAPI", differ, exchange=fourth)


@check(
    "RAIL-DISC-08",
    "RAIL-DISC-09",
    "RAIL-DISC-10",
    surface="rail",
    fix="Publish a valid OpenAPI document in which every paid operation carries x-payment-info and declares 402.",
)
async def openapi_says_what_costs(case: Case) -> None:
    """The OpenAPI document is valid, and every paid operation carries x-payment-info and declares a 402.

    Fetches /openapi.json and validates it; looks up every operation that the catalogs list. Expects both marks on at
    least one method of each path, and on every operation that has one of the two.
    """
    answer, openapi = await document(case, OPENAPI)
    faults = faults_of_openapi(openapi) if answer.status == 200 else [f"answered {answer.status}"]
    case.expect("RAIL-DISC-08", not faults, "a valid OpenAPI document", "; ".join(faults), exchange=answer)
    _, catalog = await document(case, CATALOG)
    declared = _object(_object(openapi).get("paths"))
    wanted = {operation.path for operation in case.session.operations}
    wanted |= paths(case, discovery.catalog_urls(_object(catalog)))
    for path in sorted(path for path in wanted if path.startswith(discovery.PAID_PREFIX)):
        operations = [one for one in _object(declared.get(path)).values() if isinstance(one, dict)]
        paid = [one for one in operations if discovery.is_paid(one)]
        where = {"operation": path}
        priced = bool(paid) and all("x-payment-info" in one for one in paid)
        case.expect("RAIL-DISC-09", priced, "x-payment-info", f"{len(paid)} paid", exchange=answer, where=where)
        refused = bool(paid) and all("402" in _object(one.get("responses")) for one in paid)
        case.expect("RAIL-DISC-10", refused, "a 402 response", f"{len(paid)} paid", exchange=answer, where=where)


@check(
    "RAIL-DISC-11",
    surface="rail",
    fix="Serve discovery and key documents to everybody, without payment and without a credential.",
)
async def documents_are_free(case: Case) -> None:
    """Discovery and key documents are served without payment.

    Fetches every document without X-PAYMENT. Expects 200 each time.
    """
    for path in (CATALOG, RESOURCES, INDEX, OPENAPI, DID, JWKS):
        answer = await case.client.call("GET", case.session.rail + path)
        case.expect(
            "RAIL-DISC-11", answer.status == 200, "200", answer.status, exchange=answer, where={"document": path}
        )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

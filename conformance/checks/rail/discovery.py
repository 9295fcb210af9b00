"""RAIL-DISC: the rail's catalogs, index and OpenAPI document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.discovery import rail
from conformance.discovery.openapi_paths import apply_server_paths
from conformance.discovery.rail import CATALOG, INDEX, OPENAPI, RESOURCES, texts
from conformance.engine.check import Case, check
from conformance.oracles.openapi_validity import LeadsElsewhere, faults_of_openapi
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.keys import DID, JWKS, document

CARD = "/.well-known/agent-card.json"
# Catalogs nest lists in objects. A deeper value is not an address of an operation in any known format.
_DEPTH = 6


def relative_paths(case: Case, urls: tuple[str, ...]) -> set[str]:
    """Return the paths of addresses, relative to the rail's address."""
    return {rail.path_of(case.session.rail, url) for url in urls}


def list_paths(case: Case, value: Any, members: Sequence[str], urls: tuple[str, ...]) -> set[str] | None:
    """Return the paths that a catalog lists, or None if the suite can read no list in it.

    The interface leaves a catalog's shape open. If none of the known `members` is a list, every address with the paid
    prefix counts, wherever it is.
    """
    if any(isinstance(_object(value).get(name), list) for name in members):
        return relative_paths(case, urls)
    paid_paths = {
        path for path in relative_paths(case, tuple(texts(value, _DEPTH))) if path.startswith(rail.PAID_PREFIX)
    }
    return (paid_paths - {INDEX}) or None


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

    Fetches the catalogs, the index and the OpenAPI document. Expects 200, a non-empty list of operations, the same set
    of operations everywhere, and every path under /pay/v1/.
    """
    catalog_answer, catalog = await document(case, CATALOG)
    # The catalog is paged. A client without parameters must get a page as well.
    bare_answer, _ = await document(case, RESOURCES.partition("?")[0])
    listing_answer, listing = await document(case, RESOURCES)
    index_answer, index = await document(case, INDEX)
    in_catalog = list_paths(case, catalog, ("resources",), rail.catalog_urls(_object(catalog)))
    in_listing = list_paths(case, listing, ("items", "resources"), rail.listing_urls(_object(listing)))
    in_index = list_paths(case, index, ("services",), rail.index_urls(_object(index)))
    for row, answer, listed_paths in (
        ("RAIL-DISC-04", catalog_answer, in_catalog),
        ("RAIL-DISC-05", listing_answer, in_listing),
    ):
        if answer.status == 200 and listed_paths is None and answer.read_object():
            case.mark_inconclusive(row, "unbound: no list of operations can be read in the catalog", exchange=answer)
        else:
            finding = f"{answer.status}, {len(listed_paths or ())} operations"
            case.expect(
                row, answer.status == 200 and bool(listed_paths), "200 with operations", finding, exchange=answer
            )
    case.expect("RAIL-DISC-05", bare_answer.status == 200, "200", bare_answer.status, exchange=bare_answer)
    if in_catalog is None or in_listing is None:
        case.mark_inconclusive(
            "RAIL-DISC-06", "unbound: one of the catalogs has no list of operations that can be read"
        )
    else:
        differences = sorted(in_catalog ^ in_listing)
        expectation = "the same operations in both catalogs"
        case.expect("RAIL-DISC-06", not differences, expectation, differences, exchange=listing_answer)
    case.expect("RAIL-DISC-07", index_answer.status == 200, "200", index_answer.status, exchange=index_answer)
    await _judge_sets(case, (in_catalog or set()) | (in_listing or set()), in_index)


async def _judge_sets(case: Case, catalog_paths: set[str], in_index: set[str] | None) -> None:
    answer, openapi = await document(case, OPENAPI)
    declared_paths = {path for path, _ in rail.paid_operations(apply_server_paths(_object(openapi), case.session.rail))}
    if not catalog_paths | declared_paths:
        raise Inconclusive("no catalog and no OpenAPI document lists a paid operation")
    # A path in one document only breaks the row about agreement. It must still have the prefix.
    all_paths = catalog_paths | declared_paths | (in_index or set())
    # Clients and proxies distinguish paid from free calls by this prefix (5.1).
    outside_paths = sorted(path for path in all_paths if not path.startswith(rail.PAID_PREFIX))
    case.expect("RAIL-DISC-12", not outside_paths, "every paid path under /pay/v1/", outside_paths, exchange=answer)
    differences = sorted(catalog_paths ^ declared_paths)
    case.expect("RAIL-DISC-13", not differences, "the same operations as OpenAPI", differences, exchange=answer)
    if in_index is not None:
        differences = sorted(in_index ^ declared_paths)
        where = {"document": INDEX}
        case.expect(
            "RAIL-DISC-13", not differences, "the same operations as OpenAPI", differences, exchange=answer, where=where
        )


@check(
    "RAIL-DISC-08",
    "RAIL-DISC-09",
    "RAIL-DISC-10",
    surface="rail",
    fix="Publish a valid OpenAPI document in which every paid operation carries x-payment-info and declares 402.",
)
async def openapi_says_what_costs(case: Case) -> None:
    """The OpenAPI document is valid, and every paid operation carries x-payment-info and declares a 402.

    Fetches /openapi.json, validates it, and looks up every operation that the catalogs list. Expects both marks on at
    least one method of each path, and on every operation that has one of the two.
    """
    answer, openapi = await document(case, OPENAPI)
    try:
        faults = faults_of_openapi(openapi) if answer.status == 200 else [f"answered {answer.status}"]
        case.expect("RAIL-DISC-08", not faults, "a valid OpenAPI document", "; ".join(faults), exchange=answer)
    # A document may refer to other addresses. The suite does not fetch them, so it cannot judge the whole document.
    except LeadsElsewhere as reason:
        case.mark_inconclusive("RAIL-DISC-08", str(reason), exchange=answer)
    path_objects = _object(apply_server_paths(_object(openapi), case.session.rail).get("paths"))
    for path in (operation.path for operation in case.session.catalog.listed_operations):
        operations = [one for one in _object(path_objects.get(path)).values() if isinstance(one, dict)]
        # A path may also have free methods, such as a description by GET, so one paid method suffices.
        paid_operations = [one for one in operations if rail.is_paid(one)]
        where = {"operation": path}
        has_price = bool(paid_operations) and all("x-payment-info" in one for one in paid_operations)
        case.expect(
            "RAIL-DISC-09", has_price, "x-payment-info", f"{len(paid_operations)} paid", exchange=answer, where=where
        )
        has_402 = bool(paid_operations) and all("402" in _object(one.get("responses")) for one in paid_operations)
        case.expect(
            "RAIL-DISC-10", has_402, "a 402 response", f"{len(paid_operations)} paid", exchange=answer, where=where
        )


@check(
    "RAIL-DISC-11",
    surface="rail",
    fix="Serve discovery and key documents to every client, without payment and without a credential.",
)
async def documents_are_free(case: Case) -> None:
    """Discovery and key documents are served without payment.

    Fetches every document without X-PAYMENT. Expects 200 each time.
    """
    card = (CARD,) if case.profile.claims.includes("rail.agent_card") else ()
    for path in (CATALOG, RESOURCES, INDEX, OPENAPI, DID, JWKS, *card):
        answer = await case.client.call("GET", case.session.rail + path)
        case.expect(
            "RAIL-DISC-11", answer.status == 200, "200", answer.status, exchange=answer, where={"document": path}
        )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

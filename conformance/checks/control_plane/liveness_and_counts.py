"""CP-HEALTH: liveness, and the counts of issuers and services."""

from __future__ import annotations

from contextlib import AsyncExitStack

from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import Hub, ask_until, hub_of, json_of, serving_hub
from conformance.surfaces.control_plane.services import HEALTH, play_service

_ROWS = {"issuers": "CP-HEALTH-02", "services": "CP-HEALTH-03"}
# Three, because another client's change during one try is likely on a shared hub, and during all three is not.
_TRIES = 3


@check(
    "CP-HEALTH-01",
    "CP-HEALTH-02",
    "CP-HEALTH-03",
    surface="control_plane",
    fix="Answer GET /health with 200, a JSON object, and in it the numbers of issuers and of services.",
)
async def health_tells_life_and_counts(case: Case) -> None:
    """GET /health answers 200 with liveness, a count of issuers and a count of services.

    Reads it. Expects an object that is not empty, and an integer for each count: at the bound place, else at any place
    whose name contains issuers or services.
    """
    hub = await hub_of(case)
    answer = await hub.call("GET", HEALTH)
    document = json_of(answer)
    alive = answer.status == 200 and isinstance(document, dict) and bool(document)
    case.expect("CP-HEALTH-01", alive, "200 with a JSON object", answer.status, exchange=answer)
    for kind, row in _ROWS.items():
        place = (hub.bindings.health_counts or {}).get(kind)
        number = document_reader.count(document, kind, place)
        if number is None and place is None and document_reader.has_counts(document):
            case.mark_inconclusive(row, f"unbound: which number counts {kind}? give [hub.health_counts] {kind}")
            continue
        finding = number if number is not None else "none"
        case.expect(row, number is not None, f"a count of {kind}", finding, exchange=answer)


@check(
    "CP-HEALTH-04",
    "CP-HEALTH-05",
    surface="control_plane",
    exclusive=Exclusive.SURFACE,
    fix="Count the entries of the trust set and of the list of services at the moment of the answer.",
)
async def counts_follow_what_is_registered(case: Case) -> None:
    """One more issuer raises the count of issuers by one, and its revocation lowers it; a service raises its count.

    Registers an issuer, revokes it, and registers a service, reading health before and after. Other clients may do the
    same on a shared control plane, so it is a breach only after three tries.
    """
    hub = await serving_hub(case)
    hub.known_token  # noqa: B018 - without it there is nothing to judge
    for row, kind, count_kind in (
        ("CP-HEALTH-04", "issuers", _count_issuers),
        ("CP-HEALTH-05", "services", _count_services),
    ):
        for tries_left in reversed(range(_TRIES)):
            numbers, expected_numbers, answer = await count_kind(hub)
            # A guessed member may count something else, such as healthy services, so a mismatch then decides nothing.
            if None in numbers or (numbers != expected_numbers and _is_guess(hub, kind, answer)):
                case.mark_inconclusive(row, f"unbound: which number counts {kind}? give [hub.health_counts] {kind}")
                break
            if numbers == expected_numbers or not tries_left:
                case.expect(
                    row, numbers == expected_numbers, f"counts {expected_numbers}", f"counts {numbers}", exchange=answer
                )
                break


def _is_guess(hub: Hub, kind: str, answer: Answer) -> bool:
    bound_place = (hub.bindings.health_counts or {}).get(kind)
    return bound_place is None and document_reader.is_ambiguous(json_of(answer), kind)


async def _count_issuers(hub: Hub) -> tuple[list[int | None], list[int | None], Answer]:
    before, _ = await _read_count(hub, "issuers", None)
    async with hub.registered_issuer(hub.new_issuer("counted")):
        more, answer = await _read_count(hub, "issuers", None if before is None else before + 1)
    after, _ = await _read_count(hub, "issuers", before)
    one_more = None if before is None else before + 1
    return [before, more, after], [before, one_more, before], answer


async def _count_services(hub: Hub) -> tuple[list[int | None], list[int | None], Answer]:
    before, _ = await _read_count(hub, "services", None)
    async with AsyncExitStack() as stack:
        service = await play_service(hub.case, stack, "counted")
        async with hub.registered_services(service):
            more, answer = await _read_count(hub, "services", None if before is None else before + 1)
    return [before, more], [before, None if before is None else before + 1], answer


async def _read_count(hub: Hub, kind: str, expected_count: int | None) -> tuple[int | None, Answer]:
    """Return a count. If its expected value is known, wait for it for some seconds, because a count may be cached."""
    place = (hub.bindings.health_counts or {}).get(kind)

    def get_count(answer: Answer) -> int | None:
        return document_reader.count(json_of(answer), kind, place)

    answer = await ask_until(
        lambda again: hub.call("GET", HEALTH, retry=again),
        lambda answer: expected_count is None or get_count(answer) in {expected_count, None},
        min(5.0, hub.bindings.propagation_budget),
    )
    return get_count(answer), answer

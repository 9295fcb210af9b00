"""GW-LINK-26 and GW-IDEM-12: creations by clients with other habits, and repeats, at a gateway that claims 3.4."""

from __future__ import annotations

from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.surfaces.gateway.calls import (
    LINKS,
    REQUEST_ID,
    RESOURCES,
    Creation,
    bodies,
    brief,
    create,
    expect_created,
    is_created,
    link_body,
    name_live_values,
    new_text,
    post,
    resource_body,
    target_of,
)

_REPLAYED: Final = "Idempotent-Replayed"
# Members that no gateway knows: of each JSON type, with names that are no identifiers, and beyond the plane of ASCII.
_FURTHER_MEMBERS: Final[dict[str, dict[str, Any]]] = {
    "a further text": {"weldproof_note": "a text"},
    "a further null": {"weldproof_note": None},
    "a further object": {"weldproof": {"amount": "1", "tags": [1, None]}},
    "a name in another script": {"заметка \U0001d4e2": 1},
    "an empty name": {"": True},
}


@check(
    "GW-LINK-26",
    surface="gateway",
    fix="Ignore members that you do not know (P-CV-14), and look a currency up in upper case (P-MN-03).",
)
async def creations_by_other_clients(case: Case) -> None:
    """A creation ignores members that it does not know, and takes the letters of a currency in any case.

    Creates links and resources with further members of each JSON type, and links whose currency is in lower case and in
    mixed case. Expects success each time, and the amount of the same link in upper case.
    """
    tenant = case.session.tenants.get()
    creations: dict[str, Creation] = {}
    for path in bodies(case, tenant):
        for name, members in _FURTHER_MEMBERS.items():
            body = link_body(case, tenant) if path == LINKS else resource_body(case)
            creations[f"{name} at {path}"] = Creation(path, {**body, **members}, tenant)
    answers = await run_concurrently(post(target_of(case), creation) for creation in creations.values())
    for (name, creation), answer in zip(creations.items(), answers, strict=True):
        expect_created(case, "GW-LINK-26", creation.path, name_live_values(case, answer), "created", {"body": name})
    currency = str(link_body(case, tenant)["currency"]).upper()
    original = await create(case, Creation(LINKS, link_body(case, tenant, currency=currency), tenant))
    for spelling in (currency.lower(), currency.capitalize()):
        creation = Creation(LINKS, link_body(case, tenant, currency=spelling), tenant)
        answer = name_live_values(case, await post(target_of(case), creation))
        amounts = [one.read_object().get("amount_microunits") for one in (original, answer)]
        finding, where = f"{brief(answer)}, amounts {amounts}", {"currency": spelling}
        holds = answer.status == original.status and amounts[0] == amounts[1]
        case.expect("GW-LINK-26", holds, f"the link in {currency}", finding, exchange=answer, where=where)


@check(
    "GW-IDEM-12",
    surface="gateway",
    fix="Store status and body of the first answer, and send them again with Idempotent-Replayed: true (P-ID-03).",
)
async def a_repeat_has_the_stored_bytes(case: Case) -> None:
    """A repeat with the same key has the status and the bytes of the first answer, and Idempotent-Replayed: true.

    Creates a link and a resource with a key, and repeats each call. Expects no Idempotent-Replayed at the first answer,
    and the same status and bytes, another X-Request-Id and the header field at the repeat.

    Then creates a link with a key after a call of that key was refused for its schema, for an unknown network and for
    its media type. Creates a resource with the key of the link. Expects a new link and a new resource.
    """
    tenant = case.session.tenants.get()
    for path in bodies(case, tenant):
        body = link_body(case, tenant) if path == LINKS else resource_body(case)
        creation = Creation(path, body, tenant, new_text(case))
        original = await create(case, creation)
        answer = name_live_values(case, await post(target_of(case), creation))
        faults = _find_repeat_faults(original, answer)
        case.expect(
            "GW-IDEM-12",
            not faults,
            "the stored answer",
            "; ".join(faults) or "the stored answer",
            exchange=answer,
            where={"path": path},
        )
    await _judge_free_keys(case)


async def _judge_free_keys(case: Case) -> None:
    """Judge that a key is free after a refusal, and on another path (P-ID-02, P-ID-06)."""
    tenant, call = case.session.tenants.get(), target_of(case)
    body, key = link_body(case, tenant), new_text(case)
    headers = {**Creation(LINKS, body, tenant, key).headers, "Content-Type": "application/json"}
    await call("POST", LINKS, body=b"[]", headers=headers)
    await call("POST", LINKS, json_body={**body, "preferred_network": "atlantis_testnet"}, headers=headers)
    await call("POST", LINKS, body=b"{}", headers={**headers, "Content-Type": "text/plain"})
    creations = {"after refusals": Creation(LINKS, body, tenant, key)}
    if RESOURCES in bodies(case, tenant):
        creations["of another path"] = Creation(RESOURCES, resource_body(case), tenant, key)
    for name, creation in creations.items():
        answer = name_live_values(case, await post(call, creation))
        holds = is_created(case, answer) and answer.headers.get(_REPLAYED) is None
        case.expect("GW-IDEM-12", holds, "created", brief(answer), exchange=answer, where={"key": name})


def _find_repeat_faults(original: Answer, repeat: Answer) -> list[str]:
    faults = [] if repeat.status == original.status else [f"status {repeat.status}, not {original.status}"]
    if repeat.body != original.body:
        members, stored = repeat.read_object(), original.read_object()
        names = sorted(name for name in {*members, *stored} if members.get(name) != stored.get(name))
        faults.append(f"other bytes, differing in {', '.join(names) or 'spelling only'}")
    for name, answer, expected in (("first", original, None), ("repeated", repeat, "true")):
        value = answer.headers.get(_REPLAYED)
        faults += [] if value == expected else [f"{_REPLAYED} of the {name} answer is {value!r}, not {expected!r}"]
    if repeat.headers.get(REQUEST_ID) in {None, original.headers.get(REQUEST_ID)}:
        faults.append("no X-Request-Id of its own")
    return faults

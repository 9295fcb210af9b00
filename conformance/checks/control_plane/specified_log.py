"""CP-LOG-01: entries and pages of the audit log, if the target claims the specification (7.4)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.credentials.answers import differing_members
from conformance.surfaces.control_plane.access import AUDIT, SERVICES, Hub, Issuer, hub_of
from conformance.surfaces.control_plane.played_hub import kid_of

ROW: Final = "CP-LOG-01"
_GENESIS: Final = "0" * 64
_SKEW_MS: Final = 60_000
# Entries that other changes may add meanwhile.
_FAR: Final = 10_000
# An address that is looked up only when the posture is read.
_ADDRESS: Final = "http://service.invalid:9"
_MEMBERS: Final = frozenset({"seq", "ts_ms", "actor", "action", "subject", "payload", "prev_mac", "mac"})
_WRONG_QUERIES: Final = (
    *("after=-1", "after=x", "after=1.5", "after=", "limit=0", "limit=1001", "limit=-1", "limit=x"),
    *("verify=yes", "verify="),
)


@check(
    ROW,
    surface="control_plane",
    fix="Write the members of 7.4 into each entry, nothing for a registration that changes nothing, and answer "
    "GET /v1/audit?after=…&limit=… with the page, count, head and valid.",
)
async def entries_and_pages_of_the_log(case: Case) -> None:
    """Each change of trust adds the entry of 7.4, a repetition adds none, and the log is read in pages.

    Registers an issuer twice, gives it another key and revokes it. Registers a service twice, with another address, and
    removes it. Expects these entries in this order, each with its members, and numbers and MACs that continue. Reads
    pages by `after` and `limit`, the beginning, and beyond the end. Expects count and head to be those of the log, and
    422 for queries of another form.
    """
    hub = await hub_of(case)
    if not case.profile.is_reference or hub.bindings.audit_page is None:
        case.mark_not_applicable(ROW, "the profile binds another log than that of 7.4")
        return
    before = await _read(hub, "limit=1")
    start = _read_head(before).get("seq", 0)
    earliest_ms = int(time.time() * 1000) - _SKEW_MS
    issuer = hub.new_issuer("entered")
    other = Issuer(issuer.did, hub.new_key("entered"))
    name = f"entered-{case.session.nonce}-{case.session.count()}"
    case.client.names.name(name, "SERVICE")
    await _change_trust(hub, issuer, other)
    await _change_services(hub, name)
    page = await _read(hub, f"after={start}")
    entries = _list_entries(page)
    own_entries = [one for one in entries if one.get("subject") in {issuer.did, name}]
    kid, other_kid = kid_of(issuer.key), kid_of(other.key)
    service = {"type": "addon", "base_url": _ADDRESS, "health_path": "/health"}
    moved = {"type": "rail", "base_url": _ADDRESS, "health_path": "/live"}
    expected: list[dict[str, Any]] = [
        {"action": "issuer.registered", "subject": issuer.did, "payload": {"kid": kid}},
        {"action": "issuer.rotated", "subject": issuer.did, "payload": {"kid": other_kid, "previous_kid": kid}},
        {"action": "issuer.revoked", "subject": issuer.did, "payload": {"kid": other_kid}},
        {"action": "service.registered", "subject": name, "payload": service},
        {"action": "service.updated", "subject": name, "payload": moved},
        {"action": "service.removed", "subject": name, "payload": moved},
    ]
    faults = _find_entry_faults(own_entries, expected, earliest_ms)
    _expect(case, page, [*faults, *_find_link_faults(entries, start)], "the entries of the changes")
    await _judge_pages(case, hub, start, entries)


def _expect(case: Case, answer: Answer, faults: Sequence[str], trial: str) -> None:
    finding = "; ".join(faults)[:1500] or "so"
    case.expect(ROW, not faults, "as 7.4 says", finding, exchange=answer, where={"read": trial})


async def _read(hub: Hub, query: str) -> Answer:
    return await hub.admin("GET", f"{AUDIT}?{query}")


def _list_entries(answer: Answer) -> list[Mapping[str, Any]]:
    entries = answer.read_object().get("entries")
    return [one for one in entries if isinstance(one, Mapping)] if isinstance(entries, list) else []


def _read_head(answer: Answer) -> Mapping[str, Any]:
    head = answer.read_object().get("head")
    return head if isinstance(head, Mapping) else {}


async def _change_trust(hub: Hub, issuer: Issuer, other: Issuer) -> None:
    try:
        for one in (issuer, issuer, other):
            await hub.register(one)
    finally:
        await hub.revoke(issuer.did)


async def _change_services(hub: Hub, name: str) -> None:
    body = {"name": name, "type": "addon", "base_url": _ADDRESS, "health_path": "/health"}
    moved = {**body, "type": "rail", "health_path": "/live"}
    try:
        for one in (body, body, moved):
            await hub.admin("POST", SERVICES, json_body=one)
    finally:
        await hub.admin("DELETE", f"{SERVICES}/{name}")


def _find_entry_faults(
    entries: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]], earliest_ms: int
) -> list[str]:
    actions, expected_actions = [one.get("action") for one in entries], [one["action"] for one in expected]
    if actions != expected_actions:
        return [f"the actions {actions}, not {expected_actions}"]
    faults = []
    for entry, one in zip(entries, expected, strict=True):
        wrong = differing_members(entry, {**one, "actor": "admin"})
        faults += [f"{one['action']}: {name} is {entry.get(name)!r}" for name in wrong]
        faults += [f"{one['action']}: the member {name}" for name in sorted(_MEMBERS ^ set(entry))]
        moment = entry.get("ts_ms")
        if type(moment) is not int or not earliest_ms <= moment <= int(time.time() * 1000) + _SKEW_MS:
            faults.append(f"{one['action']}: ts_ms is {moment!r}")
    return faults


def _find_link_faults(entries: Sequence[Mapping[str, Any]], start: Any) -> list[str]:
    """Return what is wrong with numbers and MACs of a page that continues an entry."""
    numbers = [one.get("seq") for one in entries]
    faults = [] if numbers == list(range(start + 1, start + 1 + len(entries))) else [f"the numbers {numbers[:10]}"]
    links = [(one.get("mac"), later.get("prev_mac")) for one, later in itertools.pairwise(entries)]
    return faults + ["prev_mac is not the mac of the entry before" for mac, link in links if mac != link][:1]


async def _judge_pages(case: Case, hub: Hub, start: int, entries: Sequence[Mapping[str, Any]]) -> None:
    for limit in (1, 2):
        answer = await _read(hub, f"after={start}&limit={limit}")
        faults = [] if _list_entries(answer) == list(entries[:limit]) else ["other entries"]
        _expect(case, answer, [*faults, *_find_page_faults(answer)], f"limit={limit}")
    answer = await _read(hub, "limit=1")
    first = _list_entries(answer)
    faults = [] if [one.get("seq") for one in first] == [1] else [f"the entries {first}"]
    faults += [] if first and first[0].get("prev_mac") == _GENESIS else ["prev_mac of the first is not 64 zeros"]
    _expect(case, answer, [*faults, *_find_page_faults(answer)], "the first entry")
    end = _read_head(await _read(hub, "limit=1")).get("seq", 0)
    answer = await _read(hub, f"after={end + _FAR}")
    faults = ["entries beyond the end"] if _list_entries(answer) else []
    _expect(case, answer, [*faults, *_find_page_faults(answer)], "beyond the end")
    answer = await _read(hub, f"after={start}&limit=1000&verify=full")
    faults = _find_page_faults(answer)
    faults += [] if answer.read_object().get("valid") is True else ["valid is not true"]
    end = _list_entries(answer)
    if (
        end
        and end[-1].get("seq") == _read_head(answer).get("seq")
        and end[-1].get("mac") != _read_head(answer).get("mac")
    ):
        faults.append("head has another mac than the last entry")
    _expect(case, answer, faults, "verify=full")
    for query in _WRONG_QUERIES:
        answer = await _read(hub, query)
        is_refused = answer.status == 422 and isinstance(answer.read_object().get("detail"), list)
        _expect(case, answer, [] if is_refused else [f"status {answer.status}"], query)


def _find_page_faults(answer: Answer) -> list[str]:
    """Return what is wrong with status, count, head and valid of a page."""
    document, head = answer.read_object(), _read_head(answer)
    faults = [] if answer.status == 200 else [f"status {answer.status}"]
    seq, mac = head.get("seq"), head.get("mac")
    # Numbers begin with 1 and have no gap, so the number of the last entry counts them.
    faults += (
        [] if type(seq) is int and document.get("count") == seq else [f"count {document.get('count')!r}, head {seq!r}"]
    )
    faults += [] if isinstance(mac, str) and len(mac) == len(_GENESIS) else [f"the mac of head is {mac!r}"]
    # null until the check at start is done.
    return faults + ([] if document.get("valid") in {True, None} else [f"valid is {document.get('valid')!r}"])

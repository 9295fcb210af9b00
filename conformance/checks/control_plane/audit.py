"""CP-AUDIT: every trust change is in the log, and the log is a chain."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from conformance.assertions.audit_log import Entries, judge_links, read_form, should_be_present
from conformance.engine.check import Case, check
from conformance.oracles import audit_chain
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import AUDIT, ISSUERS, Hub, Issuer, hub_of, is_client_error, is_success
from conformance.surfaces.control_plane.log_reading import (
    FIRST_TIME,
    INSTANT,
    entries_about,
    read_log,
    refuse_full_page,
)

# A name's last word shows that the member is a place or a time: created_at, entryId, ts. `what` and `did` are neither.
_PLACE_OR_TIME = re.compile(
    r"(?:^|_)(?:time|timestamp|at|ts|id|seq|index)(?:_ms)?$|[a-z](?:Time|Timestamp|At|Ts|Id|ID|Seq|Index)$"
)
# Beginnings of words by which a log entry may report a refusal. The interface names none.
_REFUSALS = ("reject", "refus", "denied", "deny", "fail", "invalid", "unauthori", "forbidden", "error")


async def _read_log_of_changes(case: Case) -> tuple[Hub, Entries]:
    """Return the control plane and its log after two issuers were registered, rotated if possible, and revoked.

    Two issuers, because a control plane may log only one kind of change: two entries are then there to be linked.
    """
    hub = await hub_of(case)
    hub.known_token  # noqa: B018 - the log is the admin's
    for _ in range(2):
        issuer = hub.new_issuer("logged")
        async with hub.registered_issuer(issuer):
            await hub.register(Issuer(issuer.did, hub.new_key("logged")))
    return hub, await read_log(hub)


@check(
    "CP-AUDIT-02",
    "CP-AUDIT-03",
    "CP-AUDIT-06",
    surface="control_plane",
    fix="Write one entry for each trust change in the same transaction, and never touch an entry again.",
)
async def trust_changes_are_logged(case: Case) -> None:
    """Registering and revoking an issuer add a log entry each, and earlier entries stay as they are.

    Registers an issuer and revokes it, and gives another one a new key. Reads the log before and after each change.
    Expects one more entry about the issuer each time its trust changed, and every earlier entry unchanged in its place.
    """
    hub = await hub_of(case)
    log_before = await read_log(hub)
    issuer = hub.new_issuer("logged")
    async with hub.registered_issuer(issuer):
        log_after_registration = await read_log(hub)
        await hub.revoke(issuer.did)
        log_after_revocation = await read_log(hub)
    rekeyed_issuer, other_key, is_replaced = hub.new_issuer("rekeyed"), hub.new_key("rekeyed"), False
    async with hub.registered_issuer(rekeyed_issuer):
        log_before_key = await read_log(hub)
        if is_success(await hub.register(Issuer(rekeyed_issuer.did, other_key))):
            is_replaced = (await hub.trust_set()).get(rekeyed_issuer.did) == other_key
        log_after_key = await read_log(hub)
    logs = (log_before, log_after_registration, log_after_revocation, log_before_key, log_after_key)
    counts = [entries_about(log, issuer.did) for log in (log_before, log_after_registration, log_after_revocation)]
    finding = f"entries about it: {', then '.join(map(str, counts))}"
    for row, place, change in (("CP-AUDIT-02", 0, "registration"), ("CP-AUDIT-03", 1, "revocation")):
        has_entry = counts[place + 1] > counts[place]
        # A page of the log may be full, so that the new entry is on a page which the suite cannot read.
        if has_entry or await should_be_present(case, hub, row, logs[place + 1]):
            case.expect(row, has_entry, f"an entry about the {change}", finding)
    if is_replaced:
        new_count = entries_about([one for one in log_after_key if one not in log_before_key], rekeyed_issuer.did)
        where, finding_of_key = {"registered": "with another key"}, f"new entries about it: {new_count}"
        if new_count or await should_be_present(case, hub, "CP-AUDIT-02", log_after_key):
            case.expect("CP-AUDIT-02", new_count > 0, "an entry about the other key", finding_of_key, where=where)
    # Without a bound paging the hub may return only its latest entries. Then the beginning of the log may be missing
    # later.
    has_window = hub.bindings.audit_page is None
    for earlier, later in itertools.pairwise(logs):
        is_unchanged = _continues(earlier, later, has_window=has_window)
        case.expect("CP-AUDIT-06", is_unchanged, "every earlier entry as it was", _describe_lost(earlier, later))
    # If two entries about one issuer differ only in place and time, a reader cannot distinguish registration from
    # revocation.
    issuer_entries = [one for one in log_after_revocation if document_reader.mentions(one, issuer.did)]
    if len(issuer_entries) > 1:
        chain = hub.bindings.audit_chain
        chain_members = () if chain is None else (chain.seq, chain.prev, chain.mac)
        is_different = strip_place_and_time(issuer_entries[0], chain_members) != strip_place_and_time(
            issuer_entries[-1], chain_members
        )
        case.expect(
            "CP-AUDIT-03",
            is_different,
            "an entry unlike that of the registration",
            "another" if is_different else "alike",
        )


def strip_place_and_time(entry: Mapping[str, Any], chain_members: Collection[str | None]) -> dict[str, Any]:
    """Return the part of an entry that describes the change: without its place, its time and its MACs.

    Args:
        entry: The entry.
        chain_members: Members that belong to the chain.
    """
    members = {name: value for name, value in entry.items() if name not in chain_members and not _is_a_time(value)}
    return {name: value for name, value in members.items() if not _PLACE_OR_TIME.search(name)}


def _is_a_time(value: Any) -> bool:
    """Return whether a value is a time.

    A small number may be the code of an operation. A large number, or a fraction, is a time.
    """
    if isinstance(value, str):
        return INSTANT.match(value) is not None
    return isinstance(value, float) or (isinstance(value, int) and value >= FIRST_TIME)


def _continues(earlier: Entries, later: Entries, *, has_window: bool) -> bool:
    """Return whether a log continues an earlier one. A log that shows only its latest entries may begin later."""
    starts = range(max(1, len(earlier)) if has_window and later else 1)
    return any(list(later[: len(earlier) - start]) == list(earlier[start:]) for start in starts)


def _describe_lost(earlier: Entries, later: Entries) -> str:
    lost_places = [place for place, one in enumerate(earlier) if one not in later]
    return f"{len(lost_places)} of {len(earlier)} entries changed or gone" if lost_places else "all of them"


@check(
    "CP-AUDIT-04",
    surface="control_plane",
    fix="Give each entry the MAC of the one before it, or make its own MAC over that.",
)
async def entries_are_linked(case: Case) -> None:
    """Each log entry links to its predecessor, through the whole log.

    Makes a few trust changes and reads the log. Expects that the bound members, else any two members, link every entry
    to the one before it. If entries have only one value that may be such a link, the chain key is needed for a verdict.
    """
    hub, log = await _read_log_of_changes(case)
    await judge_links(case, hub, log)


@check(
    "CP-AUDIT-05",
    surface="control_plane",
    fix="Make every MAC with HMAC and the chain key, over all of the entry and the MAC before it.",
)
async def the_chain_verifies_with_its_key(case: Case) -> None:
    """The whole log verifies as an HMAC chain with the operator's chain key, and no changed copy of it does.

    Makes a few trust changes, reads the log and verifies it by the suite's own oracle. Then changes each member of the
    last entry in turn. Expects that the log is valid, and that every changed copy is detected.
    """
    _, log = await _read_log_of_changes(case)
    form, text = await read_form(case, log)
    key = audit_chain.key_bytes(text, form.key)
    fault = audit_chain.first_fault(log, key, form)
    case.note(f"the log follows the recipe {form.recipe}, with the key in the form {form.key}")
    finding = f"{len(log)} entries are valid" if fault is None else fault.text
    if not case.expect("CP-AUDIT-05", fault is None and bool(log), "the whole log is valid", finding):
        return
    # A MAC that leaves a member out allows that member to be changed later, so each one is tried alone.
    for name in sorted(log[-1]):
        copy = [*log[:-1], {**log[-1], name: _change_value(log[-1][name])}]
        is_detected = audit_chain.first_fault(copy, key, form) is not None
        result = "detected" if is_detected else "not covered by any MAC"
        case.expect("CP-AUDIT-05", is_detected, "a changed member detected", result, where={"member": name})


def _change_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return f"{value}x" if isinstance(value, str) else {"other": True}


@check(
    "CP-AUDIT-08",
    surface="control_plane",
    fix="Log an action only if it was done. A refused attempt may be logged, but as refused.",
)
async def refused_changes_are_not_logged_as_done(case: Case) -> None:
    """A refused change adds no entry of a success.

    Tries to register and revoke without a token, with a wrong one, with invalid bodies, and to revoke an unknown
    issuer. Expects no entry about these issuers, unless it says that the change was refused. If the last call is
    answered as a success, it may be logged as one.
    """
    hub = await hub_of(case)
    hub.known_token  # noqa: B018 - the log is the admin's
    member, stranger, keyless = hub.new_issuer("member"), hub.new_issuer("stranger"), hub.new_issuer("short")
    # Whether deleting an unknown issuer succeeds is open, so its entry is judged by the answer.
    absent = hub.new_issuer("absent")
    async with hub.registered_issuer(member):
        before = await read_log(hub)
        path = f"{ISSUERS}/{member.did.replace(':', '%3A')}"
        answers = [
            await hub.call("POST", ISSUERS, json_body=stranger.body),
            await hub.call("POST", ISSUERS, json_body=stranger.body, credential="not-the-token"),
            await hub.call("DELETE", path),
            await hub.call("DELETE", path, credential="not-the-token"),
            await hub.admin("POST", ISSUERS, json_body={"did": keyless.did}),
            await hub.admin("POST", ISSUERS, json_body={"did": keyless.did, "public_key_b64": "AAAA"}),
        ]
        absent_answer = await hub.revoke(absent.did)
        after = await read_log(hub)
        if after == before:
            await refuse_full_page(hub, after)
    if not all(map(is_client_error, answers)):
        # A change that was not refused may be logged as a success, so the log proves nothing then.
        raise Inconclusive("one of these changes was not refused, which other rows judge")
    new_entries = [one for one in after if one not in before]
    issuers = (member, stranger, keyless, *((absent,) if is_client_error(absent_answer) else ()))
    # A log that records the path of a request has the DID percent-encoded, as it was sent.
    names = [name for each in issuers for name in (each.did, quote(each.did, safe=""))]
    issuer_entries = [one for one in new_entries if any(document_reader.mentions(one, name) for name in names)]
    success_entries = [one for one in issuer_entries if not _is_logged_as_refused(one)]
    case.expect(
        "CP-AUDIT-08", not success_entries, f"no entry of success in GET {AUDIT}", f"{len(success_entries)} entries"
    )


def _is_logged_as_refused(entry: Mapping[str, Any]) -> bool:
    texts = [str(value).lower() for name, value in entry.items() if not isinstance(value, Mapping | list)]
    texts += [str(name).lower() for name, value in entry.items() if value is True]
    return any(word in text for text in texts for word in _REFUSALS) or entry.get("success") is False

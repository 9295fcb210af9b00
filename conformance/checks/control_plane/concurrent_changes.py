"""CP-ISSUER-03, -09, CP-AUDIT-02 to -04 and CP-TRUST-06: the trust set and the log after concurrent changes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from conformance.assertions.audit_log import judge_links, should_be_present
from conformance.assertions.trusted_keys import find_trusted_keys
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.oracles.audit_chain import Entry
from conformance.oracles.strict_json import values_of
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane.access import (
    ATB_KEYS,
    PKS,
    Hub,
    Issuer,
    explain_token_refusal,
    hub_of,
    is_success,
    json_of,
)
from conformance.surfaces.control_plane.log_reading import entries_about, read_log

# Enough writers that several of them read the end of the log at the same moment.
_ISSUERS = 8
_KEYS = 6
_ENOUGH = 2


@check(
    "CP-AUDIT-02",
    "CP-AUDIT-03",
    "CP-AUDIT-04",
    surface="control_plane",
    # A log that shows only its latest entries would lose those of other checks to so many at once.
    exclusive=Exclusive.SURFACE,
    fix="Let the database order the writers of entries, and read the previous MAC in the same transaction.",
)
async def changes_at_once_make_one_chain(case: Case) -> None:
    """Concurrent trust changes are all in the log, and the log is one chain.

    Registers eight issuers concurrently and revokes them concurrently. Expects one more entry about each that was
    registered, and about each that was revoked, and every entry of the log linked to the one before it.
    """
    hub = await hub_of(case)
    hub.known_token  # noqa: B018 - the log is the admin's
    issuers = [hub.new_issuer("at-once") for _ in range(_ISSUERS)]
    log_before = await read_log(hub)
    try:
        # The attacked race: two writers read the same last MAC, so two entries follow one predecessor and the chain
        # forks.
        answers = await run_concurrently(map(hub.register, issuers))
        refusal = explain_token_refusal(answers[0])
        registered_issuers = [one for one, answer in zip(issuers, answers, strict=True) if is_success(answer)]
        log_after_registration = await read_log(hub)
    finally:
        answers = await run_concurrently(hub.revoke(one.did) for one in issuers)
    if len(registered_issuers) < _ENOUGH:
        raise Inconclusive(refusal or "no two issuers could be registered concurrently")
    revoked_issuers = [
        one for one, answer in zip(issuers, answers, strict=True) if is_success(answer) and one in registered_issuers
    ]
    log_after_revocation = await read_log(hub)
    await _judge_logged(case, hub, "CP-AUDIT-02", registered_issuers, log_before, log_after_registration)
    await _judge_logged(case, hub, "CP-AUDIT-03", revoked_issuers, log_after_registration, log_after_revocation)
    try:
        await judge_links(case, hub, log_after_revocation)
    except Inconclusive as reason:
        # Without the chain key the links may be undecidable. The rows about missing entries are decided all the same.
        case.mark_inconclusive("CP-AUDIT-04", str(reason))


async def _judge_logged(
    case: Case, hub: Hub, row: str, issuers: Sequence[Issuer], before: Sequence[Entry], after: Sequence[Entry]
) -> None:
    requirement = "one more entry about each issuer"
    if before and after[:1] != before[:1]:
        # The log's beginning is gone, so an entry may have been pushed out, and its absence proves nothing.
        case.expect(row, True, requirement, "the log shows its latest entries only")
        return
    unlogged_issuers = [one for one in issuers if entries_about(after, one.did) <= entries_about(before, one.did)]
    if unlogged_issuers and not await should_be_present(case, hub, row, after):
        return
    case.expect(
        row, not unlogged_issuers, requirement, f"one about {len(issuers) - len(unlogged_issuers)} of {len(issuers)}"
    )


@check(
    "CP-ISSUER-03",
    "CP-ISSUER-09",
    "CP-TRUST-06",
    surface="control_plane",
    fix="Make the DID unique in the database, so that one of two registrations at the same moment replaces the other.",
)
async def one_did_at_once_has_one_key(case: Case) -> None:
    """A DID that is registered with several keys concurrently has one of them, and none after it is revoked.

    Sends six concurrent registrations of one new DID, each with another key. Expects the DID once in the trust set,
    with a key of a registration that succeeded, and only this key in atb-keys.json. After one revocation expects
    neither.
    """
    hub = await hub_of(case)
    if hub.token is None:
        hub.leave_to_reads("CP-TRUST-06")
        return
    first = hub.new_issuer("contended")
    rivals = [first, *(Issuer(first.did, hub.new_key("contended")) for _ in range(_KEYS - 1))]
    async with AsyncExitStack() as stack:
        stack.push_async_callback(hub.revoke, first.did)
        answers = await run_concurrently(map(hub.register, rivals))
        keys = {one.key for one, answer in zip(rivals, answers, strict=True) if is_success(answer)}
        if not keys:
            raise Inconclusive(
                explain_token_refusal(answers[0]) or "none of six registrations of one DID at once succeeded"
            )
        # The raw text is read, not a parsed object: a JSON parser would hide a DID that appears twice.
        read = await hub.call("GET", PKS)
        values = values_of(read.body, first.did)
        is_twice = len(values) > 1
        own_key = values[0] if len(values) == 1 and isinstance(values[0], str) else None
        registered_as = (
            "the DID twice" if is_twice else "one of their keys" if own_key in keys else "none of their keys"
        )
        requirement = "the DID once, with the key of a registration that succeeded"
        case.expect("CP-ISSUER-09", not is_twice and own_key in keys, requirement, registered_as, exchange=read)
        answer = await hub.call("GET", ATB_KEYS)
        shown_keys = find_trusted_keys(json_of(answer), (one.key for one in rivals))
        is_same_key = (
            shown_keys == {own_key} or own_key not in keys
        )  # without a valid key in the trust set, any of them may be here
        finding = (
            f"{len(shown_keys)} keys of it" if len(shown_keys) != 1 else "that key" if is_same_key else "another key"
        )
        case.expect("CP-TRUST-06", len(shown_keys) == 1 and is_same_key, "that key alone", finding, exchange=answer)
    is_present = first.did in await hub.trust_set()
    case.expect("CP-ISSUER-03", not is_present, "gone with one revocation", "still there" if is_present else "gone")
    answer = await hub.call("GET", ATB_KEYS)
    left_keys = find_trusted_keys(json_of(answer), (one.key for one in rivals))
    finding = f"{len(left_keys)} keys of it" if left_keys else "none"
    case.expect("CP-TRUST-06", not left_keys, "no key of a revoked issuer", finding, exchange=answer)

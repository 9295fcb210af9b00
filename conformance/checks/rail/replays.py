"""RAIL-WELD: a captured proof buys no other request and no second answer.

A payment proof travels in a header, and everyone who sees it can send it again. The weld is the rule that stops that:
the proof pays for exactly the request that it was quoted for, once. These checks capture an honest proof, change one
thing about the request, and expect a refusal or the stored answer. They do so before the owner redeems the proof, after
that, at the same moment, and after the challenge has lapsed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from conformance.attacks.engine import Engine, send_replay
from conformance.attacks.largest_request import find_full_request
from conformance.attacks.proof_on_nearby_requests import present_fine_changes
from conformance.attacks.replay_changes import Material, Replay, list_changes
from conformance.discovery.body_probe import probe_body
from conformance.discovery.rail import Operation, variations
from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.http.refusal_details import describe_refused_body
from conformance.lanes.registry import LANES
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.paid_answers import extract_receipts
from conformance.surfaces.rail.purchase import challenge, pay, present, purchase, redeem

_FIX = (
    "Bind the token to the whole request (method, path, query, body). Burn token and payment in one atomic statement. "
    "Answer the identical request with the stored answer or a refusal."
)
_ROWS = ("RAIL-WELD-08", "RAIL-WELD-09", "RAIL-WELD-10", "RAIL-WELD-11", "RAIL-WELD-15")
_CACHE_ROWS = ("RAIL-PAY-16", "RAIL-402-18")
_REQUEST_AXES = frozenset({"target", "body", "method", "query"})
# Enough that some calls overlap in the database on every machine, and what the row itself says.
_AT_ONCE = 50
# P-ST-05: identical calls wait ten seconds for the answer. Half of that finds a rail in which they do not wait.
_JOIN_SECONDS = 5.0


@check(
    *_ROWS,
    *_CACHE_ROWS,
    surface="rail",
    lane="each",
    fix=_FIX,
    quick=sample("operations and replays, one of each axis and row"),
)
async def captured_proof_buys_nothing_else(case: Case) -> None:
    """A captured X-PAYMENT buys no other operation, body, method, query or reference, and no second call.

    Buys each operation twice. Replays the first success with one and with two changes of the request, at least 200
    times. Expects refusals or the stored answer, and never a 200 with a further receipt. Expects that shared caches may
    store neither a refusal nor the stored answer.
    """
    # Drawn before the operations run concurrently, so that only the seed decides which replays are sent.
    seeds = [(one, case.rng.getrandbits(64)) for one in case.session.catalog.operations]
    await run_concurrently(_replay(case, operation, seed) for operation, seed in case.sample(seeds))


async def _replay(case: Case, operation: Operation, seed: int) -> None:
    # Two purchases: the second gives a live proof and token for the mixed pairs of the plan.
    engine = await Engine.capture(case, operation, LANES[case.lane].spellings)
    outcome = await engine.replay_all(random.Random(seed))  # noqa: S311 - repeatable on purpose
    engine.judge(outcome, {"operation": operation.path}, _ROWS)
    engine.judge_cacheability(outcome, {"operation": operation.path})


@check("RAIL-WELD-12", surface="rail", lane="each", fix=_FIX, quick=sample("operations"))
async def one_of_many_is_executed(case: Case) -> None:
    """Of 50 concurrent calls with one X-PAYMENT at most one is executed.

    Pays each operation once and presents the fresh proof 50 times at once. Then pays again and presents that proof on
    two operations at once. Expects that all served answers contain the same receipt.
    """
    for operation in case.sample(case.session.catalog.operations):
        quote = await challenge(case, operation)
        proof = await pay(case, quote, case.lane)
        answers = await run_concurrently((present(case, operation, proof) for _ in range(_AT_ONCE)), at_once=_AT_ONCE)
        served_answers = [answer for answer in answers if answer.status == 200]
        if not served_answers:
            served_answers = [one for one in (await redeem(case, operation, proof),) if one.status == 200]
        if not served_answers:
            raise Inconclusive("none of 50 identical calls was served")
        receipt_sets = {extract_receipts(answer) for answer in served_answers}
        case.expect(
            "RAIL-WELD-12",
            len(receipt_sets) == 1,
            "one receipt in all served answers",
            f"{len(served_answers)} served with {len(receipt_sets)} receipts",
            exchange=served_answers[-1],
            where={"operation": operation.path},
        )
        _judge_waiting(case, operation, answers)
    await _judge_two_operations(case)


def _judge_waiting(case: Case, operation: Operation, answers: Sequence[Answer]) -> None:
    """Judge that no identical call was refused as in progress before it had waited for the answer (P-ST-05)."""
    refusals = [one for one in answers if one.status == 409 and one.seconds < _JOIN_SECONDS]
    case.expect(
        "RAIL-WELD-12",
        not refusals,
        f"no 409 within {_JOIN_SECONDS:g} s",
        f"{len(refusals)} of {len(answers)}",
        exchange=(refusals or answers)[0],
        where={"operation": operation.path},
        beyond=OpenPoint("what identical calls at once are answered is open", "P-ST-05"),
    )


async def _judge_two_operations(case: Case) -> None:
    operations = case.session.catalog.operations
    if len(operations) < 2:
        return
    first, second = operations[0], operations[1]
    proof = await pay(case, await challenge(case, first), case.lane)
    # Both operations read the same unspent token at the same time. Only the atomic statement lets one of them win.
    half = _AT_ONCE // 2
    answers = await run_concurrently(
        (present(case, one, proof) for one in (first, second) for _ in range(half)), at_once=_AT_ONCE
    )
    receipt_sets = {extract_receipts(answer) for answer in answers if answer.status == 200}
    case.expect(
        "RAIL-WELD-12",
        len(receipt_sets) <= 1,
        "one receipt over two operations",
        f"{len(receipt_sets)} receipts",
        where={"operation": f"{first.path} and {second.path}"},
    )


@check("RAIL-WELD-08", "RAIL-WELD-11", surface="rail", lane="each", exclusive=Exclusive.CLOCK, fix=_FIX)
async def late_replay_buys_nothing(case: Case) -> None:
    """A captured X-PAYMENT that is replayed after its challenge lapsed buys no further call.

    Buys one call, lets the challenge lapse, and presents the same proof on the same request and on another operation.
    Expects the stored answer or a refusal.
    """
    # A rail that deletes lapsed tokens may forget that they were spent.
    operation = case.session.catalog.operations[0]
    sale = await purchase(case, operation, case.lane)
    ttl = case.profile.rail_bindings.challenge_ttl or sale.challenge.entry(case.lane).get("maxTimeoutSeconds")
    if not isinstance(ttl, int):
        raise Inconclusive("unbound: [rail] challenge_ttl is not known")
    try:
        await clock.pass_time(case, ttl + 61)
    except Inconclusive as reason:
        for row in case.check.rows:
            case.mark_documented(row, f"the late axis was left out: {reason}")
        return
    repetition = await present(case, operation, dict(sale.proof))
    is_stored_or_refused = repetition.status != 200 or extract_receipts(repetition) == extract_receipts(sale.answer)
    case.expect(
        "RAIL-WELD-11", is_stored_or_refused, "the stored answer or a refusal", repetition.status, exchange=repetition
    )
    for other_operation in case.session.catalog.operations[1:]:
        answer = await present(case, other_operation, dict(sale.proof))
        if (refusal := describe_refused_body(answer)) is not None:
            obstacle = f"{other_operation.path} refused its body, which hides whether it took the payment: {refusal}"
            case.mark_inconclusive("RAIL-WELD-08", obstacle, exchange=answer)
            continue
        where = {"operation": other_operation.path}
        case.expect("RAIL-WELD-08", answer.status != 200, "not served", answer.status, exchange=answer, where=where)


@check(
    *("RAIL-WELD-08", "RAIL-WELD-09", "RAIL-WELD-10"),
    surface="rail",
    lane="each",
    fix=_FIX,
    quick=sample("operations"),
)
async def unspent_proof_buys_only_its_request(case: Case) -> None:
    """A captured X-PAYMENT that its owner has not redeemed yet buys only the request it was quoted for.

    Pays each operation once. Presents the fresh proof first on every other operation, body, method and query, one after
    the other, and only then on its own request. Other bodies also have an optional member added or a member changed, if
    an unpaid call and an invalid proof show that the operation accepts them.

    The quoted request is as full as the operation accepts: a text of some KiB, objects with members, and a query. Other
    requests differ from it very little: the case of a letter, the end of a long text, a member inside an object, the
    order of an array or of a query. These are presented again after the redemption.

    Expects that only its own request is served. If a target may read two requests as the same, its receipts decide, or
    the breach only warns.
    """
    await run_concurrently(map(partial(_judge_unspent, case), case.sample(case.session.catalog.operations)))


async def _judge_unspent(case: Case, operation: Operation) -> None:
    full = await find_full_request(case, operation)
    status = await _redeem_last(case, operation, full)
    if status != 200 and full != operation:
        # A service may quote a price for a full request and refuse it after the payment. Then the usual request
        # decides.
        status = await _redeem_last(case, operation, operation)
    if status != 200:
        raise Inconclusive(f"on its own request the proof was answered {status}, not 200")


async def _redeem_last(case: Case, operation: Operation, quoted_operation: Operation) -> int:
    """Present a proof on every other request, on its own, and on others again; return its own request's status."""
    quote = await challenge(case, quoted_operation)
    proof = await pay(case, quote, case.lane)
    await _present_elsewhere(case, operation, quoted_operation, proof)
    await present_fine_changes(case, quoted_operation, proof, operation.body)
    answer = await redeem(case, quoted_operation, proof)
    if answer.status == 200:
        await present_fine_changes(case, quoted_operation, proof, operation.body, answer)
    return answer.status


async def _present_elsewhere(
    case: Case, operation: Operation, quoted_operation: Operation, proof: Mapping[str, Any]
) -> None:
    original = Replay(operation.url, "POST", quoted_operation.query, quoted_operation.body, proof)
    other_operations = [one for one in case.session.catalog.operations if one.path != operation.path]
    # The full request may equal one of these bodies. That body is then the proof's own request.
    known_bodies = [
        body for body in (*operation.other_bodies, *variations(quoted_operation.body)) if body != quoted_operation.body
    ]
    drawn_bodies = [
        body for body in operation.varied_bodies or () if body not in (*known_bodies, quoted_operation.body)
    ]
    accepted_bodies = [
        body for body in drawn_bodies if await probe_body(case.client, replace(operation, body=body)) is None
    ]
    material = Material(operation, other_operations, [*known_bodies, *accepted_bodies], [], proof, [])
    where, is_body_accepted = {"operation": operation.path}, False
    other_urls, refusals = {one.url for one in other_operations}, []
    for change in list_changes(material):
        if change.axis not in _REQUEST_AXES:
            continue
        answer = await send_replay(case, change.apply(original))
        refusal = describe_refused_body(answer)
        is_body_accepted |= change.axis == "body" and refusal is None
        if change.apply(original).url in other_urls:
            refusals.append(refusal)
        change_where = {**where, "axis": change.name}
        is_unserved = not (answer.status == 200 and extract_receipts(answer))
        case.expect(change.row, is_unserved, "not served", answer.status, exchange=answer, where=change_where)
    if refusals and None not in refusals:
        # A body that an operation does not accept hides whether it would have accepted the payment.
        reason = f"every other operation refused the body: {refusals[0]}; bind [rail.bodies]"
        case.mark_inconclusive("RAIL-WELD-08", reason)
    key = f"[rail.other_bodies] {operation.role}" if operation.role else "[rail.other_bodies]"
    if operation.is_guess and operation.varied_bodies is None:
        reason = f"no document describes the members of {operation.path}, so no optional one was added"
        case.mark_documented("RAIL-WELD-09", f"{reason}; bind {key}")
    if operation.is_guess and not is_body_accepted:
        # A body that the service rejects as invalid does not show whether the payment would have bought it.
        case.mark_inconclusive(
            "RAIL-WELD-09", f"unbound: {operation.path} refused every other body as invalid; bind {key}"
        )

"""WH-RECV: the suite delivers events, and a receiver is judged by the effects that they have there.

A receiver may answer as it likes. Its answers decide only if its effects cannot be queried and the answer is clear: a
client error for a delivery that must be refused, a success for one that must be accepted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.webhooks.sample_deliveries import (
    STYLES,
    Delivery,
    Event,
    forge_deliveries,
    reserialise,
    with_members,
    write_oddly,
)
from conformance.surfaces.webhooks.tested_receiver import UNBOUND_EFFECTS, Sender, is_refusal, is_success, sender

_REDELIVERY_SECONDS = 1.5
# Copies at once, and rounds. A race between two deliveries shows rarely, so each is repeated.
_ROUNDS = ((2, 4), (10, 3))
_AHEAD_IS_OPEN = (
    "the profile declares no tolerance ([webhook] tolerance), and common libraries compare the age of t alone; the "
    "specification wants it refused on either side (P-WH-13)"
)
# Deep, null and fractional values, letters outside the first plane and the largest exact integer: what a new version
# of the schema might add.
_UNKNOWN_MEMBERS = {"livemode": False, "request": {"id": None, "keys": [1, 2.5, {"deep": [[["er"]]]}]}}
_UNKNOWN_DATA = {"resource_id": None, "refunds": [{"amount_microunits": "1"}], "note": "ключ \U0001f511"}
_UNKNOWN_ASSET = {"issuer": {"name": "an issuer", "serial": 9_007_199_254_740_991}}


@check(
    "WH-RECV-01",
    surface="webhooks",
    fix="Store the id of each event that had its effect, and ignore a further event with a stored id.",
)
async def one_effect_an_id(case: Case) -> None:
    """A receiver that gets the same id twice performs its effect once.

    Delivers three events, each of them twice: the same bytes at once, the same body signed again seconds later, and the
    same id in other bytes with a valid signature. Expects one effect of each.
    """
    sender_role = await sender(case, by_effects=True)
    events = {description: sender_role.event() for description in ("the same again", "seconds later", "in other bytes")}
    first_deliveries = {description: sender_role.genuine(event) for description, event in events.items()}
    await run_concurrently(_deliver_and_wait(sender_role, one) for one in first_deliveries.values())
    first_repeat = await sender_role.attempt(first_deliveries["the same again"])
    # Long enough for another `t`, so that the second signature differs and a receiver cannot recognise the repeat by
    # it.
    await asyncio.sleep(_REDELIVERY_SECONDS)
    # A redelivery has a new time and a new signature (P-WH-03), so only the id shows that it is the same event.
    late_repeat = sender_role.genuine(events["seconds later"])
    rewritten_repeat = sender_role.signer.sign_bytes(
        events["in other bytes"], _rewrite(sender_role, events["in other bytes"]), late_repeat.t
    )
    answers = (first_repeat, await sender_role.attempt(late_repeat), await sender_role.attempt(rewritten_repeat))
    await _await_effects(sender_role)
    for (description, event), (answer, _) in zip(events.items(), answers, strict=True):
        await _judge_effects(sender_role, "WH-RECV-01", event["id"], 1, answer, {"delivery": description})


@check(
    "WH-RECV-02",
    surface="webhooks",
    fix="Verify the signature over the body's raw bytes first, and stop if it is wrong or missing.",
)
async def wrong_signatures_have_no_effect(case: Case) -> None:
    """A receiver that gets a delivery with a wrong signature performs no effect.

    Delivers genuine events with one fault each: another secret, a changed byte, no header, a malformed one, v1 over
    another string or time. Expects no effect. Then delivers a genuine event after its forgery, and expects its effect.
    """
    sender_role = await sender(case)
    forged_deliveries = forge_deliveries(sender_role.signer, sender_role.event, sender_role.now())
    await _judge_refused_deliveries(sender_role, "WH-RECV-02", forged_deliveries)
    # A receiver that stores the id before it verifies the signature lets a forger block the genuine event.
    event = sender_role.event()
    forgery = replace(sender_role.genuine(event), value=forged_deliveries["signed with another secret"].value)
    await sender_role.attempt(forgery)
    beyond = "the interface says nothing of a genuine delivery after a forged one"
    where = {"delivery": "the genuine one after a forged one"}
    await _judge_accepted_delivery(sender_role, "WH-RECV-02", sender_role.genuine(event), where, beyond=beyond)


@check(
    "WH-RECV-03",
    surface="webhooks",
    fix="Read the members you know and ignore the others. Use api_version for a notice, never to refuse an event.",
)
async def unknown_members_do_no_harm(case: Case) -> None:
    """A receiver tolerates unknown extra members and a newer api_version without crashing.

    Delivers events with unknown members at the top, in `data` and in its asset, and with two newer versions. Expects a
    success for each, and an effect for those of the known version. Also delivers an unknown event type, which decides
    nothing. Expects that a genuine event after all of them is accepted.
    """
    sender_role = await sender(case)
    events = {
        "members at the top": with_members(sender_role.event(), _UNKNOWN_MEMBERS, {}, {}),
        "members in data": with_members(sender_role.event(), {}, _UNKNOWN_DATA, {}),
        "members in data.asset": with_members(sender_role.event(), {}, {}, _UNKNOWN_ASSET),
    }
    for description, event in events.items():
        await _judge_accepted_delivery(sender_role, "WH-RECV-03", sender_role.genuine(event), {"unknown": description})
    for version in ("2", "2099-12-31"):
        event = {**sender_role.event(), "api_version": version}
        await _judge_tolerated_delivery(sender_role, sender_role.genuine(event), {"api_version": version})
    # A receiver may ignore or store an event type that it does not know. Only a crash afterwards would be a fault.
    unknown_type = sender_role.genuine({**sender_role.event(), "type": "payment.annotated"})
    _, outcome = await sender_role.attempt(unknown_type)
    case.note(f"An event of an unknown type is {outcome}.")
    await _judge_accepted_delivery(
        sender_role, "WH-RECV-03", sender_role.genuine(sender_role.event()), {"unknown": "afterwards"}
    )


@check(
    "WH-RECV-04",
    surface="webhooks",
    fix="Refuse a delivery whose t, the one that the signature covers, is further from your clock than your tolerance.",
)
async def stale_deliveries_have_no_effect(case: Case) -> None:
    """A receiver rejects a stale timestamp beyond its tolerance.

    Delivers validly signed events whose t is 30 s beyond the tolerance that the profile declares, in the past and in
    the future, and old ones with a second, fresh t. Expects no effect. Then delivers events whose t is half the
    tolerance away, and expects that they are accepted. If no tolerance is declared, t is a day away and nothing fresh
    is sent.
    """
    sender_role = await sender(case)
    tolerance, stale_seconds = sender_role.receiver.tolerance, sender_role.receiver.stale_seconds
    # Both sides matter: a captured delivery is old, and one that was signed with a clock ahead stays valid for longer.
    old = f"t {stale_seconds:.0f} s old"
    stale_deliveries = {old: sender_role.genuine(sender_role.event(), away=-stale_seconds)}
    # The attack on a lenient parser: the check of age reads one t, and the check of the signature the other.
    time_orders = (("a fresh t before an old one", True), ("a fresh t after an old one", False))
    for description, fresh_first in time_orders if "{t}" in sender_role.signer.signed_string else ():
        stale_deliveries[description] = _add_fresh_time(
            sender_role, sender_role.genuine(sender_role.event(), away=-stale_seconds), fresh_first=fresh_first
        )
    ahead = f"t {stale_seconds:.0f} s ahead"
    stale_deliveries[ahead] = sender_role.genuine(sender_role.event(), away=stale_seconds)
    open_points = {} if tolerance is not None else {ahead: _AHEAD_IS_OPEN}
    await _judge_refused_deliveries(sender_role, "WH-RECV-04", stale_deliveries, open_points)
    if tolerance is not None:
        for away in (-tolerance / 2, tolerance / 2):
            where = {"delivery": f"t {abs(away):.0f} s {'old' if away < 0 else 'ahead'}"}
            await _judge_accepted_delivery(
                sender_role, "WH-RECV-04", sender_role.genuine(sender_role.event(), away=away), where
            )


@check(
    "WH-RECV-05",
    surface="webhooks",
    fix="Verify the signature over the received bytes, before any parser reads them. Never verify over JSON that you "
    "serialised again.",
)
async def raw_bytes_are_verified(case: Case) -> None:
    """A receiver verifies over raw bytes (a re-serialised body with the old signature is refused).

    Delivers events whose JSON was rewritten after signing: spaced, sorted, indented. Expects no effect. Then delivers
    genuine events in each of these forms and in one that no serialiser writes. Expects that they are accepted.
    """
    sender_role = await sender(case)
    await _judge_refused_deliveries(
        sender_role, "WH-RECV-05", reserialise(sender_role.signer, sender_role.event, sender_role.now())
    )
    # The control for the forgeries: the same spellings are accepted if they were signed in that form.
    for style in STYLES:
        event = sender_role.event()
        delivery = replace(sender_role.signer, style=style).sign(event, sender_role.now())
        await _judge_accepted_delivery(sender_role, "WH-RECV-05", delivery, {"delivery": f"genuine, {style}"})
    event = sender_role.event()
    odd_delivery = sender_role.signer.sign_bytes(event, write_oddly(event), sender_role.now())
    await _judge_accepted_delivery(sender_role, "WH-RECV-05", odd_delivery, {"delivery": "genuine, oddly written"})


@check(
    "WH-RECV-06",
    surface="webhooks",
    fix="Let one atomic statement decide which delivery handles an id, such as an insert with a unique key. A look-up "
    "followed by an insert lets two deliveries through.",
)
async def concurrent_deliveries_have_one_effect(case: Case) -> None:
    """A receiver handles two concurrent deliveries of one id with one effect.

    Delivers one event twice at the same moment, in four rounds. Then delivers one event ten times at once, in three
    rounds. Expects one effect of each event.
    """
    sender_role = await sender(case, by_effects=True)
    rounds: list[tuple[int, Event, Answer]] = []
    # Two copies find the usual gap between look-up and insert. Ten find one that needs a busy database.
    for copies, times in _ROUNDS:
        for _ in range(times):
            event = sender_role.event()
            rounds.append((copies, event, await _send_at_once(sender_role, event, copies)))
    await _await_effects(sender_role)
    for copies, event, answer in rounds:
        await _judge_effects(sender_role, "WH-RECV-06", event["id"], 1, answer, {"delivery": f"{copies} at once"})


async def _send_at_once(sender_role: Sender, event: Event, copies: int) -> Answer:
    delivery = sender_role.genuine(event)
    return (await run_concurrently(sender_role.send(delivery, at_once=True) for _ in range(copies)))[-1]


async def _deliver_and_wait(sender_role: Sender, delivery: Delivery) -> None:
    """Deliver an honest event and wait for its effect."""
    await sender_role.send(delivery)
    await sender_role.effects_within(delivery.event_id)


def _rewrite(sender_role: Sender, event: Event) -> bytes:
    """Return the event's JSON with its members in another order, in a style that the receiver accepts."""
    reversed_event: dict[str, Any] = dict(reversed(event.items()))
    # A style that sorts its members gives the same bytes again. A further member then makes the difference.
    body = STYLES[sender_role.signer.style](reversed_event)
    return (
        body
        if body != STYLES[sender_role.signer.style](event)
        else STYLES[sender_role.signer.style]({**event, "also": 1})
    )


def _add_fresh_time(sender_role: Sender, old: Delivery, *, fresh_first: bool) -> Delivery:
    """Return an old delivery with a second, current t before or after the signed one."""
    signed_time, _, other_members = str(old.value).partition(",")
    fresh_time = f"t={sender_role.now()}"
    return replace(
        old,
        value=",".join(
            (fresh_time, signed_time, other_members) if fresh_first else (signed_time, fresh_time, other_members)
        ),
    )


async def _await_effects(sender_role: Sender) -> None:
    """Wait until the deliveries before had their effects.

    Raises:
        Inconclusive: A plain event has no effect in time, so a count of effects says nothing.
    """
    if not await sender_role.settle():
        raise Inconclusive("after these deliveries the receiver handles no plain one in time")


async def _judge_refused_deliveries(
    sender_role: Sender, row: str, deliveries: Mapping[str, Delivery], open_points: Mapping[str, str] | None = None
) -> None:
    """Send deliveries that must have no effect, wait until the receiver is idle, and judge each.

    `open_points` contains what the interface leaves open about a delivery, by its description.
    """
    answers = await run_concurrently((sender_role.attempt(one) for one in deliveries.values()), at_once=4)
    # A receiver that handles nothing any more has no effects either, and must not pass by that.
    if not await sender_role.settle():
        sender_role.case.mark_inconclusive(row, "after these deliveries the receiver accepts no genuine one either")
        return
    for (description, delivery), (answer, outcome) in zip(deliveries.items(), answers, strict=True):
        where, beyond = {"delivery": description}, (open_points or {}).get(description)
        if sender_role.receiver.effects is not None:
            await _judge_effects(sender_role, row, delivery.event_id, 0, answer, where, beyond=beyond)
        elif is_refusal(answer):
            _judge(sender_role, row, True, "refused with a client error", outcome, answer, where)
        else:
            reason = f"{description}: {outcome}, which does not show whether it had an effect; {UNBOUND_EFFECTS}"
            sender_role.case.mark_inconclusive(row, reason, exchange=answer)


async def _judge_accepted_delivery(
    sender_role: Sender, row: str, delivery: Delivery, where: Mapping[str, str], *, beyond: str | None = None
) -> None:
    """Send a delivery that must be accepted, and judge that by its effect if effects can be queried."""
    answer, outcome = await sender_role.send_twice_at_most(delivery)
    if sender_role.receiver.effects is None or answer is None:
        holds = answer is not None and is_success(answer)
        _judge(sender_role, row, holds, "a success", outcome, answer, where, beyond=beyond)
        return
    count = await sender_role.effects_within(delivery.event_id, is_taken=is_success(answer))
    if not count and is_success(answer):
        # A slow receiver is not a broken one. The count is final only if the receiver is shown to keep up.
        await sender_role.keeps_up(f"{outcome}, and no effect in time")
        count = await sender_role.effects(delivery.event_id, again=True)
    _judge(sender_role, row, count == 1, "one effect", f"{count} effects, {outcome}", answer, where, beyond=beyond)


async def _judge_tolerated_delivery(sender_role: Sender, delivery: Delivery, where: Mapping[str, str]) -> None:
    """Send a delivery whose effect is the receiver's choice, and judge that it is accepted without an error."""
    answer, outcome = await sender_role.send_twice_at_most(delivery)
    _judge(sender_role, "WH-RECV-03", answer is not None and is_success(answer), "a success", outcome, answer, where)


async def _judge_effects(
    sender_role: Sender,
    row: str,
    event_id: str,
    effect_count: int,
    answer: Answer | None,
    where: Mapping[str, str],
    *,
    beyond: str | None = None,
) -> None:
    count = await (sender_role.effects_within(event_id) if effect_count else sender_role.effects(event_id))
    words = {0: "no effect", 1: "one effect"}
    finding = (
        f"{words.get(count, f'{count} effects')}, {'no answer' if answer is None else f'answered {answer.status}'}"
    )
    _judge(sender_role, row, count == effect_count, words[effect_count], finding, answer, where, beyond=beyond)


def _judge(
    sender_role: Sender,
    row: str,
    holds: bool,
    expectation: str,
    finding: str,
    answer: Answer | None,
    where: Mapping[str, str],
    *,
    beyond: str | None = None,
) -> None:
    place = {**sender_role.receiver.where, **where}
    sender_role.case.expect(row, holds, expectation, finding, exchange=answer, where=place, beyond=beyond)

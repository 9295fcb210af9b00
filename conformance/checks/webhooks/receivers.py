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
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.webhooks.deliveries import (
    STYLES,
    Delivery,
    Event,
    forgeries,
    oddly_written,
    reserialised,
    with_members,
)
from conformance.surfaces.webhooks.under_test import UNBOUND_EFFECTS, Sender, refusal, sender, success

_REDELIVERED_AFTER = 1.5
# Copies at once, and rounds. A race between two deliveries shows rarely, so each is repeated.
_ROUNDS = ((2, 4), (10, 3))
_AHEAD_IS_OPEN = (
    "the profile declares no tolerance ([webhook] tolerance), and common libraries compare the age of t alone; the "
    "specification wants it refused on either side (P-WH-13)"
)
_UNKNOWN = {"livemode": False, "request": {"id": None, "keys": [1, 2.5, {"deep": [[["er"]]]}]}}
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
    sending = await sender(case, by_effects=True)
    events = {how: sending.event() for how in ("the same again", "seconds later", "in other bytes")}
    first = {how: sending.genuine(event) for how, event in events.items()}
    await run_concurrently(_delivered(sending, one) for one in first.values())
    at_once = await sending.attempt(first["the same again"])
    # Long enough for another `t`, so that the second signature differs and a receiver cannot recognise the repeat by
    # it.
    await asyncio.sleep(_REDELIVERED_AFTER)
    again = sending.genuine(events["seconds later"])
    other = sending.signer.over(events["in other bytes"], _in_other_bytes(sending, events["in other bytes"]), again.t)
    answers = (at_once, await sending.attempt(again), await sending.attempt(other))
    await _settled(sending)
    for (how, event), (answer, _) in zip(events.items(), answers, strict=True):
        await _effects(sending, "WH-RECV-01", event["id"], 1, answer, {"delivery": how})


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
    sending = await sender(case)
    made = forgeries(sending.signer, sending.event, sending.now())
    await _no_effects(sending, "WH-RECV-02", made)
    # A receiver that stores the id before it verifies the signature lets a forger block the genuine event.
    event = sending.event()
    forged = replace(sending.genuine(event), value=made["signed with another secret"].value)
    await sending.attempt(forged)
    beyond = "the interface says nothing of a genuine delivery after a forged one"
    how = {"delivery": "the genuine one after a forged one"}
    await _taken(sending, "WH-RECV-02", sending.genuine(event), how, beyond=beyond)


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
    sending = await sender(case)
    grown = {
        "members at the top": with_members(sending.event(), _UNKNOWN, {}, {}),
        "members in data": with_members(sending.event(), {}, _UNKNOWN_DATA, {}),
        "members in data.asset": with_members(sending.event(), {}, {}, _UNKNOWN_ASSET),
    }
    for how, event in grown.items():
        await _taken(sending, "WH-RECV-03", sending.genuine(event), {"unknown": how})
    for newer in ("2", "2099-12-31"):
        event = {**sending.event(), "api_version": newer}
        await _tolerated(sending, sending.genuine(event), {"api_version": newer})
    unknown_type = sending.genuine({**sending.event(), "type": "payment.annotated"})
    _, happened = await sending.attempt(unknown_type)
    case.note(f"An event of an unknown type is {happened}.")
    await _taken(sending, "WH-RECV-03", sending.genuine(sending.event()), {"unknown": "afterwards"})


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
    sending = await sender(case)
    tolerance, beyond = sending.receiver.tolerance, sending.receiver.stale_seconds
    old = f"t {beyond:.0f} s old"
    made = {old: sending.genuine(sending.event(), away=-beyond)}
    # The attack on a lenient parser: the check of age reads one t, and the check of the signature the other.
    both = (("a fresh t before an old one", True), ("a fresh t after an old one", False))
    for how, fresh_first in both if "{t}" in sending.signer.signed_string else ():
        made[how] = _two_times(sending, sending.genuine(sending.event(), away=-beyond), fresh_first=fresh_first)
    ahead = f"t {beyond:.0f} s ahead"
    made[ahead] = sending.genuine(sending.event(), away=beyond)
    open_points = {} if tolerance is not None else {ahead: _AHEAD_IS_OPEN}
    await _no_effects(sending, "WH-RECV-04", made, open_points)
    if tolerance is not None:
        for away in (-tolerance / 2, tolerance / 2):
            where = {"delivery": f"t {abs(away):.0f} s {'old' if away < 0 else 'ahead'}"}
            await _taken(sending, "WH-RECV-04", sending.genuine(sending.event(), away=away), where)


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
    sending = await sender(case)
    await _no_effects(sending, "WH-RECV-05", reserialised(sending.signer, sending.event, sending.now()))
    for style in STYLES:
        event = sending.event()
        delivery = replace(sending.signer, style=style).sign(event, sending.now())
        await _taken(sending, "WH-RECV-05", delivery, {"delivery": f"genuine, {style}"})
    event = sending.event()
    odd = sending.signer.over(event, oddly_written(event), sending.now())
    await _taken(sending, "WH-RECV-05", odd, {"delivery": "genuine, oddly written"})


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
    sending = await sender(case, by_effects=True)
    rounds: list[tuple[int, Event, Answer]] = []
    for copies, times in _ROUNDS:
        for _ in range(times):
            event = sending.event()
            rounds.append((copies, event, await _at_once(sending, event, copies)))
    await _settled(sending)
    for copies, event, answer in rounds:
        await _effects(sending, "WH-RECV-06", event["id"], 1, answer, {"delivery": f"{copies} at once"})


async def _at_once(sending: Sender, event: Event, copies: int) -> Answer:
    delivery = sending.genuine(event)
    return (await run_concurrently(sending.send(delivery, at_once=True) for _ in range(copies)))[-1]


async def _delivered(sending: Sender, delivery: Delivery) -> None:
    """Deliver an honest event and wait for its effect."""
    await sending.send(delivery)
    await sending.effects_within(delivery.event_id)


def _in_other_bytes(sending: Sender, event: Event) -> bytes:
    """Return the event's JSON with its members in another order, in a style that the receiver accepts."""
    turned: dict[str, Any] = dict(reversed(event.items()))
    # A style that sorts its members gives the same bytes again. A further member then makes the difference.
    body = STYLES[sending.signer.style](turned)
    return body if body != STYLES[sending.signer.style](event) else STYLES[sending.signer.style]({**event, "also": 1})


def _two_times(sending: Sender, old: Delivery, *, fresh_first: bool) -> Delivery:
    """Return an old delivery with a second, current t before or after the signed one."""
    signed, _, rest = str(old.value).partition(",")
    fresh = f"t={sending.now()}"
    return replace(old, value=",".join((fresh, signed, rest) if fresh_first else (signed, fresh, rest)))


async def _settled(sending: Sender) -> None:
    """Wait until the deliveries before had their effects.

    Raises:
        Inconclusive: A plain event has no effect in time, so a count of effects says nothing.
    """
    if not await sending.settle():
        raise Inconclusive("after these deliveries the receiver handles no plain one in time")


async def _no_effects(
    sending: Sender, row: str, made: Mapping[str, Delivery], open_points: Mapping[str, str] | None = None
) -> None:
    """Send deliveries that must have no effect, wait until the receiver is idle, and judge each.

    `open_points` contains what the interface leaves open about a delivery, by its description.
    """
    answers = await run_concurrently((sending.attempt(one) for one in made.values()), at_once=4)
    # A receiver that handles nothing any more has no effects either, and must not pass by that.
    if not await sending.settle():
        sending.case.mark_inconclusive(row, "after these deliveries the receiver accepts no genuine one either")
        return
    for (how, delivery), (answer, happened) in zip(made.items(), answers, strict=True):
        where, beyond = {"delivery": how}, (open_points or {}).get(how)
        if sending.receiver.effects is not None:
            await _effects(sending, row, delivery.event_id, 0, answer, where, beyond=beyond)
        elif refusal(answer):
            _judge(sending, row, True, "refused with a client error", happened, answer, where)
        else:
            reason = f"{how}: {happened}, which does not show whether it had an effect; {UNBOUND_EFFECTS}"
            sending.case.mark_inconclusive(row, reason, exchange=answer)


async def _taken(
    sending: Sender, row: str, delivery: Delivery, where: Mapping[str, str], *, beyond: str | None = None
) -> None:
    """Send a delivery that must be accepted, and judge that by its effect if effects can be queried."""
    answer, happened = await sending.answered(delivery)
    if sending.receiver.effects is None or answer is None:
        holds = answer is not None and success(answer)
        _judge(sending, row, holds, "a success", happened, answer, where, beyond=beyond)
        return
    count = await sending.effects_within(delivery.event_id, taken=success(answer))
    if not count and success(answer):
        # A slow receiver is not a broken one. The count is final only if the receiver is shown to keep up.
        await sending.keeps_up(f"{happened}, and no effect in time")
        count = await sending.effects(delivery.event_id, again=True)
    _judge(sending, row, count == 1, "one effect", f"{count} effects, {happened}", answer, where, beyond=beyond)


async def _tolerated(sending: Sender, delivery: Delivery, where: Mapping[str, str]) -> None:
    """Send a delivery whose effect is the receiver's choice, and judge that it is accepted without an error."""
    answer, happened = await sending.answered(delivery)
    _judge(sending, "WH-RECV-03", answer is not None and success(answer), "a success", happened, answer, where)


async def _effects(
    sending: Sender,
    row: str,
    event_id: str,
    wanted: int,
    answer: Answer | None,
    where: Mapping[str, str],
    *,
    beyond: str | None = None,
) -> None:
    count = await (sending.effects_within(event_id) if wanted else sending.effects(event_id))
    words = {0: "no effect", 1: "one effect"}
    found = f"{words.get(count, f'{count} effects')}, {'no answer' if answer is None else f'answered {answer.status}'}"
    _judge(sending, row, count == wanted, words[wanted], found, answer, where, beyond=beyond)


def _judge(
    sending: Sender,
    row: str,
    holds: bool,
    expected: str,
    found: str,
    answer: Answer | None,
    where: Mapping[str, str],
    *,
    beyond: str | None = None,
) -> None:
    place = {**sending.receiver.where, **where}
    sending.case.expect(row, holds, expected, found, exchange=answer, where=place, beyond=beyond)

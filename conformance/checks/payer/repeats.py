"""PAYER-ONCE: lost answers, answers that say "not yet", and crashes never make a payer pay twice."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from typing import Final

from conformance.engine.check import Case, check
from conformance.outcome import OpenPoint
from conformance.surfaces.payer.played_rail import (
    PlayedRail,
    Presentation,
    Script,
    Step,
    hang_up,
    mention,
    quote_again,
    refuse,
    serve,
    stay_silent,
)
from conformance.surfaces.payer.quotes import PRICE
from conformance.surfaces.payer.scenes import (
    NEEDS_MORE,
    SHORT_SECONDS,
    Outcome,
    Scene,
    cite_last_call,
    pays_over_a2a,
    perform,
    perform_each,
    require_fast_machine,
    require_honest_call,
)
from conformance.webhook_receiver.raw_receiver import Reply

# Statuses that leave it open whether a proof was taken, with codes of rails (5.7).
_NOT_YET: Final = (
    (408, "request_timeout"),
    (409, "payment_in_progress"),
    (425, "too_early"),
    (429, "rate_limited"),
    (500, "internal_error"),
    (502, "bad_gateway"),
    (503, "answer_unavailable"),
    (504, "timeout"),
    (507, "insufficient_storage"),
    (520, "unknown_error"),
)
_WAIT_SECONDS: Final = 3
# An honest call must end in this part of the short time, or a run may have had no time to pay.
_PAYING_PART: Final = 0.5
_RUNS_AT_ONCE: Final = 2
# A payer's clock and the suite's may round differently.
_TOLERANCE_SECONDS: Final = 0.2


def _judge_once(case: Case, row: str, outcome: Outcome, scene: str, clause: str = "P-PY-06") -> None:
    """Judge that one payment was made, whatever became of the answer."""
    # The price of a call is the interface's. x402 has one for a payment, and nothing about a payment without an answer.
    beyond = OpenPoint("x402 leaves open what its clients do if no answer comes", clause)
    case.expect(
        row,
        outcome.has_paid_at_most_once,
        "one payment for the call",
        outcome.story,
        exchange=cite_last_call(outcome),
        where={"scene": scene},
        beyond=beyond if case.profile.payer.stock else None,
    )


def _judge_same_proof(case: Case, row: str, outcome: Outcome, scene: str) -> None:
    """Judge that the same proof was presented again and served."""
    case.expect(
        row,
        outcome.is_served and len(outcome.presentations) > 1 and len(outcome.payments) == 1,
        "the same proof is presented again, and the payer ends with exit code 0",
        outcome.story,
        exchange=cite_last_call(outcome),
        where={"scene": scene},
    )


@check(
    "PAYER-ONCE-01",
    "PAYER-ONCE-02",
    surface="payer",
    lane="each",
    fix="Store the proof before you present it. If no answer comes, present the same proof again and do not pay.",
    needs_more=NEEDS_MORE,
)
async def keeps_the_proof_of_a_lost_answer(case: Case) -> None:
    """A payer whose answer is lost presents the same proof again, and does not pay a second time.

    Closes the connection after the first proof without an answer, and serves the next presentation. Expects one
    payment, and the same proof again. Over A2A, in further scenes, forgets the task of the payment, or loses the answer
    that finishes it. Expects that the proof is presented with its order, or the result of the task read.
    """
    await require_honest_call(case)
    scenes = {"the connection is closed after the proof": Scene(script=Script(steps=(hang_up, serve)))}
    outcomes = await perform_each(case, scenes)
    for scene, outcome in outcomes.items():
        _judge_once(case, "PAYER-ONCE-01", outcome, scene)
        _judge_same_proof(case, "PAYER-ONCE-02", outcome, scene)
    await _judge_closed_tasks(case)


async def _judge_closed_tasks(case: Case) -> None:
    """Judge a payment whose task is unknown or finished when the payer comes again; only A2A has tasks (P-RA-12)."""
    if not await pays_over_a2a(case):
        return
    scripts = {
        "the task of the payment is unknown, over A2A": Script(forgets_tasks=True),
        "the answer that finishes the task is lost, over A2A": Script(loses_results=True),
    }
    outcomes = await asyncio.gather(
        *(perform(case, Scene(script=script, is_over_a2a=True)) for script in scripts.values())
    )
    for scene, outcome in zip(scripts, outcomes, strict=True):
        _judge_once(case, "PAYER-ONCE-01", outcome, scene)
        case.expect(
            "PAYER-ONCE-02",
            outcome.is_served,
            "the proof is presented with its order, or the task read, and the payer ends with exit code 0",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": scene},
        )


@check(
    "PAYER-ONCE-03",
    "PAYER-ONCE-04",
    surface="payer",
    lane="each",
    fix="After 408, 409, 425, 429 and 5xx present the same proof again after Retry-After. Never pay again.",
    needs_more=NEEDS_MORE,
)
async def presents_again_after_not_yet(case: Case) -> None:
    """An answer that leaves the payment open makes a payer present the same proof again, and pay nothing more.

    Answers proofs with 408, 409, 425, 429, 500, 502, 503, 504, 507 and 520 in pairs, with Retry-After, then serves.
    In a further scene a final code is in other places than `error`. Expects one payment, and the same proof each
    time.
    """
    await require_honest_call(case)
    # Two at a time: a payer may wait longer after each further refusal.
    pairs = [_NOT_YET[start : start + 2] for start in range(0, len(_NOT_YET), 2)]
    scenes = {
        f"proofs are answered {', '.join(str(status) for status, _ in part)}, then 200": Scene(
            script=Script(steps=(*(refuse(status, code, "0") for status, code in part), serve))
        )
        for part in pairs
    }
    # The code is the member `error` and nothing else (P-PY-07).
    step = mention(refuse(503, "busy", "0"), "payment_already_spent")
    scenes["the first proof is answered 503 with a final code outside of error"] = Scene(
        script=Script(steps=(step, serve))
    )
    for scene, outcome in (await perform_each(case, scenes, also_over_a2a=len(pairs))).items():
        _judge_once(case, "PAYER-ONCE-03", outcome, scene)
        _judge_same_proof(case, "PAYER-ONCE-04", outcome, scene)


@check(
    "PAYER-ONCE-05",
    surface="payer",
    lane="each",
    fix="Read Retry-After, and present the proof no earlier than it says.",
    needs_more=NEEDS_MORE,
)
async def waits_as_asked(case: Case) -> None:
    """A payer waits at least as long as Retry-After says before it presents its proof again.

    Answers the first proof with 503 and Retry-After of three seconds, and in further scenes with such a date, with 425
    and with 402 `tx_not_confirmed`. Expects the next presentation after that time.
    """
    await require_honest_call(case)
    steps: dict[str, Step] = {
        "seconds": refuse(503, "busy", str(_WAIT_SECONDS)),
        "a date": _refuse_until_date,
        "seconds, with 425": refuse(425, "too_early", str(_WAIT_SECONDS)),
    }
    if not case.profile.payer.stock:
        steps["seconds, with 402 tx_not_confirmed"] = refuse(402, "tx_not_confirmed", str(_WAIT_SECONDS))
    scenes = {form: Scene(script=Script(steps=(step, serve))) for form, step in reversed(steps.items())}
    # Over A2A the last form is a member of the task, and the others are those of HTTP.
    for form, outcome in (await perform_each(case, scenes, also_over_a2a=2)).items():
        if len(outcome.presentations) < 2 and case.profile.payer.stock:
            reason = "the stock client presents no proof again, which x402 leaves open"
            case.mark_not_applicable("PAYER-ONCE-05", reason)
            continue
        if len(outcome.presentations) < 2:
            case.mark_inconclusive("PAYER-ONCE-05", "the payer presents no proof again, which PAYER-ONCE-04 judges")
            continue
        first, second = (one.arrival for one in outcome.presentations[:2])
        waited = second.monotonic - (first.answered_at or first.monotonic)
        case.expect(
            "PAYER-ONCE-05",
            waited >= _WAIT_SECONDS - _TOLERANCE_SECONDS,
            f"the proof again after {_WAIT_SECONDS} s",
            f"after {waited:.1f} s",
            exchange=cite_last_call(outcome),
            where={"scene": f"Retry-After as {form}"},
        )


def _refuse_first_run(code: str, status: int) -> Step:
    """Return a step that answers a status once in the first run, and serves each later proof."""

    async def answer(rail: PlayedRail, presentation: Presentation) -> Reply:
        is_first = not rail.is_resumed and len(rail.presentations) == 1
        return await (refuse(status, code, None) if is_first else serve)(rail, presentation)

    return answer


async def _refuse_until_resumed(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Answer 503 with a Retry-After beyond the time of the call, and serve once the payer is started again."""
    return await (serve if rail.is_resumed else refuse(503, "busy", "3600"))(rail, presentation)


async def _refuse_until_date(rail: PlayedRail, presentation: Presentation) -> Reply:
    """Answer 503 with Retry-After as a date."""
    # A date has whole seconds, so one second more is at least the time that is asked for.
    date = formatdate(time.time() + _WAIT_SECONDS + 1, usegmt=True)
    return await refuse(503, "busy", date)(rail, presentation)


@check(
    "PAYER-ONCE-06",
    surface="payer",
    lane="each",
    fix="A new challenge in answer to a proof is not an order to pay again: stop, keep the proof, and report it.",
    needs_more=NEEDS_MORE,
)
async def stops_at_a_new_challenge(case: Case) -> None:
    """A payer that gets a new challenge in answer to its proof stops, pays nothing more, and reports a failure.

    Answers each proof with a new challenge at the same price, in further scenes at a higher price within the limit,
    with `challenge_expired`, with a code that 5.7 does not list, and with `tx_not_found` outside of `error`. Over A2A
    also fails the task with `tx_not_found`. Expects one payment, one presentation, and an exit code other than 0.
    """
    await require_honest_call(case)
    scripts: dict[str, Script] = {
        "each proof is answered with a new challenge": Script(steps=(quote_again,)),
        "the new challenge is dearer": Script(steps=(quote_again,), amounts=(PRICE, PRICE + 10_000)),
        # Without Retry-After, which says of a 402 that the same proof may be presented again (P-ER-02).
        "a code that 5.7 does not list": Script(steps=(refuse(402, "payment_undecided", None), serve)),
        "the challenge of the proof has expired": Script(steps=(refuse(402, "challenge_expired", None), serve)),
    }
    if not case.profile.payer.stock:
        step = mention(refuse(402, "payment_invalid", None), "tx_not_found")
        scripts["tx_not_found outside of error"] = Script(steps=(step, serve))
    scenes = {scene: Scene(script=script) for scene, script in scripts.items()}
    outcomes = await perform_each(case, scenes, also_over_a2a=4)
    if await pays_over_a2a(case):
        failed_task = Script(steps=(refuse(402, "tx_not_found", None), serve), fails_undecided=True)
        outcomes["a failed task with tx_not_found, over A2A"] = await perform(
            case, Scene(script=failed_task, is_over_a2a=True)
        )
    for scene, outcome in outcomes.items():
        # x402 does not say how often a proof may be presented.
        stops = case.profile.payer.stock or len(outcome.presentations) <= 1
        case.expect(
            "PAYER-ONCE-06",
            outcome.has_paid_at_most_once and outcome.is_refused and stops,
            "no second payment, no further presentation, and an exit code other than 0",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": scene},
        )


@check(
    "PAYER-ONCE-11",
    surface="payer",
    lane="each",
    fix="payment_already_spent and payment_refunded are final: stop, keep the proof, report it, and do not pay again.",
    needs_more=NEEDS_MORE,
)
async def stops_at_a_final_code(case: Case) -> None:
    """A payer whose payment is spent or was given back stops, pays nothing more, and reports a failure.

    Answers the first proof with 409 `payment_already_spent`, and in further scenes with the other code and with
    402, 429, 500 and 503. Would serve a later one. Expects one payment, and an exit code other than 0. Then starts
    the payer again with the same call, and expects no second payment.
    """
    if case.profile.payer.stock:
        case.mark_not_applicable("PAYER-ONCE-11", "x402 has no codes for a payment that is spent or was given back")
        return
    await require_honest_call(case)
    spent, refunded = "payment_already_spent", "payment_refunded"
    # One of each class of statuses that permits another presentation.
    cases = ((409, spent), (409, refunded), (402, spent), (429, refunded), (503, spent), (500, refunded))
    scenes = {
        f"the first proof is answered {status} {code}": Scene(
            script=Script(steps=(_refuse_first_run(code, status),)), runs=2
        )
        for status, code in cases
    }
    for scene, outcome in (await perform_each(case, scenes, also_over_a2a=2)).items():
        case.expect(
            "PAYER-ONCE-11",
            outcome.has_paid_at_most_once and outcome.endings[0].code not in {None, 0},
            "an exit code other than 0, and no second payment, also when it is started again",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": scene},
        )


@check(
    "PAYER-ONCE-07",
    surface="payer",
    lane="each",
    fix="402 tx_not_found and tx_not_confirmed say that the rail does not see the payment yet: present the same proof.",
    needs_more=NEEDS_MORE,
)
async def waits_for_confirmation(case: Case) -> None:
    """A payer whose payment the rail does not see yet presents the same proof again.

    Answers the first proof with 402 `tx_not_confirmed` and Retry-After, and serves the next. In a second scene four
    proofs are answered so, with both codes. Expects one payment, and the same proof again.
    """
    await require_honest_call(case)
    steps = (refuse(402, "tx_not_confirmed"), serve)
    searches = tuple(refuse(402, code, "0") for code in ("tx_not_found", "tx_not_confirmed") * 2)
    scenes = {
        "the first proof is answered 402 tx_not_confirmed": Scene(script=Script(steps=steps)),
        "four proofs are answered 402 tx_not_found or tx_not_confirmed": Scene(script=Script(steps=(*searches, serve))),
    }
    for scene, outcome in (await perform_each(case, scenes)).items():
        _judge_same_proof(case, "PAYER-ONCE-07", outcome, scene)


@check(
    "PAYER-ONCE-08",
    "PAYER-ONCE-09",
    surface="payer",
    lane="each",
    fix="Write the signed payment to disk before you send it, and continue from that file after a crash.",
    needs_more=NEEDS_MORE,
)
async def survives_a_crash(case: Case) -> None:
    """A payer that is killed after its payment continues the payment when it is started again.

    Kills the payer with SIGKILL when its proof arrives, in further scenes when its money has reached the payee, and
    when it asks for the keys of its receipt. Starts it again with the same call. Expects one payment in all, and that
    the second run is served.
    """
    await require_honest_call(case)
    steps: dict[str, tuple[Step, ...]] = {"proof": (stay_silent, serve), "payment": (serve,)}
    scenes = {moment: Scene(script=Script(steps=script), runs=2, kill_at=moment) for moment, script in steps.items()}
    scenes["keys"] = Scene(script=Script(holds_keys=True), runs=2, kill_at="keys")
    for moment, outcome in (await perform_each(case, scenes)).items():
        # A payer that ended before it could be killed made a whole purchase, so its second run is a second one.
        if not outcome.endings[0].is_killed:
            case.note(f"the payer ended before it was killed at its {moment}: {outcome.story}")
            continue
        scene = f"killed at its {moment}, then started again"
        _judge_once(case, "PAYER-ONCE-08", outcome, scene, "P-PY-10")
        case.expect(
            "PAYER-ONCE-09",
            outcome.is_served,
            "the second run ends with exit code 0",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": scene},
        )


@check(
    "PAYER-ONCE-10",
    surface="payer",
    lane="each",
    fix="When the time is over, end with an exit code other than 0 and keep the proof for the next run.",
    needs_more=NEEDS_MORE,
)
async def ends_when_the_time_is_over(case: Case) -> None:
    """A payer whose proof is not served in time ends with a failure, and its next run presents the same proof.

    Answers each proof of the first run with 503 and a Retry-After beyond the time of the call, and serves the next one.
    Starts the payer twice. Expects a failure, then the same proof as the first call of the second run, exit code 0, and
    one payment. In further scenes answers each proof with 425, or hangs up and then never answers. Expects a failure
    in time.
    """
    await require_honest_call(case)
    script = Script(steps=(_refuse_until_resumed,))
    busy_script = Script(steps=(refuse(425, "too_early", "1"),))
    lost_script = Script(steps=(hang_up, stay_silent))
    outcomes, busy, lost = await asyncio.gather(
        perform_each(case, {"started twice": Scene(script=script, runs=2, seconds=SHORT_SECONDS)}),
        perform(case, Scene(script=busy_script, seconds=SHORT_SECONDS)),
        perform(case, Scene(script=lost_script, seconds=SHORT_SECONDS)),
    )
    for scene, outcome in outcomes.items():
        is_continued = outcome.has_resumed_with_its_proof and outcome.is_served and len(outcome.payments) == 1
        if not is_continued:
            # The time of the first run may have been too short for a payment on this machine.
            await require_fast_machine(case, seconds=SHORT_SECONDS, part=_PAYING_PART)
        case.expect(
            "PAYER-ONCE-10",
            outcome.endings[0].code not in {None, 0} and is_continued,
            "an exit code other than 0, then the same proof as the first call and exit code 0",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": scene},
        )
    for scene, outcome in {"each proof is answered 425": busy, "no proof is answered": lost}.items():
        case.expect(
            "PAYER-ONCE-10",
            outcome.is_refused and outcome.has_paid_at_most_once,
            "an exit code other than 0 when the time is over",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": scene},
        )


@check(
    "PAYER-ONCE-12",
    surface="payer",
    lane="each",
    fix="Hold a lock while a call is at work, or create the file of a payment so that it replaces no other one.",
    needs_more=NEEDS_MORE,
)
async def keeps_the_proofs_of_runs_at_once(case: Case) -> None:
    """Two runs of one call at the same time pay at most one price each, and a later run presents what has no answer.

    Starts the payer twice at the same time, with one call and one state folder. Quotes the price to both together, and
    answers their proofs with 503. Then starts the payer once for each payment. Expects at most two payments, and that
    each of them is presented again and served.
    """
    if case.profile.payer.stock:
        case.mark_not_applicable("PAYER-ONCE-12", "x402 leaves open what its clients store, so runs share nothing")
        return
    await require_honest_call(case)
    script = Script(steps=(_refuse_until_resumed,), callers=_RUNS_AT_ONCE)
    outcome = await perform(case, Scene(script=script, at_once=_RUNS_AT_ONCE, runs=1 + _RUNS_AT_ONCE))
    payments = len(outcome.payments)
    case.expect(
        "PAYER-ONCE-12",
        payments <= _RUNS_AT_ONCE and outcome.received <= payments * PRICE and not outcome.open_payments,
        "at most one payment for each of two runs, and each payment served after the payer is started again",
        outcome.story,
        exchange=cite_last_call(outcome),
    )

"""PAYER-PAY, PAYER-SEC: an honest call, and what a payer shows while it makes it."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.surfaces.payer.played_rail import Script, refuse
from conformance.surfaces.payer.quotes import NOTICE, PATH, PRICE
from conformance.surfaces.payer.scenes import (
    NEEDS_MORE,
    Outcome,
    Scene,
    cite_last_call,
    claims_a2a,
    honest_call,
    perform,
    perform_each,
    require_honest_call,
)
from conformance.webhook_receiver.raw_receiver import HANG_UP, Reply

_QUERY: Final = "a=1&b=%20x"


@check(
    "PAYER-PAY-01",
    "PAYER-PAY-02",
    surface="payer",
    lane="each",
    fix="Ask without a payment, pay the offer of the lane with its weld, and repeat the same call with X-PAYMENT.",
    needs_more=NEEDS_MORE,
)
async def pays_for_an_honest_call(case: Case) -> None:
    """An honest call is paid once, exactly, with the weld of the lane, and the payer ends with exit code 0.

    Plays an honest rail, over A2A, too, if the payer claims it. Expects a call without a payment, then the same call
    with a proof that pays the quote, the exact price at the payee, and the exit code 0.
    """
    outcomes = {"HTTP": await honest_call(case)}
    if claims_a2a(case):
        outcomes["A2A"] = await honest_call(case, is_over_a2a=True)
    for transport, outcome in outcomes.items():
        path = outcome.rail.call_paths[0]
        calls = [one for one in outcome.rail.receiver.arrivals if one.path == path]
        proofs = [one.arrival for one in outcome.presentations]
        asked_first = bool(calls) and calls[0] not in proofs
        where = {"transport": transport}
        hint = None if outcome.is_served else _quote_errors(outcome)
        case.expect(
            "PAYER-PAY-01",
            asked_first and outcome.is_served and any(one.path == path for one in proofs),
            f"a call of {path} without a payment, the same call with its proof, and exit code 0",
            outcome.story if calls else f"no call of {path}; {outcome.story}",
            exchange=cite_last_call(outcome),
            where=where,
            hint=_ORDER_OVER_A2A if transport == "A2A" and not calls else hint,
        )
        paid = [one for one in outcome.presentations if one.tx_id is not None]
        case.expect(
            "PAYER-PAY-02",
            bool(paid) and outcome.received == PRICE and len(outcome.payments) == 1,
            f"one payment of {PRICE} units{'' if case.profile.payer.stock else ' that is welded to the quote'}",
            outcome.story,
            exchange=cite_last_call(outcome),
            where=where,
        )


_ORDER_OVER_A2A = (
    "Order at WELDPROOF_PAYER_A2A_URL if that variable is set, or claim no payer.a2a: docs/testing-payers.md, "
    '"Calls over A2A".'
)


def _quote_errors(outcome: Outcome) -> str:
    words = " ".join(outcome.endings[-1].stderr.split())[-400:] or "nothing"
    return f"The payer printed on standard error: {words}"


@check(
    "PAYER-PAY-03",
    surface="payer",
    lane="each",
    fix="Skip the entries of `accepts` whose network or scheme you do not know, wherever they are in the list.",
    needs_more=NEEDS_MORE,
)
async def skips_unknown_offers(case: Case) -> None:
    """A challenge with offers on unknown networks before and after the lane's is paid on the lane.

    Puts an offer on an unknown network before the lane's, and one on another unknown network after it. In a second
    scene the two are networks of the lane's own family, and in a third one they are of another scheme and version,
    with other members. Expects that the call is paid on the lane and served.
    """
    await require_honest_call(case)

    def surround(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        # Well-formed, since a strict client may refuse a document with a malformed offer.
        extra = {"payment_reference": "a token of another chain", "name": "COIN"}
        unknown = {**entries[0], "network": "unknown:1", "asset": "COIN", "payTo": "somewhere", "extra": extra}
        return [unknown, *entries, {**unknown, "network": "unknown:2"}]

    def surround_with_relatives(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        offer = entries[0]
        family = str(offer["network"]).partition(":")[0]
        relatives = [{**offer, "network": f"{family}:{name}", "payTo": "somewhere"} for name in ("4242", "4243")]
        return [relatives[0], offer, relatives[1]]

    def surround_with_other_forms(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        other_scheme = {"scheme": "prepaid", "network": "unknown:1", "account": "somewhere"}
        return [other_scheme, *entries, {"x402Version": 3, "kind": "invoice"}]

    scripts = {
        "unknown networks": Script(entries=surround),
        "unknown networks of the lane's family": Script(entries=surround_with_relatives),
    }
    # A stock client may refuse a document whose offers lack members that x402 version 2 requires.
    if not case.profile.payer.stock:
        scripts["schemes and versions with other members"] = Script(entries=surround_with_other_forms)
    outcomes = await asyncio.gather(*(perform(case, Scene(script=script)) for script in scripts.values()))
    for scene, outcome in zip(scripts, outcomes, strict=True):
        case.expect(
            "PAYER-PAY-03",
            outcome.is_served and outcome.received >= PRICE,
            "the call is paid on the lane and served",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": scene},
        )


@check(
    "PAYER-PAY-01",
    "PAYER-PAY-05",
    surface="payer",
    lane="each",
    fix="Call the whole address, print the answer as it was served, and end with exit code 0 only if it was paid.",
    needs_more=NEEDS_MORE,
)
async def changes_neither_address_nor_answer(case: Case) -> None:
    """The call goes to the whole address, the answer is printed unchanged, and exit code 0 means that it was paid.

    Calls an address with a query, with a body of unusual spelling that ends with a newline. Expects both calls at that
    address, and the texts of the answer in the output. In a second scene the rail answers 200 without a payment.
    Expects an exit code other than 0.
    """
    await require_honest_call(case)
    free = Script(unpaid=lambda rail, _: Reply(200, (), json.dumps({"result": {"address": rail.desk.url}}).encode()))
    outcome, unpaid = await asyncio.gather(
        perform(case, Scene(script=Script(query=_QUERY, body_text=_write_unusually))),
        perform(case, Scene(script=free)),
    )
    calls = [one for one in outcome.rail.receiver.arrivals if one.path == PATH]
    where = {"scene": "a query, and a body of unusual spelling"}
    case.expect(
        "PAYER-PAY-01",
        outcome.is_served and {one.target for one in calls} == {f"{PATH}?{_QUERY}"},
        "both calls at the address with its query, and exit code 0",
        outcome.story,
        exchange=cite_last_call(outcome),
        where=where,
    )
    if outcome.is_served:
        printed = outcome.endings[-1].stdout
        is_printed = any(text in printed for text in (NOTICE, json.dumps(NOTICE)[1:-1]))
        expectation, finding = f"the text {NOTICE!r} of the answer in the output", f"{len(printed)} characters"
        exchange = cite_last_call(outcome)
        case.expect("PAYER-PAY-05", is_printed, expectation, finding, exchange=exchange, where=where)
    case.expect(
        "PAYER-PAY-05",
        unpaid.is_refused,
        "an exit code other than 0 for a call that was not paid",
        unpaid.story,
        exchange=cite_last_call(unpaid),
        where={"scene": "the rail answers without a payment"},
    )


def _write_unusually(body: Any) -> str:
    return json.dumps(body, indent=1) + "\n"


@check(
    "PAYER-PAY-04",
    surface="payer",
    lane="each",
    fix="Read maxAmountRequired in base ten, whatever its first digit is, or refuse zeros in front.",
    needs_more=NEEDS_MORE,
)
async def reads_prices_in_base_ten(case: Case) -> None:
    """A price with zeros in front is refused, or paid as the number that it is in base ten.

    Offers the call at its price with a zero in front. Expects that nothing is paid and the exit code is not 0, or that
    the exact price is paid once.
    """
    if case.profile.payer.stock:
        case.mark_not_applicable("PAYER-PAY-04", "x402 leaves open whether an amount may have zeros in front")
        return
    await require_honest_call(case)
    price = f"0{PRICE}"
    outcome = await perform(
        case, Scene(script=Script(entry=lambda entry: {**entry, "maxAmountRequired": price, "amount": price}))
    )
    is_exact = outcome.received == PRICE and len(outcome.payments) == 1
    case.expect(
        "PAYER-PAY-04",
        is_exact or (outcome.has_paid_nothing and outcome.is_refused),
        f"nothing is paid and the exit code is not 0, or {PRICE} units are paid once",
        outcome.story,
        exchange=cite_last_call(outcome),
    )


@check(
    "PAYER-SEC-01",
    "PAYER-SEC-02",
    surface="payer",
    lane="each",
    fix="Read the key from its file where it is needed, keep it out of arguments, output and errors, and create the "
    "files of proofs with mode 0600.",
    needs_more=NEEDS_MORE,
)
async def shows_no_key(case: Case) -> None:
    """The key of the account is in no output, argument or call, and keys and proofs are in files of their owner only.

    Plays an honest call, a refused proof, a rail that never answers a proof, a rail that answers nothing at all, and
    one whose answer is not JSON. Expects the key neither in output and arguments nor in calls, and neither key nor
    proof in a file that other users may read.
    """
    scripts = {
        "a refused proof": Script(steps=(refuse(400, "bad_request", None),)),
        "a proof without an answer": Script(steps=(refuse(503, "busy", "60"),)),
        "no answer at all": Script(unpaid=lambda *_: HANG_UP),
        "an answer that is not JSON": Script(unpaid=lambda *_: Reply(402, (), b"{")),
    }
    outcomes = [await require_honest_call(case)]
    scenes = {name: Scene(script=script) for name, script in scripts.items()}
    outcomes += (await perform_each(case, scenes, also_over_a2a=2)).values()
    exposures = sorted({place for one in outcomes for place in one.exposures})
    open_files = sorted({name for one in outcomes for name in one.open_files})
    case.expect("PAYER-SEC-01", not exposures, "the key of the account nowhere but in its file", ", ".join(exposures))
    case.expect("PAYER-SEC-02", not open_files, "keys and proofs in files of mode 0600", ", ".join(open_files))

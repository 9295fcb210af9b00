"""PAYER-OFFER: offers that a payer must not pay. Each scene is honest except for one thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.surfaces.payer.played_rail import PlayedRail, Script, send_elsewhere, send_round, serve
from conformance.surfaces.payer.quotes import LIFETIME_SECONDS, LIMIT, PATH, PRICE, Change
from conformance.surfaces.payer.scenes import (
    NEEDS_MORE,
    Outcome,
    Scene,
    Stage,
    cite_last_call,
    perform,
    perform_each,
    require_honest_call,
)
from conformance.vocabulary.lanes.registry import FACTS
from conformance.webhook_receiver.raw_receiver import Arrival, Reply, redirect

# A token whose lifetime is counted from the arrival of the challenge.
# The digits 0 to 9 of Arabic, which many languages read as a number.
_ARABIC_INDIC_DIGITS: Final = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
_TIMELESS_TOKEN = f"quote:{'0' * 16}:{'0' * 64}"


async def _expect_refusals(case: Case, row: str, scenes: Mapping[str, Scene], *, has_a2a_form: bool = True) -> None:
    """Play scenes side by side, and judge that nothing is paid and each run ends with a failure.

    Over A2A the first scene is played, because the rules of an offer are the same there.
    """
    await require_honest_call(case)
    for name, outcome in (await perform_each(case, scenes, also_over_a2a=1 if has_a2a_form else 0)).items():
        _expect_refusal(case, row, name, outcome)


def _expect_refusal(case: Case, row: str, name: str, outcome: Outcome) -> None:
    case.expect(
        row,
        outcome.has_paid_nothing and outcome.is_refused,
        "nothing is paid, no proof is presented, and the exit code is not 0",
        outcome.story,
        exchange=cite_last_call(outcome),
        where={"scene": name},
    )


def _entry(**members: Any) -> Change:
    return lambda entry: {**entry, **members}


def _extra(**members: Any) -> Change:
    """Return a change of members of `extra`; a member that becomes None is left out."""

    def change(entry: dict[str, Any]) -> dict[str, Any]:
        extra = {name: value for name, value in {**entry["extra"], **members}.items() if value is not None}
        return {**entry, "extra": extra}

    return change


def _price(case: Case, price: str) -> Change:
    """Return a change of the price, under each name that the form of the offer has for it."""
    return _entry(amount=price) if case.profile.payer.stock else _entry(maxAmountRequired=price, amount=price)


def _without_amount(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "amount"}


def _scene(change: Change) -> Scene:
    return Scene(script=Script(entry=change))


@check(
    "PAYER-OFFER-01",
    surface="payer",
    lane="each",
    fix="Compare maxAmountRequired with the limit that you were given, before anything is signed.",
    needs_more=NEEDS_MORE,
)
async def keeps_its_limit(case: Case) -> None:
    """A price above the limit of the call is not paid.

    Offers a price one unit above the limit, also where only `maxAmountRequired` has it, and the usual price to a payer
    with a lower limit and with one of 0. Expects that nothing is paid, and an exit code other than 0.
    """
    scenes = {
        # A second run shows whether the first one has kept a payment that it must not make.
        "one unit above the limit": Scene(script=Script(amounts=(LIMIT + 1,)), runs=2),
        "the price with a limit one unit below it": Scene(limit=PRICE - 1),
        "the price with a limit of 0": Scene(limit=0),
    }
    # x402 version 2 has one name for the price.
    if not case.profile.payer.stock:
        script = Script(amounts=(LIMIT + 1,), entry=_without_amount)
        scenes["one unit above the limit, without the member amount"] = Scene(script=script)
    await _expect_refusals(case, "PAYER-OFFER-01", scenes)


@check(
    "PAYER-OFFER-02",
    surface="payer",
    lane="each",
    fix="Compare the id of the asset with the id of USDC on that network. A name proves nothing.",
    needs_more=NEEDS_MORE,
)
async def refuses_a_lookalike(case: Case) -> None:
    """An offer in another asset that has the name of USDC is not paid.

    Makes an asset that is called USDC and that the account holds, and offers the call for it. Expects that nothing is
    paid, and an exit code other than 0.
    """
    await require_honest_call(case)
    # The stage of each rail, its asset, and what the payee had of it.
    offers: dict[int, tuple[Stage, str, int]] = {}

    async def offer_lookalike(stage: Stage) -> None:
        payee = stage.rail.terms.pay_to
        asset = await stage.host.make_lookalike(stage.account, payee)
        offers[id(stage.rail)] = (stage, asset, await stage.host.read_units(payee, asset))
        stage.rail.script = replace(stage.rail.script, entry=_entry(asset=asset))

    outcomes = await perform_each(case, {"another asset with the name of USDC": Scene(prepare=offer_lookalike)})
    for scene, outcome in outcomes.items():
        stage, asset, before = offers[id(outcome.rail)]
        now = await stage.host.read_units(outcome.rail.terms.pay_to, asset)
        case.expect(
            "PAYER-OFFER-02",
            outcome.has_paid_nothing and outcome.is_refused and now == before,
            "nothing is signed or paid in any asset, and the exit code is not 0",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": scene},
        )


@check(
    "PAYER-OFFER-03",
    surface="payer",
    lane="each",
    fix="Pay only on the network that you were given; another network of the same chain is another network.",
    needs_more=NEEDS_MORE,
)
async def refuses_other_networks(case: Case) -> None:
    """A challenge without an offer on the permitted network is not paid.

    Offers the call on the other public network of the lane's chain, on a network of another chain, on networks whose
    names begin or end like the permitted one, and with no offer at all. Expects that nothing is paid, and an exit code
    other than 0.
    """
    facts = FACTS[case.lane]
    others = [one for one in FACTS.values() if one.name != case.lane]
    chain = case.profile.payer_chains.of(case.lane)
    own = "" if chain is None or chain.usdc is None else chain.usdc.key
    sibling = facts.test if own == facts.main.key else facts.main
    scenes = {
        "the other public network of the chain": _scene(_entry(network=sibling.caip2)),
        "a network of another chain": _scene(_entry(network=others[0].main.caip2)),
        "a name with one character more": _scene(lambda entry: {**entry, "network": entry["network"] + "4"}),
        "a name with one character less": _scene(lambda entry: {**entry, "network": entry["network"][:-1]}),
        "no offer": Scene(script=Script(entries=lambda entries: entries[:0])),
    }
    await _expect_refusals(case, "PAYER-OFFER-03", scenes)


@check(
    "PAYER-OFFER-04",
    surface="payer",
    lane="each",
    fix="Decode payTo as an address of the chain, with its checksum, before you sign.",
    needs_more=NEEDS_MORE,
)
async def refuses_malformed_payees(case: Case) -> None:
    """An offer whose payee is not an address of the chain is not paid.

    Offers the call for a payee that is empty, half an address, an address of another chain, or has one
    wrong character. Expects that nothing is paid, and an exit code other than 0.
    """
    # The contract of USDC is an address of its chain.
    contracts = [one.main.asset_id for one in FACTS.values() if one.name != case.lane]
    foreign = next(text for text in contracts if not text.isdecimal())
    scenes = {
        "an empty payee": _scene(_entry(payTo="")),
        # Not only without its last character: that may be an address again, where addresses have no checksum.
        "half of an address": _scene(lambda entry: {**entry, "payTo": entry["payTo"][: len(entry["payTo"]) // 2]}),
        "an address of another chain": _scene(_entry(payTo=foreign)),
    }

    async def misspell(stage: Stage) -> None:
        near_miss = stage.host.misspell_address(stage.rail.terms.pay_to)
        stage.rail.script = replace(stage.rail.script, entry=_entry(payTo=near_miss))

    scenes["an address with one wrong character"] = Scene(prepare=misspell)
    await _expect_refusals(case, "PAYER-OFFER-04", scenes)


@check(
    "PAYER-OFFER-05",
    surface="payer",
    lane="each",
    fix="Take maxAmountRequired only as a decimal number of atomic units, without sign, point, exponent or spaces.",
    needs_more=NEEDS_MORE,
)
async def refuses_malformed_prices(case: Case) -> None:
    """An offer whose price is not a number of atomic units, or is two different numbers, is not paid.

    Offers a decimal fraction, a negative number, an exponent, digits of another script, and `amount` other than
    `maxAmountRequired`. Expects that nothing is paid, and an exit code other than 0.
    """
    prices = {"a decimal fraction": "0.05", "a negative number": f"-{PRICE}", "an exponent": "5e4"}
    scenes = {name: _scene(_price(case, price)) for name, price in prices.items()}
    # x402 version 2 has one name for the price.
    if not case.profile.payer.stock:
        scenes["an amount that contradicts maxAmountRequired"] = _scene(_entry(amount="1"))
        scenes["digits of another script"] = _scene(_price(case, str(PRICE).translate(_ARABIC_INDIC_DIGITS)))
    await _expect_refusals(case, "PAYER-OFFER-05", scenes)


@check(
    "PAYER-OFFER-06",
    surface="payer",
    lane="each",
    fix="Compare extra.request_hash with the hash of your own request (P-RH-01) before you pay.",
    needs_more=NEEDS_MORE,
)
async def refuses_a_challenge_for_another_request(case: Case) -> None:
    """A challenge whose hash of the request is that of another request is not paid.

    Quotes the same call with another body. Expects that nothing is paid, and an exit code other than 0.
    """

    async def quote_other_request(stage: Stage) -> None:
        other_hash = stage.rail.desk.hash_request({"recipient_address": "screen-block"})
        stage.rail.script = replace(stage.rail.script, entry=_extra(request_hash=other_hash))

    await _expect_refusals(case, "PAYER-OFFER-06", {"another request": Scene(prepare=quote_other_request)})


@check(
    "PAYER-OFFER-07",
    surface="payer",
    lane="each",
    fix="Do not pay if less than 120 s of the challenge's lifetime are left: ask for a new challenge.",
    needs_more=NEEDS_MORE,
)
async def refuses_a_challenge_about_to_expire(case: Case) -> None:
    """A challenge with less than two minutes left is not paid.

    Quotes with a token that was issued so long ago that 60 s of the lifetime are left, and with an expired one. Then
    quotes with a shorter `maxTimeoutSeconds`, and with a lifetime of 60 s and a token that shows no time. Expects that
    nothing is paid, and an exit code other than 0.
    """
    scenes = {
        "60 s are left": Scene(script=Script(age=LIFETIME_SECONDS - 60)),
        "the challenge has expired": Scene(script=Script(age=LIFETIME_SECONDS + 60)),
        "100 s of a lifetime of 300 s are left": Scene(script=Script(entry=_entry(maxTimeoutSeconds=300), age=200)),
        "a lifetime of 60 s, and a token without a time": _scene(
            lambda entry: {**_extra(payment_reference=_TIMELESS_TOKEN)(entry), "maxTimeoutSeconds": 60}
        ),
    }
    await _expect_refusals(case, "PAYER-OFFER-07", scenes)


@check(
    "PAYER-OFFER-08",
    surface="payer",
    lane="each",
    fix="Compare the document in PAYMENT-REQUIRED with the body, and pay neither if they differ.",
    needs_more=NEEDS_MORE,
)
async def refuses_a_header_that_contradicts_the_body(case: Case) -> None:
    """A 402 whose header and body differ is not paid.

    Repeats the body in `PAYMENT-REQUIRED` with another payee, and then with another price under both of its names or
    one of them, another asset or token. Expects that nothing is paid, and an exit code other than 0.
    """
    await require_honest_call(case)

    def with_entry(**members: Any) -> Change:
        return lambda document: {**document, "accepts": [{**document["accepts"][0], **members}]}

    async def name_other_payee(stage: Stage) -> None:
        other = await stage.host.open_payee(stage.rail.terms.asset)
        stage.rail.script = replace(stage.rail.script, header=with_entry(payTo=other))

    def with_token(document: dict[str, Any]) -> dict[str, Any]:
        offer = document["accepts"][0]
        token = offer["extra"]["payment_reference"]
        extra = {**offer["extra"], "payment_reference": token[:-1] + ("1" if token[-1] == "0" else "0")}
        return {**document, "accepts": [{**offer, "extra": extra}]}

    dearer = {"maxAmountRequired": str(PRICE + 1), "amount": str(PRICE + 1)}
    scenes = {
        "another payee in the header": Scene(prepare=name_other_payee),
        "another price in the header": Scene(script=Script(header=with_entry(**dearer))),
        "another amount in the header": Scene(script=Script(header=with_entry(amount=str(PRICE + 1)))),
        "another asset in the header": Scene(script=Script(header=with_entry(asset="1"))),
        "another token in the header": Scene(script=Script(header=with_token)),
    }
    await _expect_refusals(case, "PAYER-OFFER-08", scenes, has_a2a_form=False)


@check(
    "PAYER-OFFER-09",
    surface="payer",
    lane="each",
    fix="Do not follow a redirect to another origin with a payment: the offer there is another party's.",
    needs_more=NEEDS_MORE,
)
async def pays_no_other_origin(case: Case) -> None:
    """A redirect to another origin is not paid, neither before the challenge nor with the proof.

    Redirects the call without a payment to another port, where the same operation is offered. In a second scene
    redirects the call with its proof there. Expects no payment in the first scene, and no proof at the other origin.
    """
    await require_honest_call(case)

    def send_away(rail: PlayedRail, arrival: Arrival) -> Reply | None:
        is_first = arrival.values("Host") != (rail.other_url.partition("://")[2],)
        return redirect(rail.other_url + PATH) if is_first else None

    before = await perform(case, Scene(script=Script(unpaid=send_away)))
    _expect_refusal(case, "PAYER-OFFER-09", "the call without a payment is redirected", before)
    after = await perform(case, Scene(script=Script(steps=(send_elsewhere, serve))))
    case.expect(
        "PAYER-OFFER-09",
        not any(one.is_at(after.rail.other_url) for one in after.presentations) and len(after.payments) <= 1,
        "no proof is presented at the other origin, and nothing is paid twice",
        after.story,
        exchange=cite_last_call(after),
        where={"scene": "the call with its proof is redirected"},
    )


@check(
    "PAYER-OFFER-10",
    surface="payer",
    lane="each",
    fix="Bound the number of redirects that you follow, and end with a failure.",
    needs_more=NEEDS_MORE,
)
async def ends_a_loop_of_redirects(case: Case) -> None:
    """A loop of redirects ends with a failure, and nothing is paid for it.

    Redirects the call to itself, and in a second scene the call with its proof. Expects that the payer ends in time
    with an exit code other than 0, without a payment in the first scene and with at most one in the second.
    """

    def turn_round(rail: PlayedRail, arrival: Arrival) -> Reply | None:
        del arrival
        return redirect(rail.desk.url + PATH)

    scenes = {"a loop of redirects": Scene(script=Script(unpaid=turn_round))}
    await _expect_refusals(case, "PAYER-OFFER-10", scenes, has_a2a_form=False)
    outcome = await perform(case, Scene(script=Script(steps=(send_round,))))
    case.expect(
        "PAYER-OFFER-10",
        outcome.has_paid_at_most_once and outcome.is_refused,
        "the payer ends in time, without a second payment and with an exit code other than 0",
        outcome.story,
        exchange=cite_last_call(outcome),
        where={"scene": "a loop of redirects of the proof"},
    )


@check(
    "PAYER-OFFER-11",
    surface="payer",
    lane="each",
    fix="Do not pay an offer without extra.payment_reference: a payment without a weld cannot be redeemed.",
    needs_more=NEEDS_MORE,
)
async def pays_nothing_without_a_weld(case: Case) -> None:
    """An offer without a challenge token is not paid.

    Leaves `extra.payment_reference` out, and gives an empty one, null, a number and an object. Expects that nothing is
    paid, and an exit code other than 0.
    """

    def with_token(token: Any) -> Scene:
        return _scene(lambda entry: {**entry, "extra": {**entry["extra"], "payment_reference": token}})

    scenes = {
        "no challenge token": _scene(_extra(payment_reference=None, authorization_nonce=None)),
        "an empty challenge token": _scene(_extra(payment_reference="", authorization_nonce=None)),
        "null as challenge token": with_token(None),
        "a number as challenge token": with_token(1),
        "an object as challenge token": with_token({}),
    }
    await _expect_refusals(case, "PAYER-OFFER-11", scenes)

"""PAYER-LINK: a payer pays a checkout link once and exactly, and no page that contradicts itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.surfaces.payer.played_checkout import LinkScript
from conformance.surfaces.payer.quotes import PRICE, Change
from conformance.surfaces.payer.scenes import (
    NEEDS_MORE,
    SHORT_SECONDS,
    Outcome,
    Scene,
    cite_last_call,
    honest_link,
    perform,
    require_fast_machine,
    require_honest_link,
)
from conformance.vocabulary.lanes.registry import FACTS

# A run that forgot its payment sees an active page for so long.
_LATE_SECONDS: Final = 3.0


def _change(**members: Any) -> Change:
    return lambda shown: {**shown, **members}


async def _expect_refusals(case: Case, row: str, scenes: Mapping[str, Scene]) -> None:
    """Play scenes side by side, and judge that nothing is paid and each run ends with a failure."""
    await require_honest_link(case)
    outcomes = await asyncio.gather(*(perform(case, scene) for scene in scenes.values()))
    for name, outcome in zip(scenes, outcomes, strict=True):
        case.expect(
            row,
            not outcome.received and outcome.is_refused,
            "nothing is paid, and the exit code is not 0",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": name},
        )


@check(
    "PAYER-LINK-01",
    surface="payer",
    lane="each",
    fix="Pay exactly the amount to the address, bind the memo of the page, and end when the page shows Paid.",
    needs_more=NEEDS_MORE,
)
async def pays_an_honest_link(case: Case) -> None:
    """An honest checkout link is paid once, exactly, with its memo, and the payer ends with exit code 0.

    Plays the page of a link that shows Paid once the amount has arrived. Expects the exact amount at the payee, exit
    code 0, and in the output the id of a transaction that binds the memo.
    """
    outcome = await honest_link(case)
    if not outcome.is_served:
        # A page that comes late on a busy machine is not the payer's fault.
        await require_fast_machine(case)
    case.expect(
        "PAYER-LINK-01",
        outcome.is_served and outcome.received == PRICE and outcome.has_memo is True,
        f"one payment of {PRICE} units with the memo of the link, its id as `tx_id` in the output, and exit code 0",
        f"{outcome.story}; {'with' if outcome.has_memo else 'without'} the memo",
        exchange=cite_last_call(outcome),
        hint=None if outcome.is_served else _quote_errors(outcome),
    )


def _quote_errors(outcome: Outcome) -> str:
    words = " ".join(outcome.endings[-1].stderr.split())[-400:] or "nothing"
    return f"The payer printed on standard error: {words}"


@check(
    "PAYER-LINK-02",
    surface="payer",
    lane="each",
    fix="Compare address, amount and memo of the page with the text of its QR code, and pay neither if they differ.",
    needs_more=NEEDS_MORE,
)
async def pays_no_page_that_contradicts_its_code(case: Case) -> None:
    """A page whose QR code says another address, amount or memo is not paid.

    Shows a page that asks for more than its code does, one with another payee in its code, and where a code has a memo,
    one with another memo. Expects that nothing is paid, and an exit code other than 0.
    """
    scripts = {
        "the page asks for more than its code": LinkScript(page=_change(amount=PRICE + 1)),
        "the code asks for more than the page": LinkScript(code=_change(amount=PRICE + 1)),
    }
    # The code of an EVM link has no place for a memo.
    if FACTS[case.lane].namespace != "eip155":
        scripts["another memo in the code"] = LinkScript(code=_change(memo="weldproof:AAECAwQFBgcICQoLDA0ODw"))
        scripts["another memo on the page"] = LinkScript(page=_change(memo="weldproof:AAECAwQFBgcICQoLDA0ODw"))
    scenes = {name: Scene(link=script) for name, script in scripts.items()}
    scenes["another payee in the code"] = Scene(link=LinkScript(), prepare=_name_other_payee)
    await _expect_refusals(case, "PAYER-LINK-02", scenes)


async def _name_other_payee(stage: Any) -> None:
    other = await stage.host.open_payee(stage.rail.terms.asset)
    stage.rail.link = LinkScript(code=_change(address=other))


@check(
    "PAYER-LINK-03",
    surface="payer",
    lane="each",
    fix="Compare the amount of a link with your limit, and its asset and network with those that you may pay.",
    needs_more=NEEDS_MORE,
)
async def keeps_its_limit_for_links(case: Case) -> None:
    """A link above the limit, or in another asset, is not paid.

    Shows a link with a limit one unit below its amount, and one whose code names another asset. Expects that nothing is
    paid, and an exit code other than 0.
    """
    facts = FACTS[case.lane]
    chain = case.profile.payer_chains.of(case.lane)
    own = "" if chain is None or chain.usdc is None else chain.usdc.asset_id
    other = facts.test.asset_id if own == facts.main.asset_id else facts.main.asset_id
    scenes = {
        "the amount with a limit one unit below it": Scene(link=LinkScript(), limit=PRICE - 1),
        "another asset in the code": Scene(link=LinkScript(code=_change(asset=other))),
    }
    await _expect_refusals(case, "PAYER-LINK-03", scenes)


@check(
    "PAYER-LINK-04",
    surface="payer",
    lane="each",
    fix="Read the state on the page and in its status, and pay only a link that is active in both.",
    needs_more=NEEDS_MORE,
)
async def pays_no_ended_link(case: Case) -> None:
    """A link that another payment has paid, or that has expired or was cancelled, is not paid.

    Shows pages with each of these states that still show address and memo, and active pages whose status says that the
    link is paid or expired. Expects that nothing is paid, and an exit code other than 0.
    """
    states = ("paid", "expired", "cancelled")
    scripts = {f"the page shows {state}": LinkScript(state=state, status="active") for state in states}
    scripts["the page is active, and its status is paid"] = LinkScript(status="paid")
    scripts["the page is active, and its status is expired"] = LinkScript(status="expired")
    await _expect_refusals(case, "PAYER-LINK-04", {name: Scene(link=one) for name, one in scripts.items()})


@check(
    "PAYER-LINK-05",
    surface="payer",
    lane="each",
    fix="Store the signed payment of a link before you send it, and continue from that file after a crash.",
    needs_more=NEEDS_MORE,
)
async def pays_a_link_once(case: Case) -> None:
    """A payer that is killed after it paid a link continues when it is started again, and pays nothing more.

    Kills the payer when its money has reached the payee, while the page does not show Paid yet. In another scene lets
    it run until its time is over. Starts it again, and shows Paid, in the other scene a moment later. Expects one
    amount at the payee, and exit code 0 of the second run.
    """
    await require_honest_link(case)
    scenes = {
        "killed after its payment": Scene(link=LinkScript(is_late=True), runs=2, kill_at="payment"),
        "ended before the page shows Paid": Scene(
            link=LinkScript(is_late=True, late_seconds=_LATE_SECONDS), runs=2, seconds=SHORT_SECONDS
        ),
    }
    outcomes = await asyncio.gather(*(perform(case, scene) for scene in scenes.values()))
    for scene, outcome in zip(scenes, outcomes, strict=True):
        case.expect(
            "PAYER-LINK-05",
            outcome.is_served and outcome.received == PRICE,
            "one payment in all, and exit code 0 of the second run",
            outcome.story,
            exchange=cite_last_call(outcome),
            where={"scene": f"{scene}, then started again"},
        )

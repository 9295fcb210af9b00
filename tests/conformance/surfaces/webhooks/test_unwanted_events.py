"""The wrong payment that an event reports decides which check judges it, however late its id is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from conformance.engine.check import Case
from conformance.engine.unlinked_payments import StrayPayments
from conformance.surfaces.gateway.orders import OpenedLink
from conformance.surfaces.webhooks.unwanted_events import UnpaidLink, judge_unwanted_events

OURS, THEIRS = "an_unpaid_link_is_told_of_nowhere", "payment_without_the_memo"


@dataclass
class Delivery:
    """A payment.confirmed, by its words."""

    words: Sequence[str]
    confirms: bool = True

    def mentions(self, words: Sequence[str]) -> bool:
        return bool({*words} & {*self.words})


class Inbox:
    """The deliveries of a run."""

    def __init__(self, *deliveries: Delivery) -> None:
        self.deliveries = deliveries

    def of_tenant(self, name: str) -> None:
        assert name == "first"

    async def wait(self, matches: Callable[[Delivery], bool], *, seconds: float) -> list[Delivery]:
        assert seconds
        return [one for one in self.deliveries if matches(one)]


def link(mark: str) -> OpenedLink:
    order = SimpleNamespace(mark=mark, token=f"token of {mark}", tenant=SimpleNamespace(name="first"))
    return cast("OpenedLink", SimpleNamespace(order=order))


async def judge_link(strays: StrayPayments, *events: Delivery) -> bool:
    """Return whether the silence about an idle link was kept."""
    verdicts: list[bool] = []

    def expect(_row: str, good: bool, *_words: str, **_members: Any) -> None:
        verdicts.append(good)

    case = SimpleNamespace(
        check=SimpleNamespace(id=OURS),
        expect=expect,
        profile=SimpleNamespace(claims_surface=lambda _: True, budgets=SimpleNamespace(paid=1)),
        session=SimpleNamespace(stray_payments=strays, inbox=Inbox(Delivery(["honest"]), *events)),
    )
    await judge_unwanted_events(cast("Case", case), link("honest"), [UnpaidLink(link("idle"), "none")])
    (verdict,) = verdicts
    return verdict


async def test_an_event_of_a_link_that_nobody_paid_fails_at_once() -> None:
    strays = StrayPayments()
    assert await judge_link(strays)
    assert not await asyncio.wait_for(judge_link(strays, Delivery(["idle", "unknown tx"])), 600)


async def test_an_event_of_another_checks_wrong_payment_is_not_judged_here() -> None:
    strays = StrayPayments()
    with strays.collect_for(THEIRS) as payments:
        payments.add("their tx")
    with strays.collect_for(OURS) as payments:
        payments.add("our tx")
    assert await judge_link(strays, Delivery(["idle", "their tx"]))
    assert not await judge_link(strays, Delivery(["idle", "our tx"]))


async def test_a_wrong_payment_that_is_still_under_way_is_waited_for() -> None:
    """Its event may come before its maker knows what it became; another event is judged then as well."""
    strays = StrayPayments()
    for tx_id, is_kept in (("their tx", True), ("another tx", False)):
        with strays.collect_for(THEIRS) as payments:
            judgement = asyncio.create_task(judge_link(strays, Delivery(["idle", tx_id])))
            await asyncio.sleep(0.5)
            assert not judgement.done()
            payments.add("their tx")
        assert await asyncio.wait_for(judgement, 600) is is_kept

"""Which rows apply to what a profile claims, and in what company the checks of limits run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.runner import Plan, Run, explain_absence
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.target import Claims, LimitedService, PayerProgram, Profile, Surface

NOBODY = "http://127.0.0.1:9"


def make_profile(*surfaces: str) -> Profile:
    """Return a profile that claims surfaces."""
    return Profile(surfaces={name: Surface(url=NOBODY) for name in surfaces}, claims=Claims(surfaces=surfaces))


@pytest.mark.parametrize(
    ("row", "surfaces", "applies"),
    [
        ("GW-LINK-23", ("gateway",), False),
        ("GW-LINK-23", ("gateway", "webhooks"), True),
        ("GW-CHK-09", ("gateway",), True),
        ("X-ROB-01", ("rail",), True),
        ("X-ROB-01", ("gateway",), True),
        ("X-ROB-01", (), False),
        ("X-NET-01", ("gateway",), False),
        ("X-NET-01", ("gateway", "webhooks"), True),
        ("X-NET-01", ("rail", "webhooks"), False),
        ("X-DIFF-01", ("rail",), False),
        ("X-DIFF-01", ("rail", "agent"), True),
        ("X-DIFF-02", ("rail",), False),
        ("X-DIFF-02", ("gateway",), True),
        ("RAIL-402-01", ("gateway",), False),
    ],
)
def test_a_row_applies_where_all_it_needs_is_claimed(row: str, surfaces: tuple[str, ...], applies: bool) -> None:
    """Events need webhooks, shared rows any surface, comparisons both sides; the reason names what is missing."""
    reason = explain_absence(load()[row], make_profile(*surfaces))
    assert applies is (reason is None)
    assert applies or "claim" in str(reason)


@pytest.mark.parametrize(
    ("row", "applies"),
    [
        *((row, True) for row in ("PAYER-PAY-02", "PAYER-ONCE-01", "PAYER-ONCE-08", "PAYER-OFFER-02", "PAYER-SEC-01")),
        *((row, False) for row in ("PAYER-ONCE-07", "PAYER-OFFER-06", "PAYER-OFFER-11", "PAYER-RCPT-02")),
    ],
)
def test_rows_about_money_apply_to_a_stock_payer_and_rows_about_the_weld_do_not(row: str, applies: bool) -> None:
    """The reason says what x402 lacks; a payer that knows the weld is judged by every row."""
    claims = Claims(surfaces=("payer",), lanes=("base",))
    stock_profile = Profile(claims=claims, payer=PayerProgram(command=("pay",), stock=True))
    reason = explain_absence(load()[row], stock_profile)
    assert applies is (reason is None)
    assert applies or "x402 version 2 has no" in str(reason)
    assert explain_absence(load()[row], Profile(claims=claims, payer=PayerProgram(command=("pay",)))) is None


@pytest.mark.parametrize("row", ["RAIL-PAY-17", "RAIL-402-22", "RAIL-402-23"])
def test_a_claim_of_the_specification_includes_every_option_of_its_surfaces(row: str) -> None:
    """Rows of options and of the specification alone bind such a target, and no target without the claim."""
    surfaces = ("rail",)
    profile = Profile(
        surfaces={"rail": Surface(url=NOBODY)}, claims=Claims(surfaces=surfaces, lanes=("algorand",), specification="1")
    )
    assert explain_absence(load()[row], profile) is None
    assert explain_absence(load()[row], make_profile(*surfaces)) is not None
    assert profile.is_reference
    assert not profile.claims.includes("gateway.records")


@pytest.mark.parametrize(
    ("row", "applies"),
    [
        *((row, True) for row in ("GW-RCPT-02", "GW-RCPT-31", "GW-ERR-01", "GW-HTTP-03", "X-DIFF-02", "X-ROB-01")),
        *((row, False) for row in ("GW-LINK-01", "GW-HTTP-04", "GW-AUTH-01", "GW-SCR-01", "GW-IDEM-01", "X-AMT-01")),
        ("RAIL-402-01", True),
    ],
)
def test_a_gateway_that_verifies_receipts_alone_has_the_rows_of_that(row: str, applies: bool) -> None:
    """The profile claims so; a rail beside it is judged as ever."""
    surfaces = {name: Surface(url=NOBODY) for name in ("gateway", "rail", "webhooks")}
    claims = Claims(surfaces=tuple(surfaces), options=("gateway.receipts_only",))
    reason = explain_absence(load()[row], Profile(surfaces=surfaces, claims=claims))
    assert applies is (reason is None), reason
    assert applies or "gateway.receipts_only" in str(reason)


async def verdict_of(row: str, *bodies: Any) -> dict[str, Any]:
    """Return how a run judges a row that some checks decide."""
    checks = tuple(
        Check(f"check_{place}", (row,), "gateway", None, exclusive=Exclusive.NOTHING, fix="", function=body)
        for place, body in enumerate(bodies)
    )
    log = EventLog()
    await Run(Plan((load()[row],), checks, seed=1, workers=1), make_profile("gateway"), log).execute()
    (row_event,) = log.of("row")
    return dict(row_event)


async def test_a_row_that_is_read_is_judged_where_a_check_can() -> None:
    """A written reason stands as long as nothing was sent; what a check found goes before it."""

    async def breach(case: Case) -> None:
        case.expect("GW-DOC-02", False, "not served", "201")

    async def nothing_to_ask(case: Case) -> None:
        case.mark_documented("GW-DOC-02", "no edge host")

    assert (await verdict_of("GW-DOC-02"))["verdict"] == "documented"
    assert (await verdict_of("GW-DOC-02", breach))["verdict"] == "fail"
    assert (await verdict_of("GW-DOC-02", nothing_to_ask))["reason"] == "no edge host"


@pytest.mark.parametrize("apart", [True, False])
async def test_limits_are_exhausted_alone_where_they_are_shared(apart: bool, tmp_path: Path) -> None:
    """With a service of its own a limit check runs beside the others, without one after them."""
    services: list[str] = []
    limit_reached = asyncio.Event()

    async def slow(case: Case) -> None:
        if apart:
            await asyncio.wait_for(limit_reached.wait(), 600)
        for _ in range(100):  # a limit check beside it would have gone before
            await asyncio.sleep(0)
        services.append("other")
        case.expect("GW-RATE-02", True, "", "")

    async def limit(case: Case) -> None:
        services.append("limit")
        limit_reached.set()
        case.expect("GW-RATE-02", True, "", "")

    checks = (
        Check("a_limit", ("GW-RATE-02",), "gateway", None, exclusive=Exclusive.LIMITS, fix="", function=limit),
        Check("b_other", ("GW-RATE-02",), "gateway", None, exclusive=Exclusive.NOTHING, fix="", function=slow),
    )
    profile = make_profile("gateway")
    if apart:
        service = LimitedService(url=NOBODY, offset_file=tmp_path / "clock")
        profile = profile.model_copy(update={"limited": {"gateway": service}})
    await Run(Plan((load()["GW-RATE-02"],), checks, seed=1, workers=2), profile, EventLog()).execute()
    assert services == (["limit", "other"] if apart else ["other", "limit"])

"""What a node cannot be made to do is documented: never a pass, never a row without a verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from conformance import extras
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.runner import Plan, Run
from conformance.lanes.node_control import NodeControl
from conformance.ledger import load
from conformance.log.events import Event, EventLog
from conformance.outcome import Exit, Inconclusive, NodeCannotShow
from conformance.target import Claims, Profile, Surface

ROW = "RAIL-PAY-07"
NOBODY = "http://127.0.0.1:9"
PROFILE = Profile(surfaces={"rail": Surface(url=NOBODY)}, claims=Claims(surfaces=("rail",), lanes=("base",)))


@asynccontextmanager
async def control_of(*verbs: str) -> AsyncIterator[NodeControl]:
    """Serve a control address that lists verbs and obeys each of them."""

    async def list_verbs(request: web.Request) -> web.Response:
        del request
        return web.json_response({"verbs": dict.fromkeys(verbs, "does it"), "faults": []})

    async def confirm_verb(request: web.Request) -> web.Response:
        return web.json_response({"ok": True, "verb": (await request.json())["verb"]})

    app = web.Application()
    app.add_routes([web.get("/control", list_verbs), web.post("/control", confirm_verb)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    control = NodeControl(f"http://{host}:{port}/control", "Base", 5)
    try:
        yield control
    finally:
        await control.close()
        await runner.cleanup()


async def test_a_verb_that_is_not_listed_is_lacking_and_not_asked_for() -> None:
    """What GET /control does not list raises `NodeCannotShow` with the reason; what it lists is carried out."""
    async with control_of("fund", "reorg") as control:
        assert (await control.carry_out("reorg", depth=1))["verb"] == "reorg"
        assert not await control.lacks("fund")
        assert await control.lacks("lag")
        with pytest.raises(NodeCannotShow, match=r"this Base node lacks the control verb lag.*specification 9\.1"):
            await control.carry_out("lag", blocks=1)
        assert await control.fault_names() == ()


async def test_a_node_that_lists_nothing_is_asked() -> None:
    """A control address of another form is not taken for one that lacks everything."""
    async with control_of() as control:
        assert not await control.lacks("lag")
        assert (await control.carry_out("lag"))["ok"] is True


async def test_a_node_without_a_control_address_lacks_every_verb() -> None:
    """On a public network no verb can be asked for."""
    control = NodeControl(None, "Solana", 5)
    try:
        assert await control.lacks("fund")
        with pytest.raises(NodeCannotShow, match="no control verbs"):
            await control.carry_out("fund")
    finally:
        await control.close()


async def verdict_of(*bodies: Callable[[Case], Awaitable[None]]) -> Event:
    """Return how a run judges the row that some checks decide."""
    checks = tuple(
        Check(f"check_{place}", (ROW,), "rail", None, exclusive=Exclusive.NOTHING, fix="", function=body)
        for place, body in enumerate(bodies)
    )
    log = EventLog()
    await Run(Plan((load()[ROW],), checks, seed=1, workers=1), PROFILE, log).execute()
    (row,) = log.of("row")
    return dict(row)


async def passes(case: Case) -> None:
    case.expect(ROW, True, "a refusal", "402")


async def lacks(case: Case) -> None:
    raise NodeCannotShow(f"this {case.check.surface}'s node lacks reorg")


async def passes_and_lacks(case: Case) -> None:
    await passes(case)
    await lacks(case)


async def fails_and_lacks(case: Case) -> None:
    case.expect(ROW, False, "a refusal", "200")
    await lacks(case)


async def cannot_reach(case: Case) -> None:
    raise Inconclusive(case.check.id)


@pytest.mark.parametrize(
    ("bodies", "verdicts"),
    [
        ((lacks,), "documented"),
        ((passes_and_lacks,), "documented"),
        ((fails_and_lacks,), "fail"),
        ((lacks, cannot_reach), "inconclusive"),
        ((passes_and_lacks, passes), "pass"),
    ],
)
async def test_a_check_that_its_node_does_not_allow_passes_nothing(bodies: Any, verdicts: str) -> None:
    """A part of a check is no pass, a breach stays one, and other checks of the row still count."""
    row = await verdict_of(*bodies)
    assert row["verdict"] == verdicts
    if verdicts in {"documented", "pass"}:
        assert "lacks reorg" in row["reason"]


async def passes_and_wants_an_extra(case: Case) -> None:
    await passes(case)
    raise ModuleNotFoundError("No module named 'selectolax'", name="selectolax")


async def wants_what_nobody_brings(case: Case) -> None:
    raise ModuleNotFoundError(f"No module named {case.check.id!r}", name=case.check.id)


async def test_a_check_that_lacks_an_extra_passes_nothing() -> None:
    """Its row is inconclusive and says what to type, whatever was judged before; a module of no extra is a fault."""
    row = await verdict_of(passes_and_wants_an_extra, passes)
    assert (row["verdict"], row["reason"]) == ("inconclusive", extras.sentence("checkout"))
    assert (await verdict_of(wants_what_nobody_brings))["verdict"] == "error"


async def test_a_check_of_a_lane_that_is_not_installed_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is sent: its row is inconclusive beside others that pass, and it is not among what was tried."""
    monkeypatch.setattr(extras, "is_installed", lambda extra: extra != "solana")
    checks = [Check("whole", (ROW,), "rail", None, exclusive=Exclusive.NOTHING, fix="", function=passes)]
    checks += [replace(checks[0], id=f"paid[{lane}]", lane=lane) for lane in ("base", "solana")]
    log = EventLog()
    code = await Run(Plan((load()[ROW],), tuple(checks), seed=1, workers=1), PROFILE, log).execute()
    (row,) = log.of("row")
    assert (code, row["verdict"], row["reason"]) == (Exit.NO_VERDICT, "inconclusive", extras.sentence("solana"))
    assert {one["check"] for one in log.of("check.started")} == {"whole", "paid[base]"}

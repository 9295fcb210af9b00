"""Checks that are at work when a run is interrupted: what they do of it is no fault of the suite."""

from __future__ import annotations

import asyncio
import contextlib
import gc

from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.runner import Plan, Run
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.target import Claims, Profile, Surface

ROW, OTHER_ROW = "X-ROB-01", "X-JSON-01"
NOBODY = "http://127.0.0.1:9"


async def test_a_check_whose_program_ended_before_it_was_interrupted() -> None:
    began = asyncio.Event()

    async def breaks(_: Case) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise EOFError("the program ended early") from None

    async def never(case: Case) -> None:
        case.expect(OTHER_ROW, True, "nothing", "nothing")

    profile = Profile(surfaces={"gateway": Surface(url=NOBODY)}, claims=Claims(surfaces=("gateway",)))
    checks = (
        Check("breaks", (ROW,), "gateway", None, exclusive=Exclusive.NOTHING, fix="", function=breaks),
        Check("never", (OTHER_ROW,), "gateway", None, exclusive=Exclusive.SURFACE, fix="", function=never),
    )
    log = EventLog()
    run_ = asyncio.create_task(
        Run(Plan((load()[ROW], load()[OTHER_ROW]), checks, seed=1, workers=1), profile, log).execute()
    )
    async with asyncio.timeout(600):
        await began.wait()
        run_.cancel()
        await run_
    assert [(event["check"], event["outcome"]) for event in log.of("check.finished")] == [("breaks", "cancelled")]
    assert {event["id"]: event["verdict"] for event in log.of("row")} == {
        ROW: "inconclusive",
        OTHER_ROW: "inconclusive",
    }
    assert not [event for event in log.of("note") if "Traceback" in event["text"]]


async def test_a_check_that_ends_after_the_run_adds_nothing_to_it() -> None:
    """The end of the run is the log's last word, and the rows are judged by what stands before it."""
    began, end_event = asyncio.Event(), asyncio.Event()

    async def lingers(case: Case) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            while not [*case.log.of("run.finished")]:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.01)
            case.note("too late")
            end_event.set()

    profile = Profile(surfaces={"gateway": Surface(url=NOBODY)}, claims=Claims(surfaces=("gateway",)))
    check = Check("lingers", (ROW,), "gateway", None, exclusive=Exclusive.NOTHING, fix="", function=lingers)
    log = EventLog()
    run_ = asyncio.create_task(Run(Plan((load()[ROW],), (check,), seed=1, workers=1), profile, log).execute())
    async with asyncio.timeout(600):
        await began.wait()
        run_.cancel()
        await run_
        await end_event.wait()
    assert [event["event"] for event in log.events][-2:] == ["row", "run.finished"]


async def test_a_shared_question_ends_with_the_run() -> None:
    """What several checks asked together is cancelled with them; what it raises then appears in no traceback."""
    began, end_event, unheard = asyncio.Event(), asyncio.Event(), list[dict[str, object]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))

    async def question() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            end_event.set()
            raise EOFError("the connection is closed")

    async def asks(case: Case) -> None:
        await case.session.find_once("question", question)

    profile = Profile(surfaces={"gateway": Surface(url=NOBODY)}, claims=Claims(surfaces=("gateway",)))
    check = Check("asks", (ROW,), "gateway", None, exclusive=Exclusive.NOTHING, fix="", function=asks)
    run_ = asyncio.create_task(Run(Plan((load()[ROW],), (check,), seed=1, workers=1), profile, EventLog()).execute())
    async with asyncio.timeout(600):
        await began.wait()
        run_.cancel()
        await run_
    assert end_event.is_set()
    del check, run_
    gc.collect()
    assert unheard == []

"""Two runs on one stack: the second waits for clock, chains and funder, and says that it shares a server."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance import target
from conformance.engine.runner import Plan, Run, select_checks
from conformance.ledger import load
from conformance.log.events import WHOLE_RUN, EventLog, log_in, read_log
from conformance.processes.other_runs import claim_addresses, wait_alone
from conformance.report.console import show
from conformance.report.summary import summarise
from conformance.text.terminal import Terminal
from tests import prepared
from tests.stack import running_stack

PROFILE = """
[surfaces.agent]
url = "http://agent.test/"
[claims]
surfaces = ["agent"]
[chains.base]
network = "base_sepolia"
rpc = "http://base.test"
control = "http://base.test/control"
"""


def test_an_address_is_one_run_s_until_that_ends() -> None:
    """The second run names what is taken; a slash at the end is no other address."""
    with claim_addresses(["http://a.test", "http://b.test"]) as first:
        assert first == []
        with claim_addresses(["http://b.test/", "http://c.test"]) as second:
            assert second == ["http://b.test/"]
    with claim_addresses(["http://a.test", "http://b.test"]) as after:
        assert after == []


def test_what_two_runs_must_not_share_is_clock_control_and_funder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By keys that two profiles have in common, whatever they call the same file, and without the funder's secret."""
    (tmp_path / "clock").write_text("0")
    monkeypatch.setenv("PAYER_KEY", "0xheld-back")
    funder = """
    [chains.algorand]
    network = "algorand_testnet"
    algod = "http://algod.test"
    funder = { env = "PAYER_KEY" }
    [clock]
    offset_file = "CLOCK"
    """
    monkeypatch.chdir(tmp_path)
    first_resources = target.parse(PROFILE + funder.replace("CLOCK", "clock")).shared_resources
    second_resources = target.parse(PROFILE + funder.replace("CLOCK", str(tmp_path / "." / "clock"))).shared_resources
    assert first_resources.keys() == second_resources.keys()
    assert list(first_resources.values()) == [
        f"the clock file {one_name(first_resources)}",
        "the funder of algorand_testnet",
        "the node control http://base.test/control",
    ]
    assert "held-back" not in repr(first_resources)
    monkeypatch.delenv("PAYER_KEY")
    assert len(target.parse(PROFILE + funder.replace("CLOCK", "clock")).shared_resources) == 2


def one_name(resources: dict[str, str]) -> str:
    """Return what the profile calls its clock file."""
    return next(words for words in resources.values() if "clock" in words).removeprefix("the clock file ")


async def test_the_second_run_waits_for_all_that_it_needs() -> None:
    """It says what for, once, and gets all or nothing, so that two runs never wait for each other."""
    waits_for: list[list[str]] = []
    begin_event, end_event = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with wait_alone({"clock /x": "the clock"}, 0, waits_for.append) as busy:
            assert busy == []
            await end_event.wait()

    def waits(busy: list[str]) -> None:
        waits_for.append(busy)
        begin_event.set()

    async def second() -> list[str]:
        async with wait_alone({"clock /x": "the clock", "control y": "the node"}, 60, waits) as busy:
            return busy

    holds = asyncio.create_task(first())
    await asyncio.sleep(0)
    waiting_task = asyncio.create_task(second())
    await begin_event.wait()
    async with wait_alone({"control y": "the node"}, 0, waits_for.append) as busy:
        assert busy == []
    end_event.set()
    assert await waiting_task == []
    await holds
    assert waits_for == [["the clock"]]


async def run_of(text: str) -> EventLog:
    """Run one row of the agent, whose check is not among those that are tried, and return the log."""
    log = EventLog()
    profile = target.parse(text)
    await Run(
        Plan((load()["AGENT-HTTP-03"],), select_checks([load()["AGENT-HTTP-03"]], profile), 1), profile, log
    ).execute()
    return log


async def test_a_run_that_waits_too_long_judges_nothing() -> None:
    """Its rows are inconclusive by that reason, which says what to do, and nothing was sent."""
    profile = target.parse(PROFILE)
    with claim_addresses(profile.shared_resources):
        log = await run_of(PROFILE + "[budgets]\nother_run = 0.3\n")
    (row,) = log.of("row")
    assert row["verdict"] == "inconclusive"
    assert "another run uses the node control http://base.test/control: run this one after it" in row["reason"]
    assert [event["shared"] for event in log.of("run.waiting")] == [["the node control http://base.test/control"]]
    assert not list(log.of("exchange"))


async def test_a_run_beside_another_on_one_server_says_so() -> None:
    """In the log, and on the terminal beside the verdict."""
    profile = target.parse(PROFILE)
    assert profile.addresses == ("http://agent.test/",)

    async def run_once() -> EventLog:
        log = EventLog()
        await Run(Plan((load()["AGENT-HTTP-03"],), (), seed=1, workers=1), profile, log).execute()
        return log

    assert [event for event in (await run_once()).of("note") if event["check"] == WHOLE_RUN] == []
    with claim_addresses(profile.addresses):
        log = await run_once()
    notes = [event["text"] for event in log.of("note") if event["check"] == WHOLE_RUN]
    assert len(notes) == 1
    assert "another run is under way against http://agent.test/" in notes[0]
    out = io.StringIO()
    show(summarise(log.events), console=Terminal(out, width=300))
    assert "another run is under way" in out.getvalue()


def test_two_runs_at_the_same_time_leave_each_other_alone(tmp_path: Path) -> None:
    """One moves the clock of chains and rail past the end of challenges that the other pays; both pass.

    The second begins while the first holds the clock, and says that it waits.
    """
    with running_stack(tmp_path / "stack", "--surface", "rail", "--lane", "algorand") as ready:
        with ThreadPoolExecutor(2) as pool:
            moving_run = pool.submit(run_rows, tmp_path / "moving", "RAIL-WELD", "--config", ready["profile"])
            wait_for(lambda: started_checks(tmp_path / "moving"))
            paying_rows = ("RAIL-PAY-01", "RAIL-PAY-02")
            paying_run = pool.submit(run_rows, tmp_path / "paying", *paying_rows, "--config", ready["profile"])
        moving_end, paying_end = moving_run.result(), paying_run.result()
    assert (moving_end.returncode, paying_end.returncode) == (0, 0), (moving_end, paying_end)
    assert "Waiting for another run that uses the clock file" in paying_end.stderr
    assert "Waiting" not in moving_end.stderr


def run_rows(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run rows, as a separate process, in its own folder."""
    folder.mkdir()
    return prepared.run("conformance", "run", *words, env=os.environ, cwd=folder, timeout=500)


def started_checks(folder: Path) -> bool:
    """Return whether a run holds what it shares: its first check has begun."""
    with contextlib.suppress(OSError, ValueError):
        return any(event["event"] == "check.started" for event in read_log(log_in(folder / "report")))
    return False


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    ends = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.1)

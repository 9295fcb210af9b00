"""Two runs on one stack: each that comes second says so."""

from __future__ import annotations

import io

from conformance import target
from conformance.engine.runner import Plan, Run
from conformance.ledger import load
from conformance.log.events import RUN, EventLog
from conformance.processes.other_runs import claimed
from conformance.report.console import show
from conformance.report.summary import summarise
from conformance.text.terminal import Terminal

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
    """Whoever comes second is told what is taken; a slash at the end is no other address."""
    with claimed(["http://a.test", "http://b.test"]) as first:
        assert first == []
        with claimed(["http://b.test/", "http://c.test"]) as second:
            assert second == ["http://b.test/"]
    with claimed(["http://a.test", "http://b.test"]) as after:
        assert after == []


def test_what_a_run_disturbs_is_surfaces_and_controlled_nodes() -> None:
    """A stack may be shared by its chains alone."""
    assert target.parse(PROFILE).addresses == ("http://agent.test/", "http://base.test/control")


async def test_a_run_beside_another_says_so() -> None:
    """In the log, and on the terminal beside the verdict."""
    profile = target.parse(PROFILE)

    async def run() -> EventLog:
        log = EventLog()
        await Run(Plan((load()["AGENT-HTTP-03"],), (), seed=1, workers=1), profile, log).execute()
        return log

    assert [event for event in (await run()).of("note") if event["check"] == RUN] == []
    with claimed(profile.addresses):
        log = await run()
    told = [event["text"] for event in log.of("note") if event["check"] == RUN]
    assert len(told) == 1
    assert "another run is under way against http://agent.test/, http://base.test/control" in told[0]
    out = io.StringIO()
    show(summarise(log.events), console=Terminal(out, width=300))
    assert "another run is under way" in out.getvalue()

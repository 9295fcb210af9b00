"""A chain whose newest block is old: what depends on it is inconclusive with the reason, the rest is judged."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from conformance.engine import stale_chains
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.runner import Plan, Run
from conformance.engine.stale_chains import STALE_SECONDS, StaleChains
from conformance.http.client import Names
from conformance.lanes.base.node import BaseNode
from conformance.ledger import load
from conformance.log.events import Event, EventLog
from conformance.outcome import Inconclusive
from conformance.target import Budgets, Chain, Chains, Claims, Profile, Surface
from conformance.target.lanes.algorand import AlgorandChain
from conformance.target.lanes.base import BaseChain
from conformance.target.lanes.solana import SolanaChain
from conformance.target.payer import PayerProgram
from tests.conformance.served import serve

NOWHERE = "http://127.0.0.1:9"
CHAINS: dict[str, Chain] = {
    "algorand": AlgorandChain(algod=NOWHERE),
    "base": BaseChain(rpc=NOWHERE),
    "solana": SolanaChain(rpc=NOWHERE),
}
ROWS = {"rail": "RAIL-PAY-01", "gateway": "GW-CHK-01", "agent": "AGENT-HTTP-01"}
PROFILE = Profile(
    surfaces={surface: Surface(url=NOWHERE) for surface in ROWS},
    claims=Claims(surfaces=tuple(ROWS), lanes=tuple(CHAINS)),
    chains=Chains.model_validate(CHAINS),
)
REASON = r"the newest block of this {} node is \d+ s old.*let blocks pass"


@dataclass
class Nodes:
    """The nodes of a run, by how old their next block would be in seconds; None for one that does not answer."""

    ages: dict[str, float | None]
    question_count: int = 0
    close_count: int = 0

    def open(self, chain: Chain, *_: object) -> OneNode:
        return OneNode(self, chain.lane)


@dataclass
class OneNode:
    """One of them."""

    nodes: Nodes
    lane: str

    async def next_block_time(self) -> int:
        self.nodes.question_count += 1
        age = self.nodes.ages[self.lane]
        if age is None:
            raise Inconclusive("no answer")
        return int(time.time() - age)

    async def close(self) -> None:
        self.nodes.close_count += 1


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    """Nodes that are current, until a test says something else."""
    new_nodes = Nodes(dict.fromkeys(CHAINS, 1.0))
    monkeypatch.setattr(stale_chains, "open_node", new_nodes.open)
    return new_nodes


async def judge_row(surface: str, body: Callable[[Case], Awaitable[None]], lane: str | None = None) -> Event:
    """Return how a run with one check of a surface judges the check's row."""
    row = ROWS[surface]
    check = Check("check", (row,), surface, lane, exclusive=Exclusive.NOTHING, fix="", function=body)
    log = EventLog()
    await Run(Plan((load()[row],), (check,), seed=1, workers=1), PROFILE, log).execute()
    (event,) = log.of("row")
    return dict(event)


def finds(is_right: bool, surface: str = "rail") -> Callable[[Case], Awaitable[None]]:
    """Return the body of a check that finds something right or wrong."""

    async def body(case: Case) -> None:
        case.expect(ROWS[surface], is_right, "200", "402 payment_too_old")

    return body


@pytest.mark.parametrize("lane", CHAINS)
@pytest.mark.parametrize("surface", ["rail", "gateway"])
async def test_a_breach_on_a_chain_that_trails_decides_nothing(nodes: Nodes, surface: str, lane: str) -> None:
    """On each lane, with the reason; the same finding on a chain that is current is a failure."""
    assert (await judge_row(surface, finds(False, surface), lane))["verdict"] == "fail"
    nodes.ages[lane] = 61.0 + 1
    row = await judge_row(surface, finds(False, surface), lane)
    assert row["verdict"] == "inconclusive"
    assert (await judge_row(surface, finds(True, surface), lane))["verdict"] == "pass"
    other_lane = next(name for name in CHAINS if name != lane)
    assert (await judge_row(surface, finds(False, surface), other_lane))["verdict"] == "fail"
    assert nodes.close_count > 0


async def test_the_report_has_the_reason_in_place_of_a_breach(nodes: Nodes) -> None:
    """What was found stays in the log; no hint says that the target should be changed."""
    nodes.ages["algorand"] = 444.0
    log = EventLog()
    check = Check(
        "check", (ROWS["rail"],), "rail", None, exclusive=Exclusive.NOTHING, fix="Serve it.", function=finds(False)
    )
    await Run(Plan((load()[ROWS["rail"]],), (check,), seed=1, workers=1), PROFILE, log).execute()
    (judgement,) = log.of("judgement")
    assert (judgement["verdict"], judgement["found"], judgement["hint"]) == (
        "inconclusive",
        "402 payment_too_old",
        None,
    )
    assert re.match(REASON.format("algorand"), judgement["expected"])


async def test_what_no_chain_is_asked_about_is_judged(nodes: Nodes) -> None:
    """The agent is paid on no chain: its breaches are failures, and no node is asked."""
    nodes.ages = dict.fromkeys(CHAINS, 1000.0)
    assert (await judge_row("agent", finds(False, "agent")))["verdict"] == "fail"
    assert nodes.question_count == 0


@pytest.mark.parametrize("age", [None, -7200.0, 0.0, STALE_SECONDS - 2.0])
async def test_other_nodes_excuse_nothing(nodes: Nodes, age: float | None) -> None:
    """One that does not answer, one whose clock a test moved forward, and one with a recent block."""
    nodes.ages = dict.fromkeys(CHAINS, age)
    assert (await judge_row("rail", finds(False)))["verdict"] == "fail"


async def test_nothing_is_paid_on_a_chain_that_trails(nodes: Nodes) -> None:
    """A check that needs a payer stops before it pays."""
    nodes.ages["solana"] = 300.0

    async def pays(case: Case) -> None:
        await case.session.payers.for_rail("solana")

    async def buys(case: Case) -> None:
        await case.session.payers.for_gateway("solana")

    for body in (pays, buys):
        row = await judge_row("rail", body)
        assert row["verdict"] == "inconclusive"
        assert re.match(REASON.format("solana"), row["reason"])  # at its beginning: nothing else was tried


async def test_another_reason_does_not_hide_that_a_chain_trails(nodes: Nodes) -> None:
    """A check may find no paid call, because the lane is not offered: the report has both reasons."""
    nodes.ages["algorand"] = 300.0

    async def finds_nothing(_: Case) -> None:
        raise Inconclusive("no paid call was found")

    row = await judge_row("rail", finds_nothing)
    assert row["verdict"] == "inconclusive"
    assert re.match("no paid call was found; " + REASON.format("algorand"), row["reason"])


async def test_a_chain_that_became_current_during_the_check_excuses_it_still(nodes: Nodes) -> None:
    """The check may have met the chain before, and a target notices only after a while that it is current."""
    nodes.ages["algorand"] = 100.0
    stale_chains = StaleChains(PROFILE, Names())
    began = time.monotonic()
    assert await stale_chains.find_reason_for("rail", "algorand", began)
    nodes.ages["algorand"] = 1.0
    stale_chains._last_answers.clear()
    assert await stale_chains.find_reason_for("rail", "algorand", began)
    assert await stale_chains.find_reason_for("rail", "algorand", began + 1000) is None
    await stale_chains.close()


async def test_a_node_is_asked_once_in_a_few_seconds(nodes: Nodes) -> None:
    """However many checks want to know."""
    stale_chains = StaleChains(PROFILE, Names())
    nodes.ages["base"] = 90.0
    for _ in range(50):
        with pytest.raises(Inconclusive, match=REASON.format("base")):
            await stale_chains.refuse(CHAINS["base"])
    assert nodes.question_count == 1
    await stale_chains.close()
    assert nodes.close_count == 1


class Anvil:
    """Blocks of a node that makes one only for a transaction."""

    newest: ClassVar[int] = int(time.time()) - 5000

    @classmethod
    def answer(cls, pending_block: object) -> Callable[..., tuple[int, Any]]:
        """Return a server's function that answers with its newest block, and with `pending` for the next one."""

        def reply(_method: str, _path: str, _fields: object, body: bytes) -> tuple[int, Any]:
            block = pending_block if b'"pending"' in body else {"timestamp": hex(cls.newest)}
            return 200, {"jsonrpc": "2.0", "id": 0, "result": block}

        return reply


@pytest.mark.parametrize(
    ("pending_block", "ahead"),
    [({"timestamp": hex(Anvil.newest + 4999)}, 4999), (None, 0), ({"timestamp": "0x1"}, 0), (7, 0)],
)
async def test_on_base_the_next_block_counts(pending_block: object, ahead: int) -> None:
    """A node that makes blocks on demand does not trail; one that has no pending block is judged by its newest."""
    with serve(Anvil.answer(pending_block)) as server:
        node = BaseNode(BaseChain(rpc=server.url), Budgets(request=5.0), Names())
        try:
            assert await node.next_block_time() == Anvil.newest + ahead
        finally:
            await node.close()


@pytest.mark.parametrize(("surface", "path"), [("payer", "/payer"), ("rail", "")])
async def test_a_payer_depends_on_the_nodes_that_it_pays_on(
    surface: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the rail may be stale meanwhile."""
    asked_nodes = []

    def open_node(chain: BaseChain, *_: object) -> OneNode:
        asked_nodes.append(chain.rpc)
        return OneNode(Nodes({"base": 1.0}), "base")

    monkeypatch.setattr(stale_chains, "open_node", open_node)
    own = Chains.model_validate({"base": BaseChain(rpc=f"{NOWHERE}/payer")})
    profile = PROFILE.model_copy(update={"payer": PayerProgram(chains=own)})
    assert await StaleChains(profile, Names()).find_reason_for(surface, "base", 0.0) is None
    assert {*asked_nodes} == {f"{NOWHERE}{path}"}

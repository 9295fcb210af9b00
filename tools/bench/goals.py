"""The goals: how fast we mean to be beside whom. A table; the document and the verdicts follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.bench.ratios import Job, Ratio, ratio

OURS = "weldproof"
SUITE = "the suite's verifier"
QUART = "weldproof, through Quart"
HYPERCORN, UVICORN, GRANIAN = "weldproof / Hypercorn", "weldproof / uvicorn", "weldproof / granian"
QUART_UVICORN = "weldproof, through Quart / uvicorn"
X402_UVICORN, X402_HYPERCORN, HONO = "x402 FastAPI / uvicorn", "x402 FastAPI / Hypercorn", "@x402/hono"
HELLO_HYPERCORN = "bare ASGI hello / Hypercorn"
ATTEMPT, OUTBOX = "weldproof, an attempt", "weldproof, from the outbox"

JOBS: Mapping[str, str] = {
    "challenge": "an unpaid call answered with a 402 of three lanes, in process",
    "paid-call": "a paid call, the chain in memory, in process",
    "receipt": "a receipt verified",
    "message": "an RFC 9421 request with Content-Digest verified",
    "redemption": "a payment redeemed once, 32 at a time",
    "delivery": "a webhook event posted to a receiver, 32 at a time",
    "falcon": "a Falcon-1024 signature verified",
    "audit-chain": "an entry of the control plane's log checked, in memory",
    "zk-issue": "a ZK receipt's range proof made, and a receipt issued",
    "zk-verify": "a ZK receipt's range proof verified, and a receipt judged",
    "receipt-peers": "a receipt verified, beside other programs",
    "receipt-offline": "a receipt verified by the suite's own verifier, as weldproof receipt verify does",
    "message-peers": "an RFC 9421 request with Content-Digest verified, beside other programs",
    "challenge-http": "an unpaid call answered with a 402 of three lanes, over HTTP",
    "paid-http": "a paid call, the chain in memory, over HTTP",
}
"""What each job is. The first ten are measured in one process by `python -m tools.bench.reference`."""

IN_PROCESS = tuple(JOBS)[:10]
QUICK = ("challenge", "receipt", "message", "falcon", "audit-chain")
"""What `--quick` compares: what computes and waits for nothing, whose best round costs the same on a busy machine. What
waits for a socket, a thread or a disk, as a paid call does, costs more there, and so does its floor, but not alike."""

IN_TURNS = ("receipt-peers", "receipt-offline", "message-peers")
"""Those of programs that are asked for one round at a time."""

RATE_UNITS: Mapping[str, str] = {name: "receipts" for name in JOBS if name.startswith("receipt")}
"""Jobs that are also reported per second and core: a million divided by the CPU microseconds of one."""

WITHIN: Mapping[str, float] = {"challenge": 40e-6, "paid-call": 400e-6, "zk-issue": 0.5, "zk-verify": 0.3}
"""CPU seconds that one of these jobs may take at most, whatever it is beside others; each contender of ours that takes
the way that is meant to be fast."""

LANES: Mapping[str, float] = {"algorand": 3e-3, "base": 6e-3, "solana": 3e-3}
"""CPU seconds of the rail's process for a paid call against a simulated node, at most, by lane."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal.

    Attributes:
        id: Its number.
        job: The job.
        ours: Which of ours.
        other: Beside whom.
        at_least: How many times as fast we must be.
    """

    id: str
    job: str
    ours: str
    other: str
    at_least: float


# The bars of the second round, where it sets one; those of the first elsewhere.
GOALS: tuple[Goal, ...] = (
    Goal("G1", "receipt", OURS, "libsodium", 0.88),
    Goal("G1", "receipt", OURS, "dalek", 0.82),
    Goal("G1", "receipt", OURS, "cryptography", 1.6),
    Goal("G1", "receipt-peers", OURS, "npm jose compactVerify", 2.5),
    Goal("G2", "message", OURS, "libsodium + sha256", 0.90),
    Goal("G2", "message-peers", OURS, "http-message-signatures", 4.0),
    Goal("G3", "challenge-http", HYPERCORN, X402_UVICORN, 1.35),
    Goal("G3", "challenge-http", HYPERCORN, X402_HYPERCORN, 2.2),
    Goal("G3", "challenge-http", HYPERCORN, HELLO_HYPERCORN, 0.62),
    Goal("G3b", "challenge-http", UVICORN, X402_UVICORN, 4.0),
    Goal("G3b", "challenge-http", UVICORN, HONO, 2.4),
    Goal("G3b", "challenge-http", QUART_UVICORN, X402_UVICORN, 2.0),
    Goal("G3b", "challenge-http", QUART_UVICORN, HONO, 1.1),
    Goal("G4", "paid-http", HYPERCORN, X402_HYPERCORN, 1.8),
    Goal("G4", "paid-http", UVICORN, X402_UVICORN, 1.8),
    Goal("G4", "paid-http", HYPERCORN, X402_UVICORN, 1.25),
    Goal("G6", "falcon", OURS, "bare pqcrypto", 0.95),
    Goal("G7", "delivery", ATTEMPT, "bare aiohttp POST loop", 0.9),
    Goal("G7", "delivery", OUTBOX, "bare aiohttp POST loop", 0.6),
    Goal("G7", "delivery", ATTEMPT, "httpx, signing", 15.0),
    Goal("G9", "audit-chain", OURS, "plain SHA-256", 0.45),
    Goal("G9", "audit-chain", OURS, "json + rfc8785 + hmac.new", 10.0),
    Goal("G10", "redemption", "weldproof, durable", "sqlite3 direct, not durable", 0.95),
    Goal("G10", "redemption", "weldproof, durable", "SQLAlchemy async + aiosqlite", 8.0),
)

# Why a goal that is not reached is not, where that does not change from run to run: by goal and contender beside.
ARGUMENTS: Mapping[tuple[str, str], str] = {
    (
        "G9",
        "plain SHA-256",
    ): "accepted: the HMAC over bytes that lie ready is 0.64x by itself, and the text of an entry "
    "has to be written again to see that nothing else was sealed",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """Where we stand: a goal with what was measured; costs in CPU microseconds."""

    goal: Goal
    ours: float
    other: float
    ratio: Ratio

    @property
    def is_reached(self) -> bool:
        """Whether the median reaches the goal."""
        return self.ratio.median >= self.goal.at_least

    @property
    def verdict(self) -> str:
        """`reached`, or `not reached` with the argument where there is one."""
        argument = ARGUMENTS.get((self.goal.id, self.goal.other))
        return "reached" if self.is_reached else ": ".join(filter(None, ("not reached", argument)))


def standings(jobs: Sequence[Job]) -> list[Standing]:
    """Return every goal whose two contenders were measured."""
    by_name = {job.name: job for job in jobs}
    list_of_standings = []
    for goal in GOALS:
        job = by_name.get(goal.job)
        ours, peer = (job.find(goal.ours), job.find(goal.other)) if job is not None else (None, None)
        if ours is not None and peer is not None:
            list_of_standings.append(Standing(goal, ours.cost, peer.cost, ratio(ours.rounds, peer.rounds)))
    return list_of_standings


@dataclass(frozen=True, slots=True)
class Holding:
    """Whether one of ours keeps within its job's limit; both in CPU microseconds."""

    job: str
    ours: str
    cost: float
    limit: float

    @property
    def is_reached(self) -> bool:
        """Whether it does."""
        return self.cost <= self.limit


def holdings(jobs: Sequence[Job]) -> list[Holding]:
    """Return how ours stand beside the limits of the jobs that were measured."""
    return [
        Holding(job.name, contender.name, contender.cost, WITHIN[job.name] * 1_000_000)
        for job in jobs
        if job.name in WITHIN
        for contender in job.of_ours()
        if contender.name != QUART
    ]


def lane_holdings(lanes: Mapping[str, float]) -> list[Holding]:
    """Return how the lanes that were measured, in CPU microseconds a paid call, stand beside their limits."""
    return [Holding("lanes", lane, cost, LANES[lane] * 1_000_000) for lane, cost in lanes.items() if lane in LANES]


def list_unmeasured(jobs: Sequence[Job]) -> list[Goal]:
    """Return the goals that this run says nothing about."""
    goals_with_figures = {standing.goal for standing in standings(jobs)}
    return [goal for goal in GOALS if goal not in goals_with_figures]

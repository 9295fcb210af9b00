"""The document of a run, docs/performance.md, as a pure function of its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.bench import goals
from tools.bench.ratios import ratio
from tools.bench.record import Figures

_HANDWRITTEN_HEADING = "## What is not reached, and why"


def kept_part(before: str) -> str:
    """Return the part of a document that is written by hand, from its heading on."""
    place = before.find(_HANDWRITTEN_HEADING)
    return before[place:] if place >= 0 else ""


def document(figures: Figures, *, handwritten_part: str = "") -> str:
    """Return the document of a run, in Markdown."""
    parts = [
        _head(figures),
        _goals(figures),
        _limits(figures),
        _jobs(figures),
        _profiles(figures),
        _lanes(figures),
        _suite(figures),
        _METHOD,
        _versions(figures),
    ]
    unmeasured_goals = goals.list_unmeasured(figures.jobs)
    if unmeasured_goals:
        names = ", ".join(f"{goal.id} beside {goal.other}" for goal in unmeasured_goals)
        parts.insert(2, f"Not measured in this run: {names}.\n")
    return "\n".join(filter(None, [*parts, handwritten_part]))


def _head(figures: Figures) -> str:
    machine = figures.machine
    return (
        "# Performance\n\n"
        "This document is written by `weldproof bench --record`; only its last part is written by hand. "
        f"Taken {figures.taken} on {machine.processor}, {machine.processors} processors, {machine.system}. "
        "Costs are CPU microseconds and belong to that machine; quote the ratios.\n"
    )


def _goals(figures: Figures) -> str:
    rows = [
        (
            standing.goal.id,
            standing.goal.job,
            f"{standing.goal.ours}: {_cost(standing.ours)}",
            f"{standing.goal.other}: {_cost(standing.other)}",
            f"{standing.ratio.median:.2f}x",
            f"{standing.ratio.low:.2f} to {standing.ratio.high:.2f}",
            f"{standing.goal.at_least:.2f}x",
            standing.verdict,
        )
        for standing in goals.standings(figures.jobs)
    ]
    head = ("Goal", "Job", "Ours (us)", "Beside (us)", "Ratio", "Spread", "At least", "")
    return "## Goals\n\nA ratio above 1 means that Weldproof costs less.\n\n" + _table(head, rows)


def _limits(figures: Figures) -> str:
    rows = [
        (
            holding.job,
            holding.ours,
            _cost(holding.cost),
            _cost(holding.limit),
            "reached" if holding.is_reached else "not reached",
        )
        for holding in (*goals.holdings(figures.jobs), *goals.lane_holdings(figures.lanes))
    ]
    return "## Limits\n\n" + _table(("Job", "Ours", "CPU us", "At most", ""), rows) if rows else ""


def _jobs(figures: Figures) -> str:
    parts = ["## Every contender\n"]
    for job in figures.jobs:
        first = job.contenders[0]
        rows = []
        for contender in job.contenders:
            quotient = ratio(first.rounds, contender.rounds)
            beside = "" if contender is first else f"{quotient.median:.3g}x"
            spread = "" if contender is first else f"{quotient.low:.3g} to {quotient.high:.3g}"
            rate = (f"{contender.per_second:,.0f}",) if job.name in goals.RATE_UNITS else ()
            rows.append((contender.name, contender.role, _cost(contender.cost), *rate, beside, spread))
        sentence = goals.JOBS.get(job.name, "")
        rate_column = (f"{goals.RATE_UNITS[job.name]} a second and core",) if job.name in goals.RATE_UNITS else ()
        head = ("Contender", "", "CPU us", *rate_column, f"{first.name} is", "Spread")
        parts.append(f"### {job.name}: {sentence}\n\n{_table(head, rows)}")
    return "\n".join(parts)


def _profiles(figures: Figures) -> str:
    if not figures.profiles:
        return ""
    rows = [
        (job, ", ".join(f"{one['part']} {one['share']:.0%}" for one in parts[:12]))
        for job, parts in figures.profiles.items()
    ]
    return (
        "## Where the time goes\n\n"
        "Shares of our side in process, by module, from a profiler that makes small functions look dearer than they "
        "are (`python -m tools.bench.reference profile`). A C function counts as its caller's, except cryptography.\n\n"
        + _table(("Job", "Shares"), rows)
    )


def _lanes(figures: Figures) -> str:
    if not figures.lanes:
        return ""
    rows = [(lane, _cost(cost)) for lane, cost in figures.lanes.items()]
    return (
        "## A paid call a lane, against the simulated chains\n\n"
        "For information: CPU time of the rail's process for one payment from the first unpaid call to the answer, "
        "with what it asks the node over HTTP, its waiting for finality, and what it does of itself meanwhile.\n\n"
        + _table(("Lane", "CPU us"), rows)
    )


def _suite(figures: Figures) -> str:
    if figures.suite is None:
        return ""
    run = figures.suite
    rows = [
        (check["check"], f"{check['seconds']:.2f}", str(check["exchanges"]), f"{check['exchange_seconds']:.2f}")
        for check in run["checks"][:15]
    ]
    whole = f"{run['seconds']:.1f}" if run["seconds"] is not None else "unknown"
    return (
        "## The suite's own run\n\n"
        f"The run took {whole} s; its {len(run['checks'])} checks took {run['check_seconds']:.1f} s in all, for they "
        "run side by side. The slowest (`weldproof bench --suite report` shows all of any run):\n\n"
        + _table(("Check", "Seconds", "Exchanges", "their seconds, added up"), rows)
    )


_METHOD = """## Method

* The contenders of a job work in turn, round by round, in one run. A ratio is the median of the ratios inside the
  rounds; its spread is their quartiles. A neighbour on the machine slows all of them alike, and not the ratio.
* The rounds of a run are shared out among three processes, the contenders' in turn in each: where the system puts
  code, stack and tables is drawn once for a process, and moves what a signature check costs by up to a tenth. For the
  same reason a round of plain calls does a part of its work at each of 16 depths of the stack, every contender's. What
  goes over HTTP has one server each.
* In process (`challenge` to `zk-verify`): `python -m tools.bench.reference`, by the CPU time of the process, all
  threads. Calls go straight into the ASGI app, 32 at a time; redemptions too. As in a service that runs, the collector
  leaves alone what was there before, every contender's; what is left over is collected between two rounds.
* A delivery goes over loopback to a receiver in another process, whose time does not count. `an attempt` is what is
  done between claiming a delivery and recording its result: the address is judged, the body signed again and posted
  within 5 s, no redirect followed, up to 4 KiB of the answer read. `from the outbox` is all that a worker does: it also
  looks for what is due, claims it, opens the sealed secret and notes the outcome, two durable transactions on SQLite
  for each delivery. The bare loop is `session.post` and `read()` on a session as aiohttp makes it, with the same bytes,
  and headers made once; httpx signs each body, with one client.
* A Falcon signature of ours is looked at for its end before the library is called. `a credential` is the whole
  judgement: envelope, shape, issuer, key, times, signature. The log is a chain of 5,000 entries; the other way parses
  each, writes its RFC 8785 form and makes an HMAC of its own.
* A range proof's bare group operations are those that it makes itself, recorded once and repeated with the same points
  and scalars and nothing between. `a receipt` is all of it: commitment, proof and Falcon signature when it is issued;
  envelope, signature, times and proof when it is judged.
* Job `receipt` is the judgement by all nine steps; the report of the services is measured separately. Key and
  header are those of a receipt seen before, as between two receipts of one issuer; the payload is read again.
* Beside other programs (`-peers`, `-offline`): processes verify the same receipt or message in turn, each by its own
  CPU time.
* Over HTTP (`-http`): one server at a time is under load, 32 keep-alive connections on loopback, from plain sockets of
  our own loader on another processor. What counts is the CPU time of the server's process group, from /proc, divided by
  the requests it answered; not the loader's clock.
* The paid calls of ours have their chain in memory, as the x402 middleware has its facilitator: both sides decide at
  once. Ours still checks the weld, writes each redemption to the disk for good, verifies a receipt and signs two.
* The peers come from pinned versions (`tools/bench/peers/`) and live in a cache of their own.
"""


def _versions(figures: Figures) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in figures.versions.items())
    return f"## Versions\n\n{versions}.\n"


def _cost(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 100 else f"{cost:.1f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

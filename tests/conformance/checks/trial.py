"""One check run against a scripted target: no network, no stack, its verdicts by row."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping

from conformance import target
from conformance.engine.check import Case
from conformance.engine.check_loading import load_checks
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names, Transport
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive, Verdict, worst


async def run_one_check(
    name: str,
    transport: Transport,
    profile: str,
    *,
    ready: Callable[[Session], None] = lambda _: None,
    log: EventLog | None = None,
) -> dict[str, Verdict]:
    """Run one check, one of every lane on Algorand, and return the verdict of each of its rows.

    Args:
        name: The check.
        transport: Answers its requests.
        profile: Text of the target profile.
        ready: Called with the open session before the check, to give it payers.
        log: Takes its events.
    """
    found = next(one for one in load_checks() if one.id == name)
    check = found.bind_to("algorand") if found.lane == "each" else found
    names, log = Names(), EventLog() if log is None else log
    client = Client(transport, log, name, names, Counter())
    read = target.parse(profile)
    session = Session(read, client, names, 1)
    await session.open()
    verdicts: defaultdict[str, list[Verdict]] = defaultdict(list)
    try:
        ready(session)
        await check.function(Case(check, read, client, log, random.Random(1), session))
    except Inconclusive:
        for row in check.rows:
            verdicts[row].append(Verdict.INCONCLUSIVE)
    finally:
        await session.close()
    for event in log.of("judgement"):
        verdicts[event["row"]].append(Verdict(event["verdict"]))
    for row in set(check.rows) - set(verdicts):
        verdicts[row].append(Verdict.INCONCLUSIVE)  # as a run tells it of a check that ends without a judgement
    return {row: verdict for row, many in verdicts.items() if (verdict := worst(many)) is not None}


def find_broken_rows(verdicts: Mapping[str, Verdict]) -> set[str]:
    """Return the rows that are broken."""
    return {row for row, verdict in verdicts.items() if verdict in {Verdict.FAIL, Verdict.WARN}}

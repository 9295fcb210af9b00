"""`weldproof replay`: one recorded exchange again, from its seed, with a fresh payment."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson

from conformance.cli.connection import connected
from conformance.cli.targets import chain_file, checked_nodes, named_profile, opened, with_nodes
from conformance.cli.usage import UsageFault
from conformance.engine.check import Check
from conformance.engine.quick_look import QuickLook
from conformance.engine.registration import registered
from conformance.engine.runner import Plan, Run, select_checks
from conformance.http.recorded import curl_line
from conformance.lanes.spending import Wallet
from conformance.ledger import load
from conformance.log.events import Event, EventLog, log_in, read
from conformance.outcome import Exit, Verdict, worst
from conformance.processes.interrupt import interruptible
from conformance.processes.own_stack import StackFault, surface_options
from conformance.report.exchange import Exchange
from conformance.target import Profile
from conformance.text.untrusted import one_line

_BESIDE = "beside"
_RECORDED = frozenset({"exchange", "arrival"})
# Letters of a curl line, an answer's body or a finding that are shown.
_SHOWN = 2000
# By what a judgement, and an exchange, of another run of the check is known as the same.
_SAME_JUDGEMENT, _SAME_EXCHANGE = ("check", "row", "where"), ("check", "ordinal")
# By what another place of the check is known to have the same breach, and how many are named.
_SAME_BREACH, _PLACES = ("check", "row", "verdict"), 3


def replay(
    ctx: click.Context,
    what: str,
    config: Path | None,
    own_stack: bool,
    mutant: str | None,
    main_network: bool,
    tries: int,
    beside: bool,
    as_json: bool,
    **connection: Any,
) -> None:
    """Do what `weldproof replay` says of itself; its options are declared beside its help."""
    recorded = _record(what, beside=beside)
    options = recorded.started["options"]
    mutant = mutant or options.get("mutant")
    chains = options.get("chains")
    nodes = chain_file(chains)
    ours = own_stack or bool(mutant or options.get("settings") or (chains and nodes is None))
    profile = _target(recorded.started, config, ours=ours)
    profile = profile if nodes is None else with_nodes(profile, nodes)
    connection = {name: given or options.get(name) for name, given in connection.items()}
    profile = profile and connected(profile, connection)
    checked_nodes(profile, main_network=main_network)
    stack_options = ["--chains", chains or "sim", *(["--mutant", mutant] if mutant else [])]
    stack_options += [word for setting in options.get("settings", ()) for word in ("--setting", setting)]
    stack_options += surface_options(load()[row] for row in recorded.started["rows"])
    wallet = Wallet(main_network=main_network)

    async def again() -> EventLog:
        async with opened(profile, stack_options) as found:
            return await _tried(recorded, found, wallet, tries)

    try:
        log = asyncio.run(interruptible(again()))
    except StackFault as fault:
        click.echo(f"weldproof replay: {fault}", err=True)
        ctx.exit(Exit.NO_VERDICT)
    except asyncio.CancelledError:
        ctx.exit(Exit.INTERRUPTED)
    code = _compared(recorded, log, as_json=as_json)
    for line in _otherwise(recorded, log, tries=tries, beside=beside) if code == Exit.FAILED else ():
        click.echo(line, err=True)
    ctx.exit(code)


def _otherwise(recorded: _Record, log: EventLog, *, tries: int, beside: bool) -> Iterator[str]:
    """Yield what may help where something did not come out as before."""
    before = recorded.judgement
    if before is not None:
        same = (one for one in log.of("judgement") if all(one[name] == before[name] for name in _SAME_BREACH))
        places = [" ".join(f"{name}={value}" for name, value in one["where"].items()) for one in same]
        for place in list(dict.fromkeys(places))[:_PLACES]:
            yield one_line(f"{before['row']} came out so at another place of the check: {place}", _SHOWN)
    advice = [
        *(["--tries 20 for what hangs on a race or on chance"] if tries == 1 else []),
        *(["--beside for what another check provoked at the same time"] if not beside else []),
    ]
    if advice:
        yield f"It came out otherwise. Give {', '.join(advice)}."


def _target(started: Event, config: Path | None, *, ours: bool) -> Profile | None:
    """Return the profile of whom the run judged, or the one that is named now; None for our own stack.

    Raises:
        UsageFault: The run judged somebody else than our own stack, and nothing says how to reach them.
    """
    options = started["options"]
    ours = ours or bool(options.get("own_stack"))
    if config is None and not ours and options.get("config"):
        config = Path(options["config"])
    profile = named_profile(config, () if config else options.get("addresses", ()), ours=ours)
    if profile is None and not ours:
        raise UsageFault(f"the run judged {started['target']['name']}: give its profile with --config")
    return profile


@dataclass(frozen=True, slots=True)
class _Record:
    """What is replayed: an exchange, its judgement where there is one, how its run began, and which checks with it."""

    exchange: Event
    judgement: Event | None
    started: Event
    company: tuple[str, ...]

    @property
    def check(self) -> str:
        return str((self.judgement or self.exchange)["check"])


def _record(what: str, *, beside: bool) -> _Record:
    events, number, run = _events(what)
    started = next((event for event in events if event["event"] == "run.started"), None)
    if started is None:
        raise UsageFault(f"{what}: the log does not tell how the run began")
    if run and not str(started["run_id"]).startswith(run):
        raise UsageFault(
            f"{what}: the log is of the run {started['run_id']}, seed {started['seed']}; a later run may have been "
            "written over the one that you mean: give another --report-dir to each run that you keep"
        )
    exchange = next((event for event in events if event["event"] in _RECORDED and event["n"] == number), None)
    if exchange is None:
        raise UsageFault(f"{what}: the run has no exchange {number}")
    judgement = _judgement_of(exchange, events)
    company = _company(events, str((judgement or exchange)["check"])) if beside else ()
    return _Record(exchange, judgement, started, company)


def _company(events: tuple[Event, ...], check: str) -> tuple[str, ...]:
    """Return the checks that a run had under way at the same time as one of them."""
    under_way: set[str] = set()
    met: set[str] = set()
    for event in events:
        if event["event"] == "check.started":
            met |= under_way | {check} if event["check"] == check else {event["check"]} if check in under_way else set()
            under_way.add(event["check"])
        elif event["event"] == "check.finished":
            under_way.discard(event["check"])
    return tuple(sorted(met - {check}))


async def _tried(recorded: _Record, profile: Profile, wallet: Wallet, tries: int) -> EventLog:
    """Run the check until it comes out as recorded, so many times at most; return what the last run logged."""
    log = await _again(recorded, profile, wallet)
    for number in range(2, tries + 1):
        if _came_out_as(recorded, log):
            break
        click.echo(f"weldproof replay: it came out otherwise; try {number} of {tries}", err=True)
        log = await _again(recorded, profile, wallet)
    return log


async def _again(recorded: _Record, profile: Profile, wallet: Wallet) -> EventLog:
    """Run the check of a record, and its company, once more with the seed of its run, and return what was logged."""
    lanes = tuple(profile.claims.lanes)
    check = _check(recorded.check, lanes)
    checks = (check, *(_check(one, lanes) for one in recorded.company))
    rows = tuple(load()[row] for row in dict.fromkeys(row for one in checks for row in one.rows))
    chosen = {candidate.id for candidate in select_checks(rows, profile)}
    if check.id not in chosen:
        raise UsageFault(f"the target does not claim what the check {check.id} needs")
    checks = tuple(one for one in checks if one.id in chosen)
    # A quick look tries samples: the exchange is found again only where the same ones are drawn.
    quick = QuickLook(checks) if recorded.started.get("quick") else None
    # A target that credits by the amount alone would credit links that the run has left unpaid. Even: odd stays odd.
    apart = 2 * (1 + secrets.randbelow(500))
    plan = Plan(rows, checks, seed=int(recorded.started["seed"]), quick=quick, apart=apart)
    log = EventLog()
    await Run(plan, profile, log, wallet=wallet).whole()
    return log


def _came_out_as(recorded: _Record, log: EventLog) -> bool:
    """Return whether what was judged has the verdict of before, or what was sent the status."""
    if recorded.judgement is None:
        after = _sent_again(recorded.exchange, log)
        return after is not None and _status(after) == _status(recorded.exchange)
    return any(one["verdict"] == recorded.judgement["verdict"] for one in _judged_again(recorded.judgement, log))


def _judged_again(judgement: Event, log: EventLog) -> list[Event]:
    return [one for one in log.of("judgement") if all(one[name] == judgement[name] for name in _SAME_JUDGEMENT)]


def _sent_again(before: Event, log: EventLog) -> Event | None:
    sent = (one for one in log.of("exchange") if not one["retry"])
    return next((one for one in sent if all(one[name] == before[name] for name in _SAME_EXCHANGE)), None)


def _events(what: str) -> tuple[tuple[Event, ...], int, str]:
    """Return the events of a log, the number of one of them, and how the id of their run begins."""
    name, mark, place = what.rpartition("#")
    number, _, run = place.partition("@")
    if not mark or not number.isdecimal():
        raise UsageFault(f"{what}: give REPORT#N, for example report#17; N stands beside each failure")
    path = Path(name)
    path = log_in(path) if path.is_dir() else path
    try:
        return read(path), int(number), run
    except (OSError, ValueError) as fault:
        raise UsageFault(f"cannot read {path}: {fault}") from fault


def _check(check_id: str, lanes: tuple[str, ...]) -> Check:
    if check_id == _BESIDE:
        raise UsageFault("that exchange compared two targets and belongs to no check: run again with --compare-with")
    for candidate in registered():
        for one in (candidate, *candidate.on(lanes)):
            if one.id == check_id:
                return one
    raise UsageFault(f"this version of the suite has no check {check_id}")


def _judgement_of(recorded: Event, events: tuple[Event, ...]) -> Event | None:
    """Return the worst judgement that cites what was recorded, None for an exchange that none cites.

    Raises:
        UsageFault: No check judged the delivery.
    """
    judged = [one for one in events if one["event"] == "judgement" and one["exchange"] == recorded["n"]]
    if not judged and recorded["event"] == "exchange":
        return None
    if not judged:
        raise UsageFault(f"number {recorded['n']} is a delivery that no check judged")
    verdict = worst(Verdict(one["verdict"]) for one in judged)
    return next(one for one in judged if one["verdict"] == verdict)


def _compared(recorded: _Record, log: EventLog, *, as_json: bool) -> int:
    if recorded.judgement is None:
        return _compare(recorded.exchange, log, as_json=as_json)
    return _compare_judged(recorded.exchange, recorded.judgement, log, as_json=as_json)


def _compare_judged(before: Event, judgement: Event, log: EventLog, *, as_json: bool) -> int:
    """Show what was recorded beside what the same judgement was made on now, and compare what it came to."""
    later = _judged_again(judgement, log)
    same = [one for one in later if one["verdict"] == judgement["verdict"]]
    judged = next(iter((*same, *later)), None)
    number = None if judged is None else judged["exchange"]
    after = next((one for kind in _RECORDED for one in log.of(kind) if one["n"] == number), None)
    if as_json:
        value = {"recorded": _repeatable(before), "again": _repeatable(after), "judgements": [judgement, judged]}
        click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    else:
        for title, event, one in (("recorded", before, judgement), ("again", after, judged)):
            _show(title, event)
            if one is not None:
                judged_so = f"{one['row']} {one['verdict']}: expected {one['expected']}, found {one['found']}"
                click.echo(f"  {one_line(judged_so, _SHOWN)}")
    if judged is None:
        return Exit.NO_VERDICT
    return Exit.PASSED if same else Exit.FAILED


def _compare(before: Event, log: EventLog, *, as_json: bool) -> int:
    after = _sent_again(before, log)
    if as_json:
        click.echo(
            orjson.dumps({"recorded": _repeatable(before), "again": _repeatable(after)}, option=orjson.OPT_INDENT_2)
        )
    else:
        _show("recorded", before)
        _show("again", after)
    if after is None:
        return Exit.NO_VERDICT
    return Exit.PASSED if _status(before) == _status(after) else Exit.FAILED


def _repeatable(event: Event | None) -> Event | None:
    return None if event is None else {**event, "curl": curl_line(event["request"])}


def _status(exchange: Mapping[str, Any]) -> int | None:
    response = exchange["response"]
    return None if response is None else response["status"]


def _show(title: str, exchange: Event | None) -> None:
    click.secho(title, bold=True)
    if exchange is None:
        click.echo("  the check did not get this far")
        return
    told = Exchange.of(exchange)
    click.echo(f"  {told.command(_SHOWN)}")
    click.echo("".join(f"  {line}\n" if line else "\n" for line in told.answered(_SHOWN).split("\n")), nl=False)

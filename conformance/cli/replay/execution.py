"""`weldproof replay`: one recorded exchange again, from its seed, with a fresh payment."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from conformance.cli.json_output import print_json
from conformance.cli.replay.record import RECORDED, Record, read_record
from conformance.cli.target_options import TargetOptions
from conformance.cli.targets import chain_file, checked_nodes, named_profile, opened, with_nodes
from conformance.cli.usage import UsageFault
from conformance.engine.check import Check
from conformance.engine.quick_look import QuickSelection
from conformance.engine.registration import load_checks
from conformance.engine.runner import Plan, Run, select_checks
from conformance.http.recorded import curl_line
from conformance.lanes.spending import Wallet
from conformance.ledger import load
from conformance.log.events import Event, EventLog
from conformance.outcome import Exit
from conformance.processes.interrupt import interruptible
from conformance.processes.own_stack import StackFault, surface_options
from conformance.report.exchange import Exchange
from conformance.report.replay_line import target_words
from conformance.target import Profile
from conformance.text.untrusted import one_line

_BESIDE = "beside"
# Letters of a curl line, an answer's body or a finding that are shown.
_SHOWN = 2000
# By what a judgement, and an exchange, of another run of the check is known as the same.
_SAME_JUDGEMENT, _SAME_EXCHANGE = ("check", "row", "where"), ("check", "ordinal")
# By what another place of the check is known to have the same breach, and how many are named.
_SAME_BREACH, _PLACES = ("check", "row", "verdict"), 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions(TargetOptions):
    """Options of `weldproof replay`.

    Attributes:
        tries: `--tries`: highest number of repetitions.
        beside: `--beside`: also run the checks that ran at the same time.
        as_json: `--json`.
    """

    tries: int = 1
    beside: bool = False
    as_json: bool = False


def replay(ctx: click.Context, what: str, options: ReplayOptions) -> None:
    """Repeat one recorded exchange, and end the command with its exit code."""
    recorded = read_record(what, beside=options.beside)
    tries, beside = options.tries, options.beside
    profile, stack_options = _target(recorded, options)
    checked_nodes(profile, main_network=options.main_network)
    recorded.check_shape()
    wallet = Wallet(main_network=options.main_network)

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
    code = _compared(recorded, log, as_json=options.as_json)
    for line in _otherwise(recorded, log, tries=tries, beside=beside) if code == Exit.FAILED else ():
        click.echo(line, err=True)
    ctx.exit(code)


def _otherwise(recorded: Record, log: EventLog, *, tries: int, beside: bool) -> Iterator[str]:
    """Yield what may help where something did not come out as before."""
    before = recorded.judgement
    if before is not None:
        same = (one for one in log.of("judgement") if all(one[name] == before[name] for name in _SAME_BREACH))
        places = [" ".join(f"{name}={value}" for name, value in one["where"].items()) for one in same]
        for place in list(dict.fromkeys(places))[:_PLACES]:
            yield one_line(f"{before['row']} had this result at another place of the check: {place}", _SHOWN)
    advice = [
        *(["--tries 20 if the result depends on a race or on chance"] if tries == 1 else []),
        *(["--beside if another check caused the result at the same time"] if not beside else []),
    ]
    if advice:
        yield f"The result differs. Give {', '.join(advice)}."


def _target(recorded: Record, options: ReplayOptions) -> tuple[Profile | None, list[str]]:
    """Return the profile of the target, None for our own stack, and the options with which that is brought up.

    Only the command line names a target: log and working folder may come from another person.

    Raises:
        UsageFault: It names none.
    """
    nodes = chain_file(options.chains)
    if options.means_reference(nodes):
        return None, [*options.reference_words(), *surface_options(recorded.requirements)]
    # ./weldproof.toml is not used unnamed: it may have come in one folder with the log, and a profile runs commands.
    named = bool(options.config or options.addresses)
    profile = named_profile(options.config, options.addresses, ours=not named)
    if profile is None:
        raise UsageFault(_unnamed(recorded))
    return options.connected(profile if nodes is None else with_nodes(profile, nodes)), []


def _unnamed(recorded: Record) -> str:
    """Return what is said where no option names a target: whom the run judged, and what may be given."""
    where = ", ".join(f"{name} {url}" for name, url in recorded.surfaces.items()) or "no surface"
    said = " ".join(target_words(recorded.options, own_run=True))
    made = (
        f" The log says that the run was made with {one_line(said, 600)}; check that these are yours." if said else ""
    )
    return (
        f"the run judged {one_line(recorded.target, 100)} ({one_line(where, 300)}). A replay takes no target, program "
        f"or secret from a log, because the log may come from another person. Give the target's profile with "
        f"--config, its addresses with --target, or --reference or --mutant for the reference.{made if said else ''}"
    )


async def _tried(recorded: Record, profile: Profile, wallet: Wallet, tries: int) -> EventLog:
    """Run the check until it comes out as recorded, so many times at most; return what the last run logged."""
    log = await _again(recorded, profile, wallet)
    for number in range(2, tries + 1):
        if _came_out_as(recorded, log):
            break
        click.echo(f"weldproof replay: the result differs; try {number} of {tries}", err=True)
        log = await _again(recorded, profile, wallet)
    return log


async def _again(recorded: Record, profile: Profile, wallet: Wallet) -> EventLog:
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
    quick = QuickSelection(checks) if recorded.quick else None
    # A target that credits by the amount alone would credit links that the run has left unpaid. Even: odd stays odd.
    apart = 2 * (1 + secrets.randbelow(500))
    plan = Plan(rows, checks, seed=recorded.seed, quick=quick, amount_offset=apart)
    log = EventLog()
    await Run(plan, profile, log, wallet=wallet).execute_whole()
    return log


def _came_out_as(recorded: Record, log: EventLog) -> bool:
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


def _check(check_id: str, lanes: tuple[str, ...]) -> Check:
    if check_id == _BESIDE:
        raise UsageFault(
            "that exchange compared two targets and belongs to no check: repeat the run with --compare-with"
        )
    for candidate in load_checks():
        for one in (candidate, *candidate.expand(lanes)):
            if one.id == check_id:
                return one
    raise UsageFault(f"this version of the suite has no check {check_id}")


def _compared(recorded: Record, log: EventLog, *, as_json: bool) -> int:
    if recorded.judgement is None:
        return _compare(recorded.exchange, log, as_json=as_json)
    return _compare_judged(recorded.exchange, recorded.judgement, log, as_json=as_json)


def _compare_judged(before: Event, judgement: Event, log: EventLog, *, as_json: bool) -> int:
    """Show what was recorded beside what the same judgement was made on now, and compare what it came to."""
    later = _judged_again(judgement, log)
    same = [one for one in later if one["verdict"] == judgement["verdict"]]
    judged = next(iter((*same, *later)), None)
    number = None if judged is None else judged["exchange"]
    after = next((one for kind in RECORDED for one in log.of(kind) if one["n"] == number), None)
    if as_json:
        value = {"recorded": _repeatable(before), "again": _repeatable(after), "judgements": [judgement, judged]}
        print_json(value)
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
        print_json({"recorded": _repeatable(before), "again": _repeatable(after)})
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

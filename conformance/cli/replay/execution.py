"""`weldproof replay`: repeats one recorded exchange from its seed, with a new payment, and compares the results."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import click

from conformance.cli.json_output import print_json
from conformance.cli.program_command import command_after_dashes
from conformance.cli.replay.record import EXCHANGE_KINDS, Record, read_record
from conformance.cli.run.payer import claim_reference_payer, with_chains, with_payer
from conformance.cli.target_options import TargetOptions
from conformance.cli.targets import check_nodes, load_chain_file, load_named_profile, open_target, replace_nodes
from conformance.cli.usage import UsageFault
from conformance.engine.check import Check
from conformance.engine.check_loading import load_checks
from conformance.engine.quick_selection import QuickSelection
from conformance.engine.runner import Plan, Run, select_checks
from conformance.http.curl_and_templates import write_curl_line
from conformance.lanes.spending import Wallet
from conformance.ledger import load
from conformance.log.events import Event, EventLog
from conformance.outcome import Exit
from conformance.processes.interrupt import make_interruptible
from conformance.processes.own_stack import StackFault, list_surface_options
from conformance.report.exchange import Exchange
from conformance.report.replay_line import target_words
from conformance.target import LANES, Profile
from conformance.text.target_text_escaping import one_line

_PAYER = "payer"
# The check id of exchanges that compared two targets.
_COMPARISON = "beside"
# Characters of a curl line, an answer's body or a finding that are shown.
_SHOWN_CHARACTERS = 2000
# Members by which a judgement and an exchange of two runs of a check correspond.
_SAME_JUDGEMENT, _SAME_EXCHANGE = ("check", "row", "where"), ("check", "ordinal")
# Members by which another place of the check has the same breach, and the largest number of places that are listed.
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


def replay(ctx: click.Context, replay_id: str, options: ReplayOptions) -> None:
    """Repeat one recorded exchange, and end the command with its exit code."""
    record = read_record(replay_id, beside=options.beside)
    tries, beside = options.tries, options.beside
    profile, stack_options = _target(record, options, command_after_dashes(ctx))
    check_nodes(profile, main_network=options.main_network)
    # After the target is known, so that a user first learns what to add to the command.
    record.check_shape()
    wallet = Wallet(main_network=options.main_network)

    async def again() -> EventLog:
        async with (
            open_target(profile, stack_options) as found,
            with_chains(_add_reference_payer(record, found, options.mutant) if profile is None else found) as target,
        ):
            return await _repeat_until_same(record, target, wallet, tries)

    try:
        log = asyncio.run(make_interruptible(again()))
    except StackFault as fault:
        click.echo(f"weldproof replay: {fault}", err=True)
        ctx.exit(Exit.NO_VERDICT)
    except asyncio.CancelledError:
        ctx.exit(Exit.INTERRUPTED)
    code = _show_comparison(record, log, as_json=options.as_json)
    for line in _advise(record, log, tries=tries, beside=beside) if code == Exit.FAILED else ():
        click.echo(line, err=True)
    ctx.exit(code)


def _advise(record: Record, log: EventLog, *, tries: int, beside: bool) -> Iterator[str]:
    """Yield hints for a result that differs from the recorded one."""
    before = record.judgement
    if before is not None:
        same_breaches = (one for one in log.of("judgement") if all(one[name] == before[name] for name in _SAME_BREACH))
        places = [" ".join(f"{name}={value}" for name, value in one["where"].items()) for one in same_breaches]
        for place in list(dict.fromkeys(places))[:_PLACES]:
            yield one_line(f"{before['row']} had this result at another place of the check: {place}", _SHOWN_CHARACTERS)
    advice = [
        *(["--tries 20 if the result depends on a race or on chance"] if tries == 1 else []),
        *(["--beside if another check caused the result at the same time"] if not beside else []),
    ]
    if advice:
        yield f"The result differs. Give {', '.join(advice)}."


def _add_reference_payer(record: Record, profile: Profile, mutant: str | None) -> Profile:
    """Return the profile of the reference; if the check judges payers, with its payer under test."""
    return claim_reference_payer(profile, mutant) if _judges_payer(record) else profile


def _judges_payer(record: Record) -> bool:
    # An unknown check is reported after the nodes of the target are known to be no main network.
    with suppress(UsageFault):
        return _check(record.check, LANES).surface == _PAYER
    return False


def _target(record: Record, options: ReplayOptions, payer_command: Sequence[str]) -> tuple[Profile | None, list[str]]:
    """Return the profile of the target, or None and the options that start the reference.

    Only the command line names a target, since log and working folder may come from another person.

    Raises:
        UsageFault: The command line names no target, or a program that the check does not start.
    """
    nodes = load_chain_file(options.chains)
    is_reference = options.means_reference(nodes)
    if payer_command and (is_reference or not _judges_payer(record)):
        raise UsageFault("a command after -- is a payer: the exchange is not one of a payer, or --reference names it")
    if is_reference:
        return None, [*options.reference_words(), *list_surface_options(record.requirements)]
    # ./weldproof.toml needs --config here: it may have come in one folder with the log, and a profile runs commands.
    is_named = bool(options.config or options.addresses)
    profile = load_named_profile(options.config, options.addresses, is_reference=not is_named)
    if payer_command or (profile is not None and _judges_payer(record)):
        # Of the log, only the lanes and the form of x402 are taken, which name no target.
        is_stock = bool(record.options.get("stock"))
        own_lanes = tuple(lane for lane in record.lanes if record.check.endswith(f"[{lane}]"))
        profile = with_payer(profile, payer_command, () if is_stock else own_lanes or record.lanes, stock=is_stock)
    if profile is None:
        raise UsageFault(_describe_missing_target(record))
    return options.apply_connection(profile if nodes is None else replace_nodes(profile, nodes)), []


def _describe_missing_target(record: Record) -> str:
    """Return the message for a missing target: the target of the run, and the options that name one."""
    where = ", ".join(f"{name} {url}" for name, url in record.surfaces.items()) or "no surface"
    # A program that a log names is not printed as a command to paste.
    command = {"payer_command": ["COMMAND"]} if record.options.get("payer_command") else {}
    target_options = " ".join(target_words({**record.options, **command}, own_run=True))
    hint = (
        f" The log says that the run was made with {one_line(target_options, 600)}; check that these are yours."
        if target_options
        else ""
    )
    return (
        f"the run judged {one_line(record.target, 100)} ({one_line(where, 300)}). A replay takes no target, program "
        f"or secret from a log, because the log may come from another person. Give the target's profile with "
        f"--config, its addresses with --target, the command of a payer after --, or --reference or --mutant for the "
        f"reference.{hint}"
    )


async def _repeat_until_same(record: Record, profile: Profile, wallet: Wallet, tries: int) -> EventLog:
    """Run the check until its result is as recorded, at most `tries` times; return the log of the last run."""
    log = await _run_again(record, profile, wallet)
    for number in range(2, tries + 1):
        if _has_same_result(record, log):
            break
        click.echo(f"weldproof replay: the result differs; try {number} of {tries}", err=True)
        log = await _run_again(record, profile, wallet)
    return log


async def _run_again(record: Record, profile: Profile, wallet: Wallet) -> EventLog:
    """Run the check of a record, and its company, with the seed of the recorded run; return the log."""
    lanes = tuple(profile.claims.lanes)
    check = _check(record.check, lanes)
    checks = (check, *(_check(one, lanes) for one in record.company))
    rows = tuple(load()[row] for row in dict.fromkeys(row for one in checks for row in one.rows))
    applicable_ids = {candidate.id for candidate in select_checks(rows, profile)}
    if check.id not in applicable_ids:
        raise UsageFault(f"the target does not claim what the check {check.id} needs")
    checks = tuple(one for one in checks if one.id in applicable_ids)
    # A quick look tries samples. The exchange occurs again only if the same samples are drawn.
    quick = QuickSelection(checks) if record.quick else None
    # A target that identifies payments by amount alone would credit links that the recorded run left unpaid. So amounts
    # are shifted, by an even number to keep odd ones odd.
    apart = 2 * (1 + secrets.randbelow(500))
    plan = Plan(rows, checks, seed=record.seed, quick=quick, amount_offset=apart)
    # In memory: a replay must not replace the log that it repeats.
    log = EventLog()
    await Run(plan, profile, log, wallet=wallet).execute_whole()
    return log


def _has_same_result(record: Record, log: EventLog) -> bool:
    """Return whether the verdict is as recorded, or for an exchange without a judgement the status."""
    if record.judgement is None:
        after = _find_exchange(record.exchange, log)
        return after is not None and _status(after) == _status(record.exchange)
    return any(one["verdict"] == record.judgement["verdict"] for one in _find_judgements(record.judgement, log))


def _find_judgements(judgement: Event, log: EventLog) -> list[Event]:
    return [one for one in log.of("judgement") if all(one[name] == judgement[name] for name in _SAME_JUDGEMENT)]


def _find_exchange(before: Event, log: EventLog) -> Event | None:
    exchanges = (one for one in log.of("exchange") if not one["retry"])
    return next((one for one in exchanges if all(one[name] == before[name] for name in _SAME_EXCHANGE)), None)


def _check(check_id: str, lanes: tuple[str, ...]) -> Check:
    if check_id == _COMPARISON:
        raise UsageFault(
            "that exchange compared two targets and belongs to no check: repeat the run with --compare-with"
        )
    for candidate in load_checks():
        for one in (candidate, *candidate.expand(lanes)):
            if one.id == check_id:
                return one
    if any(one.id == check_id for candidate in load_checks() for one in candidate.expand(LANES)):
        raise UsageFault(f"the target does not claim the lane of the check {check_id}")
    raise UsageFault(f"this version of the suite has no check {check_id}")


def _show_comparison(record: Record, log: EventLog, *, as_json: bool) -> int:
    if record.judgement is None:
        return _compare_exchanges(record.exchange, log, as_json=as_json)
    return _compare_judgements(record.exchange, record.judgement, log, as_json=as_json)


def _compare_judgements(before: Event, judgement: Event, log: EventLog, *, as_json: bool) -> int:
    """Print the recorded exchange and the one of the same judgement now, and compare the verdicts."""
    later = _find_judgements(judgement, log)
    same_verdicts = [one for one in later if one["verdict"] == judgement["verdict"]]
    # A check may judge one row at one place several times. One equal verdict is enough.
    repeated = next(iter((*same_verdicts, *later)), None)
    number = None if repeated is None else repeated["exchange"]
    after = next((one for kind in EXCHANGE_KINDS for one in log.of(kind) if one["n"] == number), None)
    if as_json:
        value = {
            "recorded": _with_curl_line(before),
            "again": _with_curl_line(after),
            "judgements": [judgement, repeated],
        }
        print_json(value)
    else:
        for title, event, one in (("recorded", before, judgement), ("again", after, repeated)):
            _show(title, event)
            if one is not None:
                verdict_text = f"{one['row']} {one['verdict']}: expected {one['expected']}, found {one['found']}"
                click.echo(f"  {one_line(verdict_text, _SHOWN_CHARACTERS)}")
    if repeated is None:
        return Exit.NO_VERDICT
    return Exit.PASSED if same_verdicts else Exit.FAILED


def _compare_exchanges(before: Event, log: EventLog, *, as_json: bool) -> int:
    after = _find_exchange(before, log)
    if as_json:
        print_json({"recorded": _with_curl_line(before), "again": _with_curl_line(after)})
    else:
        _show("recorded", before)
        _show("again", after)
    if after is None:
        return Exit.NO_VERDICT
    return Exit.PASSED if _status(before) == _status(after) else Exit.FAILED


def _with_curl_line(event: Event | None) -> Event | None:
    return None if event is None else {**event, "curl": write_curl_line(event["request"])}


def _status(exchange: Mapping[str, Any]) -> int | None:
    response = exchange["response"]
    return None if response is None else response["status"]


def _show(title: str, exchange: Event | None) -> None:
    click.secho(title, bold=True)
    if exchange is None:
        click.echo("  the check did not get this far")
        return
    shown_exchange = Exchange.of(exchange)
    click.echo(f"  {shown_exchange.command(_SHOWN_CHARACTERS)}")
    click.echo(
        "".join(
            f"  {line}\n" if line else "\n" for line in shown_exchange.response_text(_SHOWN_CHARACTERS).split("\n")
        ),
        nl=False,
    )

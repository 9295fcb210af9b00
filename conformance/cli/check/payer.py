"""`weldproof check PAYER -- COMMAND`: judges a payer for the six faults that lose most money, on a simulated chain."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from conformance import extras
from conformance.cli.check.execution import STYLES
from conformance.cli.check.options import CheckOptions
from conformance.cli.json_output import print_json
from conformance.cli.program_command import command_after_dashes
from conformance.cli.run.payer import with_chains, with_payer
from conformance.cli.targets import load_named_profile
from conformance.cli.usage import UsageFault
from conformance.engine.check_loading import import_meanwhile
from conformance.engine.runner import Plan, Run, select_checks
from conformance.first_look import payer_fault_report
from conformance.first_look.payer_fault_report import ROWS, PayerLook
from conformance.lanes.spending import Wallet
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.outcome import Exit
from conformance.processes import interrupt
from conformance.processes.own_stack import StackFault
from conformance.report.progress import Progress
from conformance.target import LANES, Chains, Profile

_SECONDS = 30.0
_USUAL_METHOD = "GET"
_DEFAULT_LANE = "base"


def check_payer(ctx: click.Context, options: CheckOptions) -> NoReturn:
    """Judge a payer, print the result, and end the command with its exit code.

    Raises:
        UsageFault: There is no command, an option is for servers, or the lane has no stock form.
        MissingExtra: The simulated chains are not installed.
    """
    is_for_server = options.pay or options.cacert or options.insecure or options.timeout
    if is_for_server or options.method != _USUAL_METHOD:
        raise UsageFault("--pay, --method, --cacert, --insecure and --timeout are for a server, not for a payer")
    extras.need("reference")
    given = load_named_profile(options.config, (), is_reference=False)
    profile = _choose_profile(given, command_after_dashes(ctx), options.lane, stock=options.stock)
    log, progress = EventLog(), None if options.as_json else Progress()
    if progress is not None:
        log.listen(progress)
    try:
        is_cut = interrupt.run_interruptible(_judge(profile, log, options.seconds or _SECONDS, options.seed))
    except StackFault as trouble:
        click.echo(f"weldproof check: {trouble}", err=True)
        ctx.exit(Exit.NO_VERDICT)
    except asyncio.CancelledError:
        click.echo("weldproof check: interrupted", err=True)
        ctx.exit(Exit.INTERRUPTED)
    finally:
        if progress is not None:
            progress.close()
        log.close()
    command = profile.payer.command or ()
    look = PayerLook.read(log.events, command, profile.claims.lanes[0], is_stock=profile.payer.stock, is_cut=is_cut)
    _show(look, as_json=options.as_json)
    ctx.exit(look.exit_code)


def _show(look: PayerLook, *, as_json: bool) -> None:
    if as_json:
        print_json(payer_fault_report.to_json(look))
        return
    for text, style in payer_fault_report.lines(look):
        click.secho(text, **STYLES[style])
    click.secho(f"  {look.seconds:.1f} s, exit code {int(look.exit_code)}", dim=True)


def _choose_profile(profile: Profile | None, words: Sequence[str], lane: str | None, *, stock: bool) -> Profile:
    """Return the profile of the payer on one lane, on simulated chains only."""
    claimed = () if profile is None else profile.claims.lanes
    usual = _DEFAULT_LANE if not claimed or _DEFAULT_LANE in claimed else claimed[0]
    chosen = with_payer(profile, words, (lane or usual,), stock=stock)
    # No node of the profile: a first look spends no money.
    payer = chosen.payer.model_copy(update={"chains": Chains()})
    return chosen.model_copy(update={"chains": Chains(), "payer": payer})


async def _judge(profile: Profile, log: EventLog, seconds: float, seed: int | None) -> bool:
    """Run the checks of the rows; return whether the time was over before their end."""
    rows = tuple(load()[row] for row in ROWS)
    async with import_meanwhile(), with_chains(profile) as target:
        plan = Plan(
            rows=rows,
            checks=select_checks(rows, target),
            seed=secrets.randbelow(2**32) if seed is None else seed,
            workers=target.pace.workers,
            lanes=LANES,
        )
        run = Run(plan, target, log, wallet=Wallet())
        work: asyncio.Task[Any] = asyncio.ensure_future(run.execute())
        try:
            done, _ = await asyncio.wait({work}, timeout=seconds)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            raise
        if not done:
            # The run judges what it has, and leaves the other rows open.
            work.cancel()
            await asyncio.wait({work})
        await work
        return not done

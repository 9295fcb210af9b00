"""`weldproof check`: runs the first look at a server and prints its result."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from conformance import target
from conformance.cli.check.options import CheckOptions
from conformance.cli.connection import apply_connection_options
from conformance.cli.json_output import print_json
from conformance.cli.program_command import PAYER_ROWS, command_after_dashes
from conformance.cli.suggestion import find_nearest
from conformance.cli.targets import WORKING_PROFILE
from conformance.cli.usage import UsageFault
from conformance.first_look import text_report
from conformance.first_look.look import Look, LookSettings, look
from conformance.first_look.payment_estimate import estimate_payment
from conformance.http.client import Throttled, Unreachable
from conformance.outcome import Exit
from conformance.processes import interrupt
from conformance.surfaces.agent.paths import VERIFY
from conformance.surfaces.rail.purchase import lane_of
from conformance.target import Profile, ProfileError, Surface
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.unanswered_calls import NO_ANSWER_IN_TIME, NO_CONNECTION

STYLES: Mapping[str, Mapping[str, Any]] = {
    "title": {"bold": True},
    "ok": {"fg": "green", "bold": True},
    "fail": {"fg": "red", "bold": True},
    "warn": {"fg": "yellow"},
    "dim": {"dim": True},
    "": {},
}
_TIMEOUT = 5.0
_SECONDS = 10.0
_PAYERS = {name: lane.payer for name, lane in FACTS.items()}


def check(ctx: click.Context, started_at: float, options: CheckOptions) -> None:
    """Run the command, whose options and help are in the package; `started_at` is its start on the monotonic clock."""
    url, pay = options.url, options.pay
    _require_server(url, command_after_dashes(ctx), options.lane, stock=options.stock)
    # An ignored option would make the user believe that the profile was used.
    if options.config is not None and not pay:
        raise UsageFault("--config is only for --pay: without it no profile is needed")
    if pay and options.as_json:
        raise UsageFault("--pay cannot be combined with --json: use `weldproof run --json` for the report of a run")
    profile = Profile(surfaces={"rail": Surface(url=url)})
    profile = apply_connection_options(
        profile, cacert=options.cacert, insecure=options.insecure, timeout=options.timeout
    )
    seconds, seed = options.seconds or _SECONDS, 1 if options.seed is None else options.seed
    # One slow answer may take half of the whole duration at most, so that a second request has a
    # chance.
    longest_wait = options.timeout or min(_TIMEOUT, seconds / 2)
    settings = LookSettings(options.method, seconds, longest_wait, profile.tls, seed)
    try:
        first_look = interrupt.run_interruptible(look(url, settings, started_at))
    except (Unreachable, Throttled) as reason:
        click.echo(f"weldproof check: {one_line(url)}: {one_line(str(reason), 600)}{_remedy(str(reason))}", err=True)
        ctx.exit(Exit.NO_VERDICT)
    except asyncio.CancelledError:
        click.echo("weldproof check: interrupted", err=True)
        ctx.exit(Exit.INTERRUPTED)
    _show(first_look, as_json=options.as_json)
    if pay:
        ctx.exit(_run_with_payments(first_look, options.config))
    ctx.exit(first_look.exit_code)


def _require_server(url: str, words: Sequence[str], lane: str | None, *, stock: bool) -> None:
    """Refuse what is not the address of a server.

    Raises:
        UsageFault: It is no address, or an option or a command is for a payer.
    """
    if words:
        near = find_nearest(url, (PAYER_ROWS,))
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageFault(f"{one_line(url)}: {hint}A command after -- is a payer: weldproof check PAYER -- COMMAND")
    if lane is not None or stock:
        raise UsageFault("--lane and --stock are for a payer: weldproof check PAYER -- COMMAND")
    if not url.startswith(("http://", "https://")) or not urlsplit(url).hostname:
        raise UsageFault(f"{one_line(url)}: give an address such as http://localhost:8402")


def _remedy(reason: str) -> str:
    if NO_CONNECTION in reason:
        return ". Is the server running, and is this its address?"
    return ". If the server is slow, give a longer --timeout." if NO_ANSWER_IN_TIME in reason else ""


def _show(first_look: Look, *, as_json: bool) -> None:
    if as_json:
        print_json(text_report.as_json(first_look))
    else:
        for text, style in text_report.lines(first_look):
            click.secho(text, **STYLES[style])
        click.secho(f"  {first_look.seconds:.1f} s, exit code {int(first_look.exit_code)}", dim=True)
    if not first_look.rules and first_look.summary is None:
        click.echo(f"weldproof check: {_describe_unknown_server(first_look)}", err=True)


def _describe_unknown_server(first_look: Look) -> str:
    """Return the message for a server of an unknown kind, with advice."""
    answer = first_look.server
    expected_kinds = "no x402 server, rail, gateway, agent or control plane"
    text = f"{one_line(answer.url)}: looks like {expected_kinds}; it answered {one_line(answer.answer_text)}."
    hints = (
        "Give the address of a paid resource, with --method POST if it is called by POST. An agent has "
        f"POST {VERIFY}, which judges the message in its body; a server that demands signatures on its own requests "
        "is no agent. For a gateway that requires credentials for every call, use `weldproof init`"
    )
    return f"{text} {hints}"


def _run_with_payments(first_look: Look, config: Path | None) -> int:
    """Run the suite with the profile that names the payer, and return its exit code.

    Raises:
        UsageFault: The profile is missing or describes another server; the text explains how to write one.
    """
    # Payments need a profile that was written on purpose: addresses alone do not name a payer.
    path = config or WORKING_PROFILE
    if config is None and not path.exists():
        raise UsageFault(_explain_payment_setup(first_look))
    try:
        profile = target.load(path)
    except ProfileError as fault:
        raise UsageFault(f"--pay: {fault}") from fault
    host = urlsplit(first_look.server.base).netloc
    if all(urlsplit(surface.url).netloc != host for surface in profile.surfaces.values()):
        raise UsageFault(f"--pay: {path} describes another server than {host}. {_explain_payment_setup(first_look)}")
    if not profile.chains.model_dump(exclude_none=True):
        raise UsageFault(
            f"--pay: {path} has no [chains] table, so there is no payer. {_explain_payment_setup(first_look)}"
        )
    from conformance.cli.run import command  # noqa: PLC0415 - needed with --pay only

    click.echo(f"\nweldproof run --config {path}")
    # The run writes to the terminal by another stream; without the flush its output could come
    # first.
    sys.stdout.flush()
    return int(command.main(["--config", str(path)], standalone_mode=False) or 0)


def _explain_payment_setup(first_look: Look) -> str:
    """Return what to set up before a payment is possible."""
    if estimate_payment(first_look) is None:
        return f"--pay: a payment would not add a requirement for {first_look.server.base}"
    challenge = first_look.server.challenge
    offers = () if challenge is None else challenge.offers
    lanes = [lane for lane in _PAYERS if any(lane_of(one) == lane for one in offers)]
    options = " ".join(_PAYERS[lane] for lane in lanes)
    return (
        "--pay needs chain nodes and a payer. Choose nodes of the test networks that the server offers. Put the keys "
        "of accounts that hold test USDC into environment variables. Then write a profile: weldproof init "
        f"{first_look.server.base} {options} --spending-limit 5000000. Then give --pay again. docs/real-nodes.md lists "
        "faucets"
    )

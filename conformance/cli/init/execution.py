"""`weldproof init`: probes servers and writes a first target profile."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import apply_connection_options
from conformance.cli.init.clock_probe import follows_clock
from conformance.cli.init.node_networks import with_networks
from conformance.cli.targets import WORKING_PROFILE
from conformance.cli.usage import UsageFault
from conformance.discovery.operation_presence import describe_foreign_answer
from conformance.discovery.rail import ROLES
from conformance.first_look.x402_answer import read_challenge
from conformance.http.client import Client, Counter, JsonFault, Names, Throttled, Unreachable
from conformance.http.transport import HttpTransport
from conformance.http.trust import make_context
from conformance.lanes.main_network_guard import is_local
from conformance.log.events import EventLog
from conformance.outcome import Exit, Inconclusive
from conformance.surfaces.agent.paths import VERIFY
from conformance.surfaces.agent.probing import DiscoveredAgent, probe_agent
from conformance.surfaces.control_plane.probing import TOKEN_VARIABLE as HUB_TOKEN_VARIABLE
from conformance.surfaces.control_plane.probing import DiscoveredHub, probe_hub
from conformance.surfaces.gateway.calls import RECEIPT_VERIFY
from conformance.surfaces.gateway.probing import DiscoveredGateway, probe_gateway
from conformance.surfaces.profile_draft import claimed_lanes, follows_specification, offered_networks, render
from conformance.surfaces.rail.probing import probe_rail
from conformance.surfaces.rate_limit_measurement import measure_limit
from conformance.target import (
    Pace,
    Profile,
    ProfileError,
    Secret,
    Surface,
    parse,
)
from conformance.target.chain import ATOMIC_UNITS
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.profile_claims import RECEIPTS_ONLY

# Requests per second; below it, fewer workers are enough.
_MODEST_PACE = 20
# Requests per second for a target whose limits are unknown: 600 a minute rarely disturb a server.
_USUAL_PACE = 10.0
# Approximate number of calls of a whole run to the operations that it calls most. It shows how long a limit makes the
# run.
_CALLS_OF_A_RUN = {RECEIPT_VERIFY: 900, VERIFY: 600}
# From here on a message says how long the calls of one operation take.
_LONG_MINUTES = 5
# Names of tenants in a profile; rows about the separation of tenants need two.
_TENANT_NAMES = ("first", "second")


def initialise(
    ctx: click.Context,
    /,
    urls: tuple[str, ...],
    output: Path,
    force: bool,
    pace: float | None,
    wait_for_expiry: float,
    tenants: tuple[str, ...],
    cacert: Path | None,
    insecure: bool,
    timeout: float | None,
    clock: Path | None,
    **chain: Any,
) -> None:
    """Run the command, whose options and help are in the package."""
    if output.exists() and not force:
        raise UsageFault(f"{output} exists already; --force replaces it")
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise UsageFault(f"{url}: give an address such as http://localhost:8402")
    _check_limit(chain)
    tenant_table = _parse_tenants(tenants)
    addresses = [url.rstrip("/") for url in urls]
    probe_profile = Profile(surfaces={str(number): Surface(url=url) for number, url in enumerate(addresses)})
    probe_profile = apply_connection_options(probe_profile, cacert=cacert, insecure=insecure, timeout=timeout)
    surfaces, limits, trouble = asyncio.run(_probe(addresses, _credentials(tenant_table), probe_profile, clock))
    for line in trouble:
        click.echo(f"  {one_line(line, 600)}", err=True)
    if not surfaces:
        click.echo("weldproof init: no known surface answered; nothing written", err=True)
        ctx.exit(Exit.NO_VERDICT)
    tables, notes = with_networks(_chain_tables(chain), offered_networks(surfaces))
    for line in notes:
        click.echo(f"  {one_line(line, 600)}", err=True)
    budgets = {name: value for name, value in (("request", timeout), ("wait_for_expiry", wait_for_expiry)) if value}
    pace = _choose_pace(addresses, limits) if pace is None else pace
    # A slow pace gives many workers nothing to do.
    workers = 4 if 0 < pace <= _MODEST_PACE else 8
    pace_table = Pace(
        requests_per_second=pace, workers=workers, limits={name: float(one) for name, one in limits.items()}
    )
    is_ahead = "gateway" in surfaces and surfaces["gateway"].follows_clock is False
    if is_ahead:
        click.echo(
            f"  {surfaces['gateway'].url} does not add the seconds in {clock} to its clock, so [clock] was left out: "
            "rows about lifetimes wait for real time, or stay undecided"
        )
    offset_file = None if clock is None or is_ahead else str(clock.resolve())
    text = render(surfaces, tenant_table, tables, pace_table, budgets, probe_profile.tls, offset_file)
    # The draft contains texts of the target. It is parsed before it is written, so that no file is
    # left that `weldproof run` rejects.
    parse(text, source=str(output))
    output.write_text(text, "utf-8")
    _print_limits(limits)
    _print_surfaces(surfaces, output, chain)


def _print_limits(limits: Mapping[str, int]) -> None:
    for operation, limit in limits.items():
        click.echo(
            f"  {operation}: {limit} calls a minute were accepted; this is written to "
            f"[pace.limits]{_describe_cost(operation, limit)}"
        )


def _choose_pace(addresses: Sequence[str], limits: Mapping[str, int]) -> float:
    """Return the default pace: unlimited for targets on this machine that limited no request, else 10 per second."""
    return 0.0 if not limits and all(map(is_local, addresses)) else _USUAL_PACE


def _check_limit(chain: Mapping[str, Any]) -> None:
    limit = chain.get("spending_limit")
    funders = [option.name for lane in FACTS.values() for option in lane.options if option.kind == "funder"]
    if any(chain.get(name) for name in funders) and limit is None:
        raise UsageFault(
            "a paying account needs --spending-limit: the atomic units of USDC that a whole run may spend, such as "
            "5000000 for 5 USDC"
        )
    if limit is not None and re.fullmatch(ATOMIC_UNITS, limit) is None:
        raise UsageFault("--spending-limit: give atomic units of USDC, such as 5000000 for 5 USDC")


def _parse_tenants(texts: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the id and the environment variable of each tenant, by its name in the profile."""
    if len(texts) > len(_TENANT_NAMES):
        raise UsageFault("--tenant: two tenants are enough")
    tenants = {}
    for name, text in zip(_TENANT_NAMES, texts, strict=False):
        tenant_id, equals, variable = text.partition("=")
        if not (tenant_id and equals and variable):
            raise UsageFault(f"--tenant {text}: give ID=VARIABLE, the variable's name, not the key")
        tenants[name] = (tenant_id, variable)
    return tenants


def _credentials(tenants: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Return the header fields of each tenant."""
    try:
        return {
            name: {"Authorization": f"Bearer {Secret(env=variable).read()}", "X-Tenant-Id": tenant_id}
            for name, (tenant_id, variable) in tenants.items()
        }
    except ProfileError as fault:
        raise UsageFault(f"--tenant: {fault}") from fault


def _print_rail(rail: Mapping[str, Any], output: Path) -> None:
    click.echo(f"Wrote {output}: a rail at {rail['url']} with {len(rail['operations'])} paid operations.")
    if not rail["card"]:
        click.echo("  no agent card was found, so the options rail.agent_card and rail.a2a are not claimed")
    for operation in rail["operations"]:
        if operation.role is None:
            bind = f'[rail.services] ROLE = "{operation.path}"'
            click.echo(
                f"  the role of {one_line(operation.path, 200)} is not known: if it is a service of the interface, add"
            )
            click.echo(f"    {one_line(bind, 400)}, with one of {', '.join(ROLES)}")
        if not operation.is_accepted:
            name = operation.role or "NAME"
            service = "" if operation.role else f'[rail.services] NAME = "{operation.path}" and '
            bind = f'{service}[rail.bodies] {name} = {{ member = "value" }}'
            click.echo(
                f"  no body that {one_line(operation.path, 200)} accepts is known yet: add {one_line(bind, 400)}"
            )


def _print_agent(agent: DiscoveredAgent, output: Path) -> None:
    names = ", ".join(sorted(agent.bindings)) or "nothing"
    click.echo(f"Wrote {output}: an agent at {agent.url}; detected: {names}.")
    if agent.open_question is not None:
        click.echo(f"  {one_line(agent.open_question, 600)}")


def _print_surfaces(surfaces: Mapping[str, Any], output: Path, chain: Mapping[str, Any]) -> None:
    if "rail" in surfaces:
        _print_rail(surfaces["rail"], output)
    if "gateway" in surfaces:
        gateway: DiscoveredGateway = surfaces["gateway"]
        names = ", ".join(sorted(gateway.bindings)) or "nothing"
        click.echo(f"Wrote {output}: a gateway at {gateway.url}; detected: {names}.")
        if gateway.receipts_only:
            click.echo(f"  it only verifies receipts, so [claims] options contains {RECEIPTS_ONLY}")
        for note in gateway.notes:
            click.echo(f"  {one_line(note, 600)}")
    if "agent" in surfaces:
        _print_agent(surfaces["agent"], output)
    if "control_plane" in surfaces:
        hub: DiscoveredHub = surfaces["control_plane"]
        click.echo(f"Wrote {output}: a control plane at {hub.url}.")
        if "token" not in hub.bindings:
            click.echo(
                f"  no admin token yet; without one most requirements stay undecided: set {HUB_TOKEN_VARIABLE} to it, "
                f"and add"
            )
            click.echo(f'  to {output}: [hub.token]  env = "{HUB_TOKEN_VARIABLE}"  (or call init again with --force)')
    _print_claims(surfaces, output, chain)


def _print_claims(surfaces: Mapping[str, Any], output: Path, chain: Mapping[str, Any]) -> None:
    if follows_specification(surfaces):
        click.echo('  its answers have the form of the specification, so [claims] has specification = "1"')
    lanes = claimed_lanes(surfaces)
    click.echo(f"  lanes claimed: {', '.join(lanes) or 'none'}")
    for lane in lanes:
        if lane not in _chain_tables(chain):
            click.echo(
                f"  no node of {lane} yet: fill in [chains.{lane}]; without it, requirements that need a payment "
                f"there are inconclusive"
            )
    config = "" if output == WORKING_PROFILE else f" --config {shlex.quote(str(output))}"
    click.echo(f"Next: weldproof run{config}")


async def _probe(
    urls: Sequence[str], tenants: Mapping[str, Mapping[str, str]], profile: Profile, clock: Path | None
) -> tuple[dict[str, Any], dict[str, int], list[str]]:
    """Return the detected surfaces, the measured rate limits, and the problems."""
    surfaces: dict[str, Any] = {}
    trouble: list[str] = []
    seconds, tls = profile.budgets.request, make_context(profile.tls)
    async with HttpTransport(seconds=seconds, requests_per_second=0, connections=4, tls=tls) as transport:
        for url in urls:
            client = Client(transport, EventLog(), "init", Names(), Counter())
            try:
                gateway = await probe_gateway(client, url, tenants)
                rail = await probe_rail(client, url)
                agent = await probe_agent(client, url)
                hub = await probe_hub(client, url)
            # One server that does not answer must not prevent the profile of the others.
            except (Unreachable, Throttled, JsonFault) as fault:
                trouble.append(f"{url}: {fault}")
                continue
            # The limits of authenticated calls count, since a run makes these.
            credentials = next(iter(tenants.values()), {})
            for path, body in _busiest_operations(gateway, agent):
                await measure_limit(
                    client, transport.pacer, url + path, body, credentials if gateway is not None else {}
                )
            if gateway is not None:
                surfaces["gateway"] = gateway
                if clock is not None:
                    gateway.follows_clock = await _follows_clock(client, gateway, tenants, clock)
            if rail is not None:
                surfaces["rail"] = rail
            if agent is not None:
                surfaces["agent"] = agent
            if hub is not None:
                surfaces["control_plane"] = hub
            if gateway is None and rail is None and agent is None and hub is None:
                trouble += await _describe_unknown_server(client, url, has_tenants=bool(tenants))
        limits = transport.pacer.list_limits()
    return surfaces, limits, trouble


async def _follows_clock(
    client: Client, gateway: DiscoveredGateway, tenants: Mapping[str, Mapping[str, str]], clock: Path
) -> bool | None:
    """Return whether a gateway follows the clock file; None if its answers do not show it."""
    try:
        return await follows_clock(client, gateway, tenants, clock)
    except (Unreachable, Throttled, JsonFault):
        return None
    except Inconclusive as fault:
        raise UsageFault(f"--clock: {fault}") from fault


async def _describe_unknown_server(client: Client, url: str, *, has_tenants: bool) -> list[str]:
    """Return lines about a server that has none of the surfaces."""
    if await _sells_without_weld(client, url):
        advice = f"use `weldproof check {url}`; `run` has nothing to judge"
        return [f"{url}: an x402 server without a weld: {advice}"]
    expected_endpoints = "no paid operation, links, receipt verification, verify or trust set"
    looks = describe_foreign_answer(await client.call("GET", url + "/"))
    trouble = [f"{url}: not a surface that the suite knows ({expected_endpoints}); its / answered {looks}"]
    if not has_tenants:
        trouble.append("  for a gateway that requires credentials for every call, give --tenant")
    return trouble


async def _sells_without_weld(client: Client, url: str) -> bool:
    """Return whether GET at an address is answered with offers of x402 that bind no payment to their challenge."""
    try:
        answer = await client.call("GET", url)
        challenge = read_challenge("GET", url, answer)
    except (Unreachable, Throttled, JsonFault):
        return False
    return bool(challenge.offers) and not challenge.is_welded


def _describe_cost(operation: str, limit: int) -> str:
    """Return how long a whole run takes at an operation's limit; empty for less than five minutes."""
    calls = _CALLS_OF_A_RUN.get(operation.partition(" ")[2], 0)
    minutes = round(calls / limit)
    if minutes < _LONG_MINUTES:
        return ""
    return (
        f"\n    a whole run calls it about {calls} times, {minutes} minutes at that pace: raise the limit for the "
        f"run, or run with --quick first"
    )


def _busiest_operations(
    gateway: DiscoveredGateway | None, agent: DiscoveredAgent | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the operations that a run calls most, each with a body for measuring its rate limit."""
    if gateway is not None:
        yield RECEIPT_VERIFY, {gateway.bindings.get("receipt_member", "jws"): "e30.e30.AA"}
    if agent is not None:
        yield VERIFY, {}


def _chain_tables(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the tables of the profile's [chains] that the options describe, by lane."""
    tables = {}
    for lane, facts in FACTS.items():
        given_options = [option for option in facts.options if given.get(option.name)]
        # The first option of a lane is the address of its node; without it there is no table.
        if facts.options[0] not in given_options:
            continue
        table: dict[str, Any] = {option.member: given[option.name] for option in given_options if option.kind == "text"}
        for option in given_options:
            if option.kind == "file":
                table[option.member] = {"file": str(Path(given[option.name]).resolve())}
            elif option.kind == "funder":
                table |= {option.member: {"env": given[option.name]}, "spending_limit": given["spending_limit"]}
        tables[lane] = table
    return tables
